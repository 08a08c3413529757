"""Source positions (file, line, column) of the values and keys of a scenario, for diagnostics."""

from dataclasses import field

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON

KeyPath = tuple[str | int, ...]


def format_path(path: KeyPath) -> str:
    """Format a path: ``("rules", 1, "error")`` → ``rules[1].error``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def look_up(data: JSON, path: KeyPath) -> JSON:
    """Return the value at a path.

    Raises:
        LookupError: there is no such value.
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


@fast_dataclass(frozen=True, slots=True)
class Location:
    """Position of a value or key in a file, from line and column 1, and its path in that file."""

    file: str
    line: int
    column: int
    path: KeyPath

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@fast_dataclass(slots=True, eq=False)
class Locations:
    """Positions of a whole document.

    Fields:
        values: positions of values by path.
        keys: positions of keys by the path of their value.
    """

    values: dict[KeyPath, Location] = field(default_factory=dict)
    keys: dict[KeyPath, Location] = field(default_factory=dict)

    def find(self, path: KeyPath) -> Location | None:
        """Return the position of a value, or of the innermost value around it that has one."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.values:
                return self.values[path[:length]]
        return None
