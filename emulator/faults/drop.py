"""Fault ``drop``: fields are left out."""

import re
from functools import partial
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from emulator.core.faultable import Edit, FaultableResponse
from emulator.core.http import FieldNames, Mark
from emulator.core.json import JSON
from emulator.core.text import parse_integer
from emulator.faults.base import Fault
from emulator.faults.json_edit import KeyPath, Member, move_edits, remove_members
from emulator.faults.marks import is_finish, is_id, is_usage, names_of

_FIELD = re.compile(r"[^.\[\]]+(\[\d+\])*(\.[^.\[\]]+(\[\d+\])*)*")
_STEP = re.compile(r"[^.\[\]]+")
_NAMED = {"finish_reason": is_finish, "usage": is_usage, "id": is_id}


def _read_fields(value: JSON) -> JSON:
    return [value] if isinstance(value, str) else value


def _check_field(name: str) -> str:
    if not _FIELD.fullmatch(name):
        raise PydanticCustomError("wanted", "expected finish_reason, usage, done, id or a dotted path such as a.b[0].c")
    return name


Dropped = Annotated[
    tuple[Annotated[str, AfterValidator(_check_field)], ...],
    Field(strict=False, min_length=1),
    BeforeValidator(_read_fields),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]


class Drop(Fault):
    """Leave fields out, in the body or in every event.

    It catches clients that need an optional field.
    """

    type: Literal["drop"]
    field: Dropped = Field(
        description="finish_reason, usage, done, id or a dotted path without indices of lists; or a list of them.",
        examples=["usage", ["id", "choices.logprobs"]],
    )

    @property
    def needs_events(self) -> bool:
        return set(self.field) == {"done"}

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        body = response.body
        edits: list[Edit] = []
        for event in response.events():
            if "done" in self.field and Mark.DONE in event.mark:
                edits.append((event.start, event.end, b""))
            else:
                removed = remove_members(body[event.start : event.end], partial(self._is_unwanted, response.fields))
                edits += move_edits(removed, event.start)
        return response.edit(edits)

    def _is_unwanted(self, fields: FieldNames, member: Member) -> bool:
        return any(_matches(fields, name, member.path) for name in self.field)


def _matches(fields: FieldNames, name: str, path: KeyPath) -> bool:
    """Return whether a name selects a member: by its meaning in the vendor's format, or by its path from the top."""
    if name in _NAMED:
        return _NAMED[name](fields, path)
    steps: list[str | int] = [parse_integer(step) if step.isdecimal() else step for step in _STEP.findall(name)]
    if any(isinstance(step, int) for step in steps):
        return tuple(steps) == path
    return tuple(steps) == names_of(path)
