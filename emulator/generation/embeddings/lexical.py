"""Compute embedding vectors of texts by their words (``geometry: lexical``): those that share words or stems are close.

``declared.py`` calls it. A word has several features: its stem and its parts of three characters. Each adds its weight
to a component that a hash chooses; a Hadamard transform then spreads the sums over all components.
"""

from __future__ import annotations

import itertools
import re
import struct
import unicodedata
from collections.abc import Iterator, Sequence
from math import sqrt
from typing import TYPE_CHECKING
from zlib import crc32

from emulator.core.cache import BoundedCache, lru
from emulator.generation.embeddings.unit_vectors import HALF_STEPS, draw_signs, normalize, round_steps, transform
from emulator.generation.language import FUNCTION_WORDS

if TYPE_CHECKING:
    from emulator.generation.embeddings.unit_vectors import Doubles, Floats

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ASCII_WORDS = bytes(code if chr(code).isalnum() or code == 0x27 else 0x20 for code in range(128)).lower().ljust(256)
# Scripts without blanks between words: kana, ideographs, hangul, Thai.
_CHARACTERS = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7a3\u0e00-\u0e7f"
_SPACELESS = re.compile(f"[{_CHARACTERS}]")
_PARTS = re.compile(f"[{_CHARACTERS}]+|[^{_CHARACTERS}]+")
_FUNCTION_CHARACTERS = frozenset(
    "的了是我你他她它们吗呢吧在有和与就不也都而及如何怎么什请问想要可以一这那个はがをにでとのもかですますたて은는이가을를에의"
)
_ENDINGS = frozenset(
    [
        *("ungen", "heiten", "keiten", "ations", "ation", "ments", "ment", "ness", "ingly", "edly", "lich", "isch"),
        *("ing", "ies", "ied", "ung", "ern", "ers", "est", "ed", "er", "es", "en", "em", "ly", "s", "e", "y", "n"),
    ]
)
_LONGEST_ENDING = max(map(len, _ENDINGS))
_MIN_STEM = 3  # characters
_FULL, _SLIGHT = 1000, 220  # weight of a word that carries meaning, and of a function word
_STEM_SHARE, _GRAM_SHARE = 0.72, 0.28  # of the square of a word's weight
_GRAMS = 6  # parts of a word that count: those with the least hashes, so that similar words share them
_PAIR_WEIGHT = 260  # of two adjacent words
_COMMON = 9  # the part that all texts share is a ninth of the rest: unrelated texts have a cosine of 0.1
_MAX_WORDS = 4096  # of a text that are read: the sum of their weights is below 2**24, so float32 holds it
_MAX_WORD = 40  # characters of a cached word
_MAX_CACHED = 4096  # components, and characters of a text, of a vector that is cached
_MIX = 0x9E3779B1
_EXACT = 2.0**53  # below it float64 holds every integer
_BLOCK = 16384  # components worked on at once: the intermediate arrays stay in the second-level cache

# A feature is an uint32: its weight in the upper 12 bits, with an offset, then a flag for the stem of a word that has a
# part in pairs, and in the lower 16 bits its place.
_SHIFT, _OFFSET = 20, 1 << 11
_IN_PAIRS = 1 << 16
_PLACE = _IN_PAIRS - 1


class _Vectors(BoundedCache[str, "Floats"]):
    """Cache of the vectors of texts; empties itself beyond a maximum."""

    max_entries = 1024


@lru(4)
def _vectors_of(model: bytes, dimensions: int) -> _Vectors:
    return _Vectors()


def draw_lexical(texts: Sequence[str], dimensions: int, model: bytes) -> Floats:
    """Return the vectors of texts by their words; read-only ones, as they may be cached."""
    import numpy as np

    if dimensions > _MAX_CACHED:
        return _draw(texts, dimensions, model)
    cache = _vectors_of(model, dimensions)
    known = {text: row for text in texts if (row := cache.get(text)) is not None}
    missing = [*dict.fromkeys(text for text in texts if text not in known)] if known else [*dict.fromkeys(texts)]
    if missing:
        drawn = _draw(missing, dimensions, model)
        drawn.flags.writeable = False
        for text, row in zip(missing, drawn, strict=True):
            known[text] = cache.keep(text, row) if len(text) <= _MAX_CACHED else row
        if len(missing) == len(texts):
            return drawn
    return np.array([known[text] for text in texts])


