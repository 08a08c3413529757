"""Fault ``hang``: a response never begins, or never ends."""

from dataclasses import replace
from math import inf
from typing import Literal

from pydantic import Field

from emulator.core.faultable import CloseMode, FaultableResponse
from emulator.core.units import Duration
from emulator.faults.position import Positioned


class Hang(Positioned):
    """Accept the request and never answer; with a position, never go on from there.

    It lasts until the client gives up or ``for`` is over and the connection closes. It catches clients
    without a timeout of their own.
    """

    type: Literal["hang"]
    for_: Duration | None = Field(
        default=None, alias="for", description="How long the silence lasts; absent: until the client gives up."
    )

    @property
    def leaves_nothing(self) -> bool:
        return not self.has_position

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        if self.has_position:
            position = self.find(response)
            if not response.reaches(position):
                return response
            response = response.cut(position, CloseMode.CLOSE)
        else:
            response = replace(response, chunks=(), start=inf, end=0.0, ending=CloseMode.CLOSE)
        return replace(response, end=inf if self.for_ is None else response.end + self.for_)
