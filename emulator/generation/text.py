"""Generate readable prose of an exact number of tokens, from the sentences of a language.

``generate.py`` takes the prose of answers from it.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import accumulate, chain
from itertools import count as count_from
from operator import itemgetter
from pathlib import Path

from emulator.core.cache import Cache
from emulator.core.dataclass import fast_dataclass
from emulator.core.json import dump_string
from emulator.core.rng import prepare_key
from emulator.core.vendor import Tokenizer

_UNSPACED = frozenset({"zh_CN", "ja_JP"})


@fast_dataclass(frozen=True, slots=True)
class Prose:
    """Sentences of one language, with their separator."""

    separator: str
    openers: tuple[str, ...]
    sentences: tuple[str, ...]


def find_prose(language: str) -> Path:
    """Return the file with a locale's sentences: the openers, an empty line, all others."""
    return Path(__file__).parent / "data" / "prose" / f"{language}.txt"


@cache
def load_prose(language: str) -> Prose:
    """Load the sentences of a locale.

    Raises:
        ValueError: there are no sentences of such a locale.
    """
    try:
        text = find_prose(language).read_text("utf-8")
    except FileNotFoundError:
        raise ValueError(f"{language!r} is not a locale with sentences") from None
    openers, _, sentences = text.removesuffix("\n").partition("\n\n")
    separator = "" if language in _UNSPACED else " "
    return Prose(separator, tuple(openers.split("\n")), tuple(sentences.split("\n")))


Tokens = tuple[str, ...]
Ends = tuple[int, ...]
Ids = tuple[int, ...]
Quoted = tuple[bytes, ...]
Passage = tuple[Tokens, Ids, str, int, Ends, Quoted]
"""Tokens and their ids; both as a text, how many they are, where each ends in it; tokens as JSON."""

_get_text, _get_quoted = itemgetter(2), itemgetter(5)
_MAX_NATURAL = 1024  # tokens of an answer that ends by itself
_FALLBACK = "en_US"
_MIN_SENTENCES = 32
_derive_text = prepare_key(..., "text")

# Lengths, in tokens, below which k/64 of the answers fall: lognormal, median 180, sigma 0.45. A table,
# because ``exp`` and ``log`` differ in the last bit from one C library to the next.
_QUANTILES = (
    *(24, 68, 78, 85, 90, 95, 99, 103, 107, 111, 114, 118, 121, 124, 127, 130, 133, 136, 139, 142, 144, 147),
    *(150, 153, 156, 159, 162, 165, 168, 171, 174, 177, 180, 183, 186, 190, 193, 197, 200, 204, 208, 212, 216, 220),
    *(224, 229, 234, 239, 244, 249, 255, 262, 268, 276, 284, 292, 302, 313, 326, 341, 359, 383, 416, 474, 1024),
)


class Passages(Cache[int, Passage]):
    """Tokenized sentences by number; each is tokenized on first use."""

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[str]) -> None:
        super().__init__()
        self.texts = texts
        self._tokenizer = tokenizer

    def __missing__(self, number: int) -> Passage:
        passage = self[number] = _tokenize(self._tokenizer, self.texts[number])
        return passage


@fast_dataclass(frozen=True, slots=True)
class SentenceBank:
    """Sentences of one language, tokenized for one model family.

    Fields:
        separator: text between two sentences.
        openers: first sentences.
        flowing: sentences that follow another.
        breaking: the sentences of ``flowing``, each after a blank line.
    """

    separator: str
    openers: Passages
    flowing: Passages
    breaking: Passages


def _natural_length(draw: int) -> int:
    """Return the natural length of an answer in tokens: lognormal, median 180, within [24, 1024]."""
    place, within = draw >> 122, draw >> 106 & 0xFFFF
    low, high = _QUANTILES[place], _QUANTILES[place + 1]
    return low + ((high - low) * within >> 16)


class GeneratedText:
    """Text of passages in order, cut at a number of tokens; ``ended``: it ends with a whole sentence.

    Tokens and ids are joined on first access, because most responses need the text only.
    ``eos``, if set, is appended to them. ``cut_off``: number of tokens cut off the last passage.
    """

    __slots__ = ("_cut_off", "_passages", "_quoted", "_tokens", "count", "ended", "eos")

    def __init__(self, passages: Sequence[Passage], count: int, ended: bool, cut_off: int = 0) -> None:
        self._passages = passages
        self._cut_off = cut_off
        self._tokens: Tokens | None = None
        self._quoted: Sequence[bytes] | None = None
        self.count = count
        self.ended = ended
        self.eos: int | None = None

    @property
    def tokens(self) -> Tokens:
        if self._tokens is None:
            tokens = [token for tokens, *_ in self._passages for token in tokens][: self.count]
            self._tokens = tuple(tokens) if self.eos is None else (*tokens, "")
        return self._tokens

    @property
    def quoted(self) -> Sequence[bytes]:
        if self._quoted is None:
            quoted = [*chain.from_iterable(map(_get_quoted, self._passages))]
            del quoted[self.count :]
            self._quoted = quoted if self.eos is None else [*quoted, b'""']
        return self._quoted

    @property
    def ids(self) -> Ids:
        ids = [id for _, ids, *_ in self._passages for id in ids][: self.count]
        return tuple(ids) if self.eos is None else (*ids, self.eos)

    @property
    def text(self) -> str:
        text = "".join(map(_get_text, self._passages))
        if not self._cut_off:
            return text
        _, _, last, count, ends, _ = self._passages[-1]
        return text[: len(text) - len(last) + ends[count - self._cut_off]]


