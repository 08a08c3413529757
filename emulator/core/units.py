"""Durations, sizes and moments, parsed and formatted; and the base and field types of all scenario models.

YAML writes ``200ms``, ``1m30s`` or ``4MiB``; Python holds float seconds and int bytes. ``StrictModel`` is the base;
``Duration``, ``Size``, ``Timestamp``, ``Moment`` and ``Whole`` type its fields.
"""

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from emulator.core.json import JSON

_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}
_PARTS = "".join(rf"(\d+(?:\.\d+)?{unit})?" for unit in _SECONDS)  # each unit at most once, the longest first
_DURATION = re.compile(rf"(?=\d){_PARTS}", re.ASCII)
_PART = re.compile(r"([\d.]+)([a-z]+)", re.ASCII)
MAX_DURATION = 36525 * 86400.0  # seconds; a century
_MAX_DIGITS = 12
_MAX_QUOTED = 40  # characters of an invalid text in its error message
_SIZE = re.compile(r"(\d+)(B|KiB|MiB|GiB)", re.ASCII)
_BYTES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def parse_duration(text: str) -> float:
    """Parse a duration to seconds: ``"250ms"`` → 0.25, ``"1m30s"`` → 90; units from ``d`` to ``us``.

    Raises:
        ValueError: no unit, not a duration, or longer than a century.
    """
    if _DURATION.fullmatch(text.strip()) is None:
        raise ValueError(f"{_cut(text)} is not a duration; write a number with a unit, such as 250ms, 1.5s or 2m")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
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


MAX_TIMESTAMP = 253402300799.0  # Unix seconds; end of the year 9999, the last that ``datetime`` holds


def date_of(seconds: float) -> datetime:
    """Return Unix seconds as a UTC date, at most ``MAX_TIMESTAMP``."""
    return datetime.fromtimestamp(min(seconds, MAX_TIMESTAMP), UTC)


def write_date(seconds: float) -> str:
    """Format Unix seconds as ``2026-01-01T00:00:00.000Z``."""
    return date_of(seconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Null:
    """Substitute for a null that the scenario language rejects: it fails the validation of every field type."""


NULL = _Null()
_ANYTHING: object = JSON  # annotation of a field that takes any JSON value, null included


class StrictModel(BaseModel):
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


def parse_duration_value(value: JSON) -> float:
    """Return the seconds of a value that may be no text, for validators."""
    if not isinstance(value, str):
        raise PydanticCustomError("wanted", "expected a duration with a unit, such as 250ms")
    return parse_duration(value)


def _parse_whole(value: JSON) -> JSON:
    return int(value) if isinstance(value, float) and value.is_integer() else value


DURATION_SCHEMA: JSON = {
    "type": "string",
    "pattern": rf"^\s*(?=\d){_PARTS.replace('?:', '')}\s*$",
    "examples": ["250ms", "1.5s"],
}

Duration = Annotated[float, BeforeValidator(parse_duration_value), WithJsonSchema(DURATION_SCHEMA)]
"""Seconds; written with a unit."""


class Instant(float):
    """A moment in Unix seconds, written as a timestamp with a zone."""

    def __str__(self) -> str:
        return write_date(self)


class TimeOfDay(float):
    """A time of every day in UTC, in seconds since midnight, written as ``10:05`` or ``10:05:30``."""

    def __str__(self) -> str:
        minutes, seconds = divmod(round(self), 60)
        return f"{minutes // 60:02}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")


_INSTANT = r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([Zz]|[+-]\d\d:\d\d)"
_TIME_OF_DAY = r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?"
_INSTANTS, _TIMES_OF_DAY = re.compile(_INSTANT, re.ASCII), re.compile(_TIME_OF_DAY, re.ASCII)
_NO_INSTANT = "expected a time with a zone, such as 2026-11-23T09:55:00Z"
_NO_TIME_OF_DAY = "expected a time of day from 00:00 to 23:59, such as 09:55 or 09:55:30, in UTC"


def parse_instant(value: JSON) -> Instant:
    """Parse a timestamp with a zone, as RFC 3339 writes it, between 1970 and 9999."""
    if not isinstance(value, str) or _INSTANTS.fullmatch(value.strip()) is None:
        raise PydanticCustomError("wanted", _NO_INSTANT)
    try:
        seconds = datetime.fromisoformat(value.strip().upper()).timestamp()
    except ValueError:  # the 30th of February
        raise PydanticCustomError("wanted", _NO_INSTANT) from None
    if seconds < 0:
        raise PydanticCustomError("wanted", "expected a time after 1970")
    return Instant(seconds)


def _parse_moment(value: JSON) -> float:
    text = value.strip() if isinstance(value, str) else ""
    if _TIMES_OF_DAY.fullmatch(text):
        hours, minutes, *seconds = map(int, text.split(":"))
        return TimeOfDay(hours * 3600 + minutes * 60 + sum(seconds))
    if "-" in text:
        return parse_instant(text)
    if ":" in text:
        raise PydanticCustomError("wanted", _NO_TIME_OF_DAY)
    return parse_duration_value(value)


INSTANT_SCHEMA: JSON = {"type": "string", "pattern": rf"^\s*{_INSTANT}\s*$", "examples": ["2026-11-23T09:55:00Z"]}
_MOMENT_SCHEMA: JSON = {
    "anyOf": [
        DURATION_SCHEMA,
        {"type": "string", "pattern": rf"^\s*{_TIME_OF_DAY}\s*$", "examples": ["10:00"]},
        INSTANT_SCHEMA,
    ]
}


def require_order(begin: float, end: float) -> None:
    """Raise a validation error unless a window of two moments has a length; times of day may pass midnight."""
    require(type(begin) is type(end), "expected two durations, two times of day or two timestamps in between")
    through_midnight = isinstance(begin, TimeOfDay) and begin != end
    require(through_midnight or begin < end, "expected between to end after it begins")


def write_moment(moment: float) -> str:
    """Format a duration, a time of day or a timestamp so that it is parsed to the same moment."""
    if isinstance(moment, TimeOfDay):
        return str(moment)
    return date_of(moment).isoformat() if isinstance(moment, Instant) else f"{moment:.6f}s"


Timestamp = Annotated[Instant, PlainValidator(parse_instant), WithJsonSchema(INSTANT_SCHEMA)]
"""Unix seconds; written as a timestamp with a zone."""

Moment = Annotated[float, PlainValidator(_parse_moment), WithJsonSchema(_MOMENT_SCHEMA)]
"""Seconds since start or reset, written as a duration; a :class:`TimeOfDay`; or an :class:`Instant`."""

_SIZE_VALUES = re.compile(r"\s*(\d{1,12})\s*(B|KiB|MiB|GiB)\s*", re.ASCII)


def _parse_size_value(value: JSON) -> int:
    found = _SIZE_VALUES.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise PydanticCustomError("wanted", "expected a size with a unit, such as 64KiB")
    return int(found[1]) * _BYTES[found[2]]


SIZE_SCHEMA: JSON = {"type": "string", "pattern": r"^\s*\d+\s*(B|KiB|MiB|GiB)\s*$", "examples": ["64KiB", "4MiB"]}

Size = Annotated[int, BeforeValidator(_parse_size_value), WithJsonSchema(SIZE_SCHEMA)]
"""Bytes; written with a unit."""

Whole = Annotated[int, BeforeValidator(_parse_whole)]
"""Integer, also written as ``1e3``."""

HeaderValue = Annotated[str, Field(pattern=r"^[^\x00-\x08\x0a-\x1f\x7f]*$")]
"""Value of an HTTP header: no line break, and no control character except the tab."""
