"""Search the chunks of vector stores' files for the words of a query.

The service compares embeddings and ranks again; here a chunk scores by the words that it shares with the query, the
rare ones more than the frequent. Chunks have four characters a token.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object, as_array, as_object, as_text

MAX_TEXT = 1_000_000  # characters of a file that are searched
_MAX_TOTAL = 4_000_000  # characters of all files of a search
_CHARACTERS = 4  # of a token
_MAX_CACHED = 65_536  # characters of a text whose chunks are cached
_REPEATED = 0.3  # of the weight of a word
_MAX_SENTENCE = 400  # characters
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_MARKUP = re.compile(r"^[#>*\-\s|]+")
_LISTED = """
    a about after all also an and any are as at be been but by can could did do does for from had has have he her his
    how i if in into is it its me more my no not of on or our she should so some tell than that the their them then
    there these they this to up was we were what when where which who why will with would you your
"""
_COMMON = frozenset(_LISTED.split())


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """File of a vector store; ``size``, ``overlap``: of its chunks, in tokens."""

    file: str
    filename: str
    text: str
    attributes: Object
    size: int = 800
    overlap: int = 400


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hit:
    """Chunk that was found; the score is between 0 and 1."""

    file: str
    filename: str
    attributes: Object
    text: str
    score: float


Chunks = Sequence[tuple[str, Mapping[str, int]]]


def find_hits(
    sources: Iterable[Source], queries: Sequence[str], limit: int, threshold: float = 0.0, filters: JSON = None
) -> list[Hit]:
    """Return the best chunks for any of the queries, those of the same score in the order of their files."""
    chunks: list[tuple[Source, str, Mapping[str, int]]] = []
    left = _MAX_TOTAL
    for source in sources:
        if left > 0 and matches_filter(source.attributes, filters):
            chunks += [
                (source, text, words) for text, words in split_chunks(source.text[:left], source.size, source.overlap)
            ]
            left -= len(source.text)
    best = [0.0] * len(chunks)
    for query in queries:
        weights = _weigh(query, [words for _, _, words in chunks])
        total = sum(weights.values())
        for number, (_, _, words) in enumerate(chunks):
            found = sum([weight * _saturate(words.get(word, 0)) for word, weight in weights.items()])
            best[number] = max(best[number], found / total if total else 0.0)
    order = sorted(range(len(chunks)), key=lambda number: -best[number])
    kept = [number for number in order if best[number] > 0 and best[number] >= threshold][:limit]
    return [_build_hit(chunks[number][0], chunks[number][1], best[number]) for number in kept]


def _build_hit(source: Source, text: str, score: float) -> Hit:
    return Hit(
        file=source.file,
        filename=source.filename,
        attributes=source.attributes,
        text=text,
        score=round(min(score, 1.0), 4),
    )


def _weigh(query: str, chunks: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """Return the weight of each word of a query: the rarer in the chunks, the heavier."""
    words = list_words(query)
    count = len(chunks)
    return {word: log(1 + (1 + count) / (1 + sum([word in chunk for chunk in chunks]))) for word in words}


def _saturate(times: int) -> float:
    """Return how much of a word's weight its occurrences give: the first the most."""
    return 1 - _REPEATED / times if times else 0.0


def list_words(text: str) -> list[str]:
    """Return the distinct words of a text without common ones, unless it has no other."""
    words = dict.fromkeys(_reduce(word) for word in _WORD.findall(text.casefold()))
    return [word for word in words if word not in _COMMON] or [*words]


def _reduce(word: str) -> str:
    """Return a word without the ending of its plural."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def split_chunks(text: str, size: int, overlap: int) -> Chunks:
    """Return the chunks of a text, each with its words and their counts."""
    text = text[:MAX_TEXT]
    return _split_cached(text, size, overlap) if len(text) <= _MAX_CACHED else _split(text, size, overlap)


def _split(text: str, size: int, overlap: int) -> Chunks:
    chunks = []
    length, step = size * _CHARACTERS, max(1, size - overlap) * _CHARACTERS
    for start in range(0, max(1, len(text)), step):
        begin, end = _find_space(text, start), _find_space(text, start + length)
        chunk = text[begin:end].strip()
        if chunk:
            chunks.append((chunk, Counter(map(_reduce, _WORD.findall(chunk.casefold())))))
        if end >= len(text):
            break
    return chunks


_split_cached = lru(64)(_split)


def _find_space(text: str, at: int) -> int:
    """Return where a word begins that is near a position."""
    if at <= 0 or at >= len(text):
        return max(0, min(at, len(text)))
    found = text.rfind(" ", max(0, at - 80), at)
    return at if found < 0 else found + 1


def matches_filter(attributes: Object, condition: JSON) -> bool:
    """Return whether attributes fit a comparison or a combination of them; a missing one fits ``ne``, ``nin``."""
    if condition is None:
        return True
    given = as_object(condition)
    kind = as_text(given["type"])
    if kind in ("and", "or"):
        return (all if kind == "and" else any)(matches_filter(attributes, each) for each in as_array(given["filters"]))
    found, value = attributes.get(as_text(given["key"])), given["value"]
    if kind in ("in", "nin"):
        return (found in as_array(value)) == (kind == "in") if isinstance(value, list) else False
    if kind in ("eq", "ne"):
        return (found == value) == (kind == "eq")
    return _compare(found, value, kind)


def _compare(found: JSON, value: JSON, kind: str) -> bool:
    texts = isinstance(found, str) and isinstance(value, str)
    numbers = not isinstance(found, bool) and isinstance(found, int | float) and isinstance(value, int | float)
    if not (texts or numbers):
        return False
    less, equal = found < value, found == value  # type: ignore[operator]
    return {"lt": less, "lte": less or equal, "gt": not (less or equal), "gte": not less}[kind]


def pick_sentence(text: str, query: str) -> str:
    """Return the sentence of a chunk that shares the most words with a query."""
    wanted = set(list_words(query))
    whole = [sentence for sentence in _SENTENCE.split(text) if _MARKUP.sub("", sentence).strip()]
    prose = [sentence for sentence in whole if not sentence.startswith("#")] or whole  # a heading says little
    sentences = [_MARKUP.sub("", sentence).strip()[:_MAX_SENTENCE] for sentence in prose]
    return max(sentences, key=lambda sentence: len(wanted & set(list_words(sentence))), default="")
