"""Fault ``wrong_usage``: token counts do not add up."""

from typing import ClassVar, Literal

from emulator.core.faultable import Edit, FaultableResponse
from emulator.core.http import FieldNames
from emulator.faults.base import Fault
from emulator.faults.json_edit import Member, Object, scan_objects


class WrongUsage(Fault):
    """Report token counts that do not add up: one completion token too many, with the total unchanged.

    It catches budgets and invoices that rely on the counts.
    """

    is_noticeable: ClassVar[bool] = False
    type: Literal["wrong_usage"]

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        body = response.body
        edits: list[Edit] = []
        names = [name.encode() for name in (*response.fields.generated, *response.fields.counts)]
        for event in response.events():
            data = body[event.start : event.end]
            if not any(name in data for name in names):
                continue
            for found in scan_objects(data):
                member = _pick_count(response.fields, found, data)
                if member is not None:
                    count = b"%d" % (int(data[member.value : member.end]) + 1)
                    edits.append((event.start + member.value, event.start + member.end, count))
        return response.edit(edits)


def _pick_count(fields: FieldNames, found: Object, data: bytes) -> Member | None:
    """Return the count of generated tokens, or another count if there is none."""
    names = (*fields.generated, *fields.counts)
    counts = {
        member.path[-1]: member
        for member in found.members
        if member.path[-1] in names and data[member.value : member.end].isdigit()
    }
    return next((counts[name] for name in names if name in counts), None)
