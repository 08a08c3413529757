"""Many events of a stream at once: texts woven into one template, each an event in a chunk of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import add

from emulator.core.record import record
from emulator.core.wire import Batch, Event, Mark

MOST = 512  # events of a batch: to make more would let others wait
_SIZES = 4096  # openings of chunks that are remembered


@record(frozen=True, slots=True, eq=False)
class Tails:
    """What follows the text of each event where it is not the same; ``sizes``: of each."""

    texts: Sequence[bytes]
    sizes: Sequence[int]


@lru_cache(maxsize=64)
def count_on(after: tuple[bytes, ...], offsets: tuple[int, ...], start: int, end: int) -> Tails:
    """The parts of ``after`` with numbers between them, which count on from ``start`` and an offset each."""
    template = b"%d".join([part.replace(b"%", b"%%") for part in after])
    texts = [template % tuple([number + offset for offset in offsets]) for number in range(start, end)]
    return Tails([text + b"\r\n" for text in texts], [*map(len, texts)])


def weave(before: bytes, texts: Sequence[bytes], after: bytes | Tails) -> tuple[list[bytes], int]:
    """An event of each text, between what stands before and after, as pieces of chunks; and the size of the events."""
    count, fixed = len(texts), len(before)
    sizes: Iterable[int] = map(len, texts)
    if isinstance(after, Tails):
        pieces = [b"", before, b"", b""] * count
        pieces[3::4] = after.texts
        sizes = map(add, sizes, after.sizes)
    else:
        pieces = [b"", before, b"", after + b"\r\n"] * count
        fixed += len(after)
    pieces[2::4] = texts
    sizes = [*sizes]
    pieces[::4] = map(_open_after(fixed).__getitem__, sizes)
    return pieces, sum(sizes) + count * fixed


def join(
    opening: Iterable[Event],
    weave_some: Callable[[int, int], tuple[list[bytes], int]],
    total: int,
    ending: Iterable[Event],
) -> Iterator[Batch]:
    """All events of a stream: those before and after go with the first and the last of ``total`` that are woven."""
    chunks, size, count = chunk(opening)
    for start in range(0, max(total, 1), MOST):
        end = min(total, start + MOST)
        pieces, woven = weave_some(start, end)
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
            pieces += b"%x\r\n" % len(held), held, b"\r\n"
            held = b""
    return b"".join(pieces), size, count


class _Openings(dict[int, bytes]):
    """How chunks begin that are so much larger than what is known of them; forgets them once they are too many."""

    def __init__(self, fixed: int) -> None:
        super().__init__()
        self._fixed = fixed

    def __missing__(self, size: int) -> bytes:
        if len(self) >= _SIZES:
            self.clear()
        opening = self[size] = b"%x\r\n" % (self._fixed + size)
        return opening


_open_after = lru_cache(maxsize=64)(_Openings)
