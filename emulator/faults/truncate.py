"""Fault ``truncate``: a response ends too early, as if it were complete."""

from dataclasses import replace
from typing import Literal

from emulator.core.faultable import FaultableResponse
from emulator.faults.marks import find_finish
from emulator.faults.position import Positioned


class Truncate(Positioned):
    """End cleanly too early: no finish reason, no terminator.

    The response is valid HTTP, so a client that does not check the finish reason takes half an answer for a
    whole one.
    """

    type: Literal["truncate"]

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        position = self.find(response)
        if not response.streamed:
            return response.cut(position)
        cut = response.cut(min(position, find_finish(response)))
        return cut if cut is response else replace(cut, truncated=True)
