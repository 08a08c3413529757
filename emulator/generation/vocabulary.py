"""Load the vocabulary of the generated tokenizers: pieces of text, most common first.

``tokenizer.py`` cuts texts into these pieces. The file is ready-made by ``tests.tools.vocabulary.make``, so a piece has
the same rank, and so the same id, in every process.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import orjson

VOCABULARY = Path(__file__).parent / "data" / "vocabulary" / "vocabulary.json"
CJK_IDEOGRAPHS = range(0x4E00, 0xA000)
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)

_CONTRACTIONS = "'s 't 're 've 'm 'll 'd 'S 'T 'RE 'VE 'M 'LL 'D"
_MORE_SCRIPTS = (range(0x5D0, 0x5EB), range(0x621, 0x653))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Pieces that a vocabulary of any size holds.

    Fields:
        pieces: texts of the tokens by rank, without repetition.
        longest: length of the longest piece by its first three characters. Text that begins with no key starts with a
            piece of at most two characters.
    """

    pieces: Sequence[str]
    longest: Mapping[str, int]


@cache
def load_vocabulary() -> Vocabulary:
    """Load the pieces."""
    return Vocabulary(**orjson.loads(VOCABULARY.read_bytes()))


@cache
def load_scripts() -> tuple[str, ...]:
    """Load the pieces of large vocabularies only: Hebrew, Arabic and Cyrillic syllables."""
    syllables = [consonant + vowel for consonant in "бвгджзйклмнпрстфхцчшщ" for vowel in "аеиоуыьюяё"]
    return (*syllables, *map(chr, chain.from_iterable(_MORE_SCRIPTS)))


@cache
def load_contractions() -> tuple[str, ...]:
    """Load the English endings with an apostrophe, such as ``'s``."""
    return tuple(_CONTRACTIONS.split())


def measure_longest(more: Mapping[str, int]) -> Mapping[str, int]:
    """Return ``longest`` of the vocabulary extended by further pieces."""
    longest = load_vocabulary().longest
    beyond = {piece[:3]: len(piece) for piece in sorted(more, key=len) if len(piece) > longest.get(piece[:3], 2)}
    return {**longest, **beyond} if beyond else longest
