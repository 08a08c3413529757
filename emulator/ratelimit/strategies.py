"""How much of one quota is taken, by each strategy. Times are seconds since the scenario began."""

from __future__ import annotations

from collections import deque
from heapq import nsmallest
from math import floor, inf
from typing import Protocol

from emulator.core.quota import Quota

_EARLY = 1e-6  # seconds; a wait that is over but for the rounding of Unix time is over


class Account(Protocol):
    """One quota's share of one scope."""

    def left(self, now: float) -> int:
        """Whole units that can be had at once; never negative."""

    def wait(self, cost: int, now: float) -> float | None:
        """Seconds until ``cost`` could be had if nobody else takes any; ``None``: now.

        What exceeds the whole quota can never be had; a window is as good a wait as any.
        """

    def take(self, ticket: bytes, cost: int, now: float) -> None:
        """Charge, whether or not there is enough."""

    def set_expected_end(self, ticket: bytes, end: float) -> None:
        """The call is known to end then."""

    def settle(self, ticket: bytes, taken: int, cost: int, at: float, now: float) -> None:
        """Charge ``cost`` in place of what was ``taken`` then."""


class _Timed:
    """A quota whose charges come back by themselves."""

    def __init__(self, quota: Quota) -> None:
        self._amount = quota.amount
        self._window = quota.window

    def set_expected_end(self, ticket: bytes, end: float) -> None:
        """Charges stay when a call ends."""


class Bucket(_Timed):
    """Refills continuously, by the whole amount in a window."""

    def __init__(self, quota: Quota) -> None:
        super().__init__(quota)
        self._rate = quota.amount / quota.window
        self._slack = self._rate * _EARLY
        self._used = 0.0
        self._at = 0.0

    def left(self, now: float) -> int:
        self._refill(now)
        return max(0, floor(self._amount - self._used + self._slack))

    def wait(self, cost: int, now: float) -> float | None:
        self._refill(now)
        over = self._used + cost - self._amount
        if over <= self._slack:
            return None
        return over / self._rate if cost <= self._amount else self._window

    def take(self, ticket: bytes, cost: int, now: float) -> None:
        self._refill(now)
        self._used += cost

    def settle(self, ticket: bytes, taken: int, cost: int, at: float, now: float) -> None:
        self._refill(now)
        self._used = max(0.0, self._used + cost - taken)

    def _refill(self, now: float) -> None:
        if now > self._at:
            self._used = max(0.0, self._used - (now - self._at) * self._rate)
            self._at = now


class FixedWindow(_Timed):
    """Windows that follow one another, each with the whole amount."""

    def __init__(self, quota: Quota) -> None:
        super().__init__(quota)
        self._number = 0
        self._used = 0

    def left(self, now: float) -> int:
        self._turn(now)
        return max(0, self._amount - self._used)

    def wait(self, cost: int, now: float) -> float | None:
        self._turn(now)
        if self._used + cost <= self._amount:
            return None
        return (self._number + 1) * self._window - now if cost <= self._amount else self._window

    def take(self, ticket: bytes, cost: int, now: float) -> None:
        self._turn(now)
        self._used += cost

    def settle(self, ticket: bytes, taken: int, cost: int, at: float, now: float) -> None:
        if self._number_at(at) == self._number:
            self._used += cost - taken

    def _turn(self, now: float) -> None:
        number = self._number_at(now)
        if number > self._number:
            self._number, self._used = number, 0

    def _number_at(self, time: float) -> int:
        return floor((time + _EARLY) / self._window)


class SlidingWindow(_Timed):
    """Each charge comes back a window after it was made."""

    def __init__(self, quota: Quota) -> None:
        super().__init__(quota)
        self._used = 0
        self._charges: deque[tuple[float, bytes]] = deque()
        self._costs: dict[bytes, int] = {}

    def left(self, now: float) -> int:
        self._slide(now)
        return max(0, self._amount - self._used)

    def wait(self, cost: int, now: float) -> float | None:
        self._slide(now)
        over = self._used + cost - self._amount
        if over <= 0:
            return None
        for at, ticket in self._charges:
            over -= self._costs[ticket]
            if over <= 0:
                return at + self._window - now
        return self._window

    def take(self, ticket: bytes, cost: int, now: float) -> None:
        self._slide(now)
        self._used += cost
        self._charges.append((now, ticket))
        self._costs[ticket] = cost

    def settle(self, ticket: bytes, taken: int, cost: int, at: float, now: float) -> None:
        if ticket in self._costs:
            self._costs[ticket] = cost
            self._used += cost - taken

    def _slide(self, now: float) -> None:
        while self._charges and self._charges[0][0] + self._window <= now + _EARLY:
            self._used -= self._costs.pop(self._charges.popleft()[1])


class Concurrency:
    """So many calls at the same time, however long each takes."""

    def __init__(self, quota: Quota) -> None:
        self._amount = quota.amount
        self._ends: dict[bytes, float] = {}

    def left(self, now: float) -> int:
        return self._amount - len(self._ends)

    def wait(self, cost: int, now: float) -> float | None:
        leaving = len(self._ends) + cost - self._amount
        if leaving <= 0:
            return None
        return max(0.0, nsmallest(leaving, self._ends.values())[-1] - now)

    def take(self, ticket: bytes, cost: int, now: float) -> None:
        if cost:
            self._ends[ticket] = inf

    def set_expected_end(self, ticket: bytes, end: float) -> None:
        if ticket in self._ends:
            self._ends[ticket] = end

    def settle(self, ticket: bytes, taken: int, cost: int, at: float, now: float) -> None:
        self._ends.pop(ticket, None)


_STRATEGIES: dict[str, type[Bucket] | type[FixedWindow] | type[SlidingWindow]] = {
    "bucket": Bucket,
    "fixed": FixedWindow,
    "sliding": SlidingWindow,
}


def open_account(quota: Quota) -> Account:
    """An account of which nothing is taken."""
    return Concurrency(quota) if quota.unit == "concurrency" else _STRATEGIES[quota.strategy](quota)
