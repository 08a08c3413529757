"""A server with so many places: who finds none waits in line, and past the line is turned away."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Protocol

from emulator.core.errors import EmulatedError, ErrorKind


class Room(Protocol):
    """How many calls run at once, and how many wait for them to end; ``queue`` of ``None``: any number."""

    @property
    def capacity(self) -> int: ...

    @property
    def queue(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Place:
    """A running call's place.

    Fields:
        since: when the call came to run, seconds since the scenario began.
        running: how many ran then, this one among them.
    """

    server: Hashable
    since: float
    running: int


@dataclass(slots=True, eq=False)
class _Waiter:
    """A call in line, and the place it will have."""

    capacity: int
    arrived: float
    turn: asyncio.Future[Place]


@dataclass(slots=True, eq=False)
class _Server:
    running: int = 0
    line: deque[_Waiter] = field(default_factory=deque)


class Places:
    """Every server's running calls and its line, first come, first served.

    One process's own: replicas are servers apart, as behind a balancer.
    """

    def __init__(self) -> None:
        self._servers: dict[Hashable, _Server] = {}

    async def enter(self, key: Hashable, room: Room, now: float) -> Place:
        """Take a place, at once or when the line has moved on.

        Raises:
            EmulatedError: ``OVERLOADED``: the line is full.
        """
        server = self._servers.setdefault(key, _Server())
        if server.running < room.capacity:
            server.running += 1
            return Place(key, now, server.running)
        if room.queue is not None and len(server.line) >= room.queue:
            details = {"capacity": room.capacity, "queue": room.queue}
            raise EmulatedError(ErrorKind.OVERLOADED, details=details)
        waiter = _Waiter(room.capacity, now, asyncio.get_running_loop().create_future())
        server.line.append(waiter)
        try:
            return await waiter.turn
        except asyncio.CancelledError:
            if waiter in server.line:
                server.line.remove(waiter)
            elif not waiter.turn.cancelled():
                self.leave(waiter.turn.result(), waiter.turn.result().since)
            raise

    def leave(self, place: Place, now: float) -> None:
        """Give up a place to the first in line."""
        server = self._servers[place.server]
        server.running -= 1
        while server.line and server.running < server.line[0].capacity:
            waiter = server.line.popleft()
            if not waiter.turn.done():
                server.running += 1
                waiter.turn.set_result(Place(place.server, max(now, waiter.arrived), server.running))
        if not server.running and not server.line:
            del self._servers[place.server]
