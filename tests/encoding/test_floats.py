"""Vectors and numbers, to the byte."""

import base64
import json
import math
import struct
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from emulator.encoding.floats import (
    dump_base64,
    dump_float32,
    dump_float64,
    dump_int8,
    dump_uint8,
    format_float,
    pack_binary,
    pack_ubinary,
)

Row = NDArray[np.float32]

FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
SEVENTHS = st.integers(-(10**7) + 1, 10**7 - 1).map(lambda steps: (steps | 1) / 1e7)  # of unit vectors
FIFTHS = st.integers(-(64 * 10**5), 64 * 10**5).map(lambda steps: steps / 1e5)
ROWS = st.one_of(*(st.lists(each, max_size=9) for each in (FLOAT32, SEVENTHS, FIFTHS, FLOAT32 | SEVENTHS | FIFTHS)))


Dump = Callable[[Row], list[bytes]]


def make_row(values: list[float]) -> Row:
    return np.array(values, dtype=np.float32)


def dump(encode: Dump, row: Row) -> bytes:
    """The JSON value of one row."""
    (value,) = encode(row[None])
    return value


@given(ROWS)
def test_every_encoding_preserves_float_bits(values: list[float]) -> None:
    row = make_row(values)
    bits = row.astype("<f4").tobytes()
    assert base64.b64decode(json.loads(dump(dump_base64, row)), validate=True) == bits
    assert make_row(json.loads(dump(dump_float32, row))).astype("<f4").tobytes() == bits
    assert struct.pack(f"<{len(values)}d", *json.loads(dump(dump_float64, row))) == row.astype("<f8").tobytes()


@given(ROWS)
def test_dump_float64_formats_each_promoted_value(values: list[float]) -> None:
    row = make_row(values)
    assert dump(dump_float64, row).decode() == f"[{','.join(format_float(float(value)) for value in row)}]"


@given(ROWS)
def test_dump_float32_writes_shortest_digits(values: list[float]) -> None:
    row = make_row(values)
    assert json.loads(dump(dump_float32, row)) == [float(str(value)) for value in row]


@given(st.lists(SEVENTHS, min_size=1, max_size=9))
def test_batched_rows_match_single_rows(values: list[float]) -> None:
    together = make_row(values)[:, None]
    for encode in (dump_float32, dump_float64, dump_base64, dump_int8, dump_uint8):
        assert encode(together) == [dump(encode, make_row([value])) for value in values]


def test_empty_matrix_gives_no_rows() -> None:
    for encode in (dump_float32, dump_float64, dump_base64):
        assert encode(np.empty((0, 4), dtype=np.float32)) == []


@pytest.mark.parametrize(
    ("encode", "values", "text"),
    [
        pytest.param(dump_float32, [], b"[]", id="no component"),
        pytest.param(dump_float32, [0.0123457, -0.0000001], b"[0.0123457,-0.0000001]", id="seven decimals"),
        pytest.param(
            dump_float32, [3e-7, -3e-7, 3.5e-7], b"[0.0000003,-0.0000003,3.5e-7]", id="one digit of seven decimals"
        ),
        pytest.param(dump_float32, [0.9999999, -0.9999999], b"[0.9999999,-0.9999999]", id="almost one"),
        pytest.param(dump_float32, [0.5, -0.25], b"[0.5,-0.25]", id="no trailing zeros"),
        pytest.param(dump_float32, [1.0, -2.0, 0.0], b"[1.0,-2.0,0.0]", id="whole numbers keep a decimal"),
        pytest.param(dump_float32, [12.34567, -0.00003], b"[12.34567,-0.00003]", id="five decimals"),
        pytest.param(dump_float32, [22.33, 1234.5678], b"[22.33,1234.5677]", id="as short as float32 allows"),
        pytest.param(dump_float32, [1 / 3, 3e-9], b"[0.33333334,3e-9]", id="any value"),
        pytest.param(dump_float64, [], b"[]", id="no component, promoted"),
        pytest.param(dump_float64, [1.0, 2.0, 3.0], b"[1.0,2.0,3.0]", id="whole numbers, promoted"),
        pytest.param(dump_float64, [22.33], b"[22.329999923706055]", id="promoted to double"),
        pytest.param(dump_float64, [0.5, 3e-9], b"[0.5,3.000000026176508e-9]", id="tiny, promoted"),
        pytest.param(
            dump_float64, [2**-30, 1.0, 2**-30], b"[9.313225746154785e-10,1.0,9.313225746154785e-10]", id="ends"
        ),
        pytest.param(dump_float64, [2**-18], b"[0.000003814697265625]", id="small in plain decimals, promoted"),
        pytest.param(dump_float64, [2.0**60], b"[1152921504606847000.0]", id="large in plain decimals, promoted"),
    ],
)
def test_dump(encode: Dump, values: list[float], text: bytes) -> None:
    assert dump(encode, make_row(values)) == text


