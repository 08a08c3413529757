"""Keyed draws: stable for ever, and independent of one another."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.rng import (
    Part,
    derive_key,
    digest_long,
    draw_alphanumeric,
    draw_hex,
    draw_integer,
    draw_uniform,
    draw_uuid,
    prepare_key,
)

PART: st.SearchStrategy[Part] = (
    st.binary(max_size=8) | st.text(max_size=8) | st.integers() | st.floats() | st.none() | st.just("%a")
)
PARTS = st.lists(PART, max_size=4)


@pytest.mark.parametrize(
    ("parts", "key"),
    [
        pytest.param((), "de75f5edfabdb0477e652512e4287161", id="nothing"),
        pytest.param((7, "text"), "2743777d8e8000c694cbcb908fb0de4a", id="a seed and a name"),
        pytest.param((b"\x00\xff", None, 0.5), "8b8df1b3f0408b3a251fcd95d8045f58", id="one of each other type"),
        pytest.param(
            ("\U0001fae8", "\U0001f6dc"), "075892758bcd264172204e40a70bfa91", id="characters younger than Python 3.11"
        ),
    ],
)
def test_keys_are_stable(parts: tuple[Part, ...], key: str) -> None:
    assert derive_key(*parts).hex() == key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param((1,), ("1",), id="a number and its text"),
        pytest.param((1,), (1.0,), id="an integer and a float"),
        pytest.param((b"a",), ("a",), id="bytes and text"),
        pytest.param(("ab", "c"), ("a", "bc"), id="split elsewhere"),
        pytest.param(("a',", "b"), ("a", "',b"), id="split elsewhere, with quotes"),
        pytest.param(("a",), ("a", None), id="nothing more and None more"),
        pytest.param(("\ud800",), ("\ud801",), id="lone surrogates"),
    ],
)
def test_different_parts_give_different_keys(one: tuple[Part, ...], other: tuple[Part, ...]) -> None:
    assert derive_key(*one) != derive_key(*other)


@given(PARTS)
def test_key_has_sixteen_bytes(parts: list[Part]) -> None:
    assert len(derive_key(*parts)) == 16


@given(st.binary(max_size=16), st.integers(1, 10**6), PARTS)
def test_draws_stay_in_range(key: bytes, below: int, name: list[Part]) -> None:
    assert 0.0 <= draw_uniform(key, *name) < 1.0
    assert 0 <= draw_integer(key, below, *name) < below
    assert re.fullmatch(r"[0-9a-f]{32}", draw_hex(key, *name))
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", draw_uuid(key, *name))
    assert re.fullmatch(r"[0-9A-Za-z]{29}", draw_alphanumeric(key, 29, *name))


@given(st.integers(0, 32))
def test_hex_has_requested_digits(digits: int) -> None:
    assert len(draw_hex(b"key", "id", digits=digits)) == digits


def test_draws_are_uniform() -> None:
    uniforms = [draw_uniform(b"key", index) for index in range(4000)]
    assert sum(uniforms) / 4000 == pytest.approx(0.5, abs=0.02)
    counts = [0] * 10
    for index in range(4000):
        counts[draw_integer(b"key", 10, index)] += 1
    assert min(counts) > 320
    assert max(counts) < 480


def test_names_give_independent_draws() -> None:
    assert len({draw_uuid(b"key", name) for name in ("chat", "completion", 1, "1")}) == 4
    assert draw_alphanumeric(b"key", 40) != draw_alphanumeric(b"key", 40, "other")


@given(st.lists(PART, min_size=2, max_size=5), st.data())
def test_prepared_key_equals_derived_key(parts: list[Part], data: st.DataObject) -> None:
    given_later = [data.draw(st.booleans()) for _ in parts]
    prepared = prepare_key(*[... if later else part for part, later in zip(parts, given_later, strict=True)])
    assert prepared(*[part for part, later in zip(parts, given_later, strict=True) if later]) == derive_key(*parts)


@pytest.mark.parametrize("letter", ["a", "é", "\ud800"], ids=["ascii", "more", "half of a pair"])
def test_long_text_is_digested(letter: str) -> None:
    short, long = letter * 65_536, letter * 65_537
    assert digest_long(short) == short
    assert len(digest_long(long)) == 32
    assert len({digest_long(long), digest_long(long + "b"), digest_long("b" + long)}) == 3
