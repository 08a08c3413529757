"""Store in Redis or Valkey that replicas share: counters, quotas, documents; each operation is one Lua script."""

import asyncio
import json
import os
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from math import inf
from typing import Literal, TypedDict, TypeVar
from urllib.parse import SplitResult, parse_qs, quote

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.extras import explain_missing
from emulator.core.json import JSON, canonical_json, parse_json
from emulator.core.quota import Balance, Charge, Level, Per, Quota, Strategy, Unit
from emulator.core.storage import DocumentsError, IsolatedReplicaError, StoreHealth, StoreLostError
from emulator.storage.documents import DEFAULT_LIMITS, StorageLimits
from emulator.storage.redis.bus import RedisBus
from emulator.storage.redis.client import LEASE, Connections, Server, ask, read_text, write_bounds
from emulator.storage.redis.pipeline import Pipeline, digest_of

T = TypeVar("T")
_RENEWED = 600.0  # real seconds between renewals of an expiry of one day
_MAX_RENEWALS = 20_000


class _Share(TypedDict):
    """Quota share as the Lua scripts take it; ``key`` identifies it within a session."""

    key: str
    name: str
    scope: str
    unit: Unit
    amount: int
    window: float
    strategy: Strategy | Literal["places"]
    per: Per | None


@fast_dataclass(frozen=True, slots=True)
class EncodedShare:
    """Quota share encoded as JSON.

    Fields:
        full: complete, as ``levels`` returns it.
        charged: fields that charging needs, without the closing brace, so that costs can be appended.
    """

    full: str
    charged: str


@lru(4096)
def write_share(quota: Quota, scope: str) -> EncodedShare:
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
    return EncodedShare(json.dumps(share), json.dumps(charged, separators=(",", ":"))[:-1])


class Renewals:
    """Times at which the expiry of quota shares is due for renewal; between them, scripts skip the renewal."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, str], float] = {}

    def is_time(self, base: str, shares: Iterable[EncodedShare], now: float) -> bool:
        """Return whether a session's shares are renewed at ``now`` (real seconds): any of them is due."""
        until, due = self._until, False
        for share in shares:
            if until.get((base, share.full), 0.0) <= now:
                if len(until) >= _MAX_RENEWALS:
                    until.clear()
                until[base, share.full] = now + _RENEWED
                due = True
        return due