def test_base64_is_little_endian_and_padded() -> None:
    assert dump(dump_base64, make_row([1.0, 2.0, 3.0])) == b'"AACAPwAAAEAAAEBA"'
    assert dump(dump_base64, make_row([1.0])) == b'"AACAPw=="'
    assert dump(dump_base64, make_row([])) == b'""'


@pytest.mark.parametrize("encode", [dump_float32, dump_float64])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_non_finite_values_are_refused(encode: Dump, value: float) -> None:
    with pytest.raises(ValueError, match="is not JSON"):
        dump(encode, make_row([0.5, value]))


@given(st.lists(FLOAT32, min_size=1, max_size=9))
def test_int8_and_uint8_preserve_order_and_fill_range(values: list[float]) -> None:
    row = make_row(values)
    signed, unsigned = json.loads(dump(dump_int8, row)), json.loads(dump(dump_uint8, row))
    assert [value + 128 for value in signed] == unsigned
    assert max(map(abs, signed)) == (127 if any(values) else 0)
    order = sorted(range(len(values)), key=lambda index: row[index])
    assert [signed[index] for index in order] == sorted(signed)


@pytest.mark.parametrize(
    ("values", "unsigned", "signed"),
    [
        pytest.param([1.0] * 8, b"[255]", b"[127]", id="all positive"),
        pytest.param([-1.0] * 8, b"[0]", b"[-128]", id="all negative"),
        pytest.param([0.1] + [-0.1] * 7, b"[128]", b"[0]", id="the first is the highest bit"),
        pytest.param([-0.1] * 15 + [0.1], b"[0,1]", b"[-128,-127]", id="the last is the lowest bit"),
        pytest.param([], b"[]", b"[]", id="no component"),
    ],
)
def test_binary_packs_eight_signs_per_byte(values: list[float], unsigned: bytes, signed: bytes) -> None:
    assert (dump(pack_ubinary, make_row(values)), dump(pack_binary, make_row(values))) == (unsigned, signed)


def test_binary_refuses_partial_bytes() -> None:
    with pytest.raises(ValueError, match="9 components do not fill whole bytes"):
        dump(pack_binary, make_row([1.0] * 9))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(0.0, "0.0", id="zero"),
        pytest.param(-0.0, "-0.0", id="minus zero"),
        pytest.param(1.0, "1.0", id="a whole number"),
        pytest.param(-120.0, "-120.0", id="a whole number with zeros"),
        pytest.param(22.329999923706055, "22.329999923706055", id="shortest digits"),
        pytest.param(0.001, "0.001", id="a thousandth"),
        pytest.param(1e-5, "0.00001", id="where Python turns to exponents"),
        pytest.param(1.25e-6, "0.00000125", id="the smallest in plain decimals"),
        pytest.param(1e-7, "1e-7", id="an exponent without padding"),
        pytest.param(3.000000026176508e-09, "3.000000026176508e-9", id="an exponent with digits"),
        pytest.param(-1.5e-30, "-1.5e-30", id="a negative with an exponent"),
        pytest.param(5e-324, "5e-324", id="the smallest double"),
        pytest.param(1e16, "10000000000000000.0", id="large in plain decimals"),
        pytest.param(1.5e20, "150000000000000000000.0", id="the largest in plain decimals"),
        pytest.param(1e21, "1e21", id="an exponent without a plus sign"),
        pytest.param(1.7976931348623157e308, "1.7976931348623157e308", id="the largest double"),
    ],
)
def test_format_float(value: float, text: str) -> None:
    assert format_float(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_format_float_round_trips(value: float) -> None:
    text = format_float(value)
    assert struct.pack("d", float(text)) == struct.pack("d", value)
    assert isinstance(json.loads(text), float)
    assert "+" not in text
