"""Documents in the memory of this process, within a bound that all sessions share."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from emulator.core.executor import run_in_thread
from emulator.core.json import JSON


@dataclass(frozen=True, slots=True)
class StorageLimits:
    """Bounds of one world; what was used longest ago goes first.

    Fields:
        counters: of all sessions together; one that has more than its part of them forgets its own.
        accounts: of one session: who asks is up to clients.
        documents: bytes of all sessions' together.
        sessions: that a shared store remembers; each process bounds its own.
    """

    counters: int = 50_000
    accounts: int = 20_000
    documents: int = 32 * 1024**2
    sessions: int = 20_000


DEFAULT_LIMITS = StorageLimits()


_FEW = 10_000  # values that are quickly weighed
_VALUE = 64  # bytes of one, whatever it is, and of its place
_NONE: Mapping[str, JSON] = {}
Name = tuple[str, str, str]
"""Of a document: session, shelf and key."""


class DocumentStore:
    """Documents by session and shelf; past a bound those that were written longest ago are forgotten."""

    def __init__(self, room: int = DEFAULT_LIMITS.documents) -> None:
        self._all = self._room = room
        self._shelves: dict[tuple[str, str], Mapping[str, JSON]] = {}
        self._sizes: OrderedDict[Name, int] = OrderedDict()

    def fetch(self, session: str, shelf: str) -> Mapping[str, JSON]:
        """All of a shelf; nobody changes one."""
        return self._shelves.get((session, shelf), _NONE) if self._shelves else _NONE

    async def store(self, session: str, shelf: str, key: str, document: JSON, before: JSON) -> bool:
        """As :meth:`emulator.core.storage.State.store`."""
        size = 0 if document is None else estimate_size(document, _FEW)
        if size is None:
            size = await run_in_thread(estimate_size, document) or 0
        found = self.fetch(session, shelf)
        if found.get(key) != before:
            return False
        self._put(
            session, shelf, {name: value for name, value in {**found, key: document}.items() if value is not None}
        )
        self._room += self._sizes.pop((session, shelf, key), 0) - size
        if document is not None:
            self._sizes[session, shelf, key] = size
        while self._room < 0:
            self._forget(next(iter(self._sizes)))
        return True

    def reset(self, session: str | None = None) -> None:
        """Forget those of one session, or all."""
        for name in [name for name in self._sizes if session is None or name[0] == session]:
            self._room += self._sizes.pop(name)
        for place in [place for place in self._shelves if session is None or place[0] == session]:
            del self._shelves[place]

    def _forget(self, name: Name) -> None:
        session, shelf, key = name
        self._room += self._sizes.pop(name)
        self._put(session, shelf, {other: value for other, value in self.fetch(session, shelf).items() if other != key})

    def _put(self, session: str, shelf: str, documents: Mapping[str, JSON]) -> None:
        if documents:
            self._shelves[session, shelf] = documents
        else:
            self._shelves.pop((session, shelf), None)


def estimate_size(document: JSON, most: int | None = None) -> int | None:
    """Bytes that a document takes, roughly; ``None``: it has more values than ``most``."""
    size, waiting = 0, [document]
    count = 0
    while waiting:
        value = waiting.pop()
        count += 1
        size += _VALUE
        if most is not None and count + len(waiting) > most:
            return None
        if isinstance(value, str):
            size += sys.getsizeof(value)
        elif isinstance(value, Mapping):
            size += sum(map(sys.getsizeof, value))
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return size
