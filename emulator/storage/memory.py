"""Default store: counters, quotas and documents in the memory of a single process.

A server without ``--state-url`` uses it.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field
from math import inf
from urllib.parse import SplitResult

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON
from emulator.core.quota import Balance, Charge, Level, Quota, Shares
from emulator.core.storage import Account, ChargedAccount, DocumentsError
from emulator.ratelimit.strategies import charge, open_account, settle
from emulator.storage.documents import DEFAULT_LIMITS, DocumentStore, StorageLimits

_MAX_OPENED = 1024  # callers of a session whose accounts are remembered


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


@fast_dataclass(slots=True, eq=False)
class _Quotas:
    """Quota accounts of one session.

    Fields:
        max_accounts: beyond it the oldest account is evicted.
        opened: accounts of each caller's shares, until one of them may have been evicted.
        taken: time, accounts and costs of each running call by ticket.
    """

    max_accounts: int
    accounts: OrderedDict[tuple[str, str], Account] = field(default_factory=OrderedDict)
    opened: dict[Shares, Sequence[ChargedAccount]] = field(default_factory=dict)
    taken: dict[bytes, tuple[float, Sequence[ChargedAccount], Sequence[int]]] = field(default_factory=dict)

    def open(self, shares: Shares) -> Sequence[ChargedAccount]:
        found = [(self.find(quota, scope), unit) for quota, scope, unit in shares.rows]
        if len(self.opened) >= _MAX_OPENED:
            self.opened.clear()
        kept = [self.accounts.get((quota.name, scope)) for quota, scope, _ in shares.rows]
        if kept == [account for account, _ in found]:  # none was evicted for another
            self.opened[shares] = found
        return found

    def find(self, quota: Quota, scope: str) -> Account:
        found = self.accounts.get((quota.name, scope))
        if found is None:
            found = self.accounts[quota.name, scope] = open_account(quota)
            if len(self.accounts) > self.max_accounts:
                self.accounts.popitem(last=False)
                self.opened.clear()
        return found


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

    def count_now(self, session: str, scope: str, key: bytes) -> int:
        counters, place = self._sessions[session], (scope, key)
        before = counters.get(place, 0)
        counters[place] = before + 1
        if not before:
            self._free -= 1
            if self._free < 0:
                self._evict_one(counters)
        else:
            counters.move_to_end(place)  # keeps the counter of a rule that matches calls
        return before

    def _evict_one(self, counters: OrderedDict[tuple[str, bytes], int]) -> None:
        """Evict the oldest counter of this session if it has more than an equal share, else of the oldest session."""
        if len(counters) <= self._max_counters // len(self._sessions):
            counters = next(found for found in self._sessions.values() if found)
        counters.popitem(last=False)  # in a plain ``dict``, finding the first key scans all deleted slots before it
        self._free += 1

    def open_accounts(self, session: str, shares: Shares) -> Sequence[ChargedAccount]:
        quotas = self._quotas[session]
        return quotas.opened.get(shares) or quotas.open(shares)

    async def spend(self, session: str, ticket: bytes, charges: Sequence[Charge], now: float) -> tuple[Balance, ...]:
        quotas = self._quotas[session]
        accounts = [(quotas.find(one.quota, one.scope), position) for position, one in enumerate(charges)]
        costs, needed = [one.cost for one in charges], [one.needed for one in charges]
        left = charge(accounts, ticket, costs, now, needed)
        if left is not None:
            quotas.taken[ticket] = now, accounts, costs
            return tuple([Balance(quota, units) for quota, units in left])
        waits = [account.wait(needed[one], now) if needed[one] else None for account, one in accounts]
        return tuple([Balance(a.quota, a.left(now), wait) for (a, _), wait in zip(accounts, waits, strict=True)])

    async def admit(
        self, session: str, scope: str, key: bytes, ticket: bytes, charges: Sequence[Charge], now: float, bare: str = ""
    ) -> tuple[int, tuple[Balance, ...]]:
        return await self.count(session, scope, key, bare), await self.spend(session, ticket, charges, now)

    async def set_expected_end(self, session: str, ticket: bytes, end: float) -> None:
        _, accounts, _ = self._quotas[session].taken.get(ticket, (0.0, (), ()))
        for account, _ in accounts:
            account.set_expected_end(ticket, end)

    async def settle(self, session: str, ticket: bytes, costs: Sequence[int], now: float) -> None:
        found = self._quotas[session].taken.pop(ticket, None)
        if found is not None:
            at, accounts, taken = found
            settle(accounts, ticket, taken, costs, at, now)

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
