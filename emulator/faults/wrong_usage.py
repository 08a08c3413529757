"""Token counts that are wrong."""

from __future__ import annotations

from typing import Literal

from emulator.core.delivery import Delivery, Edit
from emulator.faults.base import Fault
from emulator.faults.json_text import Member, Object, scan_objects

_SAID = ("completion_tokens", "output_tokens", "generated_tokens")
_OTHERS = ("total_tokens", "prompt_tokens", "input_tokens")


class WrongUsage(Fault):
    """Report token counts that do not add up: one token more was generated than there is, and the total stays.

    It catches bills and budgets that trust the counts.
    """

    type: Literal["wrong_usage"]

    def bend(self, delivery: Delivery) -> Delivery:
        body = delivery.body
        edits: list[Edit] = []
        for span in delivery.events():
            data = body[span.start : span.end]
            for found in scan_objects(data):
                member = _pick_count(found, data)
                if member is not None:
                    count = b"%d" % (int(data[member.value : member.end]) + 1)
                    edits.append((span.start + member.value, span.start + member.end, count))
        return delivery.edit(edits)


def _pick_count(found: Object, data: bytes) -> Member | None:
    """The count of generated tokens, or for answers without any the total."""
    counts = {
        member.path[-1]: member
        for member in found.members
        if member.path[-1] in (*_SAID, *_OTHERS) and data[member.value : member.end].isdigit()
    }
    return next((counts[name] for name in (*_SAID, *_OTHERS) if name in counts), None)
