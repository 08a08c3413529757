"""Many events of a stream at once: columns of bytes laid side by side, each row an event in a chunk of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import repeat
from operator import add

from emulator.core.wire import Batch, Event, Mark

Column = bytes | range | Sequence[bytes]
"""One part of each event: the same in all, a number that counts on, or one for each."""

MOST = 512  # events of a batch: to make more would let others wait
_NUMBERS = 8192  # whose digits are remembered; few answers have more tokens
_SIZES = 16384


def weave(columns: Sequence[Column], last: bytes, count: int) -> tuple[list[bytes], int]:
    """``count`` events, each of all columns and ``last``, as pieces of chunks; and the size of the events."""
    row = [b"", *[column if isinstance(column, bytes) else b"" for column in columns], last + b"\r\n"]
    sizes: Iterable[int] = repeat(sum(map(len, row)) - 2, count)
    pieces = row * count
    for place, column in enumerate(columns, 1):
        if isinstance(column, bytes):
            continue
        texts, lengths = _count_on(column) if isinstance(column, range) else (column, map(len, column))
        pieces[place :: len(row)] = texts
        sizes = map(add, sizes, lengths)
    sizes = [*sizes]
    pieces[:: len(row)] = map(_OPENINGS.__getitem__, sizes)
    return pieces, sum(sizes)


def join(
    opening: Iterable[Event],
    columns: Callable[[int, int], Sequence[Column]],
    last: bytes,
    total: int,
    ending: Iterable[Event],
) -> Iterator[Batch]:
    """All events of a stream: those before and after go with the first and the last of ``total`` from columns."""
    chunks, size, count = chunk(opening)
    for start in range(0, max(total, 1), MOST):
        end = min(total, start + MOST)
        pieces, woven = weave(columns(start, end), last, end - start)
        pieces.insert(0, chunks)
        size, count = size + woven, count + end - start
        if end == total:
            chunks, closing, closed = chunk(ending)
            pieces.append(chunks)
            size, count = size + closing, count + closed
        yield b"".join(pieces), size, count
        chunks, size, count = b"", 0, 0


def chunk(events: Iterable[Event]) -> Batch:
    """Whole events as they are written one by one; those that go out with the next are one chunk with it."""
    pieces: list[bytes] = []
    held = b""
    size = count = 0
    for _, data, _, mark in events:
        count += 1
        size += len(data)
        held += data
        if Mark.JOINED not in mark:
            pieces += _OPENINGS[len(held)], held, b"\r\n"
            held = b""
    return b"".join(pieces), size, count


class _Openings(dict[int, bytes]):
    """How a chunk of each size begins; forgets them all once they are too many."""

    def __missing__(self, size: int) -> bytes:
        if len(self) >= _SIZES:
            self.clear()
        opening = self[size] = b"%x\r\n" % size
        return opening


_OPENINGS = _Openings()


def _count_on(numbers: range) -> tuple[Sequence[bytes], Iterable[int]]:
    """Numbers in digits, and how many digits each has."""
    if numbers.stop > _NUMBERS:
        texts = [b"%d" % number for number in numbers]
        return texts, map(len, texts)
    known, lengths = _list_numbers()
    return known[numbers.start : numbers.stop], lengths[numbers.start : numbers.stop]


@cache
def _list_numbers() -> tuple[list[bytes], list[int]]:
    texts = [b"%d" % number for number in range(_NUMBERS)]
    return texts, [*map(len, texts)]
