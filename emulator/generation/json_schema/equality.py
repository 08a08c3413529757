"""Compare JSON values as JSON Schema does: 1 equals 1.0, but true does not equal 1."""

from collections.abc import Hashable
from fractions import Fraction
from math import isfinite
from typing import TypeGuard

from emulator.core.json import JSON


def is_number(value: JSON) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def identity(value: JSON) -> Hashable:
    """Return a hashable key that is equal exactly for equal JSON values."""
    if isinstance(value, dict):
        return ("object", frozenset((name, identity(member)) for name, member in value.items()))
    if isinstance(value, list):
        return ("array", tuple(identity(item) for item in value))
    if isinstance(value, bool):
        return ("boolean", value)
    found: Hashable = value
    return found  # 1 and 1.0 are equal and hash alike


def equal(left: JSON, right: JSON) -> bool:
    if type(left) is type(right) and isinstance(left, str | int | float):
        return left == right
    return identity(left) == identity(right)


def is_finite(number: float) -> bool:
    """Return whether a number is within the range of doubles; others are parsed as infinite."""
    return isinstance(number, int) or isfinite(number)


def exact(number: float) -> Fraction:
    """Return the exact decimal value: 0.1 is one tenth, not the nearest binary fraction."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))
