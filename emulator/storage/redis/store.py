"""A store in Redis or Valkey that replicas share; every operation is one atomic Lua script."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Literal, TypedDict
from urllib.parse import SplitResult, parse_qs, quote

from emulator.core.json import JSON, canonical_json, parse_json
from emulator.core.quota import Balance, Charge, Level, Per, Quota, Strategy, Unit
from emulator.core.storage import DocumentsError, Health, IsolatedReplicaError, StoreLostError
from emulator.storage.documents import DEFAULT_LIMITS, StorageLimits
from emulator.storage.redis.bus import RedisBus
from emulator.storage.redis.pipeline import Pipeline, digest_of
from emulator.storage.redis.server import LEASE, Connections, Server, ask, read_text, write_bounds

_RENEWED = 600.0  # real seconds, of a day
_MOST_RENEWALS = 20_000


class _Share(TypedDict):
    """A share as the scripts read it; ``key`` names it."""

    key: str
    name: str
    scope: str
    unit: Unit
    amount: int
    window: float
    strategy: Strategy | Literal["places"]
    per: Per | None


@dataclass(frozen=True, slots=True)
class Written:
    """A share as JSON: whole for whoever lists it, and the part that charging takes, to which costs are added."""

    told: str
    charged: str


@lru_cache(maxsize=4096)
def write_share(quota: Quota, scope: str) -> Written:
    share: _Share = {
        "key": f"{quote(quota.name, safe='')}:{quote(scope, safe='')}",
        "name": quota.name,
        "scope": scope,
        "unit": quota.unit,
        "amount": quota.amount,
        "window": quota.window,
        "strategy": "places" if quota.unit == "concurrency" else quota.strategy,
        "per": quota.per,
    }
    charged = {name: share[name] for name in ("key", "amount", "window", "strategy")}
    return Written(json.dumps(share), json.dumps(charged, separators=(",", ":"))[:-1])


class Renewals:
    """Which shares the store was asked lately to keep for a day: between two times it need not look at each."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, str], float] = {}

    def is_time(self, base: str, shares: Iterable[Written], now: float) -> bool:
        """Whether it is to be asked now, in real seconds, of one of a session's shares; then it is asked of all."""
        until, due = self._until, False
        for share in shares:
            if until.get((base, share.told), 0.0) <= now:
                if len(until) >= _MOST_RENEWALS:
                    until.clear()
                until[base, share.told] = now + _RENEWED
                due = True
        return due


def read_balances(charges: Sequence[Charge], answer: Sequence[str]) -> tuple[Balance, ...]:
    rows = zip(charges, answer[::2], answer[1::2], strict=True)
    return tuple([Balance(charge.quota, int(left), _read_wait(wait)) for charge, left, wait in rows])


def read_level(text: str, left: str, wait: str) -> Level:
    share: _Share = json.loads(text)
    strategy: Strategy = "bucket" if share["strategy"] == "places" else share["strategy"]
    quota = Quota(
        name=share["name"],
        unit=share["unit"],
        amount=share["amount"],
        window=share["window"],
        strategy=strategy,
        per=share["per"],
    )
    seconds = _read_wait(wait)
    return Level(quota, share["scope"], int(left), None if seconds == inf else seconds or 0.0)


def _read_wait(text: str) -> float | None:
    return float(text) if text else None


_NOT_A_PREFIX = set("*?[]{}")


def read_prefix(url: SplitResult) -> str:
    """How every key begins, of ``redis://[[user]:password@]host[:port][/number][?prefix=name]``.

    Raises:
        ValueError: another part says nothing here; it is not told, as it may be of a password.
    """
    number = url.path.removeprefix("/")
    if number and not (number.isascii() and number.isdigit()):
        raise ValueError("after the host stands the number of a database, as in redis://host:6379/3")
    asked = parse_qs(url.query, keep_blank_values=True)
    if asked.keys() - {"prefix"} or url.fragment:
        raise ValueError("after the database only ?prefix=NAME may follow")
    prefix = asked.get("prefix", ["emulator"])[-1]
    if not prefix or not prefix.isprintable() or set(prefix) & _NOT_A_PREFIX:
        raise ValueError(f"the prefix {prefix!r} cannot be the beginning of keys")
    return prefix


