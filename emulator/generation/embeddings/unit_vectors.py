"""Arithmetic of ``lexical.py`` and ``declared.py``: rotate vectors, and give them length 1.

It is on integers that the types hold exactly, or correctly rounded, so every machine gives the same bits.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

from emulator.core.cache import lru

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Doubles = NDArray[np.float64]
    Real = TypeVar("Real", np.float32, np.float64)

MAX_COMPONENT = 1 << 20  # of a component before its square is summed
HALF_STEPS = 5e6  # components are odd multiples of 1e-7, as those of hashed vectors


def transform(rows: NDArray[Real]) -> NDArray[Real]:
    """Return the Walsh-Hadamard transform of each row: it keeps cosines and makes every component a sum of all.

    Two products with small matrices of 1 and -1: sums of integers below 2**53 (float32: 2**24) are exact in any order.
    """
    count, size = rows.shape
    height = 1 << (size.bit_length() - 1) // 2
    square = rows.reshape(count, height, size // height)
    left, right = (_hadamard(length).astype(rows.dtype) for length in (height, size // height))
    spread: NDArray[Real] = (left @ square @ right).reshape(count, size).astype(rows.dtype, copy=False)
    return spread


@lru(32)
def _hadamard(size: int) -> Doubles:
    import numpy as np

    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


@lru(64)
def draw_signs(model: bytes, use: str, count: int) -> Doubles:
    """Draw 1 or -1 for each component."""
    import numpy as np

    data = b"".join(
        blake2b(model + use.encode() + number.to_bytes(4, "little")).digest() for number in range(-(-count // 512))
    )
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))[:count]
    return bits.astype(np.float64) * 2.0 - 1.0


def normalize(rows: Doubles) -> Floats:
    """Return rows of integers with length 1, in odd multiples of 1e-7."""
    import numpy as np

    largest = np.maximum(rows.max(axis=1), -rows.min(axis=1))
    if (largest >= MAX_COMPONENT).any():  # by a power of two, so that nothing is rounded before the floor
        powers = [max(0, int(value).bit_length() - MAX_COMPONENT.bit_length() + 1) for value in largest]
        rows = np.floor(rows * np.array([2.0**-power for power in powers])[:, None])
    steps = rows * (HALF_STEPS / np.sqrt(np.einsum("ij,ij->i", rows, rows)))[:, None]
    return round_steps(steps).astype(np.float32)


def round_steps(steps: NDArray[Real]) -> NDArray[Real]:
    """Change multiples of 2e-7 into components: odd multiples of 1e-7."""
    import numpy as np

    np.floor(steps, out=steps)
    steps += 0.5
    steps /= HALF_STEPS
    return steps


def shorten(rows: Floats) -> Floats:
    """Return shortened rows with length 1 again."""
    import numpy as np

    return normalize(np.round(rows.astype(np.float64) * 2 * HALF_STEPS))
