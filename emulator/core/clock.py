"""The only source of time, and the only place that waits."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

EPOCH = 1767225600.0  # 2026-01-01T00:00:00Z, where a clock that does not follow the wall begins
_TOLERANCE = 1e-6  # seconds; a sum of steps is not exactly the whole, and Unix time has but 0.2 µs


class Clock(Protocol):
    """Unix seconds that a scenario can stop, hurry or move."""

    def now(self) -> float: ...

    async def sleep_until(self, due: float) -> None:
        """Return once ``now() >= due``."""

    def call_at(self, due: float, callback: Callable[[], None]) -> None:
        """Call back once ``now() >= due``, never before this returns; far cheaper than a sleeping task."""

    def advance(self, seconds: float) -> None:
        """Move on; whoever is due by then wakes. ``seconds`` is not negative."""

    def to_client(self, seconds: float) -> float:
        """A wait in scenario seconds as the client is to be told it: in seconds of its own."""

    def leave_client(self, until: float) -> None:
        """A client that was told to wait until then has its answer, and may come back."""

    def retire(self) -> None:
        """Nobody will move this clock again: whoever sleeps by it must not sleep forever."""

    def fork(self) -> "Clock":
        """Another clock that says the same time now and goes the same way, and is moved apart."""


async def _sleep(clock: Clock, due: float) -> None:
    """Wait for a time to come."""
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    clock.call_at(due, wake)
    await waiter


class RealClock:
    """Wall time that never steps back, or ``scale`` times as fast; sleepers share one timer per millisecond.

    Waking many sleepers from one timer costs half of a timer each, and asyncio's own timers are
    no finer than a millisecond.
    """

    def __init__(self, scale: float = 1.0, now: float | None = None) -> None:
        self.scale = scale
        self._offset = (time.time() if now is None else now) - time.monotonic() * scale
        self._buckets: dict[int, list[Callable[[], None]]] = {}

    def now(self) -> float:
        return time.monotonic() * self.scale + self._offset

    async def sleep_until(self, due: float) -> None:
        if due > self.now():
            await _sleep(self, due)

    def call_at(self, due: float, callback: Callable[[], None]) -> None:
        tick = int((due - self._offset) / self.scale * 1000) + 1
        bucket = self._buckets.get(tick)
        if bucket is None:
            self._wake_at(tick, [callback])
        else:
            bucket.append(callback)

    def advance(self, seconds: float) -> None:
        self._offset += seconds
        sooner = int(seconds / self.scale * 1000)
        buckets, self._buckets = self._buckets, {}
        for tick, callbacks in buckets.items():
            self._wake_at(tick - sooner, callbacks)

    def to_client(self, seconds: float) -> float:
        return seconds / self.scale

    def leave_client(self, until: float) -> None:
        """The client waits by itself."""

    def retire(self) -> None:
        """Time goes on, so its sleepers wake."""

    def fork(self) -> "RealClock":
        clock = RealClock(self.scale)
        clock._offset = self._offset
        return clock

    def _wake_at(self, tick: int, callbacks: list[Callable[[], None]]) -> None:
        bucket = self._buckets.get(tick)
        if bucket is None:
            self._buckets[tick] = callbacks
            asyncio.get_running_loop().call_at(tick / 1000, self._wake, tick)
        else:
            bucket.extend(callbacks)

    def _wake(self, tick: int) -> None:
        """Wake a bucket; it may have moved to another tick since its timer was set."""
        for callback in self._buckets.pop(tick, ()):
            callback()


class InstantClock:
    """Waits cost nothing: the clock jumps to each due time, and never back."""

    def __init__(self, now: float = EPOCH) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    async def sleep_until(self, due: float) -> None:
        self._now = max(self._now, due)

    def call_at(self, due: float, callback: Callable[[], None]) -> None:
        self._now = max(self._now, due)
        asyncio.get_running_loop().call_soon(callback)

    def advance(self, seconds: float) -> None:
        self._now += seconds

    def to_client(self, seconds: float) -> float:
        return 0.0

    def leave_client(self, until: float) -> None:
        """The client comes back at once, and finds the wait over."""
        self._now = max(self._now, until)

    def retire(self) -> None:
        """Nobody sleeps by it."""

    def fork(self) -> "InstantClock":
        return InstantClock(self._now)


class FrozenClock:
    """Stands still until told to move; sleepers wake when it passes them."""

    def __init__(self, now: float = EPOCH) -> None:
        self._now = now
        self._sleepers: list[tuple[float, Callable[[], None]]] = []
        self._retired = False

    def now(self) -> float:
        return self._now

    async def sleep_until(self, due: float) -> None:
        if due <= self._now + _TOLERANCE:
            return
        if self._retired:
            self._now = due
            return
        await _sleep(self, due)

    def call_at(self, due: float, callback: Callable[[], None]) -> None:
        if self._retired:
            self._now = max(self._now, due)
        if due <= self._now + _TOLERANCE:
            asyncio.get_running_loop().call_soon(callback)
        else:
            self._sleepers.append((due, callback))

    def advance(self, seconds: float) -> None:
        self._now += seconds
        sleepers, self._sleepers = self._sleepers, []
        for due, callback in sleepers:
            if due > self._now + _TOLERANCE:
                self._sleepers.append((due, callback))
            else:
                callback()

    def to_client(self, seconds: float) -> float:
        return seconds

    def leave_client(self, until: float) -> None:
        """The client waits until somebody moves the clock."""

    def retire(self) -> None:
        """From now on its sleepers move it themselves."""
        self._retired = True
        if self._sleepers:
            self.advance(max(due for due, _ in self._sleepers) - self._now)

    def fork(self) -> "FrozenClock":
        return FrozenClock(self._now)
