"""Find usage, finish reason and end of a response: marked events of a stream, or members of a whole body.

Positions such as ``before: usage`` and the faults that remove these parts need them.
"""

from collections.abc import Callable, Sequence

from emulator.core.faultable import FaultableResponse
from emulator.core.http import FieldNames, Mark, Path
from emulator.faults.json_edit import KeyPath, find_members


def names_of(path: KeyPath) -> Path:
    """Return a path without the indexes of lists."""
    return tuple(step for step in path if isinstance(step, str))


def is_usage(fields: FieldNames, path: KeyPath) -> bool:
    """Return whether the member has token counts."""
    return isinstance(path[-1], str) and _ends_with(names_of(path), fields.usage)


def is_finish(fields: FieldNames, path: KeyPath) -> bool:
    """Return whether the member is the finish reason."""
    return isinstance(path[-1], str) and _ends_with(names_of(path), fields.finish)


def is_id(fields: FieldNames, path: KeyPath) -> bool:
    """Return whether the member is the id of the response, not that of a tool call or an item."""
    return path in fields.id


def _ends_with(names: Path, wanted: Sequence[Path]) -> bool:
    return any(names[-len(path) :] == path for path in wanted)


def find_usage(response: FaultableResponse) -> int:
    """Return the offset of the final token counts: of their event, or of their member in a whole body."""
    if not response.streamed:
        return _find_member(response, is_usage, response.size)
    places = _find_marked(response, Mark.USAGE)
    return places[-1] if places else response.size


def find_finish(response: FaultableResponse) -> int:
    """Return the offset of the finish reason: of its event, or of its member in a whole body."""
    if not response.streamed:
        return _find_member(response, is_finish, response.size)
    places = _find_marked(response, Mark.FINISH)
    return places[0] if places else find_done(response)


def find_done(response: FaultableResponse) -> int:
    """Return the offset of the event that ends a stream, or the end of the body."""
    places = _find_marked(response, Mark.DONE)
    return places[0] if places else response.size


def _find_marked(response: FaultableResponse, mark: Mark) -> list[int]:
    return [event.start for event in response.events() if mark in event.mark]


def _find_member(response: FaultableResponse, wanted: Callable[[FieldNames, KeyPath], bool], default: int) -> int:
    """Return the offset of the first wanted member that is not null."""
    body, fields = response.body, response.fields
    found = (m for m in find_members(body) if wanted(fields, m.path) and body[m.value : m.end] != b"null")
    return min((member.start for member in found), default=default)
