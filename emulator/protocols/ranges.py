"""``Range``: the bounds of a numeric request field, and the error outside of them.

MindIE, OpenVINO and TGI have tables of them.
"""

from math import inf, nextafter
from typing import NamedTuple


class Range(NamedTuple):
    """Closed range of a number; ``text``: of the error for a number outside it."""

    low: float
    high: float
    text: str

    def has(self, number: float) -> bool:
        return self.low <= number <= self.high


def above(number: float) -> float:
    """Return the next larger number, the lower bound of a range that excludes ``number``."""
    return nextafter(number, inf)


def below(number: float) -> float:
    """Return the next smaller number, the upper bound of a range that excludes ``number``."""
    return nextafter(number, -inf)
