"""Further pieces of the tokenizers: words and parts of words of many languages, of code and of emoji.

They come after the vocabulary, in lists by locale or kind of text, most common first. They are single words counted in
free manuals, treebanks and package sources, and none is taken from a vendor's vocabulary. A model family has the first
so many of each list, so that its token counts are near those of the real vocabulary. The ids of further pieces depend
on these numbers, which ``python -m tests.tools.tokens --fit`` finds.

Most texts need few of them, and a dictionary of them all takes 24 MiB. So they stay in their file, which is mapped into
memory: a header, then pages in the order of their keys, in which bisection finds one. A page is a line with the pieces
that begin alike, each with its numbers.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path

import orjson

from emulator.core.cache import lru

_DATA = Path(__file__).parent / "data" / "vocabulary"
PAGES, LIMITS = _DATA / "further.tsv", _DATA / "limits.json"
COMMON_PREFIX = "common "  # begins the limit of a locale's common characters
_RUN = 1000  # ids
_LINE_FEED = "\u240a"  # stands for one in the file
_WIDE = "\u2e80"  # from here on one character says as much as two or three before


class Pages:
    """Pieces of all lists.

    Fields:
        sizes: number of pieces of each list, by its name.
        common: ideographs or syllables by locale, most common first.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap(file.fileno(), 0, access=ACCESS_READ)
        header, self._first = self._map.readline(), self._map.tell()
        fields = orjson.loads(header)
        self.sizes: Mapping[str, int] = fields["sizes"]
        self.common: Mapping[str, str] = fields["common"]
        self.find = lru(256)(self._find)

    def _find(self, key: str) -> bytes | None:
        """Return the page of a key: the length of the longest piece, then pieces and their numbers, between tabs.

        A piece's number is its place in the concatenated lists.
        """
        sought, data = key.encode("utf-8", "replace"), self._map
        low, high = self._first, len(data)
        while low < high:
            middle = (low + high) // 2
            start = max(low, data.rfind(b"\n", low, middle) + 1)
            tab, end = data.find(b"\t", start), data.find(b"\n", middle)
            found = data[start:tab]
            if found == sought:
                return data[tab + 1 : end]
            if found < sought:
                low = end + 1
            else:
                high = start
        return None

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield keys and pages."""
        for line in self._map[self._first :].decode().replace("\r", "").splitlines():
            key, _, page = line.partition("\t")
            yield key, page


@cache
def load_pages() -> Pages:
    """Open the pages of all lists."""
    return Pages(PAGES)


@cache
def load_limits() -> Mapping[str, Mapping[str, int]]:
    """Load the number of pieces by profile and list, and of common characters by ``common`` with the locale."""
    limits: Mapping[str, Mapping[str, int]] = orjson.loads(LIMITS.read_bytes())
    return limits


@cache
def _list_pieces() -> Sequence[str]:
    """Return the pieces by number, for those who decode ids."""
    pages = load_pages()
    pieces = [""] * sum(pages.sizes.values())
    for _, page in pages:
        cells = page.split("\t")[1:-1]
        for piece, numbers in zip(cells[::2], cells[1::2], strict=True):
            for number in numbers.split():
                pieces[int(number)] = piece.replace(_LINE_FEED, "\n")
    return pieces


def find_key(piece: str) -> str:
    """Return the beginning that all pieces of a page share, as the file writes it."""
    piece = piece.replace("\n", _LINE_FEED)
    if piece[0] >= _WIDE:
        return piece[0]
    return piece[:3] if piece[0] == " " else piece[:2]


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
        used = sorted(taken)
        self._first = _find_gap(used)
        self._obstacles = used[bisect_right(used, self._first) :]
        self._before = [id - number for number, id in enumerate(self._obstacles)]
        self._end = end
        self.free_ids = end - self._first - bisect_left(self._obstacles, end)

    def measure(self, start: str) -> int:
        """Return the length of the longest piece of any family that begins as a text does, in its first characters."""
        page = self._pages.find(find_key(start))
        return 1 if page is None else int(page[: page.index(b"\t")])

    def find(self, piece: str) -> int | None:
        """Return the id of a piece."""
        page = self._pages.find(find_key(piece))
        cell = b"\t%b\t" % piece.replace("\n", _LINE_FEED).encode("utf-8", "replace")
        if page is None or (at := page.find(cell)) < 0:
            return None
        at += len(cell)
        for number in map(int, page[at : page.index(b"\t", at)].split()):
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
        return _list_pieces()[self._starts[place] + index - self._offsets[place]]

    def _to_id(self, index: int) -> int | None:
        id = self._first + index
        id += bisect_right(self._before, id)
        return id if id < self._end else None


def _find_gap(used: Sequence[int]) -> int:
    """Return the id that begins the first long run of free ones."""
    return next((id + 1 for id, following in pairwise(used) if following - id > _RUN), used[-1] + 1)
