"""Compute the embedding vectors of all texts of a request under ``geometry: declared`` or ``lexical``.

``generate.py`` calls it. Declared texts have the cosines that the scenario declares; all others are ``lexical`` or
hashed. All arithmetic is on integers that float64 and int64 hold exactly, so every machine gives the same bits.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from emulator.core.cache import lru
from emulator.core.geometry import Geometry, Kind, normalize
from emulator.generation.embeddings.arrangement import Arrangement, arrange
from emulator.generation.embeddings.hashed import embed
from emulator.generation.embeddings.lexical import draw_lexical
from emulator.generation.embeddings.unit_vectors import draw_signs, shorten, transform
from emulator.generation.embeddings.unit_vectors import normalize as normalize_rows

if TYPE_CHECKING:
    from emulator.generation.embeddings.unit_vectors import Doubles, Floats

_MIN_BLOCK = 64  # components in which declared vectors are arranged; the vector repeats such blocks
_TRIED = 32  # rotations of a block, of which the one counts whose signs are most like the cosines, for binary vectors
_MAX_WORK = 1 << 18  # components of all rotations that are tried
_MAX_CHOSEN = 64  # blocks: enough for the rest to change little
_SCALE = 1 << 20  # of a declared vector, in integers


def embed_texts(
    geometry: Geometry, texts: Sequence[str], keys: Sequence[bytes], dimensions: int, length: int, model: bytes
) -> Floats:
    """Return one unit row of ``length`` float32 per text; a shorter one is the beginning of that of ``dimensions``.

    Args:
        keys: keys from which the vectors of hashed texts are drawn.
        model: models with different keys have the same cosines and different coordinates.

    Bounds: in ``dimensions``, declared cosines hold to 1e-3. Shortened to a multiple of the block they hold as well:
    the block is the power of two from 64 on that holds all declared texts. Other lengths add an error of at most the
    block over the length. Cosines by words have an error of about the square root of 1 over the length.
    """
    import numpy as np

    width = max(dimensions, length)
    if geometry.kind == "lexical" and not geometry.captions:
        rows = draw_lexical(texts, width, model)
        return rows if length == width else shorten(rows[:, :length])
    rows = np.empty((len(texts), width), dtype=np.float32)
    captioned = [_caption(geometry, text) for text in texts]
    found = [_find_declared(geometry, text) for text in captioned]
    if any(place is not None for place in found):
        declared = _draw_declared(geometry, width, model)
        for number, place in enumerate(found):
            if place is not None:
                rows[number] = declared[place]
    rest = [number for number, place in enumerate(found) if place is None]
    kind: Kind = geometry.otherwise if geometry.kind == "declared" else geometry.kind
    if rest:
        if kind == "lexical":
            rows[rest] = draw_lexical([captioned[number] for number in rest], width, model)
        else:
            rows[rest] = embed([keys[number] for number in rest], width)
    return rows if length == width else shorten(rows[:, :length])


def count_block(texts: int, dimensions: int) -> int:
    """Return the length of the blocks in which so many declared texts are arranged; 0 if they do not fit."""
    block = min(_MIN_BLOCK, 1 << dimensions.bit_length() - 1)
    while block < texts:
        block *= 2
    return block if block <= dimensions else 0


def _caption(geometry: Geometry, text: str) -> str:
    """Return the caption in place of an image: of its bytes in a data URL, or of its URL; other texts as they are."""
    if not geometry.captions:
        return text
    image, _, rest = text.partition("\n")
    name = image
    if image.startswith("data:"):
        try:
            name = sha256(b64decode(image.partition(",")[2])).hexdigest()
        except (Error, ValueError):
            return text
    caption = geometry.captions.get(name)
    return text if caption is None else f"{caption} {rest}".strip()


def _find_declared(geometry: Geometry, text: str) -> int | None:
    """Return the place of a text in the arrangement, or of the first pattern that matches it."""
    if geometry.kind != "declared":
        return None
    places, wanted = arrange(geometry).places, normalize(text)
    place = places.get(wanted)
    if place is None:
        for ranking in geometry.rankings:
            if ranking.matches is not None and ranking.matches(text):
                return places[ranking.query]
    return place


@lru(32)
def _draw_declared(geometry: Geometry, dimensions: int, model: bytes) -> Floats:
    """Return the vectors of the declared texts: blocks with the declared cosines, each in its own coordinates."""
    import numpy as np

    arrangement = arrange(geometry)
    block = count_block(len(arrangement.places), dimensions)
    factor = _factor(arrangement)
    start = np.zeros((len(factor), block))
    start[:, : len(factor)] = factor
    rows = np.full((len(factor), dimensions), 0.0)
    wanted = _count_common_signs(geometry, arrangement, block)
    reached = np.zeros_like(wanted)
    for number in range(dimensions // block):
        tried = min(_TRIED, max(1, _MAX_WORK // (len(factor) * block))) if number < _MAX_CHOSEN else 1
        signs = draw_signs(model, f"declared {number}", 2 * tried * block).reshape(2, tried, 1, block)
        first = transform((start * signs[0]).reshape(-1, block)).reshape(tried, -1, block)
        spread = transform((first * signs[1]).reshape(-1, block)).reshape(tried, -1, block)
        places = slice(number * block, (number + 1) * block)
        if tried > 1:
            ones = np.where(spread >= 0.0, 1.0, -1.0)
            common = reached + ones @ ones.transpose(0, 2, 1)
            off = np.where(np.isnan(wanted), 0.0, common - wanted * (number + 1))
            best = int(np.argmin(np.einsum("kij,kij->k", off, off)))
            reached, rows[:, places] = common[best], spread[best]
        else:
            rows[:, places] = spread[0]
    return normalize_rows(rows)


def _count_common_signs(geometry: Geometry, arrangement: Arrangement, block: int) -> Doubles:
    """Return how many more equal than different signs two texts have in a block; not a number if nothing is declared.

    Two vectors with the angle a have different signs in a share of a / pi of the components.
    """
    import numpy as np

    places = arrangement.places
    takes = np.zeros(arrangement.cosines.shape, dtype=bool)
    for pair in geometry.near:
        takes[places[pair.a], places[pair.b]] = True
    for ranking in geometry.rankings:
        takes[places[ranking.query]] = True
    wanted: Doubles = np.round(np.arcsin(np.clip(arrangement.cosines, -1.0, 1.0)) * (2.0 / np.pi) * block)
    return np.where(takes, wanted, np.nan)


def _factor(arrangement: Arrangement) -> Doubles:
    """Return the Cholesky factor of the cosines, in integers: the rows have these cosines.

    Column by column with elementwise operations, which round alike everywhere; LAPACK's do not.
    """
    import numpy as np

    left = arrangement.cosines.copy()
    size = len(left)
    factor = np.zeros((size, size))
    for column in range(size):
        factor[column:, column] = left[column:, column] / np.sqrt(left[column, column])
        part = factor[column + 1 :, column]
        left[column + 1 :, column + 1 :] -= part[:, None] * part[None, :]
    whole: Doubles = np.round(factor * _SCALE)
    return whole
