"""Rows of a vendor's reference page: what a request must come to for a field to be there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.untyped_json import JSON

Cases = Sequence[tuple[Mapping[str, JSON], Mapping[str, object]]]
"""Requests that show one field, each with paths and the expected value, type or part."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that is part of what is found."""

    text: str


def check(outcome: object, seen: Mapping[str, object]) -> None:
    """All that must be seen of a request is there."""
    for path, expected in seen.items():
        found = find(outcome, path)
        assert _fits(found, expected), f"{path} is {found!r}, not {expected!r}"


def find(value: JSON, path: str) -> JSON:
    """Return the value at a path of keys, positions and attributes, such as ``answer.choices.0.message``."""
    for step in path.split("."):
        if isinstance(value, Mapping):
            value = value[step]
        elif isinstance(value, list | tuple):
            value = value[int(step)]
        else:
            value = getattr(value, step)
    return value


def _fits(found: JSON, expected: object) -> bool:
    if isinstance(expected, Piece):
        return isinstance(found, str) and expected.text in found
    if isinstance(expected, type):
        return type(found) is expected
    return type(found) is type(expected) and bool(found == expected)
