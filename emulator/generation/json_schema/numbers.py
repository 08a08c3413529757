"""Generate numbers within bounds that satisfy ``multipleOf``, by exact arithmetic.

``build.py`` calls it for each number of an instance.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil, floor, gcd, lcm

from emulator.core.json import JSON
from emulator.core.rng import draw_integer
from emulator.generation.json_schema.shape import Interval, Style

_MAX_EXACT = Fraction(2**53 - 1)  # the largest integer that every JSON parser keeps
_MAX_FRACTION = Fraction(10**9)  # a double this large still has six exact decimals
_MAX_INTEGER = 10**4300  # Python parses no integer of more digits
_MAX_DISTANCE = 128
_PRECISIONS = (Fraction(1, 100), Fraction(1, 10**4), Fraction(1, 10**8), Fraction(1, 10**16), Fraction(1, 10**40))


def common_multiple(multiples: list[Fraction]) -> Fraction:
    """Return the least common multiple."""
    found = multiples[0]
    for other in multiples[1:]:
        numerator = lcm(found.numerator, other.numerator)
        found = Fraction(numerator, gcd(found.denominator, other.denominator))
    return found


def write_number(kind: str, interval: Interval, multiples: list[Fraction], key: bytes, style: Style,
                 wanted: tuple[float, float], fits: Callable[[JSON], bool]) -> int | float | None:  # fmt: skip
    """Generate a number of a type of :data:`shape.TYPES`; return ``None`` if there is none.

    Args:
        wanted: plausible range, used where the interval allows.
        fits: returns whether a number meets all other constraints.
    """
    for step in _steps(kind, multiples):
        low, high = _grid(interval, step)
        if low is not None and high is not None and low > high:
            continue
        for at in _around(_choose(low, high, step, key, style, wanted), low, high):
            number = _to_number(at * step)
            if isinstance(number, int) == (kind == "integer") and abs(number) < _MAX_INTEGER and fits(number):
                return number
    return None


def _around(middle: int, low: int | None, high: int | None) -> Iterator[int]:
    """Yield ``middle`` and its neighbours within the bounds."""
    for distance in range(_MAX_DISTANCE):
        for at in {middle + distance: None, middle - distance: None}:
            if (low is None or at >= low) and (high is None or at <= high):
                yield at


def _steps(kind: str, multiples: list[Fraction]) -> list[Fraction]:
    """Return the step sizes to try, the coarsest first."""
    if kind == "integer":
        return [common_multiple([*multiples, Fraction(1)])]
    return [common_multiple(multiples)] if multiples else list(_PRECISIONS)


def _grid(interval: Interval, step: Fraction) -> tuple[int | None, int | None]:
    """Return the minimum and maximum ``n`` with ``n * step`` within the interval."""
    low = high = None
    if interval.low is not None:
        low = ceil(interval.low / step)
        low += interval.open_low and low * step == interval.low
    if interval.high is not None:
        high = floor(interval.high / step)
        high -= interval.open_high and high * step == interval.high
    return low, high


def _choose(low: int | None, high: int | None, step: Fraction, key: bytes, style: Style,
            wanted: tuple[float, float]) -> int:  # fmt: skip
    if style.extreme or style.hostile:
        return _extreme(low, high, step, key, style.hostile)
    if not style.hints:
        return _nearest_zero(low, high)
    first, last = ceil(Fraction(wanted[0]) / step), floor(Fraction(wanted[1]) / step)
    first, last = _overlap(low, high, first, max(first, last))
    return first + draw_integer(key, last - first + 1, "number")


def _overlap(low: int | None, high: int | None, first: int, last: int) -> tuple[int, int]:
    """Return the allowed part of the range ``first`` to ``last``; if none is, a range as wide at the nearest bound."""
    width = last - first
    if low is None:
        low = first if high is None else min(first, high - width)
    if high is None:
        high = max(last, low + width)
    if max(low, first) <= min(high, last):
        return max(low, first), min(high, last)
    return low, high


def _nearest_zero(low: int | None, high: int | None) -> int:
    if low is not None and low > 0:
        return low
    return high if high is not None and high < 0 else 0


def _extreme(low: int | None, high: int | None, step: Fraction, key: bytes, hostile: bool) -> int:
    far = floor((_MAX_EXACT if step.denominator == 1 else _MAX_FRACTION) / step)
    ends = [low if low is not None else (-far if high is None or high > -far else high)]
    ends.append(high if high is not None else (far if low is None or low < far else low))
    if hostile and (low is None or low <= 0) and (high is None or high >= 0):
        ends.append(0)
    return ends[draw_integer(key, len(ends), "end")]


def _to_number(number: Fraction) -> int | float:
    if number.denominator == 1:
        return int(number)
    if abs(number) > _MAX_EXACT:
        return round(number)  # a double this large has no fraction
    value = float(number)
    return int(value) if value.is_integer() else value
