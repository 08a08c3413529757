"""Generate hashed embeddings: the same text, model and seed always give the same vector, and no two texts are close.

They are the default (``geometry: hashed``). ``lexical.py`` and ``declared.py`` make the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from emulator.core.cache import lru

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]
    Floats = NDArray[np.float32]
    Doubles = NDArray[np.float64]

_GAMMA = 0x9E3779B97F4A7C15  # the constants of SplitMix64 (Steele, Lea and Flood, 2014)
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_MEAN = 131070.5  # half a step off the mean of a sum of four 16-bit words, so that no component is zero
_HALF, _HALF_OF_LONG = 5e6, 5e4  # an odd multiple (2k + 1) / 1e7 is (k + 0.5) / 5e6
_BLOCK = 16384  # components worked on at once: the intermediate arrays stay in the second-level cache


def embed(texts: Sequence[bytes], dimensions: int, normalized: bool = True) -> Floats:
    """Return one row of ``dimensions`` float32 per key in ``texts``; a row depends on its own key alone.

    Components are roughly normal (sums of four uniform draws) and never zero. They are odd multiples
    of 1e-7 (1e-5 if not ``normalized``) rounded to float32, so their shortest text is short.

    Args:
        texts: keys, each derived from all inputs of the vector.
        normalized: rows have length 1 within 1e-6; otherwise between 5 and 25.

    Only integer arithmetic and correctly rounded operations take part, and the squares are summed
    exactly up to 2**17 components: every machine gives the same bits.
    """
    import numpy as np

    rows = np.empty((len(texts), dimensions), dtype=np.float32)
    digests = b"".join([blake2b(text, digest_size=16).digest() for text in texts])
    keys = np.frombuffer(digests, dtype="<u8").astype(np.uint64).reshape(-1, 2)
    half = _HALF if normalized else _HALF_OF_LONG
    for block in _blocks(len(texts), dimensions):
        steps = _draw_steps(keys[block, 0], dimensions)
        lengths = np.sqrt(np.einsum("ij,ij->i", steps, steps))
        wanted = half if normalized else half * _draw_lengths(keys[block, 1])
        steps *= (wanted / lengths)[:, None]
        np.floor(steps, out=steps)
        steps += 0.5
        steps /= half
        rows[block] = steps
    return rows


def lengthen(rows: Floats, texts: Sequence[bytes]) -> Floats:
    """Return unit rows with the lengths that :func:`embed` draws for their keys, in odd multiples of 1e-5 as there."""
    import numpy as np

    digests = b"".join([blake2b(text, digest_size=16).digest() for text in texts])
    keys = np.frombuffer(digests, dtype="<u8").astype(np.uint64).reshape(-1, 2)
    longer = np.empty_like(rows)
    for block in _blocks(*rows.shape):
        steps = rows[block] * (_HALF_OF_LONG * _draw_lengths(keys[block, 1]))[:, None]
        np.floor(steps, out=steps)
        steps += 0.5
        np.divide(steps, _HALF_OF_LONG, out=longer[block], casting="same_kind")
    return longer


def _blocks(count: int, dimensions: int) -> Iterator[slice]:
    size = max(1, _BLOCK // dimensions)
    return (slice(start, start + size) for start in range(0, count, size))


def _draw_steps(keys: Words, dimensions: int) -> Doubles:
    """Draw halves of odd integers, roughly normal around zero: sums of four 16-bit words of a mixed counter."""
    import numpy as np

    words = keys[:, None] + _counters(dimensions)
    words *= _MIX[0]
    words ^= words >> np.uint64(32)
    words *= _MIX[1]
    words ^= words >> np.uint64(31)
    quarters = words.astype("<u8", copy=False).view("<u2").reshape(len(keys), 4, dimensions)
    steps: Doubles = quarters.sum(axis=1, dtype=np.int32) - np.float64(_MEAN)
    return steps


def _draw_lengths(keys: Words) -> Doubles:
    """Draw vector lengths in [5, 25)."""
    lengths: Doubles = (keys >> 11).astype("f8") * (20.0 * 2.0**-53) + 5.0
    return lengths


@lru(64)
def _counters(dimensions: int) -> Words:
    import numpy as np

    return np.arange(1, dimensions + 1, dtype=np.uint64) * np.uint64(_GAMMA)
