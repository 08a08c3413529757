"""Fault ``extra_fields``: addition of unknown fields."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from emulator.core.faultable import Edit, FaultableResponse
from emulator.core.json import JSON, dump_json
from emulator.faults.base import Fault
from emulator.faults.json_edit import find_ends


class ExtraFields(Fault):
    """Add unknown fields at the end of every JSON object, in the body or in every event.

    Vendors add fields without notice; a client with closed models breaks.
    """

    is_noticeable: ClassVar[bool] = False
    type: Literal["extra_fields"]
    fields: dict[str, JSON] = Field(
        default={"unexpected_field": "unexpected"}, min_length=1, description="What to add."
    )

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        body = response.body
        alone = dump_json(self.fields)[1:-1]
        behind = b"," + alone
        edits: list[Edit] = []
        for span in response.events():
            for at, is_empty in find_ends(body[span.start : span.end]):
                place = span.start + at
                edits.append((place, place, alone if is_empty else behind))
        return response.edit(edits)
