"""Fault ``duplicate``: an event of a stream is sent twice."""

from dataclasses import replace
from typing import ClassVar, Literal

from emulator.core.faultable import FaultableResponse
from emulator.faults.position import Positioned, list_events_from


class Duplicate(Positioned):
    """Send the event after a position twice.

    It catches clients that join all deltas: their text has a word twice.
    """

    whole_events: ClassVar[bool] = True
    is_noticeable: ClassVar[bool] = False  # a service may say a word twice
    type: Literal["duplicate"]

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        events = list_events_from(response, self.find(response))
        size = events[0].end - events[0].start if events else 0
        if not events or size > response.max_added:
            return response
        before, rest = response.divide(events[0].start)
        event, after = replace(response, chunks=rest).divide(size)
        event = (*event[:-1], replace(event[-1], flush=True))
        return replace(response, chunks=(*before, *event, *event, *after), max_added=response.max_added - size)
