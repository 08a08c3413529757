"""Parse ``response_format``: a schema in 2025.3, any structural tag of XGrammar since 2025.4.

The engine silently ignores formats it cannot parse. Source: model_server,
src/llm/apis/openai_completions.cpp (2025.3) and openai_api_handler.cpp,
convertOpenAIResponseFormatToStructuralTagStringFormat; XGrammar, docs/tutorials/structural_tag.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object, as_array, as_object, as_text
from emulator.protocols.openai.messages import Format
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import Fields

_ANY_TEXT = "[A-Z][a-z]{2,8}( [a-z]{2,8}){3,8}"  # pattern for formats that accept any text


@fast_dataclass(frozen=True, slots=True)
class Form:
    """Constraint on the response.

    Fields:
        schema: schema of the JSON, or of a ``bare`` string without quotation marks.
        opening: fixed text before it.
        closing: fixed text after it.
    """

    kind: Format = "text"
    schema: JSON = None
    bare: bool = False
    opening: str = ""
    closing: str = ""

    def wrap(self, opening: str, closing: str) -> Form:
        """Return the form enclosed in two texts."""
        return Form(self.kind, self.schema, self.bare, opening + self.opening, self.closing + closing)


PLAIN_TEXT = Form()


class _UnknownError(Exception):
    """Format that the engine does not enforce."""


def parse_response_format(fields: Fields) -> Form:
    """Parse ``response_format``; a format that the engine cannot enforce counts as absent.

    Raises:
        EmulatedError: the format is no object or, in 2025.3, no schema.
    """
    rule = fields.release.response_format
    value = fields.body.get("response_format")
    if rule == "ignored" or value is None:
        return PLAIN_TEXT
    if not isinstance(value, dict):
        raise refusal("response_format is not an object")
    if rule == "json_schema":
        _validate_schema(value)
    if value.get("type") == "any_text":
        return PLAIN_TEXT
    try:
        return _parse_form(value)
    except _UnknownError:
        return PLAIN_TEXT


def _validate_schema(value: Object) -> None:
    """Raise unless the format is a schema, as 2025.3 requires."""
    where = "response_format.type"
    if "type" not in value:
        raise refusal(f"{where} is missing")
    if not isinstance(value["type"], str):
        raise refusal(f"{where} is not a string")
    if value["type"] != "json_schema":
        raise refusal(f"{where} can be only json_schema")
    where = "response_format"
    for name in ("json_schema", "schema"):
        where = f"{where}.{name}"
        if name not in value:
            raise refusal(f"{where} is missing")
        inner = value[name]
        if not isinstance(inner, dict):
            raise refusal(f"{where} is not an object")
        value = inner


def _parse_form(value: JSON) -> Form:
    """Parse one format; one without a type may be a tag."""
    if not isinstance(value, dict):
        raise _UnknownError
    kind = value.get("type", "tag")
    if not isinstance(kind, str) or kind not in _FORMS:
        raise _UnknownError
    try:
        return _FORMS[kind](value)
    except (KeyError, TypeError, ValueError, IndexError, re.error):
        raise _UnknownError from None


def _parse_schema(value: Object) -> Form:
    """Parse a schema under ``schema``, which the server moves up, or a flat one."""
    outer = as_object(value["json_schema"])
    inner = outer.get("schema")
    return Form("json_schema", inner if isinstance(inner, dict) else outer)


def _match(pattern: str) -> Form:
    """Return a form of texts that match a regular expression as a whole."""
    re.compile(pattern)
    return Form("json_schema", {"type": "string", "pattern": f"^(?:{pattern})$"}, bare=True)


def _fixed_text(text: str) -> Form:
    return Form("json_schema", {"const": text}, bare=True)


def _parse_tag(value: Object) -> Form:
    """Parse a format between two texts; of several end texts, use the first."""
    end = value["end"]
    closing = as_text(as_array(end)[0] if isinstance(end, list) else end)
    return _parse_form(value["content"]).wrap(as_text(value["begin"]), closing)


def _parse_triggered(value: Object) -> Form:
    """Parse free text with triggered tags; use the first tag if at least one is required."""
    first = _parse_tag(as_object(as_array(value["tags"])[0]))
    return first if as_array(value["triggers"]) and value.get("at_least_one") is True else PLAIN_TEXT


def _parse_separated(value: Object) -> Form:
    """Parse tags with a separator; use one tag."""
    as_text(value["separator"])
    return _parse_tag(as_object(as_array(value["tags"])[0]))


def _parse_sequence(value: Object) -> Form:
    """Parse formats in sequence."""
    first, *others = [_parse_form(element) for element in as_array(value["elements"])]
    for other in others:
        first = _join(first, other)
    return first


def _join(first: Form, second: Form) -> Form:
    """Join a fixed text and any form, or two patterns; raise for any other pair."""
    if (text := _fixed(first)) is not None:
        return second.wrap(text, "")
    if (text := _fixed(second)) is not None:
        return first.wrap("", text)
    return _match(_pattern_of(first) + _pattern_of(second))


def _fixed(form: Form) -> str | None:
    """Return the only text that fits; ``None`` if there are several."""
    if not form.bare or not isinstance(form.schema, dict) or "const" not in form.schema:
        return None
    return form.opening + as_text(form.schema["const"]) + form.closing


def _pattern_of(form: Form) -> str:
    if not form.bare:
        raise _UnknownError
    inner = as_text(as_object(form.schema)["pattern"]).removeprefix("^").removesuffix("$")
    return _escape(form.opening) + inner + _escape(form.closing)


def _escape(text: str) -> str:
    return re.sub(r"[\\^$.|?*+()\[\]{}/]", r"\\\g<0>", text)


def _parse_choice(value: Object) -> Form:
    """Parse alternatives; use the first."""
    return _parse_form(as_array(value["elements"])[0])


_FORMS: Mapping[str, Callable[[Object], Form]] = {
    "json_schema": _parse_schema,
    "json_object": lambda value: Form("json_object"),  # not enforced: the model decides
    "const_string": lambda value: _fixed_text(as_text(value["value"])),
    "regex": lambda value: _match(as_text(value["pattern"])),
    "any_text": lambda value: _match(_ANY_TEXT),
    "tag": _parse_tag,
    "triggered_tags": _parse_triggered,
    "tags_with_separator": _parse_separated,
    "sequence": _parse_sequence,
    "or": _parse_choice,
}
