"""How a worker speaks with the process that started it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from itertools import count
from urllib.parse import SplitResult

from emulator.core.commons import Posted, World
from emulator.core.json import JSON, as_array, as_integer, as_object, as_text, dump_json, parse_json
from emulator.core.state import StoreLostError
from emulator.state.hub.server import LONGEST
from emulator.state.memory import MemoryState
from emulator.state.room import USUAL, Room


def open_hub(url: SplitResult, room: Room = USUAL) -> HubStore:
    """``hub:///path``: counters, quotas and documents of this process alone, and what workers tell one another."""
    return HubStore(url.path, room)


class HubStore:
    """Every world it opens is a new one."""

    counts_for_all = False
    health = None

    def __init__(self, path: str, room: Room = USUAL) -> None:
        self.commons = HubCommons(path)
        self._room = room

    def open(self, world: str) -> MemoryState:
        return MemoryState(self._room)

    async def begin(self, world: str, now: float) -> float:
        return now

    async def tend(self) -> bool:
        """Whoever hangs up lives no more; no other sign is needed."""
        return True

    async def let_go(self) -> None:
        """It goes with the process that started this one, and so does this one."""

    async def close(self) -> None:
        await self.commons.close()


class HubCommons:
    """Implements :class:`emulator.core.commons.Commons` on a local socket."""

    outlives = False

    def __init__(self, path: str) -> None:
        self._path = path
        self._name = f"worker:{os.getpid()}"
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[JSON]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def replica(self) -> str:
        return self._name

    def now(self) -> float:
        return time.time()

    async def enter(self, *, again: bool = False) -> tuple[str, Mapping[str, World]]:
        birth, worlds = as_array(await self._ask("enter", self._name))
        pairs = {session: as_array(pair) for session, pair in as_object(worlds).items()}
        return as_text(birth), {session: World(as_integer(at), world) for session, (at, world) in pairs.items()}

    async def post(self, change: JSON) -> Posted:
        return _read_posted(await self._ask("post", change))

    async def change(self, session: str, change: JSON, document: JSON, before: int) -> Posted | None:
        answer = await self._ask("change", session, change, document, before)
        return None if answer is None else _read_posted(answer)

    async def hear(self) -> tuple[int, JSON] | None:
        number, change = as_array(await self._ask("hear"))
        return as_integer(number), change

    async def reply(self, number: int, reply: JSON) -> None:
        await self._ask("reply", number, reply)

    async def collect(
        self, posted: Posted, patience: float, silent: frozenset[str] = frozenset()
    ) -> Mapping[str, JSON]:
        asked = sorted(posted.replicas - silent), sorted(posted.replicas & silent)
        return as_object(await self._ask("collect", posted.number, *asked, patience))

    async def append(self, session: str, entries: Sequence[bytes], most: int, batch: str) -> int:
        return as_integer(await self._ask("append", session, [entry.decode() for entry in entries], most))

    async def read(self, after: int) -> Sequence[tuple[int, bytes]]:
        calls = map(as_array, as_array(await self._ask("read", after)))
        return [(as_integer(number), as_text(text).encode()) for number, text in calls]

    async def clear(self, session: str | None, until: int | None) -> None:
        await self._ask("clear", session, until)

    async def close(self) -> None:
        """Hang up."""
        if self._writer is not None and self._reading is not None:
            self._writer.close()
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _ask(self, verb: str, *takes: JSON) -> JSON:
        writer = self._writer or await self._connect()
        if writer.is_closing():
            raise StoreLostError("the process that started this worker is gone")
        number = next(self._numbers)
        answer: asyncio.Future[JSON] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        writer.write(dump_json({"n": number, "verb": verb, "takes": takes}) + b"\n")
        try:
            result = await answer
        finally:
            del self._waiting[number]
        return result

    async def _connect(self) -> asyncio.StreamWriter:
        try:
            reader, self._writer = await asyncio.open_unix_connection(self._path, limit=LONGEST)
        except OSError as error:
            raise StoreLostError(str(error)) from None
        self._reading = asyncio.create_task(self._read(reader))
        return self._writer

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            answer = as_object(parse_json(line))
            waiter = self._waiting.get(as_integer(answer["n"]))
            if waiter is not None and not waiter.done():
                waiter.set_result(answer["gives"])
        if self._writer is not None:
            self._writer.close()
        for waiter in self._waiting.values():
            if not waiter.done():
                waiter.set_exception(StoreLostError("the process that started this worker is gone"))


def _read_posted(answer: JSON) -> Posted:
    number, replicas = as_array(answer)
    return Posted(as_integer(number), frozenset(map(as_text, as_array(replicas))))
