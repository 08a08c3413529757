"""A store that replicas share: everything is kept in one server, by scripts that run there one after the other."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import Literal, TypedDict
from urllib.parse import SplitResult, parse_qs, quote

from emulator.core.json import JSON, canonical_json, parse_json
from emulator.core.quota import Balance, Charge, Level, Per, Quota, Strategy, Unit
from emulator.core.state import StoreLostError
from emulator.state.redis.commons import RedisCommons
from emulator.state.redis.line import Line, digest_of
from emulator.state.redis.server import LEASE, Server, ask, read_text

MOST_SKEW = 1.0  # seconds that the clocks of two machines may differ
_A_DAY = 86_400_000  # ms that a world is remembered in which nothing happens
_PATIENCE = 1.0  # real seconds for one answer
_CONNECTIONS = 18  # of one process
_TURN = 5.0  # real seconds that a call waits for one of them
_NOT_A_PREFIX = set("*?[]{}")
_SCRIPTS = ("count", "spend", "expect", "settle", "levels", "store", "reset")


class _Share(TypedDict):
    """A charge as the scripts read it; ``key`` names the share, ``least`` is what it comes to if its caller dies."""

    key: str
    name: str
    scope: str
    unit: Unit
    amount: int
    window: float
    strategy: Strategy | Literal["places"]
    per: Per | None
    cost: int
    least: int


def open_redis(url: SplitResult) -> RedisStore:
    """``redis://[[user]:password@]host[:port][/number][?prefix=name]``, or ``rediss://`` for TLS.

    Raises:
        ValueError: the prefix has a letter that patterns use, or there is no client for such a store.
    """
    prefix = parse_qs(url.query).get("prefix", ["emulator"])[-1]
    if not prefix or set(prefix) & _NOT_A_PREFIX:
        raise ValueError(f"the prefix {prefix!r} cannot be the beginning of keys")
    try:
        from redis.asyncio import BlockingConnectionPool, Redis
    except ImportError:
        raise ValueError("this store needs the extra redis: pip install 'llm-emulator[redis]'") from None
    patience = {"socket_timeout": _PATIENCE, "socket_connect_timeout": _PATIENCE}
    pool = BlockingConnectionPool.from_url(  # a burst of calls waits for its turn
        url._replace(query="").geturl(), max_connections=_CONNECTIONS, timeout=_TURN, decode_responses=True, **patience
    )
    connect: Callable[..., Server] = Redis.from_pool  # type: ignore[assignment]  # its types know no decoded answers
    return RedisStore(connect(pool), Line(url, _PATIENCE), prefix)


class RedisStore:
    """One server, and what this process is called among those that share it.

    ``orphans``: charges of which this process does not know whether they were made; they are given back.

    Args:
        server: for what is asked now and then; ``line``: for what every call asks.
        prefix: how every key begins.
        owner: names this process.
    """

    counts_for_all = True

    def __init__(self, server: Server, line: Line, prefix: str, owner: str | None = None) -> None:
        self.server = server
        self.line = line
        self.orphans: list[tuple[str, str, int]] = []
        self.prefix = prefix
        self.owner = f"{prefix}:owner:{owner or os.urandom(8).hex()}"
        self._began: dict[str, str] = {}
        self.commons = RedisCommons(server, prefix, self.owner)
        texts = {name: read_text("accounts", name) for name in _SCRIPTS}
        self._scripts = {name: (text, digest_of(text)) for name, text in texts.items()}

    async def run(self, script: str, base: str, *words: str) -> list[str]:
        """What a script of this folder makes of a session's keys."""
        return await self.line.run(*self._scripts[script], base, words)

    def open(self, world: str) -> RedisState:
        return RedisState(self, f"{self.prefix}:world:{world}")

    async def begin(self, world: str, now: float) -> float:
        seconds, micros = await ask(self.server.time())
        skew = time.time() - seconds - micros / 1e6
        if abs(skew) > MOST_SKEW:
            raise StoreLostError(f"its clock and this machine's are {skew:+.1f} s apart, {MOST_SKEW:g} s are allowed")
        self.commons.skew = skew
        key = f"{self.prefix}:world:{world}:began"
        await ask(self.server.set(key, repr(now), nx=True, px=_A_DAY))
        self._began[key] = began = await ask(self.server.get(key)) or repr(now)
        return float(began)

    async def tend(self) -> bool:
        server = self.server
        known = await ask(server.exists(*self._began)) == len(self._began) if self._began else True
        for key, began in self._began.items():
            await ask(server.set(key, began, nx=True, px=_A_DAY))
        await ask(server.set(f"{self.owner}:alive", "1", px=int(LEASE * 1000)))
        if await ask(server.sadd(f"{self.prefix}:owners", self.owner)):
            self.commons.missed = True
        while self.orphans:
            base, ticket, count = self.orphans[-1]
            await self.run("settle", base, ticket, "0", canonical_json([0] * count).decode(), self.owner)
            self.orphans.pop()
        for owner in await ask(server.smembers(f"{self.prefix}:owners")):
            if not await ask(server.exists(f"{owner}:alive")):
                await self._bury(owner)
        return known

    async def _bury(self, owner: str) -> None:
        """Take back what a process held that has died."""
        for record, base in (await ask(self.server.hgetall(owner))).items():
            ticket = record.removeprefix(f"{base}:ticket:")
            await self.run("settle", base, ticket, "", "", owner)
        await ask(self.server.delete(f"{owner}:inbox"))
        await ask(self.server.srem(f"{self.prefix}:owners", owner))

    async def let_go(self) -> None:
        await self.server.connection_pool.disconnect(inuse_connections=False)

    async def close(self) -> None:
        with suppress(StoreLostError):
            await ask(self.server.delete(f"{self.owner}:alive"))
            await self._bury(self.owner)
        await self.line.close()
        await self.server.aclose()


