"""What a store owes, worked out the slow way: every question goes through all that was ever done, in fractions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor

from emulator.core.quota import Charge, Quota


@dataclass(slots=True)
class Taken:
    """One charge: ``cost`` is what it came to so far."""

    at: Fraction
    cost: int
    running: bool = True
    end: Fraction | None = None


@dataclass(slots=True)
class Ledger:
    """All that was ever charged to one quota's share; ``moves``: by how much the sum changed, and when."""

    quota: Quota
    taken: dict[bytes, Taken] = field(default_factory=dict)
    moves: list[tuple[Fraction, int]] = field(default_factory=list)

    def take(self, ticket: bytes, cost: int, now: Fraction) -> None:
        self.taken[ticket] = Taken(now, cost)
        self.moves.append((now, cost))

    def settle(self, ticket: bytes, cost: int, now: Fraction) -> None:
        taken = self.taken[ticket]
        self.moves.append((now, cost - taken.cost))
        taken.cost, taken.running = cost, False

    def used(self, now: Fraction) -> Fraction:
        """What is not to be had, if nothing else happens until then."""
        quota = self.quota
        if quota.unit == "concurrency":
            return Fraction(sum(t.running and (t.end is None or t.end > now) for t in self.taken.values()))
        window = Fraction(quota.window)
        if quota.strategy == "bucket":
            return self._pour(now, quota.amount / window)
        if quota.strategy == "fixed":
            return Fraction(sum(t.cost for t in self.taken.values() if t.at // window == now // window))
        return Fraction(sum(t.cost for t in self.taken.values() if t.at + window > now))

    def _pour(self, now: Fraction, rate: Fraction) -> Fraction:
        used = at = Fraction(0)
        for time, change in [*self.moves, (now, 0)]:
            used = max(Fraction(0), max(Fraction(0), used - (time - at) * rate) + change)
            at = time
        return used

    def fits(self, cost: int, now: Fraction) -> bool:
        return cost == 0 or self.used(now) + cost <= self.quota.amount

    def left(self, now: Fraction) -> int:
        running = sum(t.running for t in self.taken.values())
        used = running if self.quota.unit == "concurrency" else self.used(now)
        return max(0, floor(self.quota.amount - used))


class Reference:
    """The store's verbs on ledgers."""

    def __init__(self) -> None:
        self.ledgers: dict[tuple[str, str, str], Ledger] = {}
        self._charges: dict[bytes, tuple[str, Sequence[Charge]]] = {}

    def find(self, session: str, charges: Sequence[Charge]) -> Iterator[Ledger]:
        for charge in charges:
            key = (session, charge.quota.name, charge.scope)
            yield self.ledgers.setdefault(key, Ledger(charge.quota))

    def spend(self, session: str, ticket: bytes, charges: Sequence[Charge], now: Fraction) -> bool:
        ledgers = list(self.find(session, charges))
        places = [ledger for ledger in ledgers if ledger.quota.unit == "concurrency"]
        full = any(ledger.left(now) == 0 for ledger in places)
        timed = [(ledger, c.cost) for ledger, c in zip(ledgers, charges, strict=True) if ledger not in places]
        if full or not all(ledger.fits(cost, now) for ledger, cost in timed):
            return False
        for ledger, charge in zip(ledgers, charges, strict=True):
            ledger.take(ticket, charge.cost, now)
        self._charges[ticket] = (session, charges)
        return True

    def expect(self, ticket: bytes, end: Fraction) -> None:
        for ledger in self.find(*self._charges[ticket]):
            ledger.taken[ticket].end = end

    def settle(self, ticket: bytes, costs: Sequence[int], now: Fraction) -> None:
        for ledger, cost in zip(self.find(*self._charges.pop(ticket)), costs, strict=True):
            ledger.settle(ticket, cost, now)
