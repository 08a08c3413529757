"""Durations and sizes with their units."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from emulator.core.units import parse_duration, parse_instant, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("0s", 0.0, id="none at all"),
        pytest.param("500us", 0.0005, id="microseconds"),
        pytest.param("250ms", 0.25, id="milliseconds"),
        pytest.param("1.5s", 1.5, id="a fraction of seconds"),
        pytest.param("2m", 120.0, id="minutes"),
        pytest.param("1h", 3600.0, id="an hour"),
        pytest.param("2d", 172800.0, id="days"),
        pytest.param("10h5m", 36300.0, id="hours and minutes"),
        pytest.param("4m59s", 299.0, id="minutes and seconds"),
        pytest.param("1d2h3m4.5s6ms7us", 93784.506007, id="every unit"),
        pytest.param(" 3s\n", 3.0, id="blanks around it"),
    ],
)
def test_duration(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "s",
        "1 s",
        "-1s",
        "1S",
        "1,5s",
        ".5s",
        "1.s",
        "1e3ms",
        "30s1m",
        "1m1m",
        "1m 30s",
        "1m30",
        "1sec",
        "١s",
        "３s",
    ],
)
def test_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration; write a number with a unit"):
        parse_duration(text)


@given(st.integers(0, 10**9))
def test_milliseconds_parse_as_thousandths(count: int) -> None:
    assert parse_duration(f"{count}ms") == pytest.approx(count / 1000)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("0B", 0, id="nothing"),
        pytest.param("512B", 512, id="bytes"),
        pytest.param("64KiB", 65536, id="kibibytes"),
        pytest.param("4MiB", 4194304, id="mebibytes"),
        pytest.param("1GiB", 1073741824, id="a gibibyte"),
    ],
)
def test_size(text: str, count: int) -> None:
    assert parse_size(text) == count


@pytest.mark.parametrize("text", ["", "64", "1.5MiB", "64KB", "64kib", "-1B", "1 MiB"])
def test_invalid_size_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a size; write a whole number with a unit"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("2026-01-01T00:00:00Z", 1767225600, id="UTC"),
        pytest.param("2026-01-01t01:00+01:00", 1767225600, id="a zone, without seconds"),
        pytest.param(" 2025-12-31 18:30:00.5-05:30 ", 1767225600.5, id="a fraction"),
    ],
)
def test_timestamp(text: str, seconds: float) -> None:
    assert parse_instant(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "2026-01-01", "2026-01-01T00:00:00", "2026-02-30T00:00:00Z", "2026-01-01T24:10:00Z", "1969-12-31T00:00Z"],
)
def test_invalid_timestamp_is_rejected(text: str) -> None:
    with pytest.raises(PydanticCustomError, match="expected a time"):
        parse_instant(text)
