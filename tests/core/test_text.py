"""Whole numbers of any length."""

import pytest

from emulator.core.text import parse_integer


@pytest.mark.parametrize(
    ("digits", "number"),
    [
        pytest.param("0012", 12, id="a few"),
        pytest.param("-7", -7, id="below nought"),
        pytest.param("9" * 4000, 10**4000 - 1, id="as many as are read"),
        pytest.param("9" * 100_000, 10**4000, id="more than Python reads"),
        pytest.param("-" + "9" * 100_000, -(10**4000), id="more than Python reads, below nought"),
    ],
)
def test_parse_integer(digits: str, number: int) -> None:
    assert parse_integer(digits) == number


def test_parse_integer_rejects_non_number() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        parse_integer("1x")
