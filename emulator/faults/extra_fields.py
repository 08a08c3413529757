"""Fault ``extra_fields``: JSON objects of the response have unknown fields."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from emulator.core.faultable import Edit, FaultableResponse
from emulator.core.json import JSON, dump_json
from emulator.faults.base import Fault
from emulator.faults.json_edit import find_ends, scan_objects
from emulator.faults.marks import names_of


class ExtraFields(Fault):
    """Add unknown fields at the end of every JSON object, or of those at a path, in the body or in every event.

    Vendors add fields without notice. The fault catches clients that accept known fields only.
    """

    is_noticeable: ClassVar[bool] = False
    type: Literal["extra_fields"]
    fields: dict[str, JSON] = Field(
        default={"unexpected_field": "unexpected"}, min_length=1, description="The fields to add."
    )
    at: Annotated[str, Field(pattern=r"^(\.|[^.\[\]]+(\.[^.\[\]]+)*)$")] | None = Field(
        default=None,
        description="Path of the objects that get them, without indices of lists; `.`: the outermost; absent: all.",
        examples=[".", "choices.message"],
    )

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        body = response.body
        alone = dump_json(self.fields)[1:-1]
        behind = b"," + alone
        edits: list[Edit] = []
        for span in response.events():
            for at, is_empty in self._find_places(body[span.start : span.end]):
                place = span.start + at
                edits.append((place, place, alone if is_empty else behind))
        return response.edit(edits)

    def _find_places(self, data: bytes) -> list[tuple[int, bool]]:
        if self.at is None:
            return find_ends(data)
        names = () if self.at == "." else tuple(self.at.split("."))
        return [(found.end - 1, not found.members) for found in scan_objects(data) if names_of(found.path) == names]
