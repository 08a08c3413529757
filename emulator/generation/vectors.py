"""Vectors whose cosines mean something: declared texts as declared, others by the words that they share.

All arithmetic is on integers that float64 and int64 hold exactly, so every machine gives the same bits.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from base64 import b64decode
from binascii import Error
from collections.abc import Sequence
from hashlib import blake2b, sha256
from math import isqrt, sqrt
from typing import TYPE_CHECKING

from emulator.core.cache import lru
from emulator.core.geometry import Geometry, Kind, normalize
from emulator.generation.arrangement import Arrangement, arrange
from emulator.generation.embeddings import embed
from emulator.generation.language import FUNCTION_WORDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Doubles = NDArray[np.float64]

_LEAST_BLOCK = 64  # components in which declared vectors are arranged; the vector repeats such blocks
_SCALE = 1 << 20  # of a declared vector, in integers
_LARGEST = 1 << 20  # of a component before its square is summed
_HALF = 5e6  # components are odd multiples of 1e-7, as those of hashed vectors
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Scripts without blanks between words: kana, ideographs, hangul, Thai.
_CHARACTERS = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7a3\u0e00-\u0e7f"
_SPACELESS = re.compile(f"[{_CHARACTERS}]")
_PARTS = re.compile(f"[{_CHARACTERS}]+|[^{_CHARACTERS}]+")
_FUNCTION_CHARACTERS = frozenset(
    "的了是我你他她它们吗呢吧在有和与就不也都而及如何怎么什请问想要可以一这那个はがをにでとのもかですますたて은는이가을를에의"
)
_ENDINGS = (
    *("ungen", "heiten", "keiten", "ations", "ation", "ments", "ment", "ness", "ingly", "edly", "lich", "isch"),
    *("ing", "ies", "ied", "ung", "ern", "ers", "est", "ed", "er", "es", "en", "em", "ly", "s", "e", "y", "n"),
)
_LEAST_STEM = 3  # characters
_FULL, _SLIGHT = 1000, 220  # weight of a word that carries meaning, and of a function word
_STEM_SHARE, _GRAM_SHARE = 0.72, 0.28  # of the square of a word's weight
_PAIR_WEIGHT = 260  # of two adjacent words
_COMMON = 9  # the part that all texts share is a ninth of the rest: unrelated texts have a cosine of 0.1
_MAX_WORDS = 4096  # of a text that are read
_MIX = 0x9E3779B97F4A7C15


def embed_texts(
    geometry: Geometry, texts: Sequence[str], keys: Sequence[bytes], dimensions: int, length: int, model: bytes
) -> Floats:
    """Return one unit row of ``length`` float32 per text; a shorter one is the beginning of that of ``dimensions``.

    Args:
        keys: from which the vectors of hashed texts are drawn.
        model: models with different keys have the same cosines and different coordinates.

    Bounds: in ``dimensions``, declared cosines hold to 1e-3. Shortened to a multiple of the block they hold as well:
    the block is the power of two from 64 on that holds all declared texts. Other lengths add an error of at most the
    block over the length. Cosines by words have an error of about the square root of 1 over the length.
    """
    import numpy as np

    rows = np.empty((len(texts), max(dimensions, length)), dtype=np.float32)
    width = rows.shape[1]
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
            rows[rest] = _draw_lexical([captioned[number] for number in rest], width, model)
        else:
            rows[rest] = embed([keys[number] for number in rest], width)
    return rows if length == width else _shorten(rows[:, :length])


def count_block(texts: int, dimensions: int) -> int:
    """Return the length of the blocks in which so many declared texts are arranged; 0 if they do not fit."""
    block = min(_LEAST_BLOCK, 1 << dimensions.bit_length() - 1)
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
    signs = _draw_signs(model, "declared", 2 * dimensions)
    for number in range(dimensions // block):
        first, second = (signs[part * dimensions + number * block :][:block] for part in (0, 1))
        rows[:, number * block : (number + 1) * block] = _transform(_transform(start * first) * second)
    return _normalize(rows)


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


def _draw_lexical(texts: Sequence[str], dimensions: int, model: bytes) -> Floats:
    """Return the vectors of texts by their words: a feature adds its weight to a place, which a transform spreads."""
    import numpy as np

    size = 1 << (dimensions - 1).bit_length()
    read = [_read_features(text) for text in texts]
    features = np.frombuffer(b"".join([pair[0] for pair in read]), dtype="<u8").reshape(-1, 2).astype(np.uint64)
    stems = np.frombuffer(b"".join([pair[1] for pair in read]), dtype="<u8").astype(np.uint64)
    rows = np.arange(len(texts))
    of_features = np.repeat(rows, [len(pair[0]) // 16 for pair in read])
    of_stems = np.repeat(rows, [len(pair[1]) // 8 for pair in read])
    pairs = (stems[:-1] * np.uint64(3) + stems[1:])[of_stems[:-1] == of_stems[1:]]
    of_pairs = of_stems[:-1][of_stems[:-1] == of_stems[1:]]
    hashes = np.concatenate([features[:, 0], pairs])
    weights = np.concatenate([features[:, 1].astype(np.float64), np.full(len(pairs), float(_PAIR_WEIGHT))])
    mixed = (hashes ^ np.uint64(int.from_bytes(model[:8], "little"))) * np.uint64(_MIX)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(_MIX)
    places = (mixed >> np.uint64(40)).astype(np.int64) & (size - 1)
    weights[mixed >> np.uint64(63) == 0] *= -1.0
    flat = np.concatenate([of_features, of_pairs]) * size + places
    sums: Doubles = np.bincount(flat, weights, minlength=len(texts) * size).reshape(len(texts), size).astype(np.float64)
    squares = np.einsum("ij,ij->i", sums, sums)
    spread = _transform(sums)[:, :dimensions]
    common = _draw_signs(model, "common", dimensions)
    spread += common * np.array([isqrt(int(square) // _COMMON) or 1 for square in squares])[:, None]
    return _normalize(spread)


def _read_features(text: str) -> tuple[bytes, bytes]:
    """Return the features of a text's words, 16 bytes each: hash and weight; and the hashes of its stems, in order."""
    if text.isascii():
        words = _WORD.findall(text.lower())[:_MAX_WORDS]
    else:
        found = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())[:_MAX_WORDS]
        words = [part for word in found for part in _split_word(word)]
    if not words:
        return b"".join((_hash(f"text {text}"), _FULL.to_bytes(8, "little"))), b""
    known = {word: _read_word(word) for word in words}
    stems = [known[word][:8] for word in words if word not in FUNCTION_WORDS]
    return b"".join(known.values()), b"".join(stems)


