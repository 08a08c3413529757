"""Pages of pieces in a file, for the vocabulary and the further pieces of ``tokenizer.py``.

A dictionary of all pieces takes 24 MiB. So they stay in their file: a header, then pages in the order of their keys. A
page is a line with the pieces that begin alike, each with its numbers. Only the first key of each block of the file is
in memory, and finding a page reads one block.
"""

import os
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from threading import Lock
from weakref import finalize

import orjson

_BLOCK = 4096  # bytes
_WIDE = "\u2e80"  # from here on one character says as much as two or three before
_CONTROLS, _SIGNS = "\n\t\r", "\u240a\u2409\u240d"  # the file has a sign in place of each control character
_WRITTEN, _READ = str.maketrans(_CONTROLS, _SIGNS), str.maketrans(_SIGNS, _CONTROLS)


class Pages:
    """Pages of a file.

    Fields:
        header: the object of the file's first line.
    """

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        finalize(self, os.close, self._file).atexit = False  # a thread may still read then; the system closes it
        self._lock = Lock()
        first = data.index(b"\n")
        self.header: Mapping[str, Mapping[str, object]] = orjson.loads(data[:first])
        starts = array("I", [first])  # each the line feed before a block's first page
        while (start := data.find(b"\n", starts[-1] + _BLOCK, -1)) > 0:
            starts.append(start)
        self._keys = [data[start + 1 : data.index(b"\t", start)] for start in starts]
        starts.append(len(data) - 1)
        self._starts = starts

    def find(self, key: str) -> list[str]:
        """Return the pieces of a page, each followed by its numbers; none without a page of that key."""
        sought = (key if key.isprintable() else key.translate(_WRITTEN)).encode("utf-8", "surrogatepass")
        block = bisect_right(self._keys, sought) - 1
        if block < 0:
            return []
        start = self._starts[block]
        data = self._read(start, self._starts[block + 1] + 1 - start)
        line = b"\n%b\t" % sought
        at = data.find(line)
        if at < 0:
            return []
        at += len(line)
        return _split(data[at : data.index(b"\n", at)].decode())

    def _read(self, start: int, size: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._file, size, start)
        with self._lock:
            os.lseek(self._file, start, os.SEEK_SET)
            return os.read(self._file, size)

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        """Yield keys and pages."""
        data = self._read(self._starts[0] + 1, self._starts[-1] - self._starts[0] - 1)
        for line in data.decode().split("\n"):
            key, _, page = line.partition("\t")
            yield key.translate(_READ), _split(page)


class Listed:
    """Pieces by number, in one text, for those who decode ids."""

    def __init__(self, pieces: Iterable[str]) -> None:
        every = [*pieces]
        self._ends = array("I", accumulate(map(len, every), initial=0))
        self._text = "".join(every)

    def __getitem__(self, number: int) -> str:
        return self._text[self._ends[number] : self._ends[number + 1]]

    def __len__(self) -> int:
        return len(self._ends) - 1


def list_pieces(pages: Pages, count: int) -> Listed:
    """Return the pieces of ``count`` numbers."""
    pieces = [""] * count
    for _, cells in pages:
        for piece, numbers in zip(cells[::2], cells[1::2], strict=True):
            for number in numbers.split():
                pieces[int(number)] = piece
    return Listed(pieces)


def _split(page: str) -> list[str]:
    """Return the cells of a line after its key; the first, the length of its longest piece, is for readers."""
    cells = page.split("\t")[1:-1]
    return [cell.translate(_READ) for cell in cells] if any(map(page.__contains__, _SIGNS)) else cells


def find_key(piece: str) -> str:
    """Return the beginning that all pieces of a page share."""
    if piece[0] >= _WIDE:
        return piece[0]
    return piece[:3] if piece[0] == " " else piece[:2]


def render_pages(header: Mapping[str, object], pieces: Mapping[str, str]) -> str:
    """Return the text of a file: pages of pieces with their numbers."""
    pages: dict[bytes, list[str]] = {}
    for piece in pieces:
        pages.setdefault(find_key(piece).translate(_WRITTEN).encode(), []).append(piece)
    lines = [orjson.dumps(header).decode()]
    for key in sorted(pages):
        cells = (f"{piece.translate(_WRITTEN)}\t{pieces[piece]}\t" for piece in pages[key])
        lines.append(f"{key.decode()}\t{max(map(len, pages[key]))}\t{''.join(cells)}")
    return "\n".join([*lines, ""])
