"""Streams whose events differ in one text: rendered from one template, many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, repeat
from operator import add

from emulator.core.cache import clear_with_all, lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Batch, BatchedEvents, Event, Mark

MOST = 512  # events of a batch: to make more would let others wait
_SIZES = 4096  # openings of chunks that are remembered
_MOST_NUMBERS = 16_384  # with a text behind each that are kept
_MOST_LAID = 64  # batches of texts that are kept as they came last
_END = b"\r\n"  # of a chunk
_JOINED = int(Mark.JOINED)  # to ask the mark itself costs ten times as much


@fast_dataclass(frozen=True, slots=True, eq=False)
class NumberedTails:
    """What follows the text of each event where it is not the same, up to the end of its chunk; ``sizes``: of each."""

    texts: Sequence[bytes]
    sizes: Sequence[int]


class _Numbers:
    """Numbers with the same text behind each; those up to the highest that was asked for are kept, within bounds."""

    def __init__(self, behind: bytes) -> None:
        self._template = b"%d" + behind.replace(b"%", b"%%")
        self._texts: list[bytes] = []

    def take(self, start: int, end: int) -> list[bytes]:
        """Those from ``start`` to before ``end``."""
        texts = self._texts
        if end > _MOST_NUMBERS:
            return [self._template % number for number in range(start, end)]
        texts += [self._template % number for number in range(len(texts), end)]
        return texts[start:end]


_numbers_before = lru(64)(_Numbers)


@lru(64)
def count_on(after: tuple[bytes, ...], offsets: tuple[int, ...], start: int, end: int) -> NumberedTails:
    """The parts of ``after`` with numbers between them, which count on from ``start`` and an offset each."""
    first, *parts = after
    parts[-1] += _END
    texts: Iterable[bytes] = repeat(first, end - start)
    for part, offset in zip(parts, offsets, strict=True):
        texts = map(add, texts, _numbers_before(part).take(start + offset, end + offset))
    texts = [*texts]
    return NumberedTails(texts, [*map(len, texts)])


def render_chunks(
    before: bytes, texts: Sequence[bytes], start: int, end: int, after: bytes | NumberedTails
) -> tuple[bytes, int]:
    """An event of each text from ``start`` to before ``end``, as chunks; and the size of the events.

    Texts that come a second time, as those of an answer that is kept do, are laid out once and for all: what stands
    on one side of them, the longer one, is new for each answer, has always the same size, and joins the rest.
    """
    if isinstance(after, NumberedTails) or len(before) > len(after):
        place: _Place = (id(texts), start, end, len(before), after)
        joint = before
    else:
        place = (id(texts), start, end, before, len(after))
        joint = after + _END
    laid = _laid.get(place)
    if laid is not None and laid.pieces:
        return joint.join(laid.pieces), laid.size
    pieces, size = _lay_out(before, texts[start:end], after)
    if laid is not None:
        laid.pieces, laid.size = _fold(pieces, is_before=joint is before), size
    elif pieces:
        if len(_laid) >= _MOST_LAID:
            del _laid[next(iter(_laid))]
        _laid[place] = _Laid(texts)
    return b"".join(pieces), size


@dataclass(slots=True, eq=False)
class _Laid:
    """Texts, held so that no others are taken for them, and the chunks without what joins them once they came again."""

    texts: Sequence[bytes]
    pieces: Sequence[bytes] = ()
    size: int = 0


_Place = tuple[int, int, int, bytes | int, bytes | NumberedTails | int]
_laid: dict[_Place, _Laid] = {}
clear_with_all(_laid.clear)


def _lay_out(before: bytes, texts: Sequence[bytes], after: bytes | NumberedTails) -> tuple[list[bytes], int]:
    """Four pieces for each chunk: how it opens, what stands before, the text, what follows."""
    count, fixed = len(texts), len(before)
    sizes: Iterable[int] = map(len, texts)
    if isinstance(after, NumberedTails):
        pieces = [b"", before, b"", b""] * count
        pieces[3::4] = after.texts
        sizes = map(add, sizes, after.sizes)
        fixed -= len(_END)
    else:
        pieces = [b"", before, b"", after + _END] * count
        fixed += len(after)
    pieces[2::4] = texts
    sizes = [*sizes]
    pieces[::4] = map(_open_after(fixed).__getitem__, sizes)
    return pieces, sum(sizes) + count * fixed


def _fold(pieces: Sequence[bytes], *, is_before: bool) -> list[bytes]:
    """Chunks without what joins them: what stands before each text, or else what follows it."""
    if is_before:
        return [pieces[0], *map(b"".join, zip(pieces[2::4], pieces[3::4], [*pieces[4::4], b""], strict=True))]
    return [*map(b"".join, zip(pieces[::4], pieces[1::4], pieces[2::4], strict=True)), b""]


def join(
    opening: Iterable[Event],
    weave_some: Callable[[int, int], tuple[bytes, int]],
    total: int,
    ending: Iterable[Event],
) -> Iterator[Batch]:
    """All events of a stream: those before and after go with the first and the last of ``total`` that are woven."""
    chunks, size, count = chunk(opening)
    for start in range(0, max(total, 1), MOST):
        end = min(total, start + MOST)
        woven, more = weave_some(start, end)
        last, closing, closed = chunk(ending) if end == total else ((), 0, 0)
        yield (*chunks, woven, *last), size + more + closing, count + end - start + closed
        chunks, size, count = (), 0, 0


def chunk(events: Iterable[Event]) -> Batch:
    """Whole events as they are written one by one; those that go out with the next are one chunk with it."""
    pieces: list[bytes] = []
    held = b""
    size = count = 0
    for _, data, _, mark in events:
        count += 1
        size += len(data)
        held += data
        if not int(mark) & _JOINED:
            pieces += b"%x\r\n" % len(held), held, _END
            held = b""
    return pieces, size, count


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


_open_after = lru(64)(_Openings)


_SILENCE = b'""'


@fast_dataclass(frozen=True, slots=True, eq=False)
class TemplateStream(BatchedEvents):
    """Whole events, one event a token, and whole events.

    Fields:
        tokens: their texts as JSON; ``due``: as many.
        before: what stands in front of the text.
        after: what follows it, in parts: between each two of them stands the number of the token and what is added.
        offsets: what is added, one fewer than ``after`` has parts.
        ending: never none; nothing is due later than its last.
        silent: a token without text has an event, too.
    """

    opening: Sequence[Event]
    tokens: Sequence[bytes]
    due: Sequence[float]
    before: bytes
    after: tuple[bytes, ...]
    ending: Sequence[Event]
    offsets: tuple[int, ...] = ()
    silent: bool = False

    def __iter__(self) -> Iterator[Event]:
        yield from self.opening
        # Every % of the parts stands for itself.
        head, *tail = [part.replace(b"%", b"%%") for part in (self.before, *self.after)]
        template = head + b"%b" + b"%d".join(tail)
        rows = zip(self.tokens, *[count(1 + offset) for offset in self.offsets], strict=False)
        for due, row, number in zip(self.due, rows, count(1), strict=False):
            if self.silent or row[0] != _SILENCE:
                yield due, template % row, number, Mark.PLAIN
        yield from self.ending

    def batches(self) -> Iterator[Batch] | None:
        if self.ending[-1][0] > 0.0 or not (self.silent or _SILENCE not in self.tokens):
            return None
        return join(self.opening, self._weave, len(self.tokens), self.ending)

    def _weave(self, start: int, end: int) -> tuple[bytes, int]:
        after = count_on(self.after, self.offsets, start + 1, end + 1) if self.offsets else self.after[0]
        return render_chunks(self.before, self.tokens, start, end, after)
