"""The only source of time, and the only place that waits."""

import asyncio
import time
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import Protocol

from emulator.core.timerfd import Alarm, open_alarm

EPOCH = 1767225600.0  # 2026-01-01T00:00:00Z, where a clock that does not follow the wall begins
_TICKS = 4000  # a second: real sleepers due within one wake together
_CROWD, _COARSE = 128, 4  # beyond so many ticks for which somebody waits, new ones are four times as long
_LATE = 2  # ticks; who is later wakes before other work begins
_PATIENCE = 2  # times as long as it took to wake the last: else there would be no time for other work
_TOLERANCE = 1e-6  # seconds; a sum of steps is not exactly the whole, and Unix time has but 0.2 µs


class Clock(Protocol):
    """Unix seconds that a scenario can stop, hurry or move."""

    def now(self) -> float: ...

    async def sleep_until(self, due: float) -> None:
        """Return once ``now() >= due``."""

    def call_at(self, due: float, callback: Callable[[], None]) -> None:
        """Call back once ``now() >= due``, never before this returns; far cheaper than a sleeping task."""

    def catch_up(self) -> None:
        """Wake whoever is due and was not yet, as other work took long; more of it is about to begin."""

    def advance(self, seconds: float) -> None:
        """Move on; whoever is due by then wakes. ``seconds`` is not negative."""

    def to_client(self, seconds: float) -> float:
        """A wait in scenario seconds as the client is to be told it: in seconds of its own."""

    def on_client_left(self, until: float) -> None:
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
    """Wall time that never steps back, or ``scale`` times as fast.

    Sleepers share one alarm, and those due within the same quarter of a millisecond wake together, among many those
    due within the same millisecond: to wake takes longer than what most of them do then.
    """

    def __init__(self, scale: float = 1.0, now: float | None = None) -> None:
        self.scale = scale
        self._offset = (time.time() if now is None else now) - time.monotonic() * scale
        self._buckets: dict[int, list[Callable[[], None]]] = {}
        self._ticks: list[int] = []  # a heap of those that have a bucket
        self._armed = inf  # the tick for which the alarm is set
        self._alarm: Alarm | None = None
        self._truce = 0.0  # ticks that whoever is due next lets other work have, as waking the last took so long
        self._retired = False

    def now(self) -> float:
        return time.monotonic() * self.scale + self._offset

    async def sleep_until(self, due: float) -> None:
        if due > self.now():
            await _sleep(self, due)

    def call_at(self, due: float, callback: Callable[[], None]) -> None:
        tick = int((due - self._offset) / self.scale * _TICKS) + 1
        if len(self._ticks) > _CROWD:
            tick += -tick % _COARSE
        bucket = self._buckets.get(tick)
        if bucket is None:
            self._buckets[tick] = [callback]
            heappush(self._ticks, tick)
            if tick < self._armed:
                self._arm()
        else:
            bucket.append(callback)

    def catch_up(self) -> None:
        if -inf < self._armed < time.monotonic() * _TICKS - max(_LATE, self._truce):
            self._wake()

    def advance(self, seconds: float) -> None:
        self._offset += seconds
        sooner = int(seconds / self.scale * _TICKS)
        buckets, self._buckets = self._buckets, {}
        for tick, callbacks in buckets.items():
            self._buckets[tick - sooner] = callbacks
        self._ticks = sorted(self._buckets)
        self._arm()

    def to_client(self, seconds: float) -> float:
        return seconds / self.scale

    def on_client_left(self, until: float) -> None:
        """The client waits by itself."""

    def retire(self) -> None:
        """Time goes on, so its sleepers wake; the last of them lets the alarm go."""
        self._retired = True
        self._arm()

    def fork(self) -> "RealClock":
        clock = RealClock(self.scale)
        clock._offset = self._offset
        return clock

    def _arm(self) -> None:
        """Set the alarm for the first who sleeps."""
        if self._ticks:
            self._armed = self._ticks[0]
            if self._alarm is None:
                self._alarm = open_alarm(self._wake)
            self._alarm.set(self._armed / _TICKS)
        else:
            self._armed = inf
            if self._retired and self._alarm is not None:
                self._alarm.stop()

    def _wake(self) -> None:
        """Wake all that are due."""
        self._armed = -inf  # who sleeps again meanwhile need not set it
        began = time.monotonic()
        now = int(began * _TICKS)
        try:
            while self._ticks and self._ticks[0] <= now:
                for callback in self._buckets.pop(heappop(self._ticks)):
                    callback()
        finally:
            self._truce = (time.monotonic() - began) * _TICKS * _PATIENCE
            self._arm()


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

    def catch_up(self) -> None:
        """Nobody waits for it."""

    def advance(self, seconds: float) -> None:
        self._now += seconds

    def to_client(self, seconds: float) -> float:
        return 0.0

    def on_client_left(self, until: float) -> None:
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

    def catch_up(self) -> None:
        """It stands still."""

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

    def on_client_left(self, until: float) -> None:
        """The client waits until somebody moves the clock."""

    def retire(self) -> None:
        """From now on its sleepers move it themselves."""
        self._retired = True
        if self._sleepers:
            self.advance(max(due for due, _ in self._sleepers) - self._now)

    def fork(self) -> "FrozenClock":
        return FrozenClock(self._now)
