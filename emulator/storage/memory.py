"""The default store: one process, nothing shared."""

from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from urllib.parse import SplitResult

from emulator.core.json import JSON
from emulator.core.quota import Balance, Charge, Level, Quota
from emulator.core.storage import DocumentsError
from emulator.ratelimit.strategies import Account, open_account
from emulator.storage.documents import DEFAULT_LIMITS, DocumentStore, StorageLimits


def open_memory(url: SplitResult, room: StorageLimits = DEFAULT_LIMITS) -> "MemoryStore":
    """``memory://``: a store of this process alone."""
    return MemoryStore(room)


class MemoryStore:
    """Every world it opens is a new one."""

    counts_for_all = True
    bus = None
    health = None

    def __init__(self, room: StorageLimits = DEFAULT_LIMITS) -> None:
        self._room = room

    def open(self, world: str) -> "MemoryState":
        return MemoryState(self._room)

    async def start_namespace(self, world: str, now: float) -> float:
        return now

    async def heartbeat(self) -> bool:
        """What dies with the process needs no care."""
        return True

    async def release(self) -> None:
        """It is never away."""

    async def close(self) -> None:
        """There is nothing to give back."""


@dataclass(slots=True, eq=False)
class _Quotas:
    """One session's accounts, so many at most, and what its running calls have taken of them and when."""

    most: int
    accounts: OrderedDict[tuple[str, str], tuple[Quota, Account]] = field(default_factory=OrderedDict)
    taken: dict[bytes, tuple[float, list[tuple[Account, int]]]] = field(default_factory=dict)

    def find(self, charge: Charge) -> Account:
        key = (charge.quota.name, charge.scope)
        found = self.accounts.get(key)
        if found is None:
            found = self.accounts[key] = charge.quota, open_account(charge.quota)
            if len(self.accounts) > self.most:
                self.accounts.popitem(last=False)
        return found[1]


def _read_level(quota: Quota, scope: str, account: Account, now: float) -> Level:
    wait = account.wait(quota.amount, now)
    return Level(quota, scope, account.left(now), None if wait == inf else wait or 0.0)


class MemoryState:
    """Counters, accounts and documents by session; counters long unused are forgotten past a bound."""

    def __init__(self, room: StorageLimits = DEFAULT_LIMITS) -> None:
        self._most = self._room = room.counters
        self._sessions: dict[str, OrderedDict[tuple[str, bytes], int]] = defaultdict(OrderedDict)
        self._quotas: dict[str, _Quotas] = defaultdict(lambda: _Quotas(room.accounts))
        self._documents = DocumentStore(room.documents)

    async def count(self, session: str, scope: str, key: bytes, bare: str = "") -> int:
        if bare and self.fetch_now(session, bare):
            raise DocumentsError
        return self.count_now(session, scope, key)

    def peek(self, session: str, scope: str, key: bytes) -> int:
        counters = self._sessions.get(session)
        return 0 if counters is None else counters.get((scope, key), 0)

    def count_now(self, session: str, scope: str, key: bytes) -> int:
        counters = self._sessions[session]
        before = counters.get((scope, key), 0)
        counters[scope, key] = before + 1
        if not before:
            self._room -= 1
            if self._room < 0:
                self._forget_one(counters)
        else:
            counters.move_to_end((scope, key))  # a rule's stays as long as it takes calls
        return before

    def _forget_one(self, counters: OrderedDict[tuple[str, bytes], int]) -> None:
        """Forget the oldest of a session with more than its share, else of the oldest session."""
        if len(counters) <= self._most // len(self._sessions):
            counters = next(found for found in self._sessions.values() if found)
        counters.popitem(last=False)  # a plain dictionary would look for its first key past all that went before
        self._room += 1

    async def spend(self, session: str, ticket: bytes, charges: Sequence[Charge], now: float) -> tuple[Balance, ...]:
        quotas = self._quotas[session]
        bill = [(quotas.find(charge), charge.cost) for charge in charges]
        waits = [account.wait(cost, now) if cost else None for account, cost in bill]
        if all(wait is None for wait in waits):
            for account, cost in bill:
                account.take(ticket, cost, now)
            quotas.taken[ticket] = (now, bill)
        lefts = [account.left(now) for account, _ in bill]
        return tuple(Balance(c.quota, left, wait) for c, left, wait in zip(charges, lefts, waits, strict=True))

    async def admit(
        self, session: str, scope: str, key: bytes, ticket: bytes, charges: Sequence[Charge], now: float, bare: str = ""
    ) -> tuple[int, tuple[Balance, ...]]:
        return await self.count(session, scope, key, bare), await self.spend(session, ticket, charges, now)

    async def set_expected_end(self, session: str, ticket: bytes, end: float) -> None:
        _, bill = self._quotas[session].taken.get(ticket, (0.0, ()))
        for account, _ in bill:
            account.set_expected_end(ticket, end)

    async def settle(self, session: str, ticket: bytes, costs: Sequence[int], now: float) -> None:
        at, bill = self._quotas[session].taken.pop(ticket, (now, []))
        if bill:
            for (account, taken), cost in zip(bill, costs, strict=True):
                account.settle(ticket, taken, cost, at, now)

    async def levels(self, session: str, now: float) -> Sequence[Level]:
        quotas = self._quotas.get(session)
        accounts = {} if quotas is None else quotas.accounts
        return [_read_level(quota, scope, account, now) for (_, scope), (quota, account) in accounts.items()]

    async def fetch(self, session: str, shelf: str) -> Mapping[str, JSON]:
        return self.fetch_now(session, shelf)

    def fetch_now(self, session: str, shelf: str) -> Mapping[str, JSON]:
        return self._documents.fetch(session, shelf)

    async def store(self, session: str, shelf: str, key: str, document: JSON, before: JSON) -> bool:
        return await self._documents.store(session, shelf, key, document, before)

    async def reset(self, session: str | None = None) -> None:
        if session is None:
            self._sessions.clear()
            self._room = self._most
            self._quotas.clear()
        else:
            self._room += len(self._sessions.pop(session, ()))
            self._quotas.pop(session, None)
        self._documents.reset(session)

    def retire(self) -> None:
        """It goes with the last call that holds on to it."""
