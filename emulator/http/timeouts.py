"""How long a client may take: for the head of a request, for its body, and in silence between two of them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Protocol

log = logging.getLogger("emulator")
_RARELY = 5.0  # seconds between two looks at most
_LOOKS = 4  # within the shortest limit: a client is ended at most so much of it too late


class ConnectionPhase(Enum):
    """What a connection waits for, as the log says it; of what is no client's fault, nothing."""

    IDLE = "it asked for nothing"
    HEAD = "the head of its request is not whole"
    BODY = "the body of its request is not whole"
    UNREAD = "it did not read its answer"
    ANSWER = ""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds; ``inf``: as long as it likes.

    Fields:
        head: from the first byte of a request to the end of its head.
        body: from there to the end of its body.
        idle: without a request, or without reading a byte of an answer.
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
    """Do them again and again, often enough for the limits, until cancelled."""
    every = min(_RARELY, *(limit / _LOOKS for limit in (limits.head, limits.body, limits.idle)))
    while True:
        await asyncio.sleep(every)
        for chore in chores:
            try:
                chore()
            except Exception:
                log.exception("bug in the emulator: a chore was not done")


class MonitoredConnection(Protocol):
    """A connection that can be looked at and ended; ``since``: when it was first seen to do what it does."""

    since: float

    @property
    def peer(self) -> str: ...

    @property
    def phase(self) -> ConnectionPhase: ...

    def has_progressed(self) -> bool:
        """Whether it does anything else than when this was last asked."""

    def end(self, phase: ConnectionPhase) -> None:
        """Hang up on a client that took too long."""


class TimeoutMonitor:
    """Looks at every connection now and then, so that none needs a timer of its own."""

    def __init__(self, limits: Timeouts, now: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._now = now

    def check(self, clients: Iterable[MonitoredConnection]) -> None:
        """End those that have done the same for too long."""
        now = self._now()
        for client in clients:
            if client.has_progressed():
                client.since = now
            elif now - client.since >= self._limits.for_phase(phase := client.phase):
                log.info("ended the connection of %s: %s in time", client.peer, phase.value)
                client.end(phase)
