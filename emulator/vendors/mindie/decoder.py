"""Parse single request fields as MindIE's server does: null counts as absent, the first invalid field is reported.

Source: MindIE-LLM, ``src/server/endpoint/utils/parameters_checker.cpp`` and ``parse_protocol.cpp``.
"""

import json
import math
from collections.abc import Mapping
from typing import TypeGuard

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.protocols.ranges import Range
from emulator.vendors.mindie.ranges import MAX_UINT64

Fields = Mapping[str, JSON]

PARSE_FAILED = "Failed to parse context to json body"
_FROM_EXPONENT = 1e15  # the server's encoder writes exponents from here on, Python's from 1e16


def refusal(message: str, param: str | None = None, status: int = 422) -> EmulatedError:
    """Return the error for a request that fails validation."""
    return EmulatedError(ErrorKind.INVALID_PARAMETER, message=message, param=param, status=status)


def format_value(value: JSON) -> str:
    """Format a value as the server's compact JSON encoder does."""
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value <= MAX_UINT64:
        value = _to_float(value)
    if isinstance(value, float) and _FROM_EXPONENT <= abs(value) < 1e16:
        digits = repr(abs(value)).partition(".")[0].rstrip("0")
        return f"{'-' if value < 0 else ''}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e+15"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_ESCAPED = {char: len(json.dumps(char)) - 3 for char in map(chr, (*range(32), ord('"'), ord("\\")))}


def count_formatted(value: JSON) -> int:
    """Return the length of :func:`format_value` in UTF-16 code units, without building the text, which may be long."""
    if isinstance(value, str):
        return 2 + count_units(value) + sum(value.count(char) * more for char, more in _ESCAPED.items())
    if isinstance(value, dict):
        inner = sum(count_formatted(key) + 1 + count_formatted(child) for key, child in value.items())
    elif isinstance(value, list):
        inner = sum(map(count_formatted, value))
    else:
        return len(format_value(value))
    return inner + max(2, len(value) + 1)


def count_units(text: str) -> int:
    """Return the length of ``text`` in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _to_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


class NegativeZero(int):
    """``-0``, which the server's JSON library reads as an integer with a sign."""


def is_integer(value: JSON) -> TypeGuard[int]:
    """Return whether the server's JSON library reads ``value`` as an integer, not as a float."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value <= MAX_UINT64


def is_unsigned(value: JSON) -> TypeGuard[int]:
    """Return whether the server's JSON library reads ``value`` as an integer without a sign."""
    return is_integer(value) and value >= 0 and not isinstance(value, NegativeZero)


def parse_float(fields: Fields, key: str, within: Range | None = None) -> float | None:
    """Parse a JSON number, in a range if one is given; one beyond the range of doubles invalidates the whole body."""
    value = fields.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refusal(f"{key} must be float type.", key)
    number = value if isinstance(value, float) else _to_float(value)
    if math.isinf(number):
        raise refusal(PARSE_FAILED, key)
    _validate_range(number, fields, key, within)
    return number


def parse_integer(fields: Fields, key: str, within: Range | None = None) -> int | None:
    """Parse a 64-bit JSON number without fraction or exponent."""
    value = fields.get(key)
    if value is None:
        return None
    if not is_integer(value):
        raise refusal(f"{key} must be integer type.", key)
    _validate_range(value, fields, key, within)
    return value


def parse_unsigned(fields: Fields, key: str, within: Range | None = None) -> int | None:
    """Parse an integer from 0 to 2**64 - 1."""
    value = fields.get(key)
    if value is None:
        return None
    if not is_unsigned(value):
        raise refusal(f"{key} must be unsigned type.", key)
    _validate_range(value, fields, key, within)
    return value


def _validate_range(number: float, fields: Fields, key: str, within: Range | None) -> None:
    if within is not None and not within.has(number):
        raise refusal(within.text.format(format_value(fields[key])), key)


def parse_boolean(fields: Fields, key: str) -> bool | None:
    value = fields.get(key)
    if value is not None and not isinstance(value, bool):
        raise refusal(f"{key} must be boolean type.", key)
    return value


def parse_string(fields: Fields, key: str) -> str | None:
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise refusal(f"{key} must be string type.", key)
    return value


def parse_object(fields: Fields, key: str) -> Fields:
    """Parse an object; empty if absent."""
    value = fields.get(key)
    if value is not None and not isinstance(value, dict):
        raise refusal(f"{key} must be object type.", key)
    return value or {}
