"""Rate limit strategies of a store in memory: token bucket, fixed window, sliding window, concurrency.

Times are scenario seconds. Redis has the same in ``storage/redis/scripts/accounts.lua``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from heapq import nsmallest
from math import floor, inf

from emulator.core.quota import Left, Quota
from emulator.core.storage import Account, ChargedAccount

_TOLERANCE = 1e-6  # seconds; absorbs the rounding of Unix time at the end of a wait


def charge(
    accounts: Sequence[ChargedAccount],
    ticket: Hashable,
    costs: Sequence[int],
    now: float,
    needed: Sequence[int] | None = None,
) -> Left | None:
    """Make every charge of a call, or none; return what is left then, or ``None`` if an account has too few units.

    ``needed``: units that must be available; absent: the costs. A charge without cost needs none.
    """
    for account, position in accounts:
        units = costs[position] if needed is None else needed[position]
        if account.used + units > account.amount and units and account.wait(units, now) is not None:
            return None
    return [(account.quota, account.take(ticket, costs[position], now)) for account, position in accounts]


def settle(
    accounts: Sequence[ChargedAccount],
    ticket: Hashable,
    taken: Sequence[int],
    costs: Sequence[int],
    at: float,
    now: float,
) -> None:
    """Replace the charges of a call, made at time ``at``, by the true costs."""
    for account, position in accounts:
        before, cost = taken[position], costs[position]
        if cost != before:
            account.settle(ticket, before, cost, at, now)


class _Timed:
    """Base of strategies that return charges after a time."""

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self.amount = quota.amount
        self._window = quota.window

    def set_expected_end(self, ticket: Hashable, end: float) -> None:
        """Do nothing: charges outlast the call."""


class Bucket(_Timed):
    """Token bucket that refills continuously, by the quota's amount per window."""

    def __init__(self, quota: Quota) -> None:
        super().__init__(quota)
        self._rate = quota.amount / quota.window
        self._slack = self._rate * _TOLERANCE
        self.used = 0.0
        self._at = 0.0

    def left(self, now: float) -> int:
        return self.take(b"", 0, now)

    def wait(self, cost: int, now: float) -> float | None:
        self.left(now)
        over = self.used + cost - self.amount
        if over <= self._slack:
            return None
        return over / self._rate if cost <= self.amount else self._window

    def take(self, ticket: Hashable, cost: int, now: float) -> int:
        used, passed = self.used, now - self._at
        if passed > 0.0:
            used -= passed * self._rate
            if used < 0.0:
                used = 0.0
            self._at = now
        self.used = used = used + cost
        left = floor(self.amount - used + self._slack)
        return left if left > 0 else 0

    def settle(self, ticket: Hashable, taken: int, cost: int, at: float, now: float) -> None:
        self.left(now)
        used = self.used + cost - taken
        self.used = used if used > 0.0 else 0.0


class FixedWindow(_Timed):
    """Consecutive windows, each with the whole amount."""

    def __init__(self, quota: Quota) -> None:
        super().__init__(quota)
        self.used = 0
        self._number = 0

    def left(self, now: float) -> int:
        return self.take(b"", 0, now)

    def wait(self, cost: int, now: float) -> float | None:
        self._turn(now)
        if self.used + cost <= self.amount:
            return None
        return (self._number + 1) * self._window - now if cost <= self.amount else self._window

    def take(self, ticket: Hashable, cost: int, now: float) -> int:
        self._turn(now)
        self.used += cost
        return max(0, self.amount - self.used)

    def settle(self, ticket: Hashable, taken: int, cost: int, at: float, now: float) -> None:
        if self._number_at(at) == self._number:
            self.used += cost - taken

    def _turn(self, now: float) -> None:
        number = self._number_at(now)
        if number > self._number:
            self._number, self.used = number, 0

    def _number_at(self, time: float) -> int:
        return floor((time + _TOLERANCE) / self._window)


class SlidingWindow(_Timed):
    """Window in which each charge returns one window after it was made."""

    def __init__(self, quota: Quota) -> None:
        super().__init__(quota)
        self.used = 0
        self._charges: deque[tuple[float, Hashable]] = deque()
        self._costs: dict[Hashable, int] = {}

    def left(self, now: float) -> int:
        self._slide(now)
        return max(0, self.amount - self.used)

    def wait(self, cost: int, now: float) -> float | None:
        self._slide(now)
        over = self.used + cost - self.amount
        if over <= 0:
            return None
        for at, ticket in self._charges:
            over -= self._costs[ticket]
            if over <= 0:
                return at + self._window - now
        return self._window

    def take(self, ticket: Hashable, cost: int, now: float) -> int:
        self._slide(now)
        self.used += cost
        self._charges.append((now, ticket))
        self._costs[ticket] = cost
        return max(0, self.amount - self.used)

    def settle(self, ticket: Hashable, taken: int, cost: int, at: float, now: float) -> None:
        if ticket in self._costs:
            self._costs[ticket] = cost
            self.used += cost - taken

    def _slide(self, now: float) -> None:
        while self._charges and self._charges[0][0] + self._window <= now + _TOLERANCE:
            self.used -= self._costs.pop(self._charges.popleft()[1])


class Concurrency:
    """Limit on the number of calls at the same time."""

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self.amount = quota.amount
        self._ends: dict[Hashable, float] = {}

    @property
    def used(self) -> int:
        return len(self._ends)

    def left(self, now: float) -> int:
        return self.amount - len(self._ends)

    def wait(self, cost: int, now: float) -> float | None:
        leaving = len(self._ends) + cost - self.amount
        if leaving <= 0:
            return None
        return max(0.0, nsmallest(leaving, self._ends.values())[-1] - now)

    def take(self, ticket: Hashable, cost: int, now: float) -> int:
        if cost:
            self._ends[ticket] = inf
        return self.amount - len(self._ends)

    def set_expected_end(self, ticket: Hashable, end: float) -> None:
        if ticket in self._ends:
            self._ends[ticket] = end

    def settle(self, ticket: Hashable, taken: int, cost: int, at: float, now: float) -> None:
        self._ends.pop(ticket, None)


_STRATEGIES: dict[str, type[Bucket] | type[FixedWindow] | type[SlidingWindow]] = {
    "bucket": Bucket,
    "fixed": FixedWindow,
    "sliding": SlidingWindow,
}


def open_account(quota: Quota) -> Account:
    """Return an account without charges for a quota."""
    return Concurrency(quota) if quota.unit == "concurrency" else _STRATEGIES[quota.strategy](quota)
