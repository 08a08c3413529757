"""Vectors that depend on their key alone."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from emulator.encoding.floats import dump_float32
from emulator.generation.embeddings.hashed import embed, lengthen

KEYS = [b"key %d" % number for number in range(300)]


def lengths(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = rows.astype(np.float64)
    squares: NDArray[np.float64] = (wide * wide).sum(axis=1)
    return np.sqrt(squares)


@pytest.mark.parametrize("normalized", [True, False])
@given(texts=st.lists(st.binary(max_size=20), max_size=5), dimensions=st.integers(1, 50))
def test_one_float32_row_per_text(texts: list[bytes], dimensions: int, normalized: bool) -> None:
    rows = embed(texts, dimensions, normalized)
    assert rows.shape == (len(texts), dimensions)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    assert (rows != 0.0).all()


@given(st.permutations(KEYS[:40]), st.integers(1, 2000), st.booleans())
def test_row_is_independent_of_batch(texts: list[bytes], dimensions: int, normalized: bool) -> None:
    rows = embed(texts, dimensions, normalized)
    for index in (0, 17, 39):
        assert np.array_equal(rows[index], embed([texts[index]], dimensions, normalized)[0])


@given(st.binary(max_size=20), st.integers(1, 4096))
def test_normalized_row_has_unit_length(text: bytes, dimensions: int) -> None:
    assert lengths(embed([text], dimensions))[0] == pytest.approx(1.0, abs=1e-6)


def test_unnormalized_row_lengths_vary() -> None:
    spread = lengths(embed(KEYS, 256, normalized=False))
    assert spread.min() == pytest.approx(5.0, abs=0.5)
    assert spread.max() == pytest.approx(25.0, abs=0.5)


def test_components_are_approximately_normal() -> None:
    rows = embed(KEYS, 1024).astype(np.float64) * 32.0
    assert rows.mean() == pytest.approx(0.0, abs=0.01)
    assert rows.std() == pytest.approx(1.0, abs=0.001)
    assert (rows**4).mean() == pytest.approx(2.7, abs=0.05)  # 3 for a normal distribution
    assert np.abs(rows.mean(axis=0)).max() < 0.3  # no component leans to one side


def test_rows_are_uncorrelated() -> None:
    cosines = np.triu(embed(KEYS, 1024) @ embed(KEYS, 1024).T, 1)
    assert np.abs(cosines).max() < 0.2
    assert abs(cosines.sum()) / len(KEYS) ** 2 * 2 < 0.001


@pytest.mark.parametrize(
    ("dimensions", "normalized", "digest"),
    [
        pytest.param(1024, True, "2a2bdb66ec2a8b51", id="unit length"),
        pytest.param(1024, False, "b178349710922d9d", id="not normalized"),
        pytest.param(3, True, "856b172a0b8876d1", id="three components"),
    ],
)
def test_bits_are_stable(dimensions: int, normalized: bool, digest: str) -> None:
    rows = embed(KEYS, dimensions, normalized)
    assert hashlib.blake2b(rows.astype("<f4").tobytes(), digest_size=8).hexdigest() == digest


@pytest.mark.parametrize(("normalized", "decimals"), [(True, 7), (False, 5)])
def test_numbers_have_fixed_decimals(normalized: bool, decimals: int) -> None:
    for row in dump_float32(embed(KEYS[:20], 768, normalized)):
        numbers = row[1:-1].decode().split(",")
        assert {len(number.partition(".")[2]) for number in numbers} == {decimals}


def test_lengthened_rows_keep_short_texts_and_directions() -> None:
    texts = [b"a", b"b", b"c"]
    unit, longer = embed(texts, 64), lengthen(embed(texts, 64), texts)
    steps = longer.astype(np.float64) * 1e5
    assert (np.abs(np.rint(steps)) % 2 == 1).all()
    assert np.abs(steps - np.rint(steps)).max() < 0.2  # float32 has 24 bits
    norms = lengths(longer)
    assert ((norms >= 4.99) & (norms < 25.01)).all()
    assert np.einsum("ij,ij->i", unit, longer) == pytest.approx(norms, rel=1e-5)
