"""Make every mutant of a JSON body: each node dropped, doubled, renamed, and replaced by a value of each other type."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from tests.untyped_json import JSON

Path = tuple[str | int, ...]
_Change = Callable[[str, str], list[tuple[str, str]]]
VALUES: tuple[JSON, ...] = (None, True, 7, 0.5, "renamed", [], {})
"""One value of each type; numbers that ranges of counts and of penalties accept as far as one value can."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed body; ``path`` is the node's, ``text`` the JSON, which may have a member twice."""

    change: str
    path: Path
    text: str

    @property
    def place(self) -> str:
        """The path without positions, such as ``messages[].role``."""
        return "".join("[]" if isinstance(part, int) else f".{part}" for part in self.path).lstrip(".")


def list_mutants(body: JSON) -> Iterator[Mutant]:
    """Yield all mutants of a body, in document order; the body itself is a node, too."""
    for value in VALUES:
        if _type(value) != _type(body):
            yield Mutant(f"retyped {_type(value)}", (), json.dumps(value))
    for path, value in _list_nodes(body, ()):
        for name, change in _list_changes(path, value):
            yield Mutant(name, path, _dump(body, path, change))


def _list_nodes(value: JSON, path: Path) -> Iterator[tuple[Path, JSON]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key), inner
        yield from _list_nodes(inner, (*path, key))


def _list_changes(path: Path, value: JSON) -> Iterator[tuple[str, _Change]]:
    yield "dropped", lambda name, text: []
    yield "doubled", lambda name, text: [(name, text), (name, text)]
    if isinstance(path[-1], str):
        yield "renamed", lambda name, text: [(f"{name}x", text)]
    for other in VALUES:
        if _type(other) != _type(value):
            yield f"retyped {_type(other)}", partial(_replace, json.dumps(other))


def _replace(other: str, name: str, text: str) -> list[tuple[str, str]]:
    return [(name, other)]


def _dump(value: JSON, path: Path, change: _Change) -> str:
    """Return the JSON of a value, with the node of a path changed."""
    key, *rest = path
    members: list[tuple[str, str]] = []
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if name != key:
            members.append((str(name), json.dumps(inner)))
        elif rest:
            members.append((str(name), _dump(inner, tuple(rest), change)))
        else:
            members += change(str(name), json.dumps(inner))
    if isinstance(value, list):
        return f"[{', '.join(text for _, text in members)}]"
    return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in members) + "}"


def _type(value: JSON) -> str:
    return "null" if value is None else type(value).__name__
