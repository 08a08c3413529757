"""A server that runs so many calls at once: one that finds no slot waits in a queue, or is refused if that is full."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from emulator.core.errors import EmulatedError, ErrorKind

ServerKey = tuple[str, str, str]
"""Session, vendor and deployment."""


class ConcurrencyLimits(Protocol):
    """How many calls run at once, and how many wait for them to end; ``queue`` of ``None``: any number."""

    @property
    def capacity(self) -> int: ...

    @property
    def queue(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Slot:
    """A running call's slot.

    Fields:
        since: when the call came to run, seconds since the scenario began.
        running: how many ran then, this one among them.
    """

    server: ServerKey
    since: float
    running: int


@dataclass(slots=True, eq=False)
class _Waiter:
    """A call in the queue, and the slot it will have."""

    capacity: int
    arrived: float
    turn: asyncio.Future[Slot]


@dataclass(slots=True, eq=False)
class _Server:
    running: int = 0
    queue: deque[_Waiter] = field(default_factory=deque)


class Slots:
    """Every server's running calls and its queue, first come, first served.

    One process's own: replicas are servers apart, as behind a balancer.
    """

    def __init__(self) -> None:
        self._servers: dict[ServerKey, _Server] = {}

    async def acquire(self, key: ServerKey, room: ConcurrencyLimits, now: float) -> Slot:
        """Take a slot, at once or after those before it in the queue.

        Raises:
            EmulatedError: ``OVERLOADED``: the queue is full.
        """
        server = self._servers.setdefault(key, _Server())
        if server.running < room.capacity:
            server.running += 1
            return Slot(key, now, server.running)
        if room.queue is not None and len(server.queue) >= room.queue:
            details = {"capacity": room.capacity, "queue": room.queue}
            raise EmulatedError(ErrorKind.OVERLOADED, details=details)
        waiter = _Waiter(room.capacity, now, asyncio.get_running_loop().create_future())
        server.queue.append(waiter)
        try:
            return await waiter.turn
        except asyncio.CancelledError:
            if waiter in server.queue:
                server.queue.remove(waiter)
            elif not waiter.turn.cancelled():
                self.release(waiter.turn.result(), waiter.turn.result().since)
            raise

    def __iter__(self) -> Iterator[tuple[ServerKey, int, int]]:
        """Servers that are busy: how many calls run, and how many wait."""
        return iter([(key, server.running, len(server.queue)) for key, server in self._servers.items()])

    def release(self, slot: Slot, now: float) -> None:
        """Give up a slot to the first in the queue."""
        server = self._servers[slot.server]
        server.running -= 1
        while server.queue and server.running < server.queue[0].capacity:
            waiter = server.queue.popleft()
            if not waiter.turn.done():
                server.running += 1
                waiter.turn.set_result(Slot(slot.server, max(now, waiter.arrived), server.running))
        if not server.running and not server.queue:
            del self._servers[slot.server]
