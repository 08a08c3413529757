"""Load the vocabulary of the generated tokenizers: pieces of text, most common first.

``tokenizer.py`` cuts texts into these pieces. The file is ready-made by ``tests.tools.vocabulary.make``, so a piece has
the same rank, and so the same id, in every process.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from pathlib import Path

from emulator.generation.pages import Listed, Pages, find_key, list_pieces
from emulator.generation.tokenizer_profiles import TokenizerProfile

VOCABULARY = Path(__file__).parent / "data" / "vocabulary" / "vocabulary.tsv"
CJK_IDEOGRAPHS = range(0x4E00, 0xA000)
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)

_CONTRACTIONS = "'s 't 're 've 'm 'll 'd 'S 'T 'RE 'VE 'M 'LL 'D"
_MORE_SCRIPTS = (range(0x5D0, 0x5EB), range(0x621, 0x653))


class Vocabulary:
    """Pieces that a vocabulary of any size holds, by rank and without repetition."""

    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        sizes = pages.header["sizes"]
        self.size: int = sizes["vocabulary"]  # type: ignore[assignment]

    def find_rank(self, piece: str) -> int | None:
        """Return the rank of a piece."""
        cells = self.pages.find(find_key(piece))
        pieces = cells[::2]
        return int(cells[2 * pieces.index(piece) + 1]) if piece in pieces else None

    @cached_property
    def pieces(self) -> Listed:
        """The pieces by rank, for those who decode ids."""
        return list_pieces(self.pages, self.size)


@cache
def load_vocabulary() -> Vocabulary:
    """Open the vocabulary."""
    return Vocabulary(Pages(VOCABULARY))


class NumberedPieces:
    """Ids of the pieces of one profile: fixed ones first, then bytes, then all pieces by rank on the remaining ids.

    Fields:
        own: ids of pieces that do not follow from their rank.
        end: the id after the last of a piece with a rank.
    """

    def __init__(self, profile: TokenizerProfile, byte_ids: Sequence[int]) -> None:
        vocabulary = load_vocabulary()
        self._vocabulary = vocabulary
        alone = 0x80 if profile.printable_first else 0x20
        own = dict(profile.fixed)
        own |= {chr(value): byte_ids[value] for value in range(alone) if chr(value) not in own}
        taken = sorted({*profile.fixed.values(), *byte_ids, *profile.special})
        self._taken = taken
        self._before = [id - number for number, id in enumerate(taken)]
        ranks = sorted(rank for piece in own if (rank := vocabulary.find_rank(piece)) is not None)
        self._left_out, self._ranks_before = ranks, [rank - number for number, rank in enumerate(ranks)]
        count = vocabulary.size - len(ranks)
        more = [*load_contractions()] if profile.contractions else []
        more += load_scripts() if profile.cjk else ()
        added = [piece for piece in more if piece not in own]
        own |= {piece: self._to_id(count + number) for number, piece in enumerate(added)}
        self._count = count
        self.end = self._to_id(count + len(added) - 1) + 1
        own |= profile.late
        self.own = own
        self._by_first: dict[str, list[str]] = {}
        for piece in own:
            self._by_first.setdefault(piece[0], []).append(piece)

    def load(self, key: str) -> dict[str, int]:
        """Return the ids of the pieces on the page of a key."""
        cells = self._vocabulary.pages.find(key)
        ids = dict(zip(cells[::2], map(self._number, map(int, cells[1::2])), strict=True))
        for piece in self._by_first.get(key[0], ()):
            if find_key(piece) == key:
                ids[piece] = self.own[piece]
        return ids

    def read(self, id: int) -> str | None:
        """Return the piece of an id."""
        piece = self._own_texts.get(id)
        if piece is not None or not 0 <= id < self.end:
            return piece
        place = bisect_left(self._taken, id)
        if self._taken[place : place + 1] == [id] or id - place >= self._count:
            return None
        number = id - place
        piece = self._vocabulary.pieces[number + bisect_right(self._ranks_before, number)]
        return piece if self.own.get(piece, id) == id else None

    @cached_property
    def _own_texts(self) -> Mapping[int, str]:
        return {id: piece for piece, id in self.own.items()}

    def _number(self, rank: int) -> int:
        return self._to_id(rank - bisect_left(self._left_out, rank))

    def _to_id(self, number: int) -> int:
        """Return the free id of that number."""
        return number + bisect_right(self._before, number)


@cache
def load_scripts() -> tuple[str, ...]:
    """Load the pieces of large vocabularies only: Hebrew, Arabic and Cyrillic syllables."""
    syllables = [consonant + vowel for consonant in "бвгджзйклмнпрстфхцчшщ" for vowel in "аеиоуыьюяё"]
    return (*syllables, *map(chr, chain.from_iterable(_MORE_SCRIPTS)))


@cache
def load_contractions() -> tuple[str, ...]:
    """Load the English endings with an apostrophe, such as ``'s``."""
    return tuple(_CONTRACTIONS.split())
