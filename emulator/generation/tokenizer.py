"""Tokenizer per model family: plausible token counts, stable ids, and lossless decoding of every text.

It needs no vocabulary file, only a profile of ``tokenizer_profiles.py``; ``vocabulary_files.py`` has tokenizers of real
vocabularies.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from emulator.core.cache import BoundedCache, SizedCache, clear_all
from emulator.generation.further_pieces import FurtherPieces, find_common, load_limits
from emulator.generation.language import lean
from emulator.generation.pages import find_key
from emulator.generation.tokenizer_profiles import PROFILES, TokenizerProfile
from emulator.generation.vocabulary import (
    CJK_IDEOGRAPHS,
    HANGUL_SYLLABLES,
    NumberedPieces,
)

if TYPE_CHECKING:
    from emulator.generation.vocabulary_files import VocabularyTokenizer

    AnyTokenizer: TypeAlias = "ProfileTokenizer | VocabularyTokenizer"


_SLICE = 1 << 18  # characters cut into pieces at a time, so that a huge text needs no huge list
_MAX_WORD = 32  # characters of a cached word
_MEMO_BUDGET = 1 << 18  # items of all cached pieces, about 7 MB
_ENTRY_COST = 8  # memory of an entry in addition to its items, in items

# Runs are bounded, so that no text makes a match long or backtracking quadratic.
_CONTRACTION = r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])|"
_PRE_TOKEN = (
    r"{contraction} ?[^\W\d_]{{1,64}}|(?:[^\r\n\w]|_)[^\W\d_]{{1,64}}|\d{{1,{digits}}}| ?[^\s\w]{{1,32}}[\r\n]{{0,32}}"
    r"|\s{{0,32}}[\r\n]{{1,32}}|\s{{1,32}}(?!\S)|\s{{1,32}}|_{{1,32}}"
)


@cache
def tokenizer_for(name: str) -> "AnyTokenizer":
    """Return the shared tokenizer of a profile, or of a real vocabulary.

    Raises:
        ValueError: unknown profile; the message lists the known ones.
        VocabularyError: the vocabulary cannot be used.
    """
    profile = PROFILES.get(name)
    if profile is None:
        from emulator.generation import vocabulary_files as files

        if name.startswith(files.FILE_PREFIX):
            return files.load_file(name.removeprefix(files.FILE_PREFIX))
        if name in files.PACKAGED_FILES:
            return files.load_packaged(name)
        raise ValueError(f"{name!r} is not a tokenizer; known are {', '.join(PROFILES)}")
    return ProfileTokenizer(profile)


def refresh_tokenizer(name: str) -> None:
    """Read the vocabulary file that a name refers to again if it has changed since it was read.

    Raises:
        VocabularyError: the changed file cannot be used; the one that was read stays.
    """
    from emulator.generation import vocabulary_files as files
    from emulator.generation.text import load_sentence_bank

    if name.startswith(files.FILE_PREFIX) and files.refresh_file(name.removeprefix(files.FILE_PREFIX)):
        tokenizer_for.cache_clear()
        load_sentence_bank.cache_clear()  # it would hold the old vocabulary
        clear_all()


def _measure_entry(pre_token: str, items: Sequence[object]) -> int:
    return len(items) + _ENTRY_COST


# The weight of a word is one number, so that the weight of a text is the sum of its words: the tokens in the lowest
# bits, then a flag for an odd word, which cannot be counted without its neighbours, then the leaning to English.
_ODD = 1 << 24
_LEANING = 44  # bits before
_COUNT = (1 << _LEANING) - 1


class _Weights(BoundedCache[str, int]):
    """Cache of the token count and language leaning of each word; empties itself beyond a maximum.

    No token reaches over a blank into the next word, unless the blank follows another.
    """

    max_entries = 1 << 14

    def __init__(self, count: Callable[[str], int], digits: int, before: str) -> None:
        super().__init__()
        self._count = count
        self._digits = digits
        self._before = before

    def __missing__(self, word: str) -> int:
        if word.isdigit() and word.isascii():  # uncached, as few numbers repeat; each group of digits is one token
            return len(self._before) - -len(word) // self._digits
        odd = word[-1].isspace() if word else bool(self._before)
        number = (_ODD if odd else self._count(self._before + word)) + (lean(word) << _LEANING)
        return self.keep(word, number) if len(word) <= _MAX_WORD else number


class _PageIds(BoundedCache[str, Mapping[str, int]]):
    """Cache of the ids of the pieces on a page, by its key."""

    max_entries = 1 << 13

    def __init__(self, load: Callable[[str], Mapping[str, int]]) -> None:
        super().__init__()
        self._load = load

    def __missing__(self, key: str) -> Mapping[str, int]:
        return self.keep(key, self._load(key))


class _PieceIds(BoundedCache[str, tuple[int, Mapping[str, int]]]):
    """Cache of the pieces that begin as a text does, by its first three characters.

    A value is the length of the longest one, and the ids of these and some others. Pieces of two characters or one are
    found by all their characters.
    """

    max_entries = 1 << 15

    def __init__(self, load: Callable[[str], Mapping[str, int]]) -> None:
        super().__init__()
        self._pages = _PageIds(load)

    def __missing__(self, start: str) -> tuple[int, Mapping[str, int]]:
        ids = self._pages[find_key(start)]
        longest = max([len(piece) for piece in ids if piece.startswith(start)], default=1)
        return self.keep(start, (longest, ids))


class ProfileTokenizer:
    """Implementation of :class:`emulator.core.vendor.Tokenizer` for a profile.

    Args:
        limits: further pieces of each list; by default those of the profile.

    ``render``: ``None``, as a profile has no chat template.
    """

    render: None = None

    def __init__(self, profile: TokenizerProfile, limits: Mapping[str, int] | None = None) -> None:
        self.profile = profile
        self._limits = limits
        self.vocabulary_size = profile.vocabulary_size
        self.bos = profile.bos
        self.eos = profile.eos
        self.specials: Mapping[int, str] = {}
        contraction = _CONTRACTION if profile.contractions else ""
        self._find = re.compile(_PRE_TOKEN.format(contraction=contraction, digits=profile.digits)).findall
        self._bytes = _number_bytes(profile)
        self._common = cache(self._load_common)
        self._further = cache(self._load_further)
        self._scripts = _place_scripts(profile)
        self._numbered = NumberedPieces(profile, self._bytes)
        self._ids_at = _PieceIds(self._load_page).__getitem__
        self._values = {id: value for value, id in enumerate(self._bytes)}
        self._ids_of = SizedCache(self.cut, _measure_entry, _MEMO_BUDGET).__getitem__
        self._texts_of = SizedCache(self._cut_texts, _measure_entry, _MEMO_BUDGET).__getitem__
        weights = [_Weights(self._count_whole, profile.digits, before) for before in ("", " ")]
        self._weigh_first, self._weigh_next = [each.__getitem__ for each in weights]

    def _choose_limits(self) -> Mapping[str, int]:
        return load_limits().get(self.profile.name, {}) if self._limits is None else self._limits

    def _load_common(self) -> frozenset[str] | None:
        return find_common(self._choose_limits())

    def _load_further(self) -> FurtherPieces | None:
        """Return the further pieces, with the first word that is none of the vocabulary; ``None``: there are none.

        Rare ideographs and syllables that are no tokens leave their ids to them.
        """
        limits = self._choose_limits()
        if not limits:
            return None
        numbered = self._numbered
        taken = chain(range(numbered.end), numbered.own.values(), self._bytes, self.profile.special)
        common = self._common()
        if common is None:
            return FurtherPieces(limits, taken, self._scripts[0][0] if self._scripts else self.vocabulary_size)
        return FurtherPieces(limits, chain(taken, filter(None, map(self._place, common))), self.vocabulary_size)

    def _load_page(self, key: str) -> Mapping[str, int]:
        """Return the ids of the pieces on the pages of a key."""
        ids = self._numbered.load(key)
        return ids if (further := self._further()) is None else further.load(key) | ids

    @property
    def free_ids(self) -> int:
        """The number of ids that further pieces can have."""
        return further.free_ids if (further := self._further()) else 0

    def encode(self, text: str) -> list[int]:
        return list(chain.from_iterable(map(self._ids_of, self.split(text))))

    def count(self, text: str) -> int:
        return self.count_and_lean(text)[0]

    def count_and_lean(self, text: str) -> tuple[int, int]:
        """Return the token count of a text and its leaning to English; only the start of a huge text leans."""
        if len(text) > _SLICE:
            return self._count_whole(text), 0
        first, *words = text.split(" ")
        weight = sum(map(self._weigh_next, words), self._weigh_first(first))
        count = weight & _COUNT
        return (count if count < _ODD else self._count_whole(text)), weight >> _LEANING

    def _count_whole(self, text: str) -> int:
        return sum(map(len, map(self._ids_of, self.split(text))))

    def pieces(self, text: str) -> list[str]:
        return list(chain.from_iterable(map(self._texts_of, self.split(text))))

    def places(self, text: str) -> list[tuple[int, int]]:
        found, start, waiting = [], 0, 0
        for piece in self.pieces(text):
            waiting += 1
            if piece:
                stop = start + len(piece.encode("utf-8", "replace"))
                found += [(start, stop)] * waiting
                start, waiting = stop, 0
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ``ids``; invalid UTF-8 becomes U+FFFD, special tokens become ``""``.

        An id the static list leaves empty reads as an invented word of its own, so that ids of the real
        vocabulary still differ in their text.

        Raises:
            ValueError: an id outside the vocabulary.
        """
        return b"".join(map(self._decode_one, ids)).decode("utf-8", "replace")

    def _decode_one(self, id: int) -> bytes:
        text = (
            self._numbered.read(id)
            or self._character(id)
            or (further.read(id) if (further := self._further()) else None)
        )
        if text is not None:
            return text.encode()
        if (value := self._values.get(id)) is not None:
            return bytes((value,))
        if not 0 <= id < self.vocabulary_size:
            raise ValueError(f"token id {id} is outside the vocabulary of {self.vocabulary_size}")
        return b"" if id in self.profile.special else _invent_word(id).encode()

    def split(self, text: str) -> Iterator[str]:
        """Yield the words, marks and blanks of a text: no token reaches from one into the next."""
        if len(text) <= _SLICE:
            return iter(self._find(text))
        return chain.from_iterable(self._find(text, at, at + _SLICE) for at in range(0, len(text), _SLICE))

    def _cut(self, pre_token: str) -> Iterator[tuple[str, int | None]]:
        """Yield the longest pieces from left to right, with their ids; characters outside the vocabulary one by one."""
        ids_at = self._ids_at
        start, end = 0, len(pre_token)
        while start < end:
            longest, ids = ids_at(pre_token[start : start + 3])
            piece = pre_token[start : start + longest]
            while (size := len(piece)) > 2:
                if (id := ids.get(piece)) is not None:
                    break
                piece = piece[:-1]
            else:
                piece, id = self._find_short(pre_token[start : start + 2])
                size = len(piece)
            yield piece, id
            start += size

    def number(self, piece: str) -> int | None:
        """Return the id of a piece."""
        return self._ids_at(piece[:3])[1].get(piece)

    def _find_short(self, pair: str) -> tuple[str, int | None]:
        """Return the first two characters or the first one, and the id."""
        id = self.number(pair)
        if id is None and len(pair) == 2:
            pair = pair[0]
            id = self.number(pair)
        return pair, self._place(pair) if id is None and len(pair) == 1 else id

    def cut(self, pre_token: str) -> tuple[int, ...]:
        """Return the ids of one of :meth:`split`, uncached."""
        ids: list[int] = []
        for piece, id in self._cut(pre_token):
            if id is None:
                ids += [self._bytes[value] for value in piece.encode("utf-8", "replace")]
            else:
                ids.append(id)
        return tuple(ids)

    def _cut_texts(self, pre_token: str) -> tuple[str, ...]:
        texts: list[str] = []
        for piece, id in self._cut(pre_token):
            if id is None:
                texts += [""] * (len(piece.encode("utf-8", "replace")) - 1)
            texts.append(piece)
        return tuple(texts)

    def _place(self, character: str) -> int | None:
        """Return the id of an ideograph or syllable that is one token."""
        for first, script in self._scripts:
            if ord(character) in script and ((common := self._common()) is None or character in common):
                return first + ord(character) - script.start
        return None

    def _character(self, id: int) -> str | None:
        """Return the ideograph or syllable of an id."""
        for first, script in self._scripts:
            if first <= id < first + len(script):
                character = chr(script.start + id - first)
                return character if (common := self._common()) is None or character in common else None
        return None


def _number_bytes(profile: TokenizerProfile) -> tuple[int, ...]:
    """Return the id of each of the 256 byte tokens.

    Byte-level BPE numbers the printable bytes first: ``!`` is 0 and a line feed is 198.
    """
    order = list(range(256))
    if profile.printable_first:
        printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
        order.sort(key=lambda value: (value not in printable, value))
    places = {value: place for place, value in enumerate(order)}
    return tuple(profile.first_byte + places[value] for value in range(256))


def _place_scripts(profile: TokenizerProfile) -> tuple[tuple[int, range], ...]:
    """Return the first id of each script with ids in code point order; a table would be too large.

    They take the last of the ordinary ids.
    """
    if not profile.cjk:
        return ()
    end = profile.special.start or profile.vocabulary_size
    hangul = end - len(HANGUL_SYLLABLES)
    return (hangul - len(CJK_IDEOGRAPHS), CJK_IDEOGRAPHS), (hangul, HANGUL_SYLLABLES)


def _invent_word(id: int) -> str:
    word = " "
    while id:
        id, syllable = divmod(id, 100)
        word += "bcdfghjklmnpqrstvwxz"[syllable // 5] + "aeiou"[syllable % 5]
    return word
