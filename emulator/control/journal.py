"""What was asked and what became of it."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

_LATEST = 10_000


@dataclass(slots=True, kw_only=True, eq=False)
class Entry:
    """One vendor call; times in Unix seconds, durations in seconds.

    ``whole``: the answer reached the client to its end.
    """

    id: str
    time: float
    vendor: str
    method: str
    path: str
    status: int
    deployment: str | None
    principal: str
    session: str
    rule: str | None
    error: str | None
    prompt_tokens: int
    completion_tokens: int
    ttft: float | None
    duration: float
    whole: bool


class Journal:
    """The latest calls, oldest first; each is also handed to a listener, such as the access log."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=_LATEST)
        self.listen = _ignore

    def add(self, entry: Entry) -> None:
        self._entries.append(entry)
        self.listen(entry)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def clear(self) -> None:
        self._entries.clear()


def _ignore(entry: Entry) -> None:
    """Nobody listens."""
