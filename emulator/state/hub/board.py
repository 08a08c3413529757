"""What several processes have told one another, as one process keeps it for all of them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

from emulator.core.commons import MOMENT, MOST_READ, Posted, World
from emulator.core.json import JSON

_MOST_BYTES = 64 * 1024**2  # of the journals of all sessions
_BIRTH = "hub"


class Board:
    """Changes in order, worlds as they stand, journals.

    :class:`emulator.core.commons.Commons` says what each verb does.
    """

    def __init__(self) -> None:
        self._number = 0
        self._worlds: dict[str, World] = {}
        self._inboxes: dict[str, asyncio.Queue[tuple[int, JSON]]] = {}
        self._replies: dict[int, dict[str, JSON]] = {}
        self._replied = asyncio.Condition()
        self._journals: dict[str, deque[tuple[int, str]]] = {}
        self._order: deque[tuple[int, str]] = deque()
        self._size = 0

    def enter(self, replica: str) -> tuple[str, Mapping[str, World]]:
        self._inboxes[replica] = asyncio.Queue()
        return _BIRTH, self._worlds

    async def leave(self, replica: str) -> None:
        """It lives no more; nobody waits for it."""
        self._inboxes.pop(replica, None)
        async with self._replied:
            self._replied.notify_all()

    def post(self, change: JSON) -> Posted:
        self._number += 1
        for inbox in self._inboxes.values():
            inbox.put_nowait((self._number, change))
        self._replies[self._number] = {}
        return Posted(self._number, frozenset(self._inboxes))

    def change(self, session: str, change: JSON, document: JSON, before: int) -> Posted | None:
        known = self._worlds.get(session)
        if (0 if known is None else known.version) != before:
            return None
        posted = self.post(change)
        if document is None:
            self._worlds.pop(session, None)
        else:
            self._worlds[session] = World(posted.number, document)
        return posted

    async def hear(self, replica: str) -> tuple[int, JSON]:
        return await self._inboxes[replica].get()

    async def reply(self, replica: str, number: int, reply: JSON) -> None:
        if number in self._replies:
            self._replies[number][replica] = reply
            async with self._replied:
                self._replied.notify_all()

    async def collect(
        self, number: int, replicas: Iterable[str], silent: Iterable[str], patience: float
    ) -> Mapping[str, JSON]:
        replies = self._replies.get(number, {})

        def are_all(asked: Iterable[str]) -> bool:
            return all(replica in replies or replica not in self._inboxes for replica in asked)

        async with self._replied:
            for asked, seconds in ((replicas, patience), (silent, MOMENT)):
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._replied.wait_for(partial(are_all, asked)), seconds)
        self._replies.pop(number, None)
        return replies

    def append(self, session: str, entries: Sequence[str], most: int) -> int:
        journal = self._journals.setdefault(session, deque())
        first = self._number + 1
        for self._number, text in enumerate(entries, first):
            journal.append((self._number, text))
            self._order.append((self._number, session))
            self._size += len(text)
        while len(journal) > most:
            self._size -= len(journal.popleft()[1])
        while self._size > _MOST_BYTES:
            self._drop_first()
        return first

    def _drop_first(self) -> None:
        number, session = self._order.popleft()
        journal = self._journals.get(session)
        if journal and journal[0][0] == number:
            self._size -= len(journal.popleft()[1])

    def read(self, after: int) -> Sequence[tuple[int, str]]:
        bound, found = self._number, []
        for journal in self._journals.values():
            new = [*islice(_find_new(journal, after), MOST_READ + 1)]
            if len(new) > MOST_READ:
                bound = min(bound, new[-2][0])
            found += new
        return sorted(call for call in found if call[0] <= bound)

    def clear(self, session: str | None, until: int | None) -> None:
        for name in [*self._journals] if session is None else [session]:
            journal = self._journals.get(name, deque())
            while journal and (until is None or journal[0][0] <= until):
                self._size -= len(journal.popleft()[1])
            if not journal:
                self._journals.pop(name, None)
        if not self._journals:
            self._order.clear()


def _find_new(journal: deque[tuple[int, str]], after: int) -> Iterable[tuple[int, str]]:
    """Calls that came after one, oldest first; most of them are known."""
    count = 0
    for number, _ in reversed(journal):
        if number <= after:
            break
        count += 1
    return islice(journal, len(journal) - count, None)