MOST_SKEW = 1.0  # seconds that the clocks of two machines may differ
_A_DAY = 86_400_000  # ms that a world is remembered in which nothing happens
_PATIENCE = 1.0  # real seconds for one answer
_WAITING = 200  # connections of one process, each only as long as it waits for what others reply
_SOON = 0.05  # real seconds until the server hears of tickets that it may forget
_TURN = 5.0  # real seconds that a call waits for one of them
_KEYS, _SHARES = ("forget", "keys"), ("forget", "keys", "accounts")
_SCRIPTS = {  # and what each begins with
    "count": _KEYS,
    "spend": _SHARES,
    "expect": (),
    "settle": _SHARES,
    "spent": (),
    "levels": _SHARES,
    "store": ("forget", "keys", "documents"),
    "reset": ("forget",),
    "live": (),
}


Costs = Sequence[int] | None
"""Of a ticket whose settling by these changes nothing, even if its process dies before; ``None``: of another."""


def open_redis(url: SplitResult, room: StorageLimits = DEFAULT_LIMITS) -> RedisStore:
    """``redis://[[user]:password@]host[:port][/number][?prefix=name]``, or ``rediss://`` for TLS.

    Raises:
        ValueError: the URL is not like that, or there is no client for such a store.
    """
    prefix = read_prefix(url)
    try:
        from redis.asyncio import BlockingConnectionPool, Redis
    except ImportError:
        raise ValueError("this store needs the extra redis: pip install 'llm-emulator[redis]'") from None
    habits = {"socket_timeout": _PATIENCE, "socket_connect_timeout": _PATIENCE, "decode_responses": True}
    plain = url._replace(query="").geturl()

    def connect(most: int) -> Server:
        """Over so many connections at most; a burst of questions waits for its turn."""
        pool = BlockingConnectionPool.from_url(plain, max_connections=most, timeout=_TURN, **habits)
        return Redis.from_pool(pool)  # type: ignore[return-value]  # its types know no decoded answers

    bounds = write_bounds(room)
    texts = {name: bounds + read_text(*begins, name) for name, begins in _SCRIPTS.items()}
    ways = Connections(asking=connect(1), hearing=connect(1), waiting=connect(_WAITING))
    return RedisStore(ways, Pipeline(url, _PATIENCE, [*texts.values()]), texts, prefix)


