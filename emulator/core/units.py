"""Durations, sizes and dates: parse and format values that carry a unit.

YAML writes ``200ms`` or ``4MiB``; Python holds float seconds and int bytes.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from emulator.core.json import JSON

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|h|d)", re.ASCII)
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
MAX_DURATION = 36525 * 86400.0  # seconds; a century
_MAX_DIGITS = 12
_MAX_QUOTED = 40  # characters of an invalid text in its error message
_SIZE = re.compile(r"(\d+)(B|KiB|MiB|GiB)", re.ASCII)
_BYTES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def parse_duration(text: str) -> float:
    """Parse a duration to seconds: ``"250ms"`` → 0.25; units ``us``, ``ms``, ``s``, ``m``, ``h``, ``d``.

    Raises:
        ValueError: no unit, not a duration, or longer than a century.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{_cut(text)} is not a duration; write a number with a unit, such as 250ms, 1.5s or 2m")
    seconds = float(match[1]) * _SECONDS[match[2]]
    if seconds > MAX_DURATION:
        raise ValueError(f"{_cut(text)} is too long; at most {MAX_DURATION / _SECONDS['d']:.0f}d")
    return seconds


def parse_size(text: str) -> int:
    """Parse a size to bytes: ``"64KiB"`` → 65536; units ``B``, ``KiB``, ``MiB``, ``GiB``.

    Raises:
        ValueError: no unit, or not a size.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{_cut(text)} is not a size; write a whole number with a unit, such as 64KiB or 4MiB")
    if len(match[1]) > _MAX_DIGITS:
        raise ValueError(f"{_cut(text)} is too much; at most {_MAX_DIGITS} digits")
    return int(match[1]) * _BYTES[match[2]]


def _cut(text: str) -> str:
    return repr(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…")


LAST = 253402300799.0  # Unix seconds; end of the year 9999, the last that ``datetime`` holds


def date_of(seconds: float) -> datetime:
    """Return Unix seconds as a UTC date, at most ``LAST``."""
    return datetime.fromtimestamp(min(seconds, LAST), UTC)


def write_date(seconds: float) -> str:
    """Format Unix seconds as ``2026-01-01T00:00:00.000Z``."""
    return date_of(seconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Null:
    """Substitute for a null that the scenario language rejects: it fails the validation of every field type."""


NULL = _Null()
_ANYTHING: object = JSON  # annotation of a field that takes any JSON value, null included


class Closed(BaseModel):
    """Base model of the scenario language: no extra keys, no coercion, immutable.

    Null is rejected unless the field takes any JSON value. Validators are built on first use
    (``defer_build``), because the validator of a scenario includes those of its parts.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_null(cls, data: JSON) -> object:
        if not isinstance(data, dict) or None not in data.values():
            return data
        free = {field.alias or name for name, field in cls.model_fields.items() if field.annotation is _ANYTHING}
        free |= data.keys() - {field.alias or name for name, field in cls.model_fields.items()}
        return {key: NULL if value is None and key not in free else value for key, value in data.items()}


def require(holds: bool, message: str) -> None:
    """Raise a validation error with the given message unless a condition across fields holds."""
    if not holds:
        raise PydanticCustomError("rule", message)


def _parse_duration_value(value: JSON) -> float:
    if not isinstance(value, str):
        raise PydanticCustomError("wanted", "expected a duration with a unit, such as 250ms")
    return parse_duration(value)


def _parse_whole(value: JSON) -> JSON:
    return int(value) if isinstance(value, float) and value.is_integer() else value


DURATION_SCHEMA: JSON = {
    "type": "string",
    "pattern": r"^\s*\d+(\.\d+)?(us|ms|s|m|h|d)\s*$",
    "examples": ["250ms", "1.5s"],
}

Duration = Annotated[float, BeforeValidator(_parse_duration_value), WithJsonSchema(DURATION_SCHEMA)]
"""Seconds; written with a unit."""

_SIZES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_SIZE_VALUES = re.compile(r"\s*(\d{1,12})\s*(B|KiB|MiB|GiB)\s*", re.ASCII)


def _parse_size_value(value: JSON) -> int:
    found = _SIZE_VALUES.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise PydanticCustomError("wanted", "expected a size with a unit, such as 64KiB")
    return int(found[1]) * _SIZES[found[2]]


SIZE_SCHEMA: JSON = {"type": "string", "pattern": r"^\s*\d+\s*(B|KiB|MiB|GiB)\s*$", "examples": ["64KiB", "4MiB"]}

Size = Annotated[int, BeforeValidator(_parse_size_value), WithJsonSchema(SIZE_SCHEMA)]
"""Bytes; written with a unit."""

Whole = Annotated[int, BeforeValidator(_parse_whole)]
"""Integer, also written as ``1e3``."""

HeaderValue = Annotated[str, Field(pattern=r"^[^\x00-\x08\x0a-\x1f\x7f]*$")]
"""Value of an HTTP header: no line break, and no control character except the tab."""
