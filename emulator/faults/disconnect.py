"""Fault ``disconnect``: the connection is reset."""

from dataclasses import replace
from math import inf
from typing import Literal

from emulator.core.faultable import CloseMode, FaultableResponse
from emulator.faults.position import Positioned


class Disconnect(Positioned):
    """Reset the connection (TCP RST) at a position; with none, before any byte.

    The client has already read HTTP 200 and some tokens, so a retry policy that looks only at status
    codes misses it.
    """

    type: Literal["disconnect"]

    @property
    def leaves_nothing(self) -> bool:
        return not self.has_position

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        if not self.has_position:
            return replace(response, chunks=(), start=inf, end=0.0, ending=CloseMode.RESET)
        return response.cut(self.find(response), CloseMode.RESET)
