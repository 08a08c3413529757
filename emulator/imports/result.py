"""Result of an import: recorded calls, rules, and the list of what cannot be carried over.

The converters of this package return it, and ``emulator import`` writes and reports it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from emulator.core.http import Headers
from emulator.core.json import JSON, Object
from emulator.recording.content import split_events
from emulator.recording.exchange import Exchange, RecordedWrite

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # of a method and the name of a header (RFC 9110)


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

    def add(self, other: "ImportResult") -> None:
        self.exchanges += other.exchanges
        self.rules += other.rules
        self.lost += other.lost


def drop_unsendable(found: ImportResult) -> None:
    """Leave out calls without a method, and what no header may hold; browsers join cookies by a line end."""
    kept = []
    for exchange in found.exchanges:
        if _TOKEN.fullmatch(exchange.method) is None:
            found.lost.append(f"{exchange.source}: its method is none")
            continue
        exchange.request_headers = tuple(_list_headers(exchange.request_headers))
        exchange.headers = tuple(_list_headers(exchange.headers))
        exchange.reason = " ".join(exchange.reason.split())
        kept.append(exchange)
    found.exchanges = kept


def _list_headers(headers: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    return (
        (name, line.strip())
        for name, value in headers
        if _TOKEN.fullmatch(name)
        for line in (value.splitlines() or [""])
    )


def as_mapping(value: JSON) -> Object:
    """Return a JSON object, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def as_items(value: JSON) -> list[JSON]:
    """Return a JSON array, or an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def read_status(value: JSON) -> int | None:
    """Return a status, also from ``200.0`` or ``"200"``; ``None``: it is no number from 100 to 599."""
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        value = int(value[:4])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 100 <= value <= 599 else None


def read_moment(value: JSON) -> float:
    """Return Unix seconds, also of an ISO time; 0 if it is none."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError):
            return 0.0
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def cut_body(body: bytes, headers: Headers, offset: float) -> tuple[RecordedWrite, ...]:
    """Return the writes of a body whose times are unknown: a stream's events, or the whole."""
    kind = next((value for name, value in headers if name.lower() == "content-type"), "")
    parts = split_events(body) if kind.startswith("text/event-stream") else [body] if body else []
    return tuple(RecordedWrite(offset, part) for part in parts)
