"""Whole numbers that a client writes in digits, of which Python reads no more than 4,300."""

from __future__ import annotations

_MOST = 4_000
_BEYOND: int = 10**_MOST


def read_whole(digits: str) -> int:
    """The number; one of more than 4,000 digits is 10^4000 or its negative, beyond all that may be meant.

    Raises:
        ValueError: it is none.
    """
    if len(digits) <= _MOST:
        return int(digits)
    return -_BEYOND if digits.startswith("-") else _BEYOND
