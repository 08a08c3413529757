"""The parts of an answer that faults know by name: a stream marks them, an answer in one piece has fields for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from emulator.core.faultable import FaultableResponse
from emulator.core.http import FieldNames, Mark, Path
from emulator.faults.json_edit import KeyPath, find_members


def names_of(path: KeyPath) -> Path:
    """A path without the indexes of lists."""
    return tuple(step for step in path if isinstance(step, str))


def is_usage(fields: FieldNames, path: KeyPath) -> bool:
    """The member has token counts."""
    return isinstance(path[-1], str) and _ends_with(names_of(path), fields.usage)


def is_finish(fields: FieldNames, path: KeyPath) -> bool:
    """The member says why the answer ends."""
    return isinstance(path[-1], str) and _ends_with(names_of(path), fields.finish)


def is_id(fields: FieldNames, path: KeyPath) -> bool:
    """The member is the answer's own id, not that of a tool call or an item."""
    return path in fields.id


def _ends_with(names: Path, wanted: Sequence[Path]) -> bool:
    return any(names[-len(path) :] == path for path in wanted)


def find_usage(delivery: FaultableResponse) -> int:
    """Where the final token counts begin: their event, or in an answer in one piece their member."""
    if not delivery.streamed:
        return _find_member(delivery, is_usage, delivery.size)
    places = _find_marked(delivery, Mark.USAGE)
    return places[-1] if places else delivery.size


def find_finish(delivery: FaultableResponse) -> int:
    """Where the answer says why it ends: the event, or in an answer in one piece the member."""
    if not delivery.streamed:
        return _find_member(delivery, is_finish, delivery.size)
    places = _find_marked(delivery, Mark.FINISH)
    return places[0] if places else find_done(delivery)


def find_done(delivery: FaultableResponse) -> int:
    """Where the event that ends a stream begins; the end of the body if there is none."""
    places = _find_marked(delivery, Mark.DONE)
    return places[0] if places else delivery.size


def _find_marked(delivery: FaultableResponse, mark: Mark) -> list[int]:
    return [event.start for event in delivery.events() if mark in event.mark]


def _find_member(delivery: FaultableResponse, wanted: Callable[[FieldNames, KeyPath], bool], default: int) -> int:
    """Where the first such member begins that is not null."""
    body, fields = delivery.body, delivery.fields
    found = (m for m in find_members(body) if wanted(fields, m.path) and body[m.value : m.end] != b"null")
    return min((member.start for member in found), default=default)
