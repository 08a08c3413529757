"""Fault ``stall``: a response pauses."""

from dataclasses import replace
from typing import Literal

from pydantic import Field

from emulator.core.faultable import FaultableResponse
from emulator.core.units import Duration
from emulator.faults.position import Positioned


class Stall(Positioned):
    """Send nothing for a while at a position, then go on.

    It catches read timeouts that are shorter than the pauses of a busy server, and those that are missing.
    """

    type: Literal["stall"]
    for_: Duration = Field(alias="for", description="How long the silence lasts.", examples=["30s"])

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        position = self.find(response)
        if not response.reaches(position):
            return response
        before, after = response.divide(position)
        if before:
            before = (*before[:-1], replace(before[-1], flush=True))
        late = tuple(replace(piece, due=piece.due + self.for_) for piece in after)
        return replace(response, chunks=(*before, *late), end=response.end + self.for_)