def _draw(texts: Sequence[str], dimensions: int, model: bytes) -> Floats:
    """Return the vectors of texts by their words: a feature adds its weight to a place, which a transform spreads."""
    import numpy as np

    size = 1 << (dimensions - 1).bit_length()
    signs = draw_signs(model, "lexical", dimensions).astype(np.float32)
    rows = np.empty((len(texts), dimensions), dtype=np.float32)
    step = max(1, _BLOCK // size)
    for start in range(0, len(texts), step):
        sums = _sum_features([_read_words(text) for text in texts[start : start + step]], size)
        squares = (sums[:, None, :] @ sums[:, :, None]).ravel()
        common = np.maximum(np.floor(np.sqrt(squares / _COMMON)), 1.0)
        squares += common * (2.0 * sums[:, 0] + common)
        sums[:, 0] += common
        spread = transform(sums.astype(np.float32))
        if size == dimensions and squares.max() * size < _EXACT:
            spread *= (HALF_STEPS / np.sqrt(squares * size)).astype(np.float32)[:, None]
            np.multiply(round_steps(spread), signs, out=rows[start : start + step])
        else:
            rows[start : start + step] = normalize(spread[:, :dimensions].astype(np.float64) * signs)
    return rows


def _sum_features(texts: Sequence[bytes], size: int) -> Doubles:
    """Return the sums of the features of texts at each place, and at those of their pairs of adjacent words."""
    import numpy as np

    features = np.frombuffer(b"".join(texts), dtype="<u4").astype(np.uint32, copy=False)
    row_of = np.repeat(np.arange(len(texts)) * size, [len(data) // 4 for data in texts])
    is_paired = (features & np.uint32(_IN_PAIRS)).astype(bool)
    stems, rows = features[is_paired], row_of[is_paired]
    mixed = (stems[:-1] * np.uint32(3) + stems[1:])[rows[:-1] == rows[1:]] * np.uint32(_MIX)
    places = np.concatenate([features & np.uint32(size - 1), mixed >> np.uint32(11) & np.uint32(size - 1)])
    weights = np.concatenate(
        [
            features >> np.uint32(_SHIFT),
            (mixed >> np.uint32(31)) * np.uint32(2 * _PAIR_WEIGHT) + np.uint32(_OFFSET - _PAIR_WEIGHT),
        ]
    )
    in_rows = places + np.concatenate([row_of, rows[1:][rows[:-1] == rows[1:]]])
    sums: Doubles = np.bincount(in_rows, weights - float(_OFFSET), len(texts) * size).astype(np.float64, copy=False)
    return sums.reshape(len(texts), size)


def _read_words(text: str) -> bytes:
    """Return the features of a text's words, each word once; of a text without words one feature."""
    if text.isascii():
        words = text.encode().translate(_ASCII_WORDS).decode().split()
    else:
        found = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
        words = [part for word in itertools.islice(found, _MAX_WORDS) for part in _split_word(word)]
    if len(words) > _MAX_WORDS:
        del words[_MAX_WORDS:]
    features = b"".join(map(_FEATURES_OF.__getitem__, dict.fromkeys(words)))
    return features or _feature(_hash(f"text {text}"), _FULL).to_bytes(4, "little")


def _split_word(word: str) -> Iterator[str]:
    """Yield a word, or the characters and adjacent pairs of a script without blanks between words."""
    for part in _PARTS.findall(word):
        if _SPACELESS.match(part):
            yield from part
            yield from map("".join, itertools.pairwise(part))
        else:
            yield part


class _Features(BoundedCache[str, bytes]):
    """Cache of the features of each word, 4 bytes each; empties itself beyond a maximum."""

    max_entries = 1 << 14

    def __missing__(self, word: str) -> bytes:
        features = [*_read_word(word.strip("'"))]
        data = struct.pack(f"<{len(features)}I", *features)
        return self.keep(word, data) if len(word) <= _MAX_WORD else data


_FEATURES_OF = _Features()


def _read_word(word: str) -> Iterator[int]:
    """Yield the features of a word: its stem and its parts of three characters; nothing of an empty one."""
    if word in FUNCTION_WORDS:
        yield _feature(_hash(word), _SLIGHT)
    elif word.isdigit() or _SPACELESS.match(word):
        is_slight = not _FUNCTION_CHARACTERS.isdisjoint(word)
        yield _feature(_hash(word), round(_FULL * 0.3) if is_slight else _FULL) | _IN_PAIRS
    elif word:
        yield _feature(_hash(_stem(word)), round(_FULL * sqrt(_STEM_SHARE))) | _IN_PAIRS
        framed = f"<{word}>"
        hashes = sorted({_hash(framed[at : at + 3]) for at in range(len(framed) - 2)})[:_GRAMS]
        share = round(_FULL * sqrt(_GRAM_SHARE / len(hashes)))
        yield from [_feature(number, share) for number in hashes]


def _feature(number: int, weight: int) -> int:
    """Return a feature: its place and the sign of its weight by a hash."""
    return (_OFFSET + weight if number >> 31 else _OFFSET - weight) << _SHIFT | number & _PLACE


def _stem(word: str) -> str:
    """Return a word without its endings, so that its forms are alike: ``running``, ``runs`` → ``run``."""
    for _ in range(2):  # ``kittens``: a plural of ``kitten``, which looks like one itself
        for length in range(min(_LONGEST_ENDING, len(word) - _MIN_STEM), 0, -1):
            if word[-length:] in _ENDINGS:
                word = word[:-length]
                break
    if len(word) > _MIN_STEM and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word


def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))
