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

_DECIMALS = 10**7


def dump_float32(row: Row) -> bytes:
    """A JSON array of the fewest digits that give each float32 back, in plain decimals.

    A reader that rounds each number to float32 has the bytes of :func:`dump_base64`. Rows of
    ``engine.embeddings`` take a quick way: seven decimals, looked up in a table.

    Raises:
        ValueError: a component is infinite or not a number.
    """
    import numpy as np

    sevenths = np.rint(row * np.float64(_DECIMALS))
    if abs(sevenths).max(initial=0.0) < _DECIMALS and ((sevenths / _DECIMALS).astype(np.float32) == row).all():
        steps = sevenths.astype(np.int32)
        if (steps % 10 != 0).all():
            return _dump_steps(steps)
    return _join([float(str(value)) for value in row])


def dump_float64(row: Row) -> bytes:
    """A JSON array of each float32 promoted to double, as OpenVINO Model Server writes it.

    Raises:
        ValueError: a component is infinite or not a number.
    """
    values: list[float] = row.tolist()
    text = to_json(values)
    if b"e" in text or b"n" in text or b"N" in text:
        return _join(values)
    return text


def _join(values: list[float]) -> bytes:
    return f"[{','.join(map(format_float, values))}]".encode()


def _dump_steps(steps: NDArray[np.int32]) -> bytes:
    """Write ``steps / 10**7`` with seven decimals each; all are below 1.

    Each number is three words of four characters, ``"-0."`` and a digit too few of them: the sign
    of a positive one is a space, taken out at the end.
    """
    import numpy as np

    signs, heads, tails = _digit_words()
    sizes = np.abs(steps)
    words = np.empty((len(steps), 3), dtype="<u4")
    words[:, 0] = signs[(steps < 0).view(np.int8)]
    return words.tobytes()


@cache
def _digit_words() -> None:
    return None


def dump_base64(row: Row) -> str:
    """Little-endian float32 in padded base64, standard alphabet."""
    return b2a_base64(row.astype("<f4", copy=False), newline=False).decode("ascii")
