"""Parse the ``x-emulator-*`` request headers that set an error, faults or the TTFT of their own response.

``x-emulator-error: rate_limited; retry_after=2s``, ``x-emulator-fault: disconnect; after_tokens=5`` (several,
also in one header behind a comma), ``x-emulator-ttft: 2s``. Each is written as a rule's outcome would be.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from emulator.core.cost_limits import DEFAULT_BOUNDS
from emulator.core.json import JSON, Object, parse_json
from emulator.latency import Latency
from emulator.scenario.errors import Mistake, explain_errors
from emulator.scenario.locations import format_path
from emulator.scenario.outcomes import ErrorOutcome, Outcome

M = TypeVar("M", bound=BaseModel)

ERROR_HEADER = "x-emulator-error"
FAULT_HEADER = "x-emulator-fault"
TTFT_HEADER = "x-emulator-ttft"

_MAX_LENGTH = 8_192  # characters of all these headers
_MAX_MISTAKES, _MAX_MESSAGE = 8, 1_000  # mistakes that are listed, and characters of the message
_QUOTED = r'"(?:[^"\\]|\\.)*+(?:"|\Z)'  # an unclosed string ends with the text: no backtracking
_BRACKETS = r"\[[^\]]*+(?:\]|\Z)|\{[^}]*+(?:\}|\Z)"
_ENTRY = re.compile(rf"(?:{_QUOTED}|{_BRACKETS}|[^,])++")
_PART = re.compile(rf"(?:{_QUOTED}|{_BRACKETS}|[^;])++")


class HeaderOverrideError(Exception):
    """Invalid override header; the message is for the client."""


def apply_header_overrides(
    outcome: Outcome,
    *,
    error: str | None = None,
    faults: Sequence[str] = (),
    ttft: str | None = None,
    most: int = DEFAULT_BOUNDS.faults,
) -> Outcome:
    """Return the outcome of a rule with the overrides of the headers applied.

    An error or a fault replaces the error and faults of the rule; its reply and latency stay.

    Args:
        most: largest number of faults.

    Raises:
        HeaderOverrideError: an unknown name or key, an invalid value, or too many faults or characters.
    """
    changes: dict[str, object] = {}
    if sum(map(len, (error or "", *faults, ttft or ""))) > _MAX_LENGTH:
        raise HeaderOverrideError(f"{FAULT_HEADER} and {ERROR_HEADER}: at most {_MAX_LENGTH} characters together")
    error, ttft = (text and _clean(text) for text in (error, ttft))
    faults = [*map(_clean, faults)]
    asked = [_parse(FAULT_HEADER, "type", entry) for header in faults for entry in _ENTRY.findall(header) or [""]]
    if len(asked) > most:
        raise HeaderOverrideError(f"{FAULT_HEADER}: {len(asked)} faults, and one request may ask for {most}")
    if error is not None or asked:
        refusal = None if error is None else _read(ErrorOutcome, ERROR_HEADER, _parse(ERROR_HEADER, "kind", error))
        changes["error"] = refusal
        changes["faults"] = _read(Outcome, FAULT_HEADER, {"faults": asked}).faults if asked else ()
    if ttft is not None:
        latency = _read(Latency, TTFT_HEADER, {"ttft": ttft.strip()})
        changes["latency"] = latency if outcome.latency is None else outcome.latency.merge(latency)
    return outcome.model_copy(update=changes)


def _clean(text: str) -> str:
    """Return the text of a header, with a question mark for bytes that are no UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _parse(header: str, name: str, text: str) -> dict[str, JSON]:
    """Parse ``disconnect; after_tokens=5`` into a mapping; a value that is no JSON is a string."""
    first, *rest = [part.strip() for part in _PART.findall(text)] or [""]
    fields: dict[str, JSON] = {name: first}
    for part in rest:
        key, equals, value = part.partition("=")
        if not equals:
            raise HeaderOverrideError(f"{header}: expected key=value, got {part!r}")
        fields[key.strip()] = _parse_value(value.strip())
    return fields


def _parse_value(text: str) -> JSON:
    try:
        return parse_json(text.encode())
    except ValueError:
        return text


def _read(model: type[M], header: str, data: JSON) -> M:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        found = explain_errors(error, data, _schema_of(model))
        text = "; ".join(map(_show, found[:_MAX_MISTAKES]))
        raise HeaderOverrideError(f"{header}: {text[:_MAX_MESSAGE]}") from None


@cache
def _schema_of(model: type[BaseModel]) -> Object:
    return model.model_json_schema()


def _show(mistake: Mistake) -> str:
    hint = f"; did you mean {mistake.suggestion}?" if mistake.suggestion else ""
    return f"{format_path(mistake.path)}: {mistake.message}{hint}"
