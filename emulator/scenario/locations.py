"""Where the values and keys of a scenario stand in its files."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.core.json import JSON

KeyPath = tuple[str | int, ...]


def format_path(path: KeyPath) -> str:
    """``("rules", 1, "error")`` → ``rules[1].error``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def look_up(data: JSON, path: KeyPath) -> JSON:
    """The value at a path.

    Raises:
        LookupError: there is none.
    """
    for part in path:
        match data, part:
            case dict(values), _:
                data = values[part]
            case list(items), int(index):
                data = items[index]
            case _:
                raise LookupError(format_path(path))
    return data


@dataclass(frozen=True, slots=True)
class Location:
    """Where a value or key stands, and its path in that file."""

    file: str
    line: int
    column: int
    path: KeyPath

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(slots=True, eq=False)
class Locations:
    """Where everything stands.

    Fields:
        values: by path.
        keys: those of mappings, by the path of their value.
    """

    values: dict[KeyPath, Location] = field(default_factory=dict)
    keys: dict[KeyPath, Location] = field(default_factory=dict)

    def find(self, path: KeyPath) -> Location | None:
        """The location of a value, or of the nearest thing around it that is written down."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.values:
                return self.values[path[:length]]
        return None
