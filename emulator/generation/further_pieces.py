"""Further pieces of the tokenizers: words and parts of words of many languages, of code and of emoji.

They come after the vocabulary, in lists by locale or kind of text, most common first. They are single words counted in
free manuals, treebanks and package sources, and none is taken from a vendor's vocabulary. A model family has the first
so many of each list, so that its token counts are near those of the real vocabulary. The ids of further pieces depend
on these numbers, which ``python -m tests.tools.tokens --fit`` finds. A piece's number in its page is its place in the
concatenated lists.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate, compress, count, pairwise
from pathlib import Path

import orjson

from emulator.generation.pages import Listed, Pages, list_pieces

_DATA = Path(__file__).parent / "data" / "vocabulary"
PAGES, LIMITS = _DATA / "further.tsv", _DATA / "limits.json"
COMMON_PREFIX = "common "  # begins the limit of a locale's common characters
_RUN = 1000  # ids


class FurtherPages(Pages):
    """Pieces of all lists.

    Fields:
        sizes: number of pieces of each list, by its name.
        common: ideographs or syllables by locale, most common first.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.sizes: Mapping[str, int] = self.header["sizes"]  # type: ignore[assignment]
        self.common: Mapping[str, str] = self.header["common"]  # type: ignore[assignment]


@cache
def load_pages() -> FurtherPages:
    """Open the pages of all lists."""
    return FurtherPages(PAGES)


@cache
def load_limits() -> Mapping[str, Mapping[str, int]]:
    """Load the number of pieces by profile and list, and of common characters by ``common`` with the locale."""
    limits: Mapping[str, Mapping[str, int]] = orjson.loads(LIMITS.read_bytes())
    return limits


@cache
def _list_all() -> Listed:
    pages = load_pages()
    return list_pieces(pages, sum(pages.sizes.values()))


def find_common(limits: Mapping[str, int]) -> frozenset[str] | None:
    """Return the ideographs and syllables that are one token; ``None``: all of them."""
    names = [name for name in limits if name.startswith(COMMON_PREFIX)]
    if not names:
        return None
    every = load_pages().common
    return frozenset("".join(every[name.removeprefix(COMMON_PREFIX)][: limits[name]] for name in names))


class FurtherPieces:
    """Further pieces of one model family.

    Args:
        limits: pieces of each list that the family has.
        taken: ids of other tokens.
        end: the id after the last that a piece can have.

    Fields:
        free_ids: number of ids for them.
    """

    def __init__(self, limits: Mapping[str, int], taken: Iterable[int], end: int) -> None:
        pages = load_pages()
        self._pages = pages
        self._starts = [*accumulate(pages.sizes.values(), initial=0)][:-1]
        self._limits = [min(limits.get(name, 0), size) for name, size in pages.sizes.items()]
        self._offsets = [*accumulate(self._limits, initial=0)]
        used = _sort_ids(taken, end)
        self._first = _find_gap(used)
        self._obstacles = used[bisect_right(used, self._first) :]
        self._before = array("I", (id - number for number, id in enumerate(self._obstacles)))
        self._end = end
        self.free_ids = end - self._first - bisect_left(self._obstacles, end)

    def load(self, key: str) -> dict[str, int]:
        """Return the ids of the pieces on the page of a key."""
        cells = self._pages.find(key)
        ids = {}
        for piece, numbers in zip(cells[::2], cells[1::2], strict=True):
            if (id := self._number(map(int, numbers.split()))) is not None:
                ids[piece] = id
        return ids

    def _number(self, numbers: Iterable[int]) -> int | None:
        for number in numbers:
            place = bisect_right(self._starts, number) - 1
            rank = number - self._starts[place]
            if rank < self._limits[place]:
                return self._to_id(self._offsets[place] + rank)
        return None

    def read(self, id: int) -> str | None:
        """Return the piece of an id."""
        index = id - self._first - bisect_right(self._obstacles, id)
        if not 0 <= index < self._offsets[-1] or id >= self._end:
            return None
        place = bisect_right(self._offsets, index) - 1
        return _list_all()[self._starts[place] + index - self._offsets[place]]

    def _to_id(self, index: int) -> int | None:
        id = self._first + index
        id += bisect_right(self._before, id)
        return id if id < self._end else None


def _sort_ids(ids: Iterable[int], end: int) -> "array[int]":
    """Return ids in order, without a set of them, which takes megabytes."""
    mask = bytearray(end + 1)
    for id in ids:
        if id >= len(mask):
            mask.extend(bytes(id + 1 - len(mask)))
        mask[id] = 1
    return array("I", compress(count(), mask))


def _find_gap(used: Sequence[int]) -> int:
    """Return the id that begins the first long run of free ones."""
    return next((id + 1 for id, following in pairwise(used) if following - id > _RUN), used[-1] + 1)