class RedisStore:
    """One server, and what this process is called among those that share it.

    Fields:
        held: tickets that are charged there, as far as this process knows.
        owed: scripts that are still to run, with their words, since the server was away when they should.

    Args:
        line: for what every call asks, by scripts of these names.
        prefix: how every key begins.
    """

    counts_for_all = True

    def __init__(self, ways: Connections, line: Pipeline, scripts: Mapping[str, str], prefix: str) -> None:
        self.server = ways.asking
        self._ways = ways
        self.line = line
        self.health = Health()  # whoever guards it says the rest
        self.held: dict[str, Costs] = {}
        self.owed: list[tuple[str, ...]] = []
        self.renewals = Renewals()
        self._spent: defaultdict[str, list[str]] = defaultdict(list)
        self.prefix = prefix
        self.name = os.urandom(8).hex()
        self.owner = f"{prefix}:owner:{self.name}"
        self._began: dict[str, str] = {}
        self.bus = RedisBus(ways, line, prefix, self.owner)
        self._scripts = {name: (text, digest_of(text)) for name, text in scripts.items()}

    async def run(self, script: str, base: str, *words: str) -> list[str]:
        """What a script of this folder makes of a session's keys."""
        return await self.line.run(*self._scripts[script], base, words)

    def tell(self, script: str, base: str, words: Sequence[str], lost: Callable[[], None]) -> bool:
        """Have a script run without waiting for it; ``lost`` is called if it was perhaps not; false: it cannot be."""
        return self.line.tell(self._scripts[script][1], base, words, lost)

    def settle(self, base: str, ticket: str, time: str, costs: str) -> bool:
        """Tell of a ticket's costs, now or when the server is back; false: it is away."""
        return self._tell_surely("settle", base, ticket, time, costs, self.owner)

    def let_be(self, base: str, ticket: str) -> None:
        """Have a ticket forgotten whose charges stay as they are: a moment later, with others; no call waits for it."""
        if not self._spent:
            asyncio.get_running_loop().call_later(_SOON, self._forget_spent)
        self._spent[base].append(ticket)

    def _forget_spent(self) -> None:
        spent, self._spent = self._spent, defaultdict(list)
        for base, tickets in spent.items():
            self._tell_surely("spent", base, self.owner, *tickets)

    def _tell_surely(self, script: str, base: str, *words: str) -> bool:
        def owe() -> None:
            self.owed.append((script, base, *words))

        if self.tell(script, base, words, owe):
            return True
        owe()
        return False

    def open(self, world: str) -> RedisState:
        return RedisState(self, f"{self.prefix}:world:{world}")

    async def start_namespace(self, world: str, now: float) -> float:
        await self._compare_clocks()
        key = f"{self.prefix}:world:{world}:began"
        await ask(self.server.set(key, repr(now), nx=True, px=_A_DAY))
        self._began[key] = began = await ask(self.server.get(key)) or repr(now)
        return float(began)

    async def heartbeat(self) -> bool:
        began = [word for pair in self._began.items() for word in pair]
        lost, missed, *dead = await self.run("live", self.prefix, self.owner, str(int(LEASE * 1000)), *began)
        self.bus.missed |= missed == "1"
        while self.owed:  # whichever was told before is let be
            question = self.owed.pop()
            try:
                await self.run(*question)
            except StoreLostError:
                self.owed.append(question)
                raise
        for owner in dead:
            await self._bury(owner)
        await self._compare_clocks()
        return lost == "0"

    async def _compare_clocks(self) -> None:
        """Find out how far this machine's clock is ahead.

        Raises:
            ApartError: too far; clocks are set while processes run, too.
        """
        asked = time.time()
        told = await self.line.ask("TIME")  # where nothing that takes long comes before it
        doubt = (time.time() - asked) / 2
        seconds, micros = told if isinstance(told, list) else ("0", "0")
        skew = asked + doubt - int(seconds) - int(micros) / 1e6
        self.health.skew = skew
        if abs(skew) - doubt > MOST_SKEW:
            raise IsolatedReplicaError(
                f"its clock and this machine's are {skew:+.1f} s apart, {MOST_SKEW:g} s are allowed"
            )
        self.bus.skew = skew

    async def _bury(self, owner: str) -> None:
        """Take back what a process held that has died."""
        for held in await ask(self.server.hgetall(owner)):
            base, _, ticket = held.rpartition(" ")
            await self.run("settle", base, ticket, "", "", owner)
        await ask(self.server.delete(f"{owner}:inbox", f"{owner}:entered"))
        await ask(self.server.srem(f"{self.prefix}:owners", owner))

    async def release(self) -> None:
        for server in self._ways:
            await server.connection_pool.disconnect(inuse_connections=False)

    async def close(self) -> None:
        with suppress(StoreLostError):
            await ask(self.server.delete(f"{self.owner}:alive"))
            await self._bury(self.owner)
        await self.line.close()
        for server in self._ways:
            await server.aclose()


