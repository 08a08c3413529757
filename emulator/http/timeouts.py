"""Close connections of clients that exceed the timeout for a request head, a request body or inactivity.

``listeners.py`` runs one check for all connections.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from enum import Enum
from math import inf
from typing import Protocol

from emulator.core.dataclass import fast_dataclass

log = logging.getLogger("emulator")
_MAX_INTERVAL = 5.0  # seconds between two checks
_CHECKS = 4  # within the shortest timeout: a connection is closed at most a quarter of it late


class ConnectionPhase(Enum):
    """Wait state of a connection, with its wording in the log; empty while the server prepares a response."""

    IDLE = "it sent no request"
    HEAD = "the head of its request is not whole"
    BODY = "the body of its request is not whole"
    UNREAD = "it did not read its response"
    ANSWER = ""


@fast_dataclass(frozen=True, slots=True)
class Timeouts:
    """Client timeouts in seconds; ``inf``: none.

    Fields:
        head: maximum from the first byte of a request to the end of its head.
        body: maximum from there to the end of its body.
        idle: maximum without a request, or without reading a byte of a response.
    """

    head: float = 30.0
    body: float = 120.0
    idle: float = 600.0

    def for_phase(self, phase: ConnectionPhase) -> float:
        if phase is ConnectionPhase.HEAD:
            return self.head
        if phase is ConnectionPhase.BODY:
            return self.body
        return inf if phase is ConnectionPhase.ANSWER else self.idle


async def run_housekeeping(limits: Timeouts, chores: Iterable[Callable[[], None]]) -> None:
    """Call the chores repeatedly, often enough for the timeouts, until cancelled."""
    every = min(_MAX_INTERVAL, *(limit / _CHECKS for limit in (limits.head, limits.body, limits.idle)))
    while True:
        await asyncio.sleep(every)
        for chore in chores:
            try:
                chore()
            except Exception:
                log.exception("bug in the emulator: a housekeeping task failed")


class MonitoredConnection(Protocol):
    """Connection with a timeout; ``since``: when its current state was first seen."""

    since: float

    @property
    def peer(self) -> str: ...

    @property
    def phase(self) -> ConnectionPhase: ...

    def has_progressed(self) -> bool:
        """Return whether the state changed since the last call."""

    def end(self, phase: ConnectionPhase) -> None:
        """Close the connection of a client that exceeded a timeout."""


class TimeoutMonitor:
    """Checks every connection periodically, so that none needs a timer of its own."""

    def __init__(self, limits: Timeouts, now: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._now = now

    def check(self, clients: Iterable[MonitoredConnection]) -> None:
        """Close the connections that made no progress within their timeout."""
        now = self._now()
        for client in clients:
            if client.has_progressed():
                client.since = now
            elif now - client.since >= self._limits.for_phase(phase := client.phase):
                log.info("ended the connection of %s: %s in time", client.peer, phase.value)
                client.end(phase)
