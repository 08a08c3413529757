"""Slots of a server that runs a limited number of calls (``latency.load``), with a first-come, first-served queue.

``admission.py`` takes a slot for each call to such a server, and frees it at the end of the call.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import field
from typing import Protocol

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind

ServerKey = tuple[str, str, str]
"""Session, vendor and deployment."""


class ConcurrencyLimits(Protocol):
    """Maximum running calls (``capacity``) and queued calls (``queue``; ``None``: unlimited) of a deployment."""

    @property
    def capacity(self) -> int: ...

    @property
    def queue(self) -> int | None: ...


@fast_dataclass(frozen=True, slots=True)
class Slot:
    """Slot of a running call.

    Fields:
        since: when the call started to run, seconds since the start of the scenario.
        running: number of running calls then, this one included.
    """

    server: ServerKey
    since: float
    running: int


@fast_dataclass(slots=True, eq=False)
class _Waiter:
    """Queued call with the future slot that ends its wait."""

    capacity: int
    arrived: float
    turn: asyncio.Future[Slot]


@fast_dataclass(slots=True, eq=False)
class _Server:
    running: int = 0
    queue: deque[_Waiter] = field(default_factory=deque)


class Slots:
    """Running and queued calls of every deployment in this process; replicas have slots of their own."""

    def __init__(self) -> None:
        self._servers: dict[ServerKey, _Server] = {}

    async def acquire(self, key: ServerKey, limits: ConcurrencyLimits, now: float) -> Slot:
        """Return a slot, after a wait in the queue if none is free.

        Raises:
            EmulatedError: ``OVERLOADED``: the queue is full.
        """
        server = self._servers.get(key)
        if server is None:
            server = self._servers[key] = _Server()
        if server.running < limits.capacity:
            server.running += 1
            return Slot(key, now, server.running)
        if limits.queue is not None and len(server.queue) >= limits.queue:
            details = {"capacity": limits.capacity, "queue": limits.queue}
            raise EmulatedError(ErrorKind.OVERLOADED, details=details)
        waiter = _Waiter(limits.capacity, now, asyncio.get_running_loop().create_future())
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
        """Yield each busy deployment with its running and its queued calls."""
        return iter([(key, server.running, len(server.queue)) for key, server in self._servers.items()])

    def release(self, slot: Slot, now: float) -> None:
        """Free a slot and start the first queued call."""
        server = self._servers[slot.server]
        server.running -= 1
        while server.queue and server.running < server.queue[0].capacity:
            waiter = server.queue.popleft()
            if not waiter.turn.done():
                server.running += 1
                waiter.turn.set_result(Slot(slot.server, max(now, waiter.arrived), server.running))
        if not server.running and not server.queue:
            del self._servers[slot.server]
