"""Fault ``late_error``: an error arrives after the stream has begun."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.faultable import Chunk, FaultableResponse
from emulator.faults.position import Positioned


class LateError(Positioned):
    """Send HTTP 200, some tokens, then the vendor's own error inside the stream.

    The status is 200, so a client has to read the events to notice the failure. A whole response has the vendor's
    error as its body, also with HTTP 200. A refusal stays as it is.
    """

    whole_events: ClassVar[bool] = True
    type: Literal["late_error"]
    kind: Annotated[ErrorKind, Field(strict=False)] = Field(
        default=ErrorKind.INTERNAL, description="The kind of error; absent: internal."
    )
    message: str | None = Field(default=None, description="The message that the client reads; absent: the vendor's.")

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        if not response.streamed and response.status >= 400:
            return response
        if not response.streamed:
            words = response.render_error(EmulatedError(self.kind, message=self.message))
            return replace(response, chunks=(Chunk(response.end, words),))
        position = self.find(response)
        if not response.reaches(position):
            return response
        cut = response.cut(position)
        error = EmulatedError(self.kind, message=self.message, details={"events": len(cut.events())})
        words = response.render_error(error)
        tokens = cut.chunks[-1].tokens if cut.chunks else 0
        return replace(cut, chunks=(*cut.chunks, Chunk(cut.end, words, tokens)))
