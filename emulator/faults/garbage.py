"""Fault ``garbage``: the JSON of the body, or of one event, breaks off in its middle."""

from typing import Literal

from emulator.core.faultable import FaultableResponse
from emulator.faults.json_edit import find_json
from emulator.faults.position import Positioned, find_event


class Garbage(Positioned):
    """Break off the JSON of the body, or of the event at a position, in its middle.

    The lengths are correct and the stream goes on. It catches clients that do not expect a parser error.
    """

    type: Literal["garbage"]

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        body, spans = response.body, response.events()
        index = find_event(response, self.find(response))
        order = [*range(index, len(spans)), *reversed(range(index))]  # `[DONE]` is not JSON anyway
        for span in (spans[number] for number in order if number >= 0):
            place = find_json(body[span.start : span.end])
            if place is not None:
                start, end = (span.start + offset for offset in place)
                return response.edit([(_find_middle(body, start, end), end, b"")])
        return response


def _find_middle(body: bytes, start: int, end: int) -> int:
    """Return an offset near the middle, after the opening bracket and between two characters."""
    middle = max(start + 1, (start + end) // 2)
    while middle > start + 1 and body[middle] & 0xC0 == 0x80:
        middle -= 1
    return middle
