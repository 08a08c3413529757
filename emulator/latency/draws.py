"""Draws that are a function of their key alone.

The uniforms come from SHAKE-128, one call for any number of them, and the quantiles from the
standard library: no generator whose stream a new release may change.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from hashlib import shake_128
from itertools import count
from math import exp, log, sqrt
from statistics import NormalDist
from struct import Struct

from emulator.core.seed import derive

quantile_of_normal = NormalDist().inv_cdf


def draw_uniforms(key: bytes, size: int) -> list[float]:
    """``size`` numbers strictly between 0 and 1, of 52 bits; fewer are the beginning of more."""
    words = Struct(f">{size}Q").unpack(shake_128(key).digest(8 * size))  # struct.unpack remembers each form
    return [((word >> 12) + 0.5) * 2.0**-52 for word in words]


def draw_endlessly(key: bytes) -> Iterator[float]:
    """Uniforms for methods that cannot tell how many they need."""
    for block in count():
        yield from draw_uniforms(derive(key, block), 32)


def draw_gamma(shape: float, uniforms: Iterator[float]) -> float:
    """One draw with mean ``shape``, by rejection.

    Source: Marsaglia and Tsang, A Simple Method for Generating Gamma Variables, 2000.
    """
    if shape < 1:
        return draw_gamma(shape + 1, uniforms) * exp(log(next(uniforms)) / shape)
    d = shape - 1 / 3
    while True:
        x = quantile_of_normal(next(uniforms))
        v = (1 + x / sqrt(9 * d)) ** 3
        if v > 0 and log(next(uniforms)) < 0.5 * x * x + d * (1 - v + log(v)):
            return d * v


def interpolate(xs: Sequence[float], ys: Sequence[float], at: Sequence[float]) -> list[float]:
    """Straight lines between ascending points, level outside them."""
    values = []
    for x in at:
        right = bisect_left(xs, x)
        if 0 < right < len(xs):
            left = right - 1
            values.append(ys[left] + (ys[right] - ys[left]) * (x - xs[left]) / (xs[right] - xs[left]))
        else:
            values.append(ys[min(right, len(ys) - 1)])
    return values
