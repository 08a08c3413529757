"""Numbers as vendors write them: vectors of float32, and single doubles the C++ way."""

from __future__ import annotations

from binascii import b2a_base64
from functools import cache
from typing import TYPE_CHECKING

from pydantic_core import to_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]
    Words = NDArray[np.uint32]


def dump_float32(row: Row) -> bytes:
    """A JSON array of the fewest digits that give each float32 back.

    A reader that rounds each number to float32 gets the bytes of :func:`dump_base64`. The rows of
    ``engine.embeddings`` are quick: those of unit length by a table of digits, the others because
    five decimals suffice. Any other row costs a microsecond a component.

    Raises:
        ValueError: a component is infinite or not a number.
    """
    import numpy as np

    wide = row.astype(np.float64)
    largest = np.abs(wide).max(initial=0.0)
    if largest < 1.0:
        steps = np.rint(wide * 1e7)
        numerators = steps.astype(np.int32)
        if (numerators & 1).all() and ((steps / 1e7).astype(np.float32) == row).all():
            return _dump_sevenths(numerators)
    short = np.round(wide, 5)
    if largest < 64.0 and (short.astype(np.float32) == row).all():  # beyond 64, fewer digits may do
        return _dump_doubles(short.tolist())
    return _dump_doubles([float(str(value)) for value in row])


def dump_float64(row: Row) -> bytes:
    """A JSON array of each float32 promoted to double, as OpenVINO Model Server writes it.

    Raises:
        ValueError: a component is infinite or not a number.
    """
    return _dump_doubles(row.tolist())


def dump_base64(row: Row) -> str:
    """Little-endian float32 in padded base64, standard alphabet."""
    return b2a_base64(row.astype("<f4", copy=False).tobytes(), newline=False).decode("ascii")


def dump_int8(row: Row) -> bytes:
    """A JSON array of -127 … 127, the row's largest component being one of the two.

    ``unverified``: how the vendor scales; the names are from Azure AI Model Inference, EmbeddingEncodingFormat.
    """
    return to_json(_scale(row).tolist())


def dump_uint8(row: Row) -> bytes:
    """A JSON array of 1 … 255: :func:`dump_int8` moved up by 128."""
    return to_json((_scale(row) + 128).tolist())


def pack_ubinary(row: Row) -> bytes:
    """A JSON array of 0 … 255: eight signs a byte, the first in the highest bit, 1 for positive.

    Source: vLLM, vllm/entrypoints/pooling/embed/protocol.py (Cohere's embedding types).

    Raises:
        ValueError: the number of components is not a multiple of 8.
    """
    return to_json(_pack_signs(row))


def pack_binary(row: Row) -> bytes:
    """A JSON array of -128 … 127: :func:`pack_ubinary` moved down by 128."""
    return to_json([byte - 128 for byte in _pack_signs(row)])


def format_float(value: float) -> str:
    """A double as rapidjson writes it: shortest digits, always with ``.0`` or a fraction.

    Plain decimals from 1e-6 to below 1e21; beyond, an exponent without zero padding and without
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


def format_g6(value: float) -> str:
    """A double as C's ``%g`` and a C++ stream write it: six significant digits, no trailing zeros."""
    return f"{value:g}"


def _dump_doubles(values: list[float]) -> bytes:
    text = to_json(values, inf_nan_mode="null")
    if b"n" in text:
        raise ValueError("infinite or not a number is not JSON")
    return _respell(text) if b"e" in text else text


def _respell(text: bytes) -> bytes:
    """Write the numbers with an exponent, few as they are, as :func:`format_float` does."""
    parts: list[bytes] = []
    done, at = 0, text.find(b"e")
    while at >= 0:
        start = text.rfind(b",", 0, at) + 1 or 1
        end = text.find(b",", at)
        if end < 0:
            end = len(text) - 1
        parts += text[done:start], format_float(float(text[start:end])).encode()
        done, at = end, text.find(b"e", end)
    return b"".join([*parts, text[done:]])


def _dump_sevenths(numerators: NDArray[np.int32]) -> bytes:
    """Write each numerator over 10**7, below 1, with seven decimals.

    Three words of four characters a number, with a blank where it has no sign: half the time of
    converting one number after the other.
    """
    import numpy as np

    signs, fours, threes = _digit_words()
    sizes = np.abs(numerators)
    heads = sizes // 1000
    words = np.empty((len(sizes), 3), dtype=np.uint32)
    words[:, 0] = signs[numerators >> 31]  # 0, or -1: the last
    words[:, 1] = fours[heads]
    words[:, 2] = threes[sizes - heads * 1000]
    return b"[" + words.tobytes().translate(None, b" ")[:-1] + b"]"


@cache
def _digit_words() -> tuple[Words, Words, Words]:
    """The texts of a sign and ``0.``, of four digits, and of three with a comma, as four bytes each."""
    import numpy as np

    def pack(texts: list[str]) -> Words:
        return np.frombuffer("".join(texts).encode(), dtype=np.uint32)

    fours = pack([f"{number:04d}" for number in range(10000)])
    threes = pack([f"{number:03d}," for number in range(1000)])
    return pack(["  0.", " -0."]), fours, threes


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
