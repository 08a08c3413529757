"""Fault ``reorder``: two events of a stream are swapped."""

from typing import ClassVar, Literal

from emulator.core.faultable import FaultableResponse
from emulator.faults.position import Positioned, list_events_from


class Reorder(Positioned):
    """Swap the next two events after the position; send times stay the same.

    It catches clients that rely on the order of events. It has no effect on a whole response.
    """

    whole_events: ClassVar[bool] = True
    is_noticeable: ClassVar[bool] = False
    type: Literal["reorder"]

    @property
    def needs_events(self) -> bool:
        return True

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        events = list_events_from(response, self.find(response))[:2]
        if len(events) < 2:
            return response
        body = response.body
        one, two = (body[span.start : span.end] for span in events)
        return response.edit([(events[0].start, events[0].end, two), (events[1].start, events[1].end, one)])
