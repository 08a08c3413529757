"""``Positioned``, the base of faults that act at a position: a byte, token, event or named part of the response."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from emulator.core.faultable import Chunk, EventRange, FaultableResponse
from emulator.core.units import Whole, require
from emulator.faults.base import Fault
from emulator.faults.marks import find_done, find_finish, find_usage

_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTINUATION = re.compile(rb"[\x80-\xbf]")


class Positioned(Fault):
    """A fault that strikes at a position in the body."""

    after_tokens: Annotated[Whole, Field(ge=0)] | None = Field(
        default=None, description="Right after the bytes that carry the first n tokens.", examples=[20]
    )
    after_bytes: Annotated[Whole, Field(ge=0)] | None = Field(
        default=None, description="After n bytes of the body as the client's HTTP layer yields it."
    )
    at: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="At a share of the body: 0.5 is its middle.", examples=[0.5]
    )
    before: Literal["first_token", "usage", "finish", "done"] | None = Field(
        default=None, description="Right before the first token, the token counts, the finish reason or the end mark."
    )
    inside: Literal["utf8", "escape", "event"] | None = Field(
        default=None,
        description="Move the position to the next byte inside a UTF-8 character, a JSON escape or an event.",
    )

    @model_validator(mode="after")
    def _check_position(self) -> Self:
        given = [v for v in (self.after_tokens, self.after_bytes, self.at, self.before) if v is not None]
        require(len(given) <= 1, "expected only one of after_tokens, after_bytes, at, before")
        return self

    @property
    def has_position(self) -> bool:
        """Return whether any field of a position is set."""
        given = (self.after_tokens, self.after_bytes, self.at, self.before, self.inside)
        return any(value is not None for value in given)

    def find(self, response: FaultableResponse) -> int:
        """Return the position as an offset in the body, at most its end."""
        position = self._find_offset(response)
        if self.inside is None:
            return position
        moved = _INSIDE[self.inside](response, position)
        return position if moved is None else moved

    def _find_offset(self, response: FaultableResponse) -> int:
        if self.after_bytes is not None:
            return min(self.after_bytes, response.size)
        if self.at is not None:
            return int(response.size * self.at)
        if self.before is not None:
            return _BEFORE[self.before](response)
        return _find_after_tokens(response, self.after_tokens or 0)


def find_event(response: FaultableResponse, position: int) -> int:
    """Return the index of the event at an offset; the last if the offset is the body's end."""
    spans = response.events()
    return next((index for index, span in enumerate(spans) if position < span.end), len(spans) - 1)


def list_events_from(response: FaultableResponse, position: int) -> list[EventRange]:
    """Return the events that begin at an offset or after it."""
    return [span for span in response.events() if span.start >= position]


def _find_after_tokens(response: FaultableResponse, count: int) -> int:
    while count and count <= len(response.texts) and not response.texts[count - 1]:
        count -= 1  # a token without a text has no bytes
    return _find_end(response, lambda piece: piece.tokens >= count) if count else 0


def _find_end(response: FaultableResponse, wanted: Callable[[Chunk], bool]) -> int:
    """Return the end of the first wanted chunk, or the end of the body."""
    end = 0
    for piece in response.chunks:
        end += len(piece.data)
        if wanted(piece):
            return end
    return end


def _find_first_token(response: FaultableResponse) -> int:
    end = _find_end(response, lambda piece: piece.tokens > 0)
    if response.streamed:
        return next((span.start for span in response.events() if span.start < end <= span.end), end)
    start = 0
    for piece in response.chunks:
        if piece.tokens:
            return start
        start += len(piece.data)
    return end


def _find_utf8(response: FaultableResponse, position: int) -> int | None:
    found = _CONTINUATION.search(response.body, position)
    return found.start() if found else None


def _find_escape(response: FaultableResponse, position: int) -> int | None:
    for found in _ESCAPE.finditer(response.body):
        if position < found.end():
            return max(position, found.start() + 1)
    return None


def _find_inside_event(response: FaultableResponse, position: int) -> int | None:
    for span in response.events():
        inside = max(position, span.start + 1)
        if inside < span.end:
            return inside
    return None


_INSIDE: Mapping[str, Callable[[FaultableResponse, int], int | None]] = {
    "utf8": _find_utf8,
    "escape": _find_escape,
    "event": _find_inside_event,
}
_BEFORE: Mapping[str, Callable[[FaultableResponse], int]] = {
    "first_token": _find_first_token,
    "usage": find_usage,
    "finish": find_finish,
    "done": find_done,
}
