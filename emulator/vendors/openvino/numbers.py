"""The classes of JSON numbers as the server's C++ reader tells them apart.

A literal with a fraction or an exponent is never an integer; a boolean is never a number. Source:
rapidjson, include/rapidjson/document.h (IsUint, IsInt, IsDouble), and model_server's use of them.
"""

from typing import TypeGuard

from emulator.core.json import JSON

UINT32 = 2**32
UINT64 = 2**64
_INT32 = 2**31
_INT64 = 2**63


def is_uint32(value: JSON) -> TypeGuard[int]:
    """An integer literal from 0 to 4294967295."""
    return type(value) is int and 0 <= value < UINT32


def is_uint64(value: JSON) -> TypeGuard[int]:
    """An integer literal from 0 to 2**64 - 1."""
    return type(value) is int and 0 <= value < UINT64


def is_int32(value: JSON) -> TypeGuard[int]:
    """An integer literal that fits 32 bits with a sign."""
    return type(value) is int and -_INT32 <= value < _INT32


def is_int64(value: JSON) -> TypeGuard[int]:
    """An integer literal that 64 bits hold, with or without a sign."""
    return type(value) is int and -_INT64 <= value < UINT64


def is_number(value: JSON) -> bool:
    """A literal with a fraction or exponent, an integer beyond 64 bits (read as a double), or an int32.

    Integers between 32 and 64 bits are neither: the server asks for a double or an int.
    """
    if type(value) is float:
        return True
    return type(value) is int and (-_INT32 <= value < _INT32 or not -_INT64 <= value < UINT64)
