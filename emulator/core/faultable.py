"""An answer on its way to the socket: which bytes, when, and how the connection ends. Data only."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate
from typing import Self

from emulator.core.cost_limits import DEFAULT
from emulator.core.errors import EmulatedError
from emulator.core.http import NO_FIELDS, FieldNames, Headers, Mark

Edit = tuple[int, int, bytes]
"""Bytes ``start`` to ``end`` of a body, and what takes their place."""


class CloseMode(StrEnum):
    """What follows the last byte."""

    COMPLETE = "complete"  # the body ends as HTTP says
    RESET = "reset"  # TCP RST
    CLOSE = "close"  # TCP FIN, whatever was promised


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some bytes of the body.

    Fields:
        due: seconds after admission.
        tokens: how many tokens of the answer the client has in whole once it has read this piece.
        last: ends an event; an answer in one piece is one event.
        flush: ends a write.
        mark: what the event means that it belongs to.
    """

    due: float
    data: bytes
    tokens: int = 0
    last: bool = True
    flush: bool = True
    mark: Mark = Mark.PLAIN


@dataclass(frozen=True, slots=True)
class EventRange:
    """Where an event lies in the body, and what it means."""

    start: int
    end: int
    mark: Mark = Mark.PLAIN


def no_words(error: EmulatedError) -> bytes:
    """What an answer says of an error if its vendor has no words for it."""
    return b""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FaultableResponse:
    """One answer as it goes over the socket.

    Fields:
        streamed: event by event, not in one piece.
        chunked: sent in chunks, not with a length.
        start: when the head is sent; ``inf``: never, nor anything after it.
        end: when the ending comes, seconds after admission; ``inf``: once the client has left.
        promised: bytes that the head's length counts and that never come.
        close: the connection ends after a complete answer.
        max_added: bytes that faults may still add; ``writes``: how many may be made of the answer.
        texts: of the answer's tokens, as ``Chunk.tokens`` counts them.
        fields: what members of its JSON mean.
        word_error: an error in the vendor's words, as it stands in the midst of a stream, or as a whole body.
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
    max_added: int = DEFAULT.added
    writes: int = DEFAULT.writes
    texts: tuple[str, ...] = ()
    fields: FieldNames = NO_FIELDS
    word_error: Callable[[EmulatedError], bytes] = no_words

    @property
    def body(self) -> bytes:
        """What the client's HTTP layer yields."""
        return b"".join(piece.data for piece in self.chunks)

    @property
    def size(self) -> int:
        return sum(len(piece.data) for piece in self.chunks)

    def events(self) -> list[EventRange]:
        """Each event's place in the body."""
        found = []
        start = end = 0
        mark = Mark.PLAIN
        for piece in self.chunks:
            end += len(piece.data)
            mark |= piece.mark
            if piece.last and end > start:
                found.append(EventRange(start, end, mark))
                start = end
            if piece.last:
                mark = Mark.PLAIN
        return [*found, EventRange(start, end, mark)] if end > start else found

    def reaches(self, position: int) -> bool:
        """The answer comes to a position in its body; one that breaks off does not come to its end."""
        return self.ending is CloseMode.COMPLETE or position < self.size

    def divide(self, position: int) -> tuple[tuple[Chunk, ...], tuple[Chunk, ...]]:
        """The pieces before a position in the body and those from there on."""
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
        """The answer up to a position in its body; an ending that is not complete comes at once.

        One that is takes the place of an earlier one that was not: nothing is promised any more. What the answer
        never comes to changes nothing.
        """
        if not self.reaches(position):
            return self
        before, after = self.divide(position)
        missing = sum(len(piece.data) for piece in after)
        promised = 0 if ending is CloseMode.COMPLETE else self.promised + missing
        end = before[-1].due if before else self.start
        return replace(self, chunks=_flush(before), end=end, ending=ending, promised=promised)

    def edit(self, edits: Iterable[Edit]) -> Self:
        """The answer with some bytes replaced; edits do not overlap.

        A replacement goes out with the piece that held the first byte it replaces. Of edits that add more bytes
        than there is room for, the first are made.
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


def _fit(edits: Sequence[Edit], room: int) -> tuple[Sequence[Edit], int]:
    """The first edits that add no more than there is room for, and how many bytes they add."""
    grown = list(accumulate(len(new) - (last - first) for first, last, new in edits))
    if grown and grown[-1] > room:
        edits = edits[: next(index for index, size in enumerate(grown) if size > room)]
    return edits, grown[len(edits) - 1] if edits else 0


def _edit(data: bytes, start: int, edits: Sequence[Edit], *, final: bool) -> bytes:
    """One piece with those parts of the edits that fall on it."""
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
    """When each write is due, its bytes, never none, and the tokens the client has by then."""
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
