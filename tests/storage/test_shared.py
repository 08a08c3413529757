"""What several processes share through one server, and what becomes of it when one of them or the server dies."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import pytest
from redis.asyncio import Redis

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.quota import Charge, Quota, Unit
from emulator.core.storage import Store, StoreLostError
from emulator.storage import open_store
from emulator.storage.documents import StorageLimits
from emulator.storage.redis.pipeline import Pipeline, Reply
from emulator.storage.redis.store import open_redis
from emulator.storage.resilient import Loss, ResilientStore
from tests.storage.servers import KINDS, find_server, free_port, running

pytestmark = pytest.mark.slow

MINUTE = Quota(name="minute", unit="requests", amount=60, window=60.0)
EIGHT = Quota(name="eight", unit="concurrency", amount=8)
CHARGES = [Charge(MINUTE, "", 1)]


@pytest.fixture
async def three(server_url: str, request: pytest.FixtureRequest) -> AsyncIterator[list[Store]]:
    """The same store as three processes reach it."""
    async with AsyncExitStack() as stack:
        stores = [open_store(f"{server_url}?prefix={abs(hash(request.node.nodeid))}") for _ in range(3)]
        for store in stores:
            stack.push_async_callback(store.close)
            await store.heartbeat()
        yield stores


@pytest.mark.parametrize(
    ("quota", "most"), [pytest.param(MINUTE, 60, id="a minute"), pytest.param(EIGHT, 8, id="at once")]
)
@pytest.mark.parametrize("strategy", ["bucket", "fixed", "sliding"])
async def test_three_processes_admit_as_many_as_one(three: list[Store], quota: Quota, most: int, strategy: str) -> None:
    shared = Quota(name=quota.name, unit=quota.unit, amount=quota.amount, window=quota.window, strategy=strategy)  # type: ignore[arg-type]
    states = [store.open("world") for store in three]

    async def buy(number: int) -> bool:
        ticket = b"%d" % number
        (balance,) = await states[number % 3].spend("", ticket, [Charge(shared, "", 1)], 0.0)
        return balance.wait is None

    assert sum(await asyncio.gather(*(buy(number) for number in range(192)))) == most


async def test_namespace_starts_at_first_process_time(three: list[Store]) -> None:
    assert [
        await store.start_namespace("world", now) for store, now in zip(three, (10.0, 20.0, 30.0), strict=True)
    ] == [10.0] * 3
    assert await three[0].start_namespace("other", 40.0) == 40.0


class Moved:
    """Return a connection to a server with a clock so many seconds ahead."""

    def __init__(self, line: Pipeline, ahead: float) -> None:
        self._line = line
        self.ahead = ahead

    async def ask(self, *words: str) -> Reply:
        if words != ("TIME",):
            return await self._line.ask(*words)
        seconds, micros = divmod(int((time.time() + self.ahead) * 1e6), 1_000_000)
        return [str(seconds), str(micros)]

    def __getattr__(self, name: str) -> object:
        return getattr(self._line, name)


@pytest.mark.parametrize(
    ("ahead", "skew"),
    [
        pytest.param(0.5, -0.5, id="a little behind"),
        pytest.param(-0.5, 0.5, id="a little ahead"),
        pytest.param(5.0, None, id="far behind"),
        pytest.param(-5.0, None, id="far ahead"),
    ],
)
async def test_store_refuses_machine_with_large_clock_skew(server_url: str, ahead: float, skew: float | None) -> None:
    store = open_redis(urlsplit(f"{server_url}?prefix=skew{ahead}"))
    store.pipeline = cast(Pipeline, Moved(store.pipeline, ahead))
    if skew is None:
        with pytest.raises(StoreLostError, match="apart, 1 s are allowed"):
            await store.start_namespace("world", 1.0)
    else:
        await store.start_namespace("world", 1.0)
        assert abs(store.bus.skew - skew) < 0.45
        assert abs(store.bus.now() - time.time() + skew) < 0.45
    await store.close()


@pytest.mark.parametrize("loss", ["refuse", "local"])
async def test_heartbeat_detects_clock_skew_repeatedly(
    server_url: str, loss: Loss, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_redis(urlsplit(f"{server_url}?prefix=moved-{loss}"))
    moved = Moved(store.pipeline, 0.0)
    store.pipeline = cast(Pipeline, moved)
    guard = ResilientStore(store, loss)
    state = guard.open("world")
    await guard.start_namespace("world", 1.0)
    assert [await state.count("", "rule", b"a") for _ in range(3)] == [0, 1, 2]
    for _ in range(2):
        moved.ahead = 5.0
        await guard.heartbeat()
        assert abs(guard.health.skew + 5.0) < 0.45
        assert not guard.health.up
    if loss == "refuse":
        with pytest.raises(EmulatedError) as refused:
            await state.count("", "rule", b"a")
        assert refused.value.kind is ErrorKind.NOT_READY
    else:
        assert await state.count("", "rule", b"a") == 0
    moved.ahead = -0.5
    assert await guard.heartbeat()
    assert abs(store.bus.now() - time.time() + 0.5) < 0.45
    assert await state.count("", "rule", b"a") == 3
    assert (guard.health.up, guard.health.losses) == (True, 1)
    said = [record.message for record in caplog.records]
    assert len(said) == 2
    assert said[0].startswith("the store cannot be counted by, ")
    assert "its clock and this machine's are -5.0 s apart, 1 s are allowed" in said[0]
    assert said[1] == "the store answers again"
    await guard.close()


@pytest.mark.parametrize(
    ("spoil", "mend"),
    [
        pytest.param(["CONFIG SET maxmemory 1"], ["CONFIG SET maxmemory 0"], id="full"),
        pytest.param(["REPLICAOF 127.0.0.1 1"], ["REPLICAOF NO ONE"], id="a replica, which is read only"),
        pytest.param(
            ["ACL SETUSER default -hset -rpush -set"], ["ACL SETUSER default +@all"], id="commands that are forbidden"
        ),
        pytest.param(["ACL SETUSER default resetkeys"], ["ACL SETUSER default ~*"], id="keys that are forbidden"),
    ],
)
async def test_unusable_store_is_down_until_repaired(
    spoil: list[str], mend: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if find_server("redis") is None:
        pytest.skip("redis-server is not installed")
    with running("redis", tmp_path) as url:
        store = open_redis(urlsplit(url))
        guard = ResilientStore(store, "refuse")
        state = guard.open("world")
        await guard.start_namespace("world", 1.0)
        async with Redis.from_url(url) as server:

            async def tell(commands: list[str]) -> None:
                for command in commands:
                    await server.execute_command(*command.split())  # type: ignore[no-untyped-call]

            await state.spend("", b"first", CHARGES, 0.0)
            await tell(spoil)
            for number in range(2):
                with pytest.raises(EmulatedError) as refused:
                    await state.spend("", b"%d" % number, CHARGES, 0.0)
                assert refused.value.kind is ErrorKind.NOT_READY
                with suppress(EmulatedError):  # it may be looked at all the same, and is not back by that
                    await state.levels("", 0.0)
                assert await guard.heartbeat()
                with pytest.raises(StoreLostError):
                    await store.bus.append("", [b"{}"], 10, "1")
                assert not guard.health.up
            await tell(mend)
            await guard.heartbeat()
            [balance] = await state.spend("", b"last", CHARGES, 0.0)
        assert (balance.left, guard.health.up, guard.health.losses) == (58, True, 1)
        said = [record.message for record in caplog.records]
        assert [text.partition(",")[0] for text in said] == ["the store does not answer", "the store answers again"]
        await guard.close()


async def test_counters_and_documents_are_shared(three: list[Store]) -> None:
    states = [store.open("world") for store in three]
    assert [await state.count("", "rule", b"a") for state in states] == [0, 1, 2]
    await states[0].store("", "shelf", "a", {"n": 1}, None)
    assert await states[2].fetch("", "shelf") == {"a": {"n": 1}}
    await states[1].reset()
    assert [await state.count("", "rule", b"a") for state in states] == [0, 1, 2]
    assert await states[2].fetch("", "shelf") == {}


@pytest.mark.parametrize(
    ("unit", "cost", "least", "left"),
    [
        pytest.param("requests", 1, 1, 9, id="a request that was admitted stays spent"),
        pytest.param("output_tokens", 8, 0, 10, id="tokens that were reserved and not sent come back"),
        pytest.param("tokens", 8, 3, 7, id="a prompt stays spent"),
        pytest.param("concurrency", 1, 0, 10, id="a place comes back"),
    ],
)
async def test_expired_lease_returns_held_charges(
    server_url: str, unit: Unit, cost: int, least: int, left: int
) -> None:
    quota = Quota(name="q", unit=unit, amount=10, window=0.0 if unit == "concurrency" else 60.0, strategy="fixed")
    prefix = f"lease-{unit}"
    dead, alive = (open_store(f"{server_url}?prefix={prefix}") for _ in range(2))
    try:
        for store in (dead, alive):
            await store.heartbeat()
        await dead.open("world").spend("", b"t", [Charge(quota, "", cost, least)], 1.0)
        await alive.heartbeat()
        assert [level.left for level in await alive.open("world").levels("", 2.0)] == [10 - cost]
        async with Redis.from_url(server_url) as server:  # the sign of life runs out
            owners = [key async for key in server.scan_iter(f"{prefix}:owner:*:alive")]
            await server.delete(*owners)
        await alive.heartbeat()
        assert [level.left for level in await alive.open("world").levels("", 2.0)] == [left]
    finally:
        for store in (dead, alive):
            await store.close()


async def test_cancelled_spend_returns_charges(server_url: str) -> None:
    store = open_redis(urlsplit(f"{server_url}?prefix=given-up"))
    state = store.open("world")
    await state.spend("", b"first", [Charge(EIGHT, "", 1)], 0.0)
    asked = asyncio.ensure_future(state.spend("", b"left", [Charge(EIGHT, "", 1)], 0.0))
    await asyncio.sleep(0)  # it is on its way
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert [level.left for level in await state.levels("", 0.0)] == [7]
    assert (len(store.held), store.unsent) == (1, [])
    await store.close()


async def test_unsent_settlement_is_sent_on_reconnect(server_url: str) -> None:
    store = open_redis(urlsplit(f"{server_url}?prefix=owed"))
    state = store.open("world")
    for ticket in (b"a", b"b"):
        await state.spend("", ticket, [Charge(EIGHT, "", 1)], 0.0)
    await state.settle("", b"a", [0], 1.0)
    await store.pipeline.close()  # before it was answered
    with pytest.raises(StoreLostError):
        await state.settle("", b"b", [0], 1.0)
    await state.settle("", b"unknown", [0], 1.0)  # of a call that this process counted alone
    assert (store.held, len(store.unsent)) == ({}, 2)
    await store.heartbeat()
    assert [level.left for level in await state.levels("", 2.0)] == [8]
    assert store.unsent == []
    await store.close()


async def test_settled_tickets_are_forgotten_in_batches(server_url: str) -> None:
    store = open_redis(urlsplit(f"{server_url}?prefix=spent"))
    state = store.open("world")
    for number in range(40):
        ticket, session = b"%d" % number, str(number % 2)
        await state.spend(session, ticket, [Charge(MINUTE, "", 1, 1)], 0.0)
        await state.settle(session, ticket, [1], 0.0)
    async with asyncio.timeout(20), Redis.from_url(server_url, decode_responses=True) as server:
        while await server.exists(store.owner, *[f"spent:world:world:session:{each}:tickets" for each in "01"]):
            await asyncio.sleep(0.001)
    assert [[level.left for level in await state.levels(each, 0.0)] for each in "01"] == [[40], [40]]
    assert (store.held, store.unsent) == ({}, [])
    await store.close()


async def test_settled_tickets_are_forgotten_on_reconnect(server_url: str) -> None:
    store = open_redis(urlsplit(f"{server_url}?prefix=spent-later"))
    state = store.open("world")
    await state.spend("", b"t", [Charge(MINUTE, "", 1, 1)], 0.0)
    await state.settle("", b"t", [1], 1.0)
    await store.pipeline.close()
    async with asyncio.timeout(20):
        while not store.unsent:
            await asyncio.sleep(0.001)
    await store.heartbeat()
    async with Redis.from_url(server_url, decode_responses=True) as server:
        assert not await server.exists(store.owner)
    await store.close()


async def test_unreachable_store_refuses_calls() -> None:
    store = open_store(f"redis://127.0.0.1:{free_port()}", "refuse")
    state = store.open("world")
    for question in (state.spend("", b"t", CHARGES, 0.0), state.count("", "rule", b"a"), state.fetch("", "shelf")):
        with pytest.raises(EmulatedError) as refused:
            await question
        assert refused.value.kind is ErrorKind.NOT_READY
    await state.settle("", b"t", [1], 0.0)
    await state.set_expected_end("", b"t", 1.0)
    await store.close()


async def test_unreachable_store_counts_locally_in_local_mode() -> None:
    store = open_store(f"redis://127.0.0.1:{free_port()}", "local")
    state = store.open("world")
    assert [await state.count("", "rule", b"a") for _ in range(2)] == [0, 1]
    assert [balance.left for balance in await state.spend("", b"t", CHARGES, 0.0)] == [59]
    await store.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_restarted_store_is_used_again_from_empty(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if find_server(kind) is None:
        pytest.skip(f"{KINDS[kind]} is not installed")
    port = free_port()
    with running(kind, tmp_path, port) as url:
        store = open_store(url)
        state = store.open("world")
        await store.start_namespace("world", 5.0)
        assert await state.count("", "rule", b"a") == 0
    with pytest.raises(EmulatedError):
        await state.count("", "rule", b"a")
    with running(kind, tmp_path, port):
        await store.heartbeat()
        assert await state.count("", "rule", b"a") == 0
        await store.close()
    said = [record.message for record in caplog.records]
    assert said[0].startswith("the store does not answer, calls are refused until it does")
    assert said[1:] == ["the store answers again", "the store came back empty: counters and quotas begin anew"]


async def test_unsent_reset_is_sent_on_reconnect(server_url: str) -> None:
    store = open_redis(urlsplit(f"{server_url}?prefix=owed-reset"))
    store.health.up = False  # it is known to be away, so nothing is asked twice
    state = store.open("world")
    for session in ("a", "b"):
        await state.count(session, "rule", b"a")
    whose: tuple[str | None, ...] = ("a", None)
    for each in whose:
        await store.pipeline.reach()
        asked = asyncio.ensure_future(state.reset(each))
        await asyncio.sleep(0)  # it is on its way
        await store.pipeline.close()
        with pytest.raises(StoreLostError):
            await asked
    assert len(store.unsent) == 2
    await store.heartbeat()
    assert store.unsent == []
    assert [await state.count(session, "rule", b"a") for session in ("a", "b")] == [0, 0]
    await store.close()


async def test_burst_leaves_at_most_three_connections(server_url: str) -> None:
    async with Redis.from_url(server_url) as server:
        before = len(await server.client_list())
        store = open_redis(urlsplit(f"{server_url}?prefix=burst"))
        await store.heartbeat()
        await store.bus.join()
        posted = [await store.bus.post({"op": "tell"}) for _ in range(10)]
        questions = [store.bus.append("a", [b"call"], 10, f"{number}") for number in range(40)]
        await asyncio.gather(store.bus.receive(), *questions, *[store.bus.gather_replies(each, 0.2) for each in posted])
        left = {len(await server.client_list()) - before for _ in range(500)}  # until those that were closed are gone
        await store.close()
    assert min(left) <= 3  # for calls, for occasional requests, and for messages of other replicas


async def test_every_store_key_expires(server_url: str) -> None:
    store = open_redis(urlsplit(f"{server_url}?prefix=expires"))
    state, week = store.open("world"), Quota(name="week", unit="tokens", amount=9, window=604_800.0, strategy="sliding")
    await store.start_namespace("world", 1.0)
    await store.bus.join()
    await store.heartbeat()
    await state.admit("a", "rule", b"a", b"t", [Charge(week, "", 1), Charge(EIGHT, "", 1)], 0.0)
    await state.count("a", "rule", b"b")
    await state.store("a", "shelf", "a", 1, None)
    posted = await store.bus.change("a", {"op": "put"}, {"digest": "d", "seed": 0, "era": "e"}, 0)
    assert posted is not None
    await store.bus.reply(posted.number, 1)
    await store.bus.append("a", [b"call"], 10, "1")
    async with Redis.from_url(server_url, decode_responses=True) as server:
        keys = [key async for key in server.scan_iter("expires:*")]
        left = {key: await server.ttl(key) for key in keys}
        index = {key: seconds for key, seconds in left.items() if key.endswith((":session:a:keys", ":sessions"))}
    assert len(left) > 15
    assert {key: seconds for key, seconds in left.items() if not 0 < seconds <= 15 * 86_400} == {}
    assert len(index) == 2
    assert min(index.values()) >= max(left.values()) - 1  # as long as the longest of what they list
    await store.close()


async def test_heartbeat_extends_shared_keys(server_url: str) -> None:
    store = open_redis(urlsplit(f"{server_url}?prefix=lasts"))
    await store.start_namespace("world", 1.0)
    await store.bus.join()
    await store.bus.change("", {"op": "put"}, {"digest": "d", "seed": 0, "era": "e"}, 0)
    async with Redis.from_url(server_url, decode_responses=True) as server:
        keys = [f"lasts:{name}" for name in ("worlds", "birth", "number", "owners", "world:world:began")]
        for key in keys:
            assert await server.expire(key, 60)
        assert await store.heartbeat()
        assert [await server.ttl(key) > 80_000 for key in keys] == [True] * 5
    await store.close()


async def test_reset_removes_keys_of_evicted_entries(server_url: str) -> None:
    room = StorageLimits(counters=10, accounts=2, documents=1000, sessions=3)
    store = open_redis(urlsplit(f"{server_url}?prefix=room"), room)
    state, text = store.open("world"), "x" * 300
    minutes = Quota(name="m", unit="requests", amount=9, window=60.0, strategy="sliding", per="principal")
    for session in map(str, range(6)):
        for number in range(12):
            charges = [Charge(minutes, f"{number}", 1), Charge(EIGHT, f"{number}", 1)]
            await state.admit(session, "attempt", bytes([number]), f"{session}.{number}".encode(), charges, 0.0)
            await state.store(session, "shelf", f"{number}", text, None)
    async with Redis.from_url(server_url, decode_responses=True) as server:
        keys = [key async for key in server.scan_iter("room:*:session:*")]
        assert {key.split(":session:")[1].split(":")[0] for key in keys} == {"3", "4", "5"}
        assert sum([len(await server.hkeys(key)) for key in keys if ":counts" in key]) <= 10 + 3
        assert sum([await server.hlen(key) for key in keys if ":shelf:" in key]) == 3
        await state.reset("3")
        assert [key async for key in server.scan_iter("room:*:session:3:*")] == []
        await state.reset()
        left = [key async for key in server.scan_iter("room:world:*")]
    assert left == []
    await store.close()
