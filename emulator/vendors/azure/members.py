"""Validate the members of an Azure OpenAI request at every depth: unknown, missing, mistyped, of an unknown value.

Sources: openai/openai-openapi for the fields, Azure/azure-rest-api-specs for Azure's own; the texts are those of the
OpenAI API (openai/openai-python, microsoft/agent-framework issue 2203, ``input[1].metadata``).
"""

from collections.abc import Callable, Mapping, Sequence

from emulator.core.errors import EmulatedError
from emulator.core.json import JSON, Object, as_integer, as_number, as_object, as_text
from emulator.protocols.openai.options import is_plain
from emulator.protocols.shapes import OPENAI_SHAPES, Misfit, Path, format_path
from emulator.vendors.azure.errors import bounds, refusals
from emulator.vendors.azure.profile import is_own
from emulator.vendors.azure.request import ParsedRequest

_NAMES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a decimal",
    "boolean": "a boolean",
    "object": "an object",
    "array": "an array of objects",
}

_TEXT_BOUNDS: Mapping[str, Callable[[str, str, str], bounds.Worded]] = {
    "pattern": lambda path, value, pattern: bounds.word_pattern(path, pattern),
    "prefix": bounds.word_prefix,
    "characters": lambda path, value, _: bounds.word_characters(path, value),
}


def validate_members(name: str, value: JSON, parsed: ParsedRequest, path: Path = ()) -> None:
    """Raise for the first member of a value that does not fit a shape, if the model is that strict.

    Models of other makers read a request with an engine of their own, which ignores what it does not know.
    """
    if not is_strict(parsed):
        return
    found = OPENAI_SHAPES.find_misfit(name, value, path)
    if found is not None:
        raise build_refusal(found)


def is_strict(parsed: ParsedRequest) -> bool:
    """Return whether unknown and mistyped members are refused: not by a model that shows its reasoning."""
    if not parsed.settings.strict_members or parsed.profile.traits.get("members") == "lenient":
        return False
    return parsed.profile.openai and is_own(parsed.profile.traits) and not parsed.profile.traits.get("reasoning")


def validate_chat(body: Object, parsed: ParsedRequest) -> None:
    """Raise for the first member of a chat that does not fit; plain messages need no look."""
    if not is_strict(parsed):
        return
    messages = body.get("messages")
    assert isinstance(messages, list)
    validate_members("chat", {**body, "messages": []}, parsed)
    for position, message in enumerate(messages):
        if not is_plain(message):
            validate_members("message", _hide_null(message), parsed, ("messages", position))


def _hide_null(message: JSON) -> JSON:
    """Return a message with a text for a null content, which has an error of its own."""
    is_null = isinstance(message, dict) and "content" in message and message["content"] is None
    return {**as_object(message), "content": ""} if is_null else message


def build_refusal(found: Misfit) -> EmulatedError:
    """Return the service's error of a misfit."""
    path = format_path(found.path)
    if found.kind == "unknown":
        return refusals.unknown_parameter(path)
    if found.kind == "missing":
        return refusals.missing_parameter(path)
    if found.kind == "type":
        return refusals.invalid_type(path, found.value, _format_types(found.expected))
    if found.kind not in ("enum", "tag"):
        message, code = _word_bound(found, path)
        return refusals.contradicts(message, path, code)
    return refusals.invalid_value(path, found.value, found.expected)


def _word_bound(found: Misfit, path: str) -> bounds.Worded:
    value, limit = found.value, found.limit
    if isinstance(value, str) and found.kind in _TEXT_BOUNDS:
        return _TEXT_BOUNDS[found.kind](path, value, "" if limit is None else as_text(limit))
    if isinstance(value, str | list):
        return bounds.word_length(path, value, as_integer(limit), long=found.kind == "max")
    return bounds.word_range(path, value, as_number(limit), "<=" if found.kind == "max" else ">=")


def _format_types(types: Sequence[str]) -> str:
    """Return ``a string`` or, of several, ``one of a string or array of objects``."""
    names = [_NAMES[name] for name in types]
    if len(names) == 1:
        return names[0]
    return f"one of {names[0]} or {' or '.join(name.split(' ', 1)[1] for name in names[1:])}"