def _write_held(charge: Charge) -> str:
    return f',"held":{charge.held}' if charge.held else ""


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
    """Return the key prefix of a URL ``redis://[[user]:password@]host[:port][/number][?prefix=name]``.

    Raises:
        ValueError: another part is invalid; the message does not quote it, as it may belong to a password.
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


MAX_SKEW = 1.0  # seconds; maximum difference between the clocks of two machines
_A_DAY = 86_400_000  # ms; expiry of a namespace without activity
_COMMAND_TIMEOUT = 1.0  # real seconds
_MAX_REPLY_CONNECTIONS = 200  # of one process, each open only during a wait for replies
_BATCH_DELAY = 0.05  # real seconds in which tickets to delete are collected for one command
_POOL_TIMEOUT = 5.0  # real seconds to wait for a free connection
_KEPT_REPLIES = 2048  # of a process; more than it asks for at a time
_KEYS, _SHARES = ("forget", "keys"), ("forget", "keys", "accounts")
_SCRIPTS = {  # with the scripts that precede each; those with ``once`` are asked again if a reply is lost
    "count": ("once", *_KEYS),
    "spend": ("once", *_SHARES),
    "expect": (),
    "settle": _SHARES,
    "spent": (),
    "levels": _SHARES,
    "store": ("once", "forget", "keys", "documents"),
    "reset": ("once", "forget"),
    "live": (),
}


Costs = Sequence[int] | None
"""Costs that need no settling, because they equal the charges and their ``least``; ``None``: always settle."""


def open_redis(url: SplitResult, limits: StorageLimits = DEFAULT_LIMITS) -> "RedisStore":
    """Open ``redis://[[user]:password@]host[:port][/number][?prefix=name]``, or ``rediss://`` for TLS.

    Raises:
        ValueError: the URL is invalid, or the client library is not installed.
    """
    prefix = read_prefix(url)
    try:
        from redis.asyncio import BlockingConnectionPool, Redis
    except ImportError:
        raise ValueError(explain_missing("this store", "redis")) from None
    options = {"socket_timeout": _COMMAND_TIMEOUT, "socket_connect_timeout": _COMMAND_TIMEOUT, "decode_responses": True}
    plain = url._replace(query="").geturl()

    def connect(max_connections: int) -> Server:
        """Return a client with a connection pool; commands beyond ``max_connections`` wait for a free one."""
        pool = BlockingConnectionPool.from_url(plain, max_connections=max_connections, timeout=_POOL_TIMEOUT, **options)
        return Redis.from_pool(pool)  # type: ignore[return-value]  # its types lack ``decode_responses``

    bounds = write_bounds(limits)
    texts = {name: bounds + read_text(*begins, name) for name, begins in _SCRIPTS.items()}
    connections = Connections(commands=connect(1), inbox=connect(1), replies=connect(_MAX_REPLY_CONNECTIONS))
    return RedisStore(connections, Pipeline(url, _COMMAND_TIMEOUT, [*texts.values()]), texts, prefix)


class RedisStore:
    """Store on a Redis server, as one of the processes that share it.

    Fields:
        held: tickets of this process with charges on the server.
        unsent: scripts with arguments that failed while the server was unreachable; retried on the next heartbeat.

    Args:
        pipeline: connection for the commands of calls.
        scripts: text of each script by name.
        prefix: prefix of every key.
    """

    counts_for_all = True

    def __init__(self, connections: Connections, pipeline: Pipeline, scripts: Mapping[str, str], prefix: str) -> None:
        self.server = connections.commands
        self._connections = connections
        self.pipeline = pipeline
        self.health = StoreHealth()  # ``ResilientStore`` sets the rest
        self.held: dict[str, Costs] = {}
        self.unsent: list[tuple[str, ...]] = []
        self.renewals = Renewals()
        self._numbers = count()
        self._spent: defaultdict[str, list[str]] = defaultdict(list)
        self.prefix = prefix
        self.name = os.urandom(8).hex()
        self.owner = f"{prefix}:owner:{self.name}"
        self._began: dict[str, str] = {}
        self.bus = RedisBus(connections, pipeline, prefix, self.owner)
        self._scripts = {name: (text, digest_of(text)) for name, text in scripts.items()}

    async def run(self, script: str, base: str, *words: str) -> list[str]:
        """Run a script on the keys of a session and return its result."""
        return await self.pipeline.run(*self._scripts[script], base, words)

    async def run_once(self, script: str, base: str, *words: str) -> list[str]:
        """Run a script that changes a session, and ask again if its reply is lost; it takes effect once."""
        number = next(self._numbers)
        command = (script, base, *words, self._identify(str(number % _KEPT_REPLIES), number))
        return await self.repeat(lambda: self.run(*command))

    async def reset(self, base: str, *words: str) -> None:
        """Delete the data of a session or namespace, once; if the server is unreachable, on a later heartbeat."""
        number = next(self._numbers)
        command = ("reset", base, *words, self._identify(f"reset-{number}", number))  # the field is never used again
        try:
            await self.repeat(lambda: self.run(*command))
        except StoreLostError:
            self.unsent.append(command)
            raise

    async def repeat(self, command: Callable[[], Awaitable[T]]) -> T:
        """Run a command that takes effect once; run it again if its reply is lost while the server seems reachable."""
        try:
            return await command()
        except StoreLostError:
            if not self.health.up:
                raise
            return await command()

    def _identify(self, field: str, number: int) -> str:
        return f"{self.owner}:replies {field} {number}"

    def send_script(self, script: str, base: str, words: Sequence[str], on_loss: Callable[[], None]) -> bool:
        """Send a script without waiting for its result; return ``False`` without a connection.

        ``on_loss`` is called if the script may not have run.
        """
        return self.pipeline.send_script(self._scripts[script][1], base, words, on_loss)

    def settle(self, base: str, ticket: str, time: str, costs: str) -> bool:
        """Send the costs of a ticket, now or on a later heartbeat; return ``False`` if the server is unreachable."""
        return self._send_reliably("settle", base, ticket, time, costs, self.owner)

    def delete_ticket(self, base: str, ticket: str) -> None:
        """Delete a ticket whose charges are final, together with others a moment later."""
        if not self._spent:
            asyncio.get_running_loop().call_later(_BATCH_DELAY, self._send_spent)
        self._spent[base].append(ticket)

    def _send_spent(self) -> None:
        spent, self._spent = self._spent, defaultdict(list)
        for base, tickets in spent.items():
            self._send_reliably("spent", base, self.owner, *tickets)

    def _send_reliably(self, script: str, base: str, *words: str) -> bool:
        def keep() -> None:
            self.unsent.append((script, base, *words))

        if self.send_script(script, base, words, keep):
            return True
        keep()
        return False

    def open(self, namespace: str) -> "RedisState":
        return RedisState(self, f"{self.prefix}:world:{namespace}")

    async def start_namespace(self, namespace: str, now: float) -> float:
        await self._compare_clocks()
        key = f"{self.prefix}:world:{namespace}:began"
        await ask(self.server.set(key, repr(now), nx=True, px=_A_DAY))
        self._began[key] = began = await ask(self.server.get(key)) or repr(now)
        return float(began)

    async def heartbeat(self) -> bool:
        began = [word for pair in self._began.items() for word in pair]
        lost, missed, *dead = await self.run("live", self.prefix, self.owner, str(int(LEASE * 1000)), *began)
        self.bus.missed |= missed == "1"
        while self.unsent:  # scripts ignore tickets that are settled already
            command = self.unsent.pop()
            try:
                await self.run(*command)
            except StoreLostError:
                self.unsent.append(command)
                raise
        for owner in dead:
            await self._settle_process(owner)
        await self._compare_clocks()
        return lost == "0"

    async def _compare_clocks(self) -> None:
        """Measure how far this machine's clock is ahead of the server's.

        Raises:
            IsolatedReplicaError: it differs by more than ``MAX_SKEW``.
        """
        asked = time.time()
        answer = await self.pipeline.ask("TIME")  # on the pipeline, where no blocking command delays it
        doubt = (time.time() - asked) / 2
        seconds, micros = answer if isinstance(answer, list) else ("0", "0")
        skew = asked + doubt - int(seconds) - int(micros) / 1e6
        self.health.skew = skew
        if abs(skew) - doubt > MAX_SKEW:
            raise IsolatedReplicaError(
                f"its clock and this machine's are {skew:+.1f} s apart, {MAX_SKEW:g} s are allowed"
            )
        self.bus.skew = skew

    async def _settle_process(self, owner: str) -> None:
        """Settle the tickets of a dead process and delete its keys."""
        for held in await ask(self.server.hgetall(owner)):
            base, _, ticket = held.rpartition(" ")
            await self.run("settle", base, ticket, "", "", owner)
        await ask(self.server.delete(f"{owner}:inbox", f"{owner}:entered", f"{owner}:replies"))
        await ask(self.server.srem(f"{self.prefix}:owners", owner))

    async def release(self) -> None:
        for server in self._connections:
            await server.connection_pool.disconnect(inuse_connections=False)

    async def close(self) -> None:
        with suppress(StoreLostError):
            await ask(self.server.delete(f"{self.owner}:alive"))
            await self._settle_process(self.owner)
        await self.pipeline.close()
        for server in self._connections:
            await server.aclose()


class RedisState:
    """State of one namespace on the server; every key begins with ``base``."""

    def __init__(self, store: RedisStore, base: str) -> None:
        self._store = store
        self._root = base

    async def count(self, session: str, scope: str, key: bytes, bare: str = "") -> int:
        answer = await self._store.run_once("count", self._base(session), f"{scope}:{key.hex()}", bare)
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
        """Return the result of the ``spend`` script; without a result, settle all charges to zero."""
        store, base, name, at = self._store, self._base(session), self._name(ticket), repr(float(now))
        shares = [write_share(charge.quota, charge.scope) for charge in charges]
        costs = zip(shares, charges, strict=True)
        bill = ",".join([f'{share.charged},"cost":{c.cost},"least":{c.least}{_write_held(c)}}}' for share, c in costs])
        renews = "1" if store.renewals.is_time(base, shares, time.monotonic()) else ""
        words = name, at, f"[{bill}]", store.owner, counter, bare, renews, *[share.full for share in shares]
        await store.pipeline.reach()
        try:
            answer = await store.run_once("spend", base, *words)
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
            self._store.send_script("expect", self._base(session), (name, repr(float(end))), _ignore_loss)

    async def settle(self, session: str, ticket: bytes, costs: Sequence[int], now: float) -> None:
        name, store = self._name(ticket), self._store
        if name in store.held:
            base = self._base(session)
            if store.held.pop(name) == costs:
                store.delete_ticket(base, name)
            elif not store.settle(base, name, repr(float(now)), f"[{','.join(map(str, costs))}]"):
                raise StoreLostError("it is away")

    async def levels(self, session: str, now: float) -> Sequence[Level]:
        words = "levels", self._base(session), repr(float(now))
        answer = await self._store.repeat(lambda: self._store.run(*words))
        return [read_level(*row) for row in zip(answer[::3], answer[1::3], answer[2::3], strict=True)]

    async def fetch(self, session: str, collection: str) -> Mapping[str, JSON]:
        words = "HGETALL", f"{self._base(session)}:shelf:{collection}"
        answer = await self._store.repeat(lambda: self._store.pipeline.ask(*words))
        rows = answer if isinstance(answer, list) else []
        found = dict(zip(rows[::2], rows[1::2], strict=True))
        numbered = {key: text.split(" ", 1) for key, text in found.items()}
        order = sorted(numbered, key=lambda key: int(numbered[key][0]))
        return {key: parse_json(numbered[key][1]) for key in order}

    async def store(self, session: str, collection: str, key: str, document: JSON, before: JSON) -> bool:
        texts = ["" if value is None else canonical_json(value).decode() for value in (document, before)]
        [stored] = await self._store.run_once("store", self._base(session), collection, key, *texts)
        return stored == "1"

    async def reset(self, session: str | None = None) -> None:
        if session is None:
            await self._store.reset(self._root, "all")
        else:
            await self._store.reset(self._base(session))

    def retire(self) -> None:
        """Do nothing: :class:`~emulator.storage.resilient.ResilientState` stops the commands."""

    def _name(self, ticket: bytes) -> str:
        """Return the name of a ticket, unique among all processes."""
        return self._store.name + ticket.hex()

    def _base(self, session: str) -> str:
        return f"{self._root}:session:{quote(session, safe='')}"


def _ignore_loss() -> None:
    """Ignore that an expected end was lost; it only shortens a wait."""
