"""Scenario clocks (real, scaled, instant, frozen), the only source of time.

Delays of tokens, quotas, stored states and outages read one of them. No other module waits for a due time.
"""

import asyncio
import time
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import Protocol

from emulator.core.timerfd import Alarm, monotonic, open_alarm

EPOCH = 1767225600.0  # 2026-01-01T00:00:00Z, start of a clock that does not follow real time
_TICKS = 4000  # per second; callbacks due within the same tick run together
_MAX_FINE_TICKS, _COARSE = 128, 4  # beyond so many pending ticks, new callbacks are rounded up to every fourth tick
_LATE = 2  # ticks; callbacks that are later run before other work begins
_BACKOFF = 2  # catch up only after twice the duration of the last wake-up, to leave time for other work
_TOLERANCE = 1e-6  # seconds; sums of floats are inexact, and Unix time has a resolution of 0.2 µs


read_wall = time.time
"""Return the real time in Unix seconds: when things happen for clients, under every clock of a scenario."""


class Clock(Protocol):
    """Clock in Unix seconds that a scenario can freeze, speed up or advance.

    ``spares_backoff``: a refusal that names no wait asks OpenAI's clients for an immediate retry.
    ``is_wall``: its time is real time, so that real time need not be read besides.
    """

    @property
    def spares_backoff(self) -> bool: ...

    @property
    def is_wall(self) -> bool: ...

    def now(self) -> float: ...

    async def sleep_until(self, due: float) -> None:
        """Return once ``now() >= due``."""

    def call_at(self, due: float, callback: Callable[[], None]) -> None:
        """Call back once ``now() >= due``, never before this returns; far cheaper than a sleeping task."""

    def catch_up(self) -> None:
        """Run overdue callbacks now; call it before work that would delay them further."""

    def advance(self, seconds: float) -> None:
        """Move the clock forward and run the callbacks that are due by then; ``seconds`` is not negative."""

    def to_client(self, seconds: float) -> float:
        """Convert a wait in scenario seconds to the seconds that a client has to wait, as for ``Retry-After``."""

    def on_client_left(self, until: float) -> None:
        """Note that a client has received a response that asks it to wait until then."""

    def retire(self) -> None:
        """Wake every sleeper, now or at its due time; the clock is not advanced any more."""

    def fork(self) -> "Clock":
        """Return an independent clock of the same kind, at the same time."""


def read_real(clock: Clock) -> float:
    """Return the real time in Unix seconds: that of a clock which follows the wall's, else the wall clock's."""
    return clock.now() if clock.is_wall else read_wall()


async def _sleep(clock: Clock, due: float) -> None:
    """Wait for the callback at ``due``."""
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    clock.call_at(due, wake)
    await waiter


