"""Fault ``drip``: a slow connection, over which the response arrives a few bytes at a time."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from emulator.core.faultable import Chunk, FaultableResponse
from emulator.faults.position import Positioned

_MAX_WRITES = 50  # a second


class Drip(Positioned):
    """Send a few bytes at a time, cutting through events and characters.

    It catches clients that decode single reads, and timeouts of the whole request.
    """

    pieces: ClassVar[int] = 64
    type: Literal["drip"]
    bytes_per_second: Annotated[float, Field(ge=0.001)] = Field(
        description="The rate in bytes per second.", examples=[20]
    )

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        before, after = response.divide(self.find(response))
        least = response.size // max(1, response.writes)
        slow = tuple(self._drip(after, before[-1].due if before else response.start, least))
        end = max(response.end, slow[-1].due) if slow else response.end
        left = max(0, response.writes - (len(slow) - len(after)))
        return replace(response, chunks=(*before, *slow), end=end, writes=left)

    def _drip(self, pieces: tuple[Chunk, ...], now: float, least: int) -> Iterator[Chunk]:
        """Yield writes of equal size, at least ``least`` bytes, each due when the rate has let its bytes through."""
        step = left = max(1, least, int(self.bytes_per_second / _MAX_WRITES))
        tokens = 0
        for piece in pieces:
            start = 0
            while start < len(piece.data):
                end = min(start + left, len(piece.data))
                whole = end == len(piece.data)
                now = max(now, piece.due) + (end - start) / self.bytes_per_second
                left -= end - start
                tokens = piece.tokens if whole else tokens
                flush = not left or (whole and piece.flush)
                yield Chunk(now, piece.data[start:end], tokens, whole and piece.last, flush, piece.mark)
                left = step if flush else left
                start = end
