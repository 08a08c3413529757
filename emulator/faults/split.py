"""Fault ``split``: the right bytes, divided into awkward writes (single bytes, inside a character, across events)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import ClassVar, Literal

from pydantic import Field

from emulator.core.faultable import Chunk, FaultableResponse
from emulator.faults.base import Fault

_CUTS = {
    "byte": re.compile(rb".", re.DOTALL),
    "line": re.compile(rb"[^\n]*\n|[^\n]+"),
    "utf8": re.compile(rb"[\x00-\xbf]*[\xc0-\xff]|[\x00-\xbf]+", re.DOTALL),
}


class Split(Fault):
    """Send the right bytes in awkward writes.

    It catches clients that expect each read to return a whole line, event or character.
    """

    pieces: ClassVar[int] = 64
    is_noticeable: ClassVar[bool] = False
    type: Literal["split"]
    writes: Literal["byte", "line", "event", "utf8", "across"] = Field(
        description="Where each write ends: after every byte, line or event, inside characters of several bytes, "
        "or across events: in the midst of each, so that none ends with one."
    )

    @property
    def needs_events(self) -> bool:
        return self.writes == "event"

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        if response.writes == 0 and self.writes in _CUTS:
            return response
        if self.writes == "event":
            pieces = tuple(replace(piece, flush=piece.last) for piece in response.chunks)
        elif self.writes == "across":
            middles = [(event.start + event.end) // 2 for event in response.events() if event.end - event.start > 1]
            pieces = tuple(_cut_at(response.chunks, middles))
        else:
            pieces = tuple(self._split(response.chunks, response.writes))
        made = len(pieces) - len(response.chunks)
        return replace(response, chunks=pieces, writes=max(0, response.writes - made))

    def _split(self, pieces: tuple[Chunk, ...], most: int) -> Iterator[Chunk]:
        """Yield chunks with at most ``most`` more writes; the rest of the bytes stays in the chunks as they were."""
        tokens = 0
        for piece in pieces:
            start = 0
            for cut in islice(_CUTS[self.writes].finditer(piece.data), max(0, most)):
                if cut.end() == len(piece.data):
                    break
                yield Chunk(piece.due, cut[0], tokens, last=False, mark=piece.mark)
                start = cut.end()
                most -= 1
            tokens = piece.tokens
            rest = piece.data[start:]
            yield replace(piece, data=rest, flush=piece.flush or (most > 0 and self._ends_write(rest)))

    def _ends_write(self, data: bytes) -> bool:
        """Return whether a write ends with a chunk that ended none before, as a whole body has a chunk per token."""
        if self.writes == "line":
            return data.endswith(b"\n")
        return self.writes == "byte" or data[-1:] >= b"\xc0"


def _cut_at(pieces: Iterable[Chunk], cuts: Sequence[int]) -> Iterator[Chunk]:
    """Yield the chunks with writes that end exactly at these offsets in the body."""
    waiting = iter(cuts)
    cut = next(waiting, -1)
    at = tokens = 0
    for piece in pieces:
        start, end = at, at + len(piece.data)
        while at < cut < end:
            yield Chunk(piece.due, piece.data[at - start : cut - start], tokens, last=False, mark=piece.mark)
            at, cut = cut, next(waiting, -1)
        yield replace(piece, data=piece.data[at - start :], flush=cut == end)
        at, tokens = end, piece.tokens
        while 0 <= cut <= end:
            cut = next(waiting, -1)
