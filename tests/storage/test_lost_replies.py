"""What processes count through a connection that loses, delays and repeats commands and replies."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from itertools import count
from random import Random
from typing import cast
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.json import as_integer
from emulator.core.quota import Charge, Quota
from emulator.core.storage import State, StoreLostError
from emulator.storage.redis.pipeline import Pipeline
from emulator.storage.redis.store import open_redis
from tests.storage.servers import KINDS, find_server, running

pytestmark = pytest.mark.slow

QUOTA = Quota(name="minute", unit="requests", amount=1000, window=60.0)
FAULTS = ("none", "lost command", "lost reply", "late command", "repeated command", "repeated late")


class LossyLine:
    """Connection on which a fault befalls the first sending of some scripts; the second passes.

    ``late``: tasks of commands that arrive after the process has given them up.
    """

    def __init__(self, line: Pipeline, draws: Random) -> None:
        self._line = line
        self._draws = draws
        self._seen: set[Sequence[str]] = set()
        self.late: list[asyncio.Task[list[str]]] = []

    async def run(self, script: str, digest: str, key: str, words: Sequence[str]) -> list[str]:
        fault = "none" if words in self._seen else self._draws.choice(FAULTS)
        self._seen.add(words)
        if fault == "lost command":
            raise StoreLostError("lost")
        if fault == "late command":
            self.late.append(asyncio.ensure_future(self._run_late(script, digest, key, words)))
            raise StoreLostError("late")
        answer = await self._line.run(script, digest, key, words)
        if fault == "lost reply":
            raise StoreLostError("lost")
        if fault == "repeated command":
            assert await self._line.run(script, digest, key, words) == answer
        if fault == "repeated late":
            self.late.append(asyncio.ensure_future(self._run_late(script, digest, key, words)))
        return answer

    async def _run_late(self, script: str, digest: str, key: str, words: Sequence[str]) -> list[str]:
        for _ in range(self._draws.randrange(4)):
            await self._line.ask("PING")
        return await self._line.run(script, digest, key, words)

    def __getattr__(self, name: str) -> object:
        return getattr(self._line, name)


@pytest.fixture(params=KINDS, scope="module")
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if find_server(request.param) is None:
        pytest.skip(f"{KINDS[request.param]} is not installed")
    with running(request.param, tmp_path_factory.mktemp(request.param)) as url:
        yield url


_WORLDS = count()


@given(seed=st.integers(0, 2**32))
def test_lost_replies_count_once(url: str, seed: int) -> None:
    asyncio.run(check_counts(url, Random(seed)))


async def check_counts(url: str, draws: Random) -> None:
    """Count, charge and write as three processes; compare with a store that loses nothing."""
    world = f"world{next(_WORLDS)}"
    async with AsyncExitStack() as stack:
        states, lines = [], []
        for _ in range(3):
            store = open_redis(urlsplit(f"{url}?prefix=lossy"))
            stack.push_async_callback(store.close)
            lines.append(LossyLine(store.pipeline, draws))
            store.pipeline = cast(Pipeline, lines[-1])
            states.append(store.open(world))
        keys = [draws.choice((b"a", b"b", b"c")) for _ in range(24)]
        attempts = await asyncio.gather(
            *(make_call(states[draws.randrange(3)], number, key) for number, key in enumerate(keys))
        )
        await asyncio.gather(*(task for line in lines for task in line.late))
        found = {key: sorted(n for k, n in zip(keys, attempts, strict=True) if k == key) for key in {*keys}}
        assert found == {key: [*range(keys.count(key))] for key in {*keys}}
        levels = await states[0].levels("", 0.0)
        assert [level.left for level in levels] == [QUOTA.amount - len(keys[::2])]
        assert await states[0].fetch("", "documents") == {"sum": len(keys)}
        await states[1].reset("")
        assert await states[2].count("", "attempt", b"a") == 0
        await asyncio.gather(*(task for line in lines for task in line.late), return_exceptions=True)
        assert await states[2].count("", "attempt", b"a") == 1  # a late reset does not reset again


async def make_call(state: State, number: int, key: bytes) -> int:
    """Return the attempt of a call: of every second with its charge, which is the true cost."""
    if number % 2:
        attempt = await state.count("", "attempt", key)
    else:
        ticket = b"%d" % number
        attempt, balances = await state.admit("", "attempt", key, ticket, [Charge(QUOTA, "", 5)], 0.0)
        assert [balance.wait for balance in balances] == [None]
        await state.settle("", ticket, [1], 0.0)
    while True:
        before = (await state.fetch("", "documents")).get("sum")
        after = 1 if before is None else as_integer(before) + 1
        if await state.store("", "documents", "sum", after, before):
            return attempt