class RedisState:
    """Counters, quotas and documents of one world; every key begins with ``base``."""

    def __init__(self, store: RedisStore, base: str) -> None:
        self._store = store
        self._root = base

    async def count(self, session: str, scope: str, key: bytes) -> int:
        [before] = await self._run("count", session, f"{scope}:{key.hex()}")
        return int(before)

    async def spend(self, session: str, ticket: bytes, charges: Sequence[Charge], now: float) -> tuple[Balance, ...]:
        shares = [_write(charge) for charge in charges]
        each = [json.dumps(share) for share in shares]
        bill = f"[{','.join(each)}]"
        try:
            answer = await self._run("spend", session, ticket.hex(), now, bill, self._store.owner, *each)
        except (asyncio.CancelledError, StoreLostError):
            self._store.orphans.append((self._base(session), ticket.hex(), len(charges)))
            raise
        balances = zip(charges, answer[::2], answer[1::2], strict=True)
        return tuple(Balance(charge.quota, int(left), _read_wait(wait)) for charge, left, wait in balances)

    async def expect(self, session: str, ticket: bytes, end: float) -> None:
        await self._run("expect", session, ticket.hex(), end)

    async def settle(self, session: str, ticket: bytes, costs: Sequence[int], now: float) -> None:
        await self._run("settle", session, ticket.hex(), now, canonical_json(list(costs)).decode(), self._store.owner)

    async def levels(self, session: str, now: float) -> Sequence[Level]:
        answer = await self._run("levels", session, now)
        return [_read_level(*row) for row in zip(answer[::3], answer[1::3], answer[2::3], strict=True)]

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
        if session is not None:
            await self._run("reset", session)
            return
        async for key in self._store.server.scan_iter(f"{self._root}:session:*:keys"):
            await self._store.run("reset", key.removesuffix(":keys"))

    def _base(self, session: str) -> str:
        return f"{self._root}:session:{quote(session, safe='')}"

    async def _run(self, script: str, session: str, *arguments: str | float) -> list[str]:
        words = [argument if isinstance(argument, str) else repr(float(argument)) for argument in arguments]
        return await self._store.run(script, self._base(session), *words)


def _write(charge: Charge) -> _Share:
    quota = charge.quota
    return {
        "key": f"{quote(quota.name, safe='')}:{quote(charge.scope, safe='')}",
        "name": quota.name,
        "scope": charge.scope,
        "unit": quota.unit,
        "amount": quota.amount,
        "window": quota.window,
        "strategy": "places" if quota.unit == "concurrency" else quota.strategy,
        "per": quota.per,
        "cost": charge.cost,
        "least": charge.least,
    }


def _read_level(text: str, left: str, wait: str) -> Level:
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