class RedisState:
    """Counters, quotas and documents of one world; every key begins with ``base``."""

    def __init__(self, store: RedisStore, base: str) -> None:
        self._store = store
        self._root = base

    async def count(self, session: str, scope: str, key: bytes, bare: str = "") -> int:
        answer = await self._run("count", session, f"{scope}:{key.hex()}", bare)
        if not answer:
            raise DocumentsError
        return int(answer[0])

    async def spend(self, session: str, ticket: bytes, charges: Sequence[Charge], now: float) -> tuple[Balance, ...]:
        return read_balances(charges, await self._spend(session, "", "", ticket, charges, now))

    async def admit(
        self, session: str, scope: str, key: bytes, ticket: bytes, charges: Sequence[Charge], now: float, bare: str = ""
    ) -> tuple[int, tuple[Balance, ...]]:
        answer = await self._spend(session, f"{scope}:{key.hex()}", bare, ticket, charges, now)
        if not answer:
            raise DocumentsError
        return int(answer[-1]), read_balances(charges, answer[:-1])

    async def _spend(
        self, session: str, counter: str, bare: str, ticket: bytes, charges: Sequence[Charge], now: float
    ) -> list[str]:
        """What the script answers; if that never comes, what it may have charged is given back."""
        store, base, name, at = self._store, self._base(session), self._name(ticket), repr(float(now))
        shares = [write_share(charge.quota, charge.scope) for charge in charges]
        costs = zip(shares, charges, strict=True)
        bill = ",".join([f'{share.charged},"cost":{c.cost},"least":{c.least}}}' for share, c in costs])
        renews = "1" if store.renewals.is_time(base, shares, time.monotonic()) else ""
        words = name, at, f"[{bill}]", store.owner, counter, bare, renews, *[share.told for share in shares]
        await store.line.reach()
        try:
            answer = await store.run("spend", base, *words)
        except (asyncio.CancelledError, StoreLostError):
            store.settle(base, name, at, f"[{','.join('0' * len(charges))}]")
            raise
        if answer and not any(answer[1 : 2 * len(charges) : 2]):
            is_sure = all(charge.cost == charge.least for charge in charges)
            store.held[name] = [charge.cost for charge in charges] if is_sure else None
        return answer

    async def set_expected_end(self, session: str, ticket: bytes, end: float) -> None:
        name = self._name(ticket)
        if name in self._store.held:
            self._store.tell("expect", self._base(session), (name, repr(float(end))), _let_be)

    async def settle(self, session: str, ticket: bytes, costs: Sequence[int], now: float) -> None:
        name, store = self._name(ticket), self._store
        if name in store.held:
            base = self._base(session)
            if store.held.pop(name) == costs:
                store.let_be(base, name)
            elif not store.settle(base, name, repr(float(now)), f"[{','.join(map(str, costs))}]"):
                raise StoreLostError("it is away")

    async def levels(self, session: str, now: float) -> Sequence[Level]:
        answer = await self._run("levels", session, now)
        return [read_level(*row) for row in zip(answer[::3], answer[1::3], answer[2::3], strict=True)]

    async def fetch(self, session: str, shelf: str) -> Mapping[str, JSON]:
        answer = await self._store.line.ask("HGETALL", f"{self._base(session)}:shelf:{shelf}")
        rows = answer if isinstance(answer, list) else []
        found = dict(zip(rows[::2], rows[1::2], strict=True))
        numbered = {key: text.split(" ", 1) for key, text in found.items()}
        order = sorted(numbered, key=lambda key: int(numbered[key][0]))
        return {key: parse_json(numbered[key][1]) for key in order}

    async def store(self, session: str, shelf: str, key: str, document: JSON, before: JSON) -> bool:
        texts = ["" if value is None else canonical_json(value).decode() for value in (document, before)]
        [stored] = await self._run("store", session, shelf, key, *texts)
        return stored == "1"

    async def reset(self, session: str | None = None) -> None:
        question = ("reset", self._root, "all") if session is None else ("reset", self._base(session))
        try:
            await self._store.run(*question)
        except StoreLostError:
            self._store.owed.append(question)
            raise

    def retire(self) -> None:
        """Whoever guards it sees to that."""

    def _name(self, ticket: bytes) -> str:
        """A ticket among those of all processes."""
        return self._store.name + ticket.hex()

    def _base(self, session: str) -> str:
        return f"{self._root}:session:{quote(session, safe='')}"

    async def _run(self, script: str, session: str, *arguments: str | float) -> list[str]:
        words = [argument if isinstance(argument, str) else repr(float(argument)) for argument in arguments]
        return await self._store.run(script, self._base(session), *words)


def _let_be() -> None:
    """A call whose end is not known is waited for all the same."""
