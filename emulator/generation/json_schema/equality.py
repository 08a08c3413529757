"""When two JSON values are the same: 1 is 1.0, but true is not 1."""

from collections.abc import Hashable
from fractions import Fraction
from math import isfinite
from typing import TypeGuard

from emulator.core.json import JSON


def is_number(value: JSON) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def identity(value: JSON) -> Hashable:
    """A hashable stand-in: equal for equal JSON values and only for them."""
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
    """Not one of those beyond the range of doubles, which are read as infinite."""
    return isinstance(number, int) or isfinite(number)


def exact(number: float) -> Fraction:
    """The number as it is written in decimal: 0.1 is one tenth, not the nearest binary fraction."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))