def generate_text(
    tokenizer: Tokenizer, key: bytes, language: str, limit: int | None, ignore_eos: bool = False, opening: str = ""
) -> GeneratedText:
    """Generate prose.

    It ends at the sentence end within ``limit`` that is nearest to its natural length; where the natural length is
    above ``limit``, or no sentence ends within it, the text is cut at ``limit``. With ``ignore_eos`` it is always cut,
    without a ``limit`` at the maximum natural length.
    """
    draw = int.from_bytes(_derive_text(key), "big")  # the upper 22 bits choose the length, the others the sentences
    wanted = _natural_length(draw)
    bank = load_sentence_bank(tokenizer, language)  # type: ignore[arg-type]  # mypy takes no protocol for hashable
    first = bank.openers[draw % len(bank.openers.texts)]
    if opening:
        first = _join(tokenizer, opening, bank.separator, first)
    if ignore_eos or (limit is not None and wanted > limit):
        most = _MAX_NATURAL if limit is None else limit
        passages, more = _walk(bank, draw, first, most)
        return GeneratedText(passages, most, False, more)
    passages, more = _walk(bank, draw, first, wanted)
    count = wanted + more
    before = count - passages[-1][3]
    if before and (more > wanted - before or (limit is not None and count > limit)):
        del passages[-1]
        count = before
    if limit is not None and count > limit:
        return GeneratedText(passages, limit, False, count - limit)
    return GeneratedText(passages, count, True)


def _walk(bank: SentenceBank, draw: int, first: Passage, least: int) -> tuple[list[Passage], int]:
    """Return sentences of at least ``least`` tokens, and the excess; all sentences are used once before any repeats."""
    passages = [first]
    missing = least - first[3]
    if missing <= 0:
        return passages, -missing
    flowing, breaking, size = bank.flowing, bank.breaking, len(bank.flowing.texts)
    mask = size - 1
    place, rhythm = draw >> 16 & 0xFFFF, draw >> 32 & 0xFFFFFFFF
    until_break = 2 + (rhythm & 3)  # sentences before the next blank line
    for stride in count_from(draw >> 64 & 0xFFFF | 1, 2):  # odd, so that it visits every place
        for _ in range(size):
            place = place + stride & mask
            if until_break:
                until_break -= 1
                passage = flowing[place]
            else:
                rhythm = rhythm >> 2 | (rhythm & 3) << 30
                until_break = 2 + (rhythm & 3)
                passage = breaking[place]
            passages.append(passage)
            missing -= passage[3]
            if missing <= 0:
                return passages, -missing
    raise AssertionError("there is no end of strides")


def _join(tokenizer: Tokenizer, opening: str, separator: str, opener: Passage) -> Passage:
    gap = "" if opening[-1].isspace() else separator
    return _tokenize(tokenizer, opening + gap + opener[2])


@lru_cache(maxsize=32)
def load_sentence_bank(tokenizer: Tokenizer, language: str) -> SentenceBank:
    """Return the cached bank of a locale, or of English if the vocabulary lacks the language's characters.

    A sentence with a character in several tokens is left out: a cut within it would lose it.

    Raises:
        ValueError: there are no sentences of such a locale.
    """
    prose = load_prose(language)
    openers = _keep_whole(tokenizer, prose.openers)
    whole = _keep_whole(tokenizer, prose.sentences)
    size = 1 << len(whole).bit_length() >> 1  # a power of two: any odd stride visits every place
    if language != _FALLBACK and (not openers or size < _MIN_SENTENCES):
        return load_sentence_bank(tokenizer, _FALLBACK)  # type: ignore[arg-type]
    flowing = [prose.separator + text for text in whole[:size]]
    breaking = ["\n\n" + text for text in whole[:size]]
    return SentenceBank(
        prose.separator,
        Passages(tokenizer, openers),
        Passages(tokenizer, flowing),
        Passages(tokenizer, breaking),
    )


def _keep_whole(tokenizer: Tokenizer, sentences: Sequence[str]) -> list[str]:
    """Return the sentences in which no character spans several tokens; most are decided by their characters alone."""
    single = {character for character in set("".join(sentences)) if all(tokenizer.pieces(character))}
    return [text for text in sentences if single.issuperset(text) or all(tokenizer.pieces(text))]


def _tokenize(tokenizer: Tokenizer, text: str) -> Passage:
    tokens = tuple(tokenizer.pieces(text))
    ends = tuple(accumulate(map(len, tokens), initial=0))
    return tokens, tuple(tokenizer.encode(text)), text, len(tokens), ends, tuple(map(dump_string, tokens))