def _split_word(word: str) -> list[str]:
    """Return a word, or the characters and adjacent pairs of a script without blanks between words."""
    parts: list[str] = []
    for part in _PARTS.findall(word):
        if _SPACELESS.match(part):
            parts += [*part, *map("".join, itertools.pairwise(part))]
        else:
            parts.append(part)
    return parts


@lru(1 << 14)
def _read_word(word: str) -> bytes:
    """Return the features of a word, hash and weight of each: its stem, and its parts of three characters."""
    weight = _SLIGHT if word in FUNCTION_WORDS else _FULL
    if _SPACELESS.match(word):
        weight = round(weight * (0.3 if _FUNCTION_CHARACTERS.intersection(word) else 1.0))
        return _hash(word) + weight.to_bytes(8, "little")
    framed = f"<{word}>"
    grams = sorted({framed[at : at + 3] for at in range(len(framed) - 2)})
    share = round(weight * sqrt(_GRAM_SHARE / len(grams))).to_bytes(8, "little")
    stem = _hash(_stem(word)) + round(weight * sqrt(_STEM_SHARE)).to_bytes(8, "little")
    return stem + b"".join([_hash(gram) + share for gram in grams])


@lru(1 << 14)
def _stem(word: str) -> str:
    """Return a word without its endings, so that its forms are alike: ``running``, ``runs`` → ``run``."""
    for _ in range(2):  # ``kittens``: a plural of ``kitten``, which looks like one itself
        found = [end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= _LEAST_STEM]
        word = word.removesuffix(found[0]) if found else word
    if len(word) > _LEAST_STEM and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _transform(rows: Doubles) -> Doubles:
    """Return the Walsh-Hadamard transform of each row: it keeps cosines and makes every component a sum of all.

    Two products with small matrices of 1 and -1; sums of integers below 2**53 are exact in any order.
    """
    count, size = rows.shape
    height = 1 << (size.bit_length() - 1) // 2
    square = rows.reshape(count, height, size // height)
    spread: Doubles = (_hadamard(height) @ square @ _hadamard(size // height)).reshape(count, size)
    return spread


@lru(32)
def _hadamard(size: int) -> Doubles:
    import numpy as np

    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


@lru(64)
def _draw_signs(model: bytes, use: str, count: int) -> Doubles:
    """Draw 1 or -1 for each component."""
    import numpy as np

    data = b"".join(
        blake2b(model + use.encode() + number.to_bytes(4, "little")).digest() for number in range(-(-count // 512))
    )
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))[:count]
    return bits.astype(np.float64) * 2.0 - 1.0


def _normalize(rows: Doubles) -> Floats:
    """Return rows of integers with length 1, in odd multiples of 1e-7."""
    import numpy as np

    largest = np.maximum(rows.max(axis=1), -rows.min(axis=1))
    if (largest >= _LARGEST).any():  # by a power of two, so that nothing is rounded before the floor
        powers = [max(0, int(value).bit_length() - _LARGEST.bit_length() + 1) for value in largest]
        rows = np.floor(rows * np.array([2.0**-power for power in powers])[:, None])
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    steps = rows * (_HALF / lengths)[:, None]
    np.floor(steps, out=steps)
    steps += 0.5
    steps /= _HALF
    scaled: Floats = steps.astype(np.float32)
    return scaled


def _shorten(rows: Floats) -> Floats:
    """Return shortened rows with length 1 again."""
    import numpy as np

    return _normalize(np.round(rows.astype(np.float64) * 2 * _HALF))
