"""Response as data that faults edit: its bytes, when each is due, and how the connection ends.

``faults/measure.py`` converts a vendor's response to it, and each fault returns a changed copy.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import accumulate
from typing import Self

from emulator.core.cost_limits import DEFAULT_BOUNDS
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.http import NO_FIELDS, FieldNames, Headers, Mark

Edit = tuple[int, int, bytes]
"""Replacement ``(start, end, data)`` of a range of body bytes."""


class CloseMode(StrEnum):
    """How a response ends after its last byte."""

    COMPLETE = "complete"  # regular end of the HTTP body
    RESET = "reset"  # TCP RST
    CLOSE = "close"  # TCP FIN, also where ``Content-Length`` announces more bytes


@fast_dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Part of a response body.

    Fields:
        due: seconds after admission.
        tokens: complete tokens of the answer that the client has received after this chunk.
        last: ends an event; an unstreamed response is one event.
        flush: ends a write.
        mark: role of the event that the chunk belongs to.
    """

    due: float
    data: bytes
    tokens: int = 0
    last: bool = True
    flush: bool = True
    mark: Mark = Mark.PLAIN


@fast_dataclass(frozen=True, slots=True)
class EventRange:
    """Byte range of an event in the body, with its role."""

    start: int
    end: int
    mark: Mark = Mark.PLAIN


def encode_no_error(error: EmulatedError) -> bytes:
    """Return no bytes; for vendors without an error event in streams."""
    return b""


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FaultableResponse:
    """Response as it is written to the socket.

    Fields:
        streamed: the body is a stream of events.
        chunked: transfer encoding is chunked, without ``Content-Length``.
        start: seconds from admission to the head; ``inf``: nothing is sent.
        end: seconds from admission to the end of the connection; ``inf``: it ends when the client disconnects.
        promised: bytes announced by ``Content-Length`` that are never sent.
        close: close the connection after a complete response.
        truncated: a stream that ends regularly before its end.
        max_added: bytes that faults may still add.
        writes: maximum number of writes for the whole response.
        texts: text of each token, in the order that ``Chunk.tokens`` counts.
        fields: location of text, usage and ids in the JSON body.
        render_error: encodes an error in the vendor's format, as an event of a stream or as a whole body.
    """

    status: int
    headers: Headers
    chunks: tuple[Chunk, ...]
    streamed: bool
    chunked: bool
    start: float = 0.0
    end: float = 0.0
    ending: CloseMode = CloseMode.COMPLETE
    promised: int = 0
    close: bool = False
    truncated: bool = False
    max_added: int = DEFAULT_BOUNDS.added
    writes: int = DEFAULT_BOUNDS.writes
    texts: tuple[str, ...] = ()
    fields: FieldNames = NO_FIELDS
    render_error: Callable[[EmulatedError], bytes] = encode_no_error

    @property
    def body(self) -> bytes:
        """Body bytes without transfer encoding."""
        return b"".join(piece.data for piece in self.chunks)

    @property
    def size(self) -> int:
        return sum(len(piece.data) for piece in self.chunks)

    def events(self) -> list[EventRange]:
        """Return the byte range and role of each event."""
        found = []
        start = end = 0
        mark = plain = Mark.PLAIN
        for piece in self.chunks:
            end += len(piece.data)
            if piece.mark is not plain:  # to join two enum members takes a microsecond
                mark = piece.mark if mark is plain else mark | piece.mark
            if piece.last and end > start:
                found.append(EventRange(start, end, mark))
                start = end
            if piece.last:
                mark = plain
        return [*found, EventRange(start, end, mark)] if end > start else found

    def reaches(self, position: int) -> bool:
        """Return whether a body position is sent; a response that breaks off excludes the end of its body."""
        return self.ending is CloseMode.COMPLETE or position < self.size

    def divide(self, position: int) -> tuple[tuple[Chunk, ...], tuple[Chunk, ...]]:
        """Return the chunks before a body position and those from it on; a chunk across the position is split."""
        before: list[Chunk] = []
        tokens = 0
        left = position
        for index, piece in enumerate(self.chunks):
            if left < len(piece.data):
                if left:
                    before.append(replace(piece, data=piece.data[:left], tokens=tokens, last=False, flush=True))
                    return tuple(before), (replace(piece, data=piece.data[left:]), *self.chunks[index + 1 :])
                return tuple(before), self.chunks[index:]
            before.append(piece)
            tokens = piece.tokens
            left -= len(piece.data)
        return tuple(before), ()

    def cut(self, position: int, ending: CloseMode = CloseMode.COMPLETE) -> Self:
        """Return the response cut at a body position; it ends with the last chunk before the position.

        ``COMPLETE`` also replaces an earlier reset or close, and leaves no promised bytes. A position that the
        response does not reach returns it unchanged.
        """
        if not self.reaches(position):
            return self
        before, after = self.divide(position)
        missing = sum(len(piece.data) for piece in after)
        promised = 0 if ending is CloseMode.COMPLETE else self.promised + missing
        end = before[-1].due if before else self.start
        return replace(self, chunks=_flush(before), end=end, ending=ending, promised=promised)

    def edit(self, edits: Iterable[Edit]) -> Self:
        """Return the response with byte ranges replaced; ranges must not overlap.

        A replacement belongs to the chunk with the first byte that it replaces. If the edits together add more than
        ``max_added`` bytes, only the first ones are applied.
        """
        waiting, grown = _fit(sorted(edits), self.max_added)
        if not waiting:
            return self
        firsts, lasts = [first for first, _, _ in waiting], [last for _, last, _ in waiting]
        pieces = []
        start = 0
        for index, piece in enumerate(self.chunks):
            end = start + len(piece.data)
            near = waiting[bisect_left(lasts, start) : bisect_right(firsts, end)]
            final = index == len(self.chunks) - 1
            pieces.append(replace(piece, data=_edit(piece.data, start, near, final=final)) if near else piece)
            start = end
        return replace(self, chunks=tuple(pieces), max_added=self.max_added - max(0, grown))


