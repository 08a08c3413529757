"""Ranges of numbers in a request."""

import pytest

from emulator.protocols.ranges import Range, above, below


@pytest.mark.parametrize(
    ("bounds", "inside", "outside"),
    [
        pytest.param(Range(-2.0, 2.0, ""), [-2, -2.0, 0, 2.0], [-2.1, 3], id="closed"),
        pytest.param(Range(above(0.0), 1.0, ""), [5e-324, 1], [0, -0.0, 1.1], id="open below"),
        pytest.param(Range(0, below(1.0), ""), [0, 1 - 2**-53], [1, 1.0], id="open above"),
        pytest.param(Range(1, 2**64 - 1, ""), [1, 2**64 - 1], [0, 2**64], id="integers beyond a double's digits"),
    ],
)
def test_range_has_its_bounds_unless_they_are_open(bounds: Range, inside: list[float], outside: list[float]) -> None:
    assert all(map(bounds.has, inside))
    assert not any(map(bounds.has, outside))
