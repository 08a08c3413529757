"""What replicas tell one another, through the server that they share: each has an inbox there."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from urllib.parse import quote

from emulator.core.bus import MOST_READ, REPLY_TIMEOUT, ClusterSnapshot, PendingChange
from emulator.core.json import JSON, dump_text, parse_json
from emulator.core.storage import StoreLostError
from emulator.storage.redis.pipeline import Pipeline, digest_of
from emulator.storage.redis.server import LEASE, BlockingConnection, Connections, ask, read_text

_SCRIPTS = {"enter": ("forget",), "reply": (), "append": (), "read": (), "clear": ()}
"""And what each begins with."""
_POST = read_text("post")
_LISTEN = 0.5  # real seconds that one question for changes waits
_UNCHANGED = "-"
_ALL = "9e15"  # no number is higher


class RedisBus:
    """Implements :class:`emulator.core.bus.ClusterBus`.

    ``missed`` is set when others took this process for dead, and told it nothing for a while.

    Args:
        ways: for what takes its time; ``line``: for what does not.
        prefix: how every key begins.
        owner: the key that names this process.
    """

    outlives = True

    def __init__(self, ways: Connections, line: Pipeline, prefix: str, owner: str) -> None:
        self._ways = ways
        self._line = line
        self._prefix = prefix
        self._owner = owner
        self.skew = 0.0
        self.missed = False
        register = ways.asking.register_script
        self._scripts = {name: register(read_text(*begins, name)) for name, begins in _SCRIPTS.items()}

    @property
    def replica(self) -> str:
        return self._owner

    def now(self) -> float:
        return time.time() - self.skew

    async def join(self, *, again: bool = False) -> tuple[str, Mapping[str, ClusterSnapshot]]:
        self.missed = False
        birth, *pairs = await self._run(
            "enter", self._owner, str(int(LEASE * 1000)), "1" if again else "0", os.urandom(8).hex()
        )
        worlds = zip(pairs[::2], map(_split, pairs[1::2]), strict=True)
        return birth, {session: ClusterSnapshot(version, parse_json(text)) for session, (version, text) in worlds}

    async def post(self, change: JSON) -> PendingChange:
        number, *owners = await self._post(dump_text(change), "", "", _UNCHANGED)
        return PendingChange(int(number), frozenset(owners))

    async def change(self, session: str, change: JSON, document: JSON, before: int) -> PendingChange | None:
        text = "" if document is None else dump_text(document)
        answer = await self._post(dump_text(change), session, text, str(before))
        return PendingChange(int(answer[0]), frozenset(answer[1:])) if answer else None

    async def _post(self, *words: str) -> list[str]:
        """As many as there are at once go over one connection."""
        return await self._line.run(_POST, digest_of(_POST), self._prefix, words)

    async def receive(self) -> tuple[int, JSON] | None:
        if self.missed:
            raise StoreLostError("others took this process for dead")
        found = await ask(self._ways.hearing.blpop([f"{self._owner}:inbox"], timeout=_LISTEN))
        if found is None:
            return None
        number, text = _split(found[1])
        return number, parse_json(text)

    async def reply(self, number: int, reply: JSON) -> None:
        text = f"{self._owner} {dump_text(reply)}"
        await ask(self._scripts["reply"](keys=[self._replies(number)], args=[text]))

    async def gather_replies(
        self, posted: PendingChange, patience: float, silent: frozenset[str] = frozenset()
    ) -> Mapping[str, JSON]:
        replies: dict[str, JSON] = {}
        async with self._apart() as server:
            for asked, seconds in ((posted.replicas - silent, patience), (posted.replicas & silent, REPLY_TIMEOUT)):
                ends = time.monotonic() + seconds
                while not asked <= replies.keys() and (left := ends - time.monotonic()) > 0:
                    found = await ask(server.blpop([self._replies(posted.number)], timeout=min(left, _LISTEN)))
                    if found is not None:
                        owner, _, text = found[1].partition(" ")
                        replies[owner] = parse_json(text)
        return replies

    @asynccontextmanager
    async def _apart(self) -> AsyncIterator[BlockingConnection]:
        """The server over one connection, which is closed afterwards: so many at once are seldom wanted again."""
        server = self._ways.waiting.client()
        try:
            yield await ask(server.initialize())
        finally:
            if server.connection is not None:
                await server.connection.disconnect()
            await server.aclose()

    async def append(self, session: str, entries: Sequence[bytes], most: int, batch: str) -> int:
        texts = [entry.decode() for entry in entries]
        [first] = await self._run("append", quote(session, safe=""), str(most), self._owner, batch, *texts)
        return int(first)

    async def read(self, after: int) -> Sequence[tuple[int, bytes]]:
        calls = map(_split, await self._run("read", str(after), str(MOST_READ)))
        return sorted((number, text.encode()) for number, text in calls)

    async def clear(self, session: str | None, until: int | None) -> None:
        last = _ALL if until is None else str(until)
        await self._run("clear", last, *(() if session is None else (quote(session, safe=""),)))

    def _replies(self, number: int) -> str:
        return f"{self._prefix}:replies:{number}"

    async def _run(self, script: str, *arguments: str) -> list[str]:
        return await ask(self._scripts[script](keys=[self._prefix], args=arguments))


def _split(text: str) -> tuple[int, str]:
    """``17 {…}`` → 17 and what follows."""
    number, _, rest = text.partition(" ")
    return int(number), rest
