"""Default store: counters, quotas and documents in the memory of a single process.

A server without ``--state-url`` uses it.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from urllib.parse import SplitResult

from emulator.core.json import JSON
from emulator.core.quota import Balance, Charge, Level
from emulator.core.storage import DocumentsError
from emulator.ratelimit.strategies import Account, open_account
from emulator.storage.documents import DEFAULT_LIMITS, DocumentStore, StorageLimits


def open_memory(url: SplitResult, limits: StorageLimits = DEFAULT_LIMITS) -> "MemoryStore":
    """Open ``memory://``."""
    return MemoryStore(limits)


class MemoryStore:
    """Store in which every opened namespace is new and empty."""

    counts_for_all = True
    bus = None
    health = None

    def __init__(self, limits: StorageLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits

    def open(self, namespace: str) -> "MemoryState":
        return MemoryState(self._limits)

    async def start_namespace(self, namespace: str, now: float) -> float:
        return now

    async def heartbeat(self) -> bool:
        return True

    async def release(self) -> None: ...

    async def close(self) -> None: ...


@dataclass(slots=True, eq=False)
class _Quotas:
    """Quota accounts of one session.

    Fields:
        max_accounts: beyond it the oldest account is evicted.
        taken: time and charges of each running call by ticket.
    """

    max_accounts: int
    accounts: OrderedDict[tuple[str, str], Account] = field(default_factory=OrderedDict)
    taken: dict[bytes, tuple[float, list[tuple[Charge, Account]]]] = field(default_factory=dict)

    def open(self, charge: Charge) -> Account:
        opened = self.accounts[charge.quota.name, charge.scope] = open_account(charge.quota)
        if len(self.accounts) > self.max_accounts:
            self.accounts.popitem(last=False)
        return opened


def _build_level(scope: str, account: Account, now: float) -> Level:
    wait = account.wait(account.quota.amount, now)
    return Level(account.quota, scope, account.left(now), None if wait == inf else wait or 0.0)


class MemoryState:
    """Counters, quota accounts and documents by session, within storage limits."""

    def __init__(self, limits: StorageLimits = DEFAULT_LIMITS) -> None:
        self._max_counters = self._free = limits.counters
        self._sessions: dict[str, OrderedDict[tuple[str, bytes], int]] = defaultdict(OrderedDict)
        self._quotas: dict[str, _Quotas] = defaultdict(lambda: _Quotas(limits.accounts))
        self._documents = DocumentStore(limits.documents)

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
            self._free -= 1
            if self._free < 0:
                self._evict_one(counters)
        else:
            counters.move_to_end((scope, key))  # keeps the counter of a rule that matches calls
        return before

    def _evict_one(self, counters: OrderedDict[tuple[str, bytes], int]) -> None:
        """Evict the oldest counter of this session if it has more than an equal share, else of the oldest session."""
        if len(counters) <= self._max_counters // len(self._sessions):
            counters = next(found for found in self._sessions.values() if found)
        counters.popitem(last=False)  # in a plain ``dict``, finding the first key scans all deleted slots before it
        self._free += 1

    async def spend(self, session: str, ticket: bytes, charges: Sequence[Charge], now: float) -> tuple[Balance, ...]:
        return self.spend_now(session, ticket, charges, now)

    def spend_now(self, session: str, ticket: bytes, charges: Sequence[Charge], now: float) -> tuple[Balance, ...]:
        quotas, found, refused = self._quotas[session], [], False
        for charge in charges:
            account = quotas.accounts.get((charge.quota.name, charge.scope)) or quotas.open(charge)
            found.append((charge, account))
            if charge.cost and account.wait(charge.cost + charge.held, now) is not None:
                refused = True
        if refused:
            waits = [account.wait(charge.cost + charge.held, now) if charge.cost else None for charge, account in found]
            return tuple([Balance(c.quota, a.left(now), wait) for (c, a), wait in zip(found, waits, strict=True)])
        quotas.taken[ticket] = now, found
        return tuple([Balance(charge.quota, account.take(ticket, charge.cost, now)) for charge, account in found])

    async def admit(
        self, session: str, scope: str, key: bytes, ticket: bytes, charges: Sequence[Charge], now: float, bare: str = ""
    ) -> tuple[int, tuple[Balance, ...]]:
        return await self.count(session, scope, key, bare), self.spend_now(session, ticket, charges, now)

    async def set_expected_end(self, session: str, ticket: bytes, end: float) -> None:
        _, charged = self._quotas[session].taken.get(ticket, (0.0, ()))
        for _, account in charged:
            account.set_expected_end(ticket, end)

    async def settle(self, session: str, ticket: bytes, costs: Sequence[int], now: float) -> None:
        self.settle_now(session, ticket, costs, now)

    def settle_now(self, session: str, ticket: bytes, costs: Sequence[int], now: float) -> None:
        found = self._quotas[session].taken.pop(ticket, None)
        if found is not None:
            for (charge, account), cost in zip(found[1], costs, strict=True):
                if cost != charge.cost:
                    account.settle(ticket, charge.cost, cost, found[0], now)

    async def levels(self, session: str, now: float) -> Sequence[Level]:
        quotas = self._quotas.get(session)
        accounts = {} if quotas is None else quotas.accounts
        return [_build_level(scope, account, now) for (_, scope), account in accounts.items()]

    async def fetch(self, session: str, collection: str) -> Mapping[str, JSON]:
        return self.fetch_now(session, collection)

    def fetch_now(self, session: str, collection: str) -> Mapping[str, JSON]:
        return self._documents.fetch(session, collection)

    async def store(self, session: str, collection: str, key: str, document: JSON, before: JSON) -> bool:
        return await self._documents.store(session, collection, key, document, before)

    async def reset(self, session: str | None = None) -> None:
        if session is None:
            self._sessions.clear()
            self._free = self._max_counters
            self._quotas.clear()
        else:
            self._free += len(self._sessions.pop(session, ()))
            self._quotas.pop(session, None)
        self._documents.reset(session)

    def retire(self) -> None:
        """Do nothing: running calls write to an object that is collected after them."""
