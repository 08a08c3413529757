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
LONGEST = 36525 * 86400.0  # seconds; a century: nobody waits longer
_MOST_DIGITS = 12
_SHOWN = 40  # characters of what cannot be read
_SIZE = re.compile(r"(\d+)(B|KiB|MiB|GiB)", re.ASCII)
_BYTES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def parse_duration(text: str) -> float:
    """``"250ms"`` → 0.25; also ``us``, ``s``, ``m``, ``h``, ``d``.

    Raises:
        ValueError: no unit, not a duration, or longer than a century.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{_cut(text)} is not a duration; write a number with a unit, such as 250ms, 1.5s or 2m")
    seconds = float(match[1]) * _SECONDS[match[2]]
    if seconds > LONGEST:
        raise ValueError(f"{_cut(text)} is too long; at most {LONGEST / _SECONDS['d']:.0f}d")
    return seconds


def parse_size(text: str) -> int:
    """``"64KiB"`` → 65536.

    Raises:
        ValueError: no unit, or not a size.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{_cut(text)} is not a size; write a whole number with a unit, such as 64KiB or 4MiB")
    if len(match[1]) > _MOST_DIGITS:
        raise ValueError(f"{_cut(text)} is too much; at most {_MOST_DIGITS} digits")
    return int(match[1]) * _BYTES[match[2]]


def _cut(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


LAST = 253402300799.0  # Unix seconds; the last of the year 9999


def date_of(seconds: float) -> datetime:
    """Unix seconds as a date in UTC, at most the last there is."""
    return datetime.fromtimestamp(min(seconds, LAST), UTC)


def write_date(seconds: float) -> str:
    """``2026-01-01T00:00:00.000Z``."""
    return date_of(seconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Null:
    """A null where the language has none: no type takes it."""


NULL = _Null()
_ANYTHING: object = JSON  # what pydantic sees of a field that takes any JSON, null too


class Closed(BaseModel):
    """An object of the scenario language: no further keys, no coercion, never edited.

    A key is left out or has a value; a null is a value only where any JSON is. Validators are built
    when first used: most objects are only ever parts of a scenario, and are built with it.
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
    """Refuse a value that breaks a rule between several fields, in the author's words."""
    if not holds:
        raise PydanticCustomError("rule", message)


def _read_duration(value: JSON) -> float:
    if not isinstance(value, str):
        raise PydanticCustomError("wanted", "expected a duration with a unit, such as 250ms")
    return parse_duration(value)


def _read_whole(value: JSON) -> JSON:
    return int(value) if isinstance(value, float) and value.is_integer() else value


DURATION_SCHEMA: JSON = {
    "type": "string",
    "pattern": r"^\s*\d+(\.\d+)?(us|ms|s|m|h|d)\s*$",
    "examples": ["250ms", "1.5s"],
}

Duration = Annotated[float, BeforeValidator(_read_duration), WithJsonSchema(DURATION_SCHEMA)]
"""Seconds; written with a unit."""

_SIZES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_SIZE_VALUES = re.compile(r"\s*(\d{1,12})\s*(B|KiB|MiB|GiB)\s*", re.ASCII)


def _read_size(value: JSON) -> int:
    found = _SIZE_VALUES.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise PydanticCustomError("wanted", "expected a size with a unit, such as 64KiB")
    return int(found[1]) * _SIZES[found[2]]


SIZE_SCHEMA: JSON = {"type": "string", "pattern": r"^\s*\d+\s*(B|KiB|MiB|GiB)\s*$", "examples": ["64KiB", "4MiB"]}

Size = Annotated[int, BeforeValidator(_read_size), WithJsonSchema(SIZE_SCHEMA)]
"""Bytes; written with a unit."""

Whole = Annotated[int, BeforeValidator(_read_whole)]
"""An integer; ``1e3`` is one too."""

HeaderValue = Annotated[str, Field(pattern=r"^[^\x00-\x08\x0a-\x1f\x7f]*$")]
"""The value of a header: it has no line break and no other control character but the tab."""
