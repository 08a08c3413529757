"""Bus over which replicas exchange changes and replies: a Redis server with an inbox list for each replica."""

import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from urllib.parse import quote

from emulator.core.bus import MAX_READ, REPLY_TIMEOUT, ClusterSnapshot, PendingChange
from emulator.core.json import JSON, dump_text, parse_json
from emulator.core.storage import StoreLostError
from emulator.storage.redis.client import LEASE, BlockingConnection, Connections, ask, read_text
from emulator.storage.redis.pipeline import Pipeline, digest_of

_SCRIPTS = {"enter": ("forget",), "reply": (), "append": (), "read": (), "clear": ()}
"""Scripts, with the scripts that precede each."""
_POST = read_text("post")
_BLOCK_TIMEOUT = 0.5  # real seconds of one blocking read
_UNCHANGED = "-"
_ALL = "9e15"  # above every record number


class RedisBus:
    """Implementation of :class:`emulator.core.bus.ClusterBus` on Redis.

    ``missed`` is set when other replicas considered this process dead, so that it missed changes.

    Args:
        connections: connections for blocking and occasional commands.
        pipeline: connection for short commands.
        prefix: prefix of every key.
        owner: key that identifies this process.
    """

    outlives = True

    def __init__(self, connections: Connections, pipeline: Pipeline, prefix: str, owner: str) -> None:
        self._connections = connections
        self._pipeline = pipeline
        self._prefix = prefix
        self._owner = owner
        self.skew = 0.0
        self.missed = False
        register = connections.commands.register_script
        self._scripts = {name: register(read_text(*begins, name)) for name, begins in _SCRIPTS.items()}

    @property
    def replica(self) -> str:
        return self._owner

    def now(self) -> float:
        return time.time() - self.skew

    async def join(self, *, again: bool = False) -> tuple[str, Mapping[str, ClusterSnapshot]]:
        self.missed = False
        store_id, *pairs = await self._run(
            "enter", self._owner, str(int(LEASE * 1000)), "1" if again else "0", os.urandom(8).hex()
        )
        snapshots = zip(pairs[::2], map(_split, pairs[1::2]), strict=True)
        return store_id, {session: ClusterSnapshot(version, parse_json(text)) for session, (version, text) in snapshots}

    async def post(self, change: JSON) -> PendingChange:
        number, *owners = await self._post(dump_text(change), "", "", _UNCHANGED)
        return PendingChange(int(number), frozenset(owners))

    async def change(self, session: str, change: JSON, document: JSON, before: int) -> PendingChange | None:
        text = "" if document is None else dump_text(document)
        answer = await self._post(dump_text(change), session, text, str(before))
        return PendingChange(int(answer[0]), frozenset(answer[1:])) if answer else None

    async def _post(self, *words: str) -> list[str]:
        """Run the ``post`` script on the pipelined connection, which concurrent posts share."""
        return await self._pipeline.run(_POST, digest_of(_POST), self._prefix, words)

    async def receive(self) -> tuple[int, JSON] | None:
        if self.missed:
            raise StoreLostError("others took this process for dead")
        found = await ask(self._connections.inbox.blpop([f"{self._owner}:inbox"], timeout=_BLOCK_TIMEOUT))
        if found is None:
            return None
        number, text = _split(found[1])
        return number, parse_json(text)

    async def reply(self, number: int, reply: JSON) -> None:
        text = f"{self._owner} {dump_text(reply)}"
        await ask(self._scripts["reply"](keys=[self._replies(number)], args=[text]))

    async def gather_replies(
        self, posted: PendingChange, timeout: float, silent: frozenset[str] = frozenset()
    ) -> Mapping[str, JSON]:
        replies: dict[str, JSON] = {}
        async with self._apart() as server:
            for asked, seconds in ((posted.replicas - silent, timeout), (posted.replicas & silent, REPLY_TIMEOUT)):
                ends = time.monotonic() + seconds
                while not asked <= replies.keys() and (left := ends - time.monotonic()) > 0:
                    found = await ask(server.blpop([self._replies(posted.number)], timeout=min(left, _BLOCK_TIMEOUT)))
                    if found is not None:
                        owner, _, text = found[1].partition(" ")
                        replies[owner] = parse_json(text)
        return replies

    @asynccontextmanager
    async def _apart(self) -> AsyncIterator[BlockingConnection]:
        """Open a client with one connection of its own for the time of a block."""
        server = self._connections.replies.client()
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
        calls = map(_split, await self._run("read", str(after), str(MAX_READ)))
        return sorted((number, text.encode()) for number, text in calls)

    async def clear(self, session: str | None, until: int | None) -> None:
        last = _ALL if until is None else str(until)
        await self._run("clear", last, *(() if session is None else (quote(session, safe=""),)))

    def _replies(self, number: int) -> str:
        return f"{self._prefix}:replies:{number}"

    async def _run(self, script: str, *arguments: str) -> list[str]:
        return await ask(self._scripts[script](keys=[self._prefix], args=arguments))


def _split(text: str) -> tuple[int, str]:
    """Split ``17 {…}`` into the number and the text after it."""
    number, _, rest = text.partition(" ")
    return int(number), rest
