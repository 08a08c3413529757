"""Result of an import: recorded calls, rules, and the list of what cannot be carried over.

The converters of this package return it, and ``emulator import`` writes and reports it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.core.http import Headers
from emulator.core.json import JSON, Object
from emulator.recording.content import split_events
from emulator.recording.exchange import Exchange, RecordedWrite


class ImportProblem(ValueError):
    """A file cannot be read; the message is one line for the user."""


@dataclass(slots=True)
class ImportResult:
    """Content of imported files.

    Fields:
        exchanges: recorded calls.
        urls: URL of each call of a HAR file.
        rules: rules of a scenario.
        lost: file, place and reason of what cannot be carried over.
    """

    exchanges: list[Exchange] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    rules: list[Object] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def add(self, other: ImportResult) -> None:
        self.exchanges += other.exchanges
        self.rules += other.rules
        self.lost += other.lost


def as_mapping(value: JSON) -> Object:
    """Return a JSON object, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def as_items(value: JSON) -> list[JSON]:
    """Return a JSON array, or an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def cut_body(body: bytes, headers: Headers, offset: float) -> tuple[RecordedWrite, ...]:
    """Return the writes of a body whose times are unknown: a stream's events, or the whole."""
    kind = next((value for name, value in headers if name.lower() == "content-type"), "")
    parts = split_events(body) if kind.startswith("text/event-stream") else [body] if body else []
    return tuple(RecordedWrite(offset, part) for part in parts)
