"""Rate limit strategies of a store in memory: token bucket, fixed window, sliding window, concurrency.

Times are scenario seconds. Redis has the same in ``storage/redis/scripts/accounts.lua``.
"""

from __future__ import annotations

from collections import deque
from heapq import nsmallest
from math import floor, inf
from typing import Protocol

from emulator.core.quota import Quota

_TOLERANCE = 1e-6  # seconds; absorbs the rounding of Unix time at the end of a wait


class Account(Protocol):
    """Charges to one share of a quota."""

    quota: Quota

    def left(self, now: float) -> int:
        """Return the whole units available now; never negative."""

    def wait(self, cost: int, now: float) -> float | None:
        """Return the seconds until ``cost`` units are available without further charges; ``None``: now.

        A cost above the quota's amount is never available; the wait is then one window.
        """

    def take(self, ticket: bytes, cost: int, now: float) -> int:
        """Charge ``cost`` units, also if they are not available; return the units left."""

    def set_expected_end(self, ticket: bytes, end: float) -> None:
        """Set when the call of a ticket is expected to end."""

    def settle(self, ticket: bytes, taken: int, cost: int, at: float, now: float) -> None:
        """Replace a charge of ``taken`` units, made at time ``at``, by one of ``cost``."""


class _Timed:
    """Base of strategies that return charges after a time."""

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self._amount = quota.amount
        self._window = quota.window

    def set_expected_end(self, ticket: bytes, end: float) -> None:
        """Do nothing: charges outlast the call."""


class Bucket(_Timed):
    """Token bucket that refills continuously, by the quota's amount per window."""

    def __init__(self, quota: Quota) -> None:
        super().__init__(quota)
        self._rate = quota.amount / quota.window
        self._slack = self._rate * _TOLERANCE
        self._used = 0.0
        self._at = 0.0

    def left(self, now: float) -> int:
        return self.take(b"", 0, now)

    def wait(self, cost: int, now: float) -> float | None:
        if now > self._at:
            self._refill(now)
        over = self._used + cost - self._amount
        if over <= self._slack:
            return None
        return over / self._rate if cost <= self._amount else self._window

    def take(self, ticket: bytes, cost: int, now: float) -> int:
        if now > self._at:
            self._refill(now)
        self._used = used = self._used + cost
        left = floor(self._amount - used + self._slack)
        return left if left > 0 else 0

    def settle(self, ticket: bytes, taken: int, cost: int, at: float, now: float) -> None:
        if now > self._at:
            self._refill(now)
        used = self._used + cost - taken
        self._used = used if used > 0.0 else 0.0

    def _refill(self, now: float) -> None:
        used = self._used - (now - self._at) * self._rate
        self._used = used if used > 0.0 else 0.0
        self._at = now


class FixedWindow(_Timed):
    """Consecutive windows, each with the whole amount."""

    def __init__(self, quota: Quota) -> None:
        super().__init__(quota)
        self._number = 0
        self._used = 0

    def left(self, now: float) -> int:
        return self.take(b"", 0, now)

    def wait(self, cost: int, now: float) -> float | None:
        self._turn(now)
        if self._used + cost <= self._amount:
            return None
        return (self._number + 1) * self._window - now if cost <= self._amount else self._window

    def take(self, ticket: bytes, cost: int, now: float) -> int:
        self._turn(now)
        self._used += cost
        return max(0, self._amount - self._used)

    def settle(self, ticket: bytes, taken: int, cost: int, at: float, now: float) -> None:
        if self._number_at(at) == self._number:
            self._used += cost - taken

    def _turn(self, now: float) -> None:
        number = self._number_at(now)
        if number > self._number:
            self._number, self._used = number, 0

    def _number_at(self, time: float) -> int:
        return floor((time + _TOLERANCE) / self._window)


class SlidingWindow(_Timed):
    """Window in which each charge returns one window after it was made."""

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

    def take(self, ticket: bytes, cost: int, now: float) -> int:
        self._slide(now)
        self._used += cost
        self._charges.append((now, ticket))
        self._costs[ticket] = cost
        return max(0, self._amount - self._used)

    def settle(self, ticket: bytes, taken: int, cost: int, at: float, now: float) -> None:
        if ticket in self._costs:
            self._costs[ticket] = cost
            self._used += cost - taken

    def _slide(self, now: float) -> None:
        while self._charges and self._charges[0][0] + self._window <= now + _TOLERANCE:
            self._used -= self._costs.pop(self._charges.popleft()[1])


class Concurrency:
    """Limit on the number of calls at the same time."""

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self._amount = quota.amount
        self._ends: dict[bytes, float] = {}

    def left(self, now: float) -> int:
        return self._amount - len(self._ends)

    def wait(self, cost: int, now: float) -> float | None:
        leaving = len(self._ends) + cost - self._amount
        if leaving <= 0:
            return None
        return max(0.0, nsmallest(leaving, self._ends.values())[-1] - now)

    def take(self, ticket: bytes, cost: int, now: float) -> int:
        if cost:
            self._ends[ticket] = inf
        return self._amount - len(self._ends)

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
    """Return an account without charges for a quota."""
    return Concurrency(quota) if quota.unit == "concurrency" else _STRATEGIES[quota.strategy](quota)