def _flush(pieces: tuple[Chunk, ...]) -> tuple[Chunk, ...]:
    return pieces and (*pieces[:-1], replace(pieces[-1], flush=True))


def _fit(edits: Sequence[Edit], max_added: int) -> tuple[Sequence[Edit], int]:
    """Return the first edits that add at most ``max_added`` bytes in total, and the bytes that they add."""
    grown = list(accumulate(len(new) - (last - first) for first, last, new in edits))
    if grown and grown[-1] > max_added:
        edits = edits[: next(index for index, size in enumerate(grown) if size > max_added)]
    return edits, grown[len(edits) - 1] if edits else 0


def _edit(data: bytes, start: int, edits: Sequence[Edit], *, final: bool) -> bytes:
    """Return the data of a chunk at body position ``start`` with the parts of the edits that fall within it."""
    end = start + len(data)
    parts = []
    at = start
    for first, last, new in edits:
        if last < start or first > end or (first == end and not final):
            continue
        if first >= start:
            parts.append(data[at - start : first - start])
            parts.append(new)
        at = max(at, min(last, end))
    return b"".join([*parts, data[at - start :]])


def join_writes(pieces: Iterable[Chunk]) -> Iterator[tuple[float, bytes, int]]:
    """Yield due time, bytes (never empty) and received tokens of each write."""
    waiting: list[bytes] = []
    due = 0.0
    tokens = 0
    for piece in pieces:
        if piece.data:
            waiting.append(piece.data)
        due = max(due, piece.due)
        tokens = piece.tokens
        if piece.flush and waiting:
            yield due, b"".join(waiting), tokens
            waiting.clear()
    if waiting:
        yield due, b"".join(waiting), tokens
