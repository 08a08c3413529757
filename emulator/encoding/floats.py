"""Encode numbers as vendors write them: embedding vectors of float32, and single C++ doubles.

The functions for vectors take an array with one row per vector and return one JSON value per row.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Callable
from typing import TYPE_CHECKING

import orjson
from pydantic_core import to_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]
    Row = NDArray[np.float32]

_SEVEN_DECIMALS = re.compile(rb"-?(\d)e-7")


def dump_float32(rows: Rows) -> list[bytes]:
    """Return arrays of the shortest decimals that round-trip each float32.

    One digit with seven decimals has no exponent (``0.0000001``). A client that rounds each number to float32 gets the
    bytes of :func:`dump_base64`.

    Raises:
        ValueError: a component is infinite or not a number.
    """
    import numpy as np

    return [
        _rewrite_exponents(text, _format_seven_decimals) if b"e" in text else text
        for text in _encode_rows(np.ascontiguousarray(rows, dtype=np.float32))
    ]


def dump_float64(rows: Rows) -> list[bytes]:
    """Return arrays of each float32 promoted to double, as OpenVINO Model Server writes it.

    Raises:
        ValueError: a component is infinite or not a number.
    """
    import numpy as np

    return [
        _rewrite_exponents(text, _format_double) if b"e" in text else text
        for text in _encode_rows(np.ascontiguousarray(rows, dtype=np.float64))
    ]


def dump_base64(rows: Rows) -> list[bytes]:
    """Return strings of little-endian float32 in padded base64, standard alphabet."""
    data = memoryview(rows.astype("<f4", copy=False).tobytes())
    size = rows.shape[1] * 4
    encoded = [b2a_base64(data[at * size : (at + 1) * size], newline=False) for at in range(len(rows))]
    return [b"".join((b'"', text, b'"')) for text in encoded]  # "%b" would copy the text twice


def dump_int8(rows: Rows) -> list[bytes]:
    """Return arrays of integers -127 … 127, scaled so that the row's largest magnitude becomes 127.

    ``unverified``: how the vendor scales; the names are from Azure AI Model Inference, EmbeddingEncodingFormat.
    """
    return [to_json(_scale(row).tolist()) for row in rows]


def dump_uint8(rows: Rows) -> list[bytes]:
    """Return arrays of integers 1 … 255: :func:`dump_int8` plus 128."""
    return [to_json((_scale(row) + 128).tolist()) for row in rows]


def pack_ubinary(rows: Rows) -> list[bytes]:
    """Return arrays of bytes 0 … 255: eight signs a byte, the first in the highest bit, 1 for zero or more.

    Source: vLLM, vllm/entrypoints/pooling/embed/protocol.py (Cohere's embedding types).

    Raises:
        ValueError: the number of components is not a multiple of 8.
    """
    return [to_json(_pack_signs(row)) for row in rows]


def pack_binary(rows: Rows) -> list[bytes]:
    """Return arrays of integers -128 … 127: :func:`pack_ubinary` minus 128."""
    return [to_json([byte - 128 for byte in _pack_signs(row)]) for row in rows]


def format_float(value: float) -> str:
    """Format a double as rapidjson writes it: shortest digits, always with ``.0`` or a fraction.

    Decimals without an exponent from 1e-6 to below 1e21; beyond, an exponent without zero padding and without
    a plus sign (``1e-7``, ``1.5e21``).
    Source: rapidjson, include/rapidjson/internal/dtoa.h, Prettify.

    Raises:
        ValueError: infinite or not a number.
    """
    text = repr(value)
    if "n" in text:
        raise ValueError(f"{text} is not JSON")
    mantissa, _, power = text.partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(power or 0)  # value = 0.digits * 10**point
    digits = digits.rstrip("0")
    sign = "-" if text.startswith("-") else ""
    if not digits:
        return f"{sign}0.0"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if 0 < point <= 21:
        return f"{sign}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
    return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{point - 1}"


def _encode_rows(rows: NDArray[np.float32] | NDArray[np.float64]) -> list[bytes]:
    """Encode all rows in one call of orjson and split the result into rows."""
    text = orjson.dumps(rows, option=orjson.OPT_SERIALIZE_NUMPY)
    if b"n" in text:
        raise ValueError("infinite or not a number is not JSON")
    return [b"[%b]" % row for row in text[2:-2].split(b"],[")] if len(rows) else []


def _format_double(number: bytes) -> bytes:
    return format_float(float(number)).encode()


def _format_seven_decimals(number: bytes) -> bytes:
    """Format a number as :func:`format_float` does, but one digit with seven decimals without an exponent."""
    found = _SEVEN_DECIMALS.fullmatch(number)
    if found is None:
        return _format_double(number)
    return b"%b0.000000%b" % (b"-" if number.startswith(b"-") else b"", found[1])


def _rewrite_exponents(text: bytes, rewrite: Callable[[bytes], bytes]) -> bytes:
    """Rewrite the numbers that have an exponent."""
    parts: list[bytes] = []
    done, at = 0, text.find(b"e")
    while at >= 0:
        start = text.rfind(b",", 0, at) + 1 or 1
        end = text.find(b",", at)
        if end < 0:
            end = len(text) - 1
        parts += text[done:start], rewrite(text[start:end])
        done, at = end, text.find(b"e", end)
    return b"".join([*parts, text[done:]])


def _scale(row: Row) -> NDArray[np.int16]:
    import numpy as np

    wide = row.astype(np.float64)
    largest = np.abs(wide).max(initial=0.0)
    return np.rint(wide * (127.0 / largest if largest else 0.0)).astype(np.int16)


def _pack_signs(row: Row) -> list[int]:
    import numpy as np

    if len(row) % 8:
        raise ValueError(f"{len(row)} components do not fill whole bytes")
    packed: list[int] = np.packbits(row >= 0).tolist()
    return packed
