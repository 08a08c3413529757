"""The only source of time, and the only place that waits."""

import asyncio
import time
from typing import Protocol

EPOCH = 1767225600.0  # 2026-01-01T00:00:00Z, where a clock that does not follow the wall begins
_TOLERANCE = 1e-6  # seconds; a sum of steps is not exactly the whole, and Unix time has but 0.2 µs


class Clock(Protocol):
    """Unix seconds that a scenario can stop or move."""

    def now(self) -> float: ...

    async def sleep_until(self, due: float) -> None:
        """Return once ``now() >= due``."""


class RealClock:
    """Wall time that never steps back; sleepers share one timer per millisecond.

    Waking many sleepers from one timer costs half of a timer each, and asyncio's own timers are
    no finer than a millisecond.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()
        self._buckets: dict[int, list[asyncio.Future[None]]] = {}

    def now(self) -> float:
        return time.monotonic() + self._offset

    async def sleep_until(self, due: float) -> None:
        if due <= self.now():
            return
        tick = int((due - self._offset) * 1000) + 1
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        bucket = self._buckets.get(tick)
        if bucket is None:
            self._buckets[tick] = [waiter]
            loop.call_at(tick / 1000, self._wake, tick)
        else:
            bucket.append(waiter)
        await waiter

    def _wake(self, tick: int) -> None:
        for waiter in self._buckets.pop(tick):
            if not waiter.done():
                waiter.set_result(None)


class FrozenClock:
    """Stands still until told to move; sleepers wake when it passes them."""

    def __init__(self, now: float = EPOCH) -> None:
        self._now = now
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds
        waiting = []
        for due, waiter in self._sleepers:
            if due > self._now + _TOLERANCE:
                waiting.append((due, waiter))
            elif not waiter.done():
                waiter.set_result(None)
        self._sleepers = waiting

    async def sleep_until(self, due: float) -> None:
        if due <= self._now + _TOLERANCE:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((due, waiter))
        await waiter