class RealClock:
    """Clock that follows monotonic real time, ``scale`` times as fast.

    All callbacks share one alarm. Those due within a quarter of a millisecond run together (a millisecond when many
    are pending), because a wake-up costs more than most callbacks.
    """

    spares_backoff = False

    def __init__(self, scale: float = 1.0, now: float | None = None) -> None:
        self.scale = scale
        self.is_wall = scale == 1.0 and now is None
        self._offset = (time.time() if now is None else now) - monotonic() * scale
        self._buckets: dict[int, list[Callable[[], None]]] = {}
        self._ticks: list[int] = []  # heap of the keys of ``_buckets``
        self._armed = inf  # the tick for which the alarm is set
        self._alarm: Alarm | None = None
        self._backoff = 0.0  # ticks; minimum lateness before ``catch_up`` runs callbacks
        self._retired = False

    def now(self) -> float:
        return monotonic() * self.scale + self._offset

    async def sleep_until(self, due: float) -> None:
        if due > self.now():
            await _sleep(self, due)

    def call_at(self, due: float, callback: Callable[[], None]) -> None:
        tick = int((due - self._offset) / self.scale * _TICKS) + 1
        if len(self._ticks) > _MAX_FINE_TICKS:
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
        armed = self._armed
        if -inf < armed < inf and armed < monotonic() * _TICKS - max(_LATE, self._backoff):
            self._wake()

    def advance(self, seconds: float) -> None:
        self._offset += seconds
        self.is_wall = self.is_wall and not seconds
        sooner = int(seconds / self.scale * _TICKS)
        buckets, self._buckets = self._buckets, {}
        for tick, callbacks in buckets.items():
            self._buckets[tick - sooner] = callbacks
        self._ticks = sorted(self._buckets)
        self._arm()

    def to_client(self, seconds: float) -> float:
        return seconds / self.scale

    def on_client_left(self, until: float) -> None:
        """Do nothing: real time passes for the client as well."""

    def retire(self) -> None:
        """Stop the alarm after the last pending callback; sleepers wake at their due times."""
        self._retired = True
        self._arm()

    def fork(self) -> "RealClock":
        clock = RealClock(self.scale)
        clock._offset, clock.is_wall = self._offset, self.is_wall
        return clock

    def _arm(self) -> None:
        """Set the alarm for the earliest bucket, or stop it if the clock is retired and nothing is pending."""
        if self._ticks:
            self._armed = float(self._ticks[0])
            if self._alarm is None:
                self._alarm = open_alarm(self._wake)
            self._alarm.set(self._armed / _TICKS)
        else:
            self._armed = inf
            if self._retired and self._alarm is not None:
                self._alarm.stop()

    def _wake(self) -> None:
        """Run all callbacks that are due."""
        self._armed = -inf  # callbacks that schedule others leave the alarm alone; it is set at the end
        began = monotonic()
        now = int(began * _TICKS)
        try:
            while self._ticks and self._ticks[0] <= now:
                for callback in self._buckets.pop(heappop(self._ticks)):
                    callback()
        finally:
            self._backoff = (monotonic() - began) * _TICKS * _BACKOFF
            self._arm()


class InstantClock:
    """Clock that jumps forward to each due time, so that waits take no real time.

    ``shown``: clock by which clients are told how long to wait; ``None``: they are told not to wait.
    """

    is_wall = False

    def __init__(self, now: float = EPOCH, *, spares_backoff: bool = True, shown: Clock | None = None) -> None:
        self._now = now
        self._shown = shown
        self.spares_backoff = spares_backoff

    def now(self) -> float:
        return self._now

    async def sleep_until(self, due: float) -> None:
        self._now = max(self._now, due)

    def call_at(self, due: float, callback: Callable[[], None]) -> None:
        self._now = max(self._now, due)
        asyncio.get_running_loop().call_soon(callback)

    def catch_up(self) -> None:
        """Do nothing: no callback is ever pending."""

    def advance(self, seconds: float) -> None:
        self._now += seconds

    def to_client(self, seconds: float) -> float:
        return 0.0 if self._shown is None else self._shown.to_client(seconds)

    def on_client_left(self, until: float) -> None:
        """Jump to the end of the wait, so that an immediate retry finds it over."""
        self._now = max(self._now, until)

    def retire(self) -> None:
        """Do nothing: no sleeper is ever pending."""

    def fork(self) -> "InstantClock":
        return InstantClock(self._now, spares_backoff=self.spares_backoff, shown=self._shown)


class FrozenClock:
    """Clock that stands still until ``advance`` moves it."""

    spares_backoff = False
    is_wall = False

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
        """Do nothing: callbacks run within ``advance``."""

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
        """Do nothing: the wait ends when the clock is advanced."""

    def retire(self) -> None:
        """Advance past all sleepers; later sleeps return at once and move the clock to their due time."""
        self._retired = True
        if self._sleepers:
            self.advance(max(due for due, _ in self._sleepers) - self._now)

    def fork(self) -> "FrozenClock":
        return FrozenClock(self._now)
