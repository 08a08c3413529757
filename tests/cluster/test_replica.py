"""A change on one replica applies on all."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import cast

import pytest
from redis.asyncio import Redis

from emulator.cluster.replica import Replica
from emulator.cluster.shared_journal import SharedJournal
from emulator.core.bus import ClusterBus, ClusterSnapshot, PendingChange
from emulator.core.json import as_object
from emulator.core.storage import StoreLostError
from emulator.scenario.load import load_text
from emulator.serve.application import create_application
from tests.handler.shared import PLAIN, chat, open_replica, open_replicas, steer
from tests.handler.toy import TOY
from tests.http_client import Running
from tests.storage.servers import KINDS, find_server, free_port, running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

SAID = "version: 1\nname: said\nrules: [{name: said, reply: {text: put}}]\n"
LIMITED = "version: 1\nlimits: [{unit: requests, amount: 3, window: 1h, strategy: sliding}]\n"
SECRET = "dapi-very-secret"
KEYS = f"version: 1\nkeys: [{{token: {SECRET}, principal: search}}]\n"


@pytest.fixture
async def three(url: str) -> AsyncIterator[list[Running]]:
    async with open_replicas(url) as replicas:
        yield replicas


async def rule_of(replica: Running, **headers: str) -> str | None:
    return (await chat(replica, **headers)).header("x-emulator-rule")


async def test_scenario_put_on_one_replica_applies_on_all(three: list[Running]) -> None:
    assert (await steer(three[0], "PUT", "/scenario", SAID)).status == 200
    assert [await rule_of(replica) for replica in three] == ["said"] * 3
    shown = [(await steer(replica, "GET", "/scenario")).json() for replica in three]
    assert shown[0] == shown[1] == shown[2]
    assert shown[0]["text"] == SAID


async def test_invalid_scenario_changes_no_replica(three: list[Running]) -> None:
    assert (await steer(three[1], "PUT", "/scenario", "version: 1\nrulez: []\n")).status == 422
    assert (await steer(three[1], "PUT", "/scenario", "version: 1\nvendors: {nobody: {}}\n")).status == 422
    assert [await rule_of(replica) for replica in three] == [None] * 3


async def test_session_scenario_and_seed_apply_on_every_replica(three: list[Running]) -> None:
    assert (await steer(three[2], "PUT", "/scenario?session=a&seed=7", SAID)).status == 200
    mine = {"x-emulator-session": "a"}
    assert [await rule_of(replica, **mine) for replica in three] == ["said"] * 3
    assert [await rule_of(replica) for replica in three] == [None] * 3
    seeds = [(await steer(replica, "GET", "/scenario?session=a")).json()["seed"] for replica in three]
    assert seeds == [7] * 3


async def test_scenario_put_again_resets_counters_on_every_replica(three: list[Running]) -> None:
    for _ in range(2):
        await steer(three[0], "PUT", "/scenario", LIMITED)
        statuses = [(await chat(three[number % 3], f"{number}")).status for number in range(4)]
        assert statuses == [200, 200, 200, 400]


async def test_session_reset_applies_on_every_replica(three: list[Running]) -> None:
    mine = {"x-emulator-session": "a"}
    await steer(three[0], "PUT", "/scenario?session=a", LIMITED)
    for replica in three:
        await chat(replica, "one", **mine)
    assert (await chat(three[0], "more", **mine)).status == 400
    assert (await steer(three[1], "POST", "/reset?session=a")).status == 200
    assert [(await chat(replica, "again", **mine)).status for replica in three] == [200] * 3


async def test_reset_without_session_reaches_sessions_of_every_replica(three: list[Running]) -> None:
    mine = {"x-emulator-session": "a"}
    await steer(three[0], "PUT", "/scenario?session=a", LIMITED)
    for replica in three:
        await chat(replica, "one", **mine)
    assert (await chat(three[0], "more", **mine)).status == 400
    assert (await steer(three[1], "POST", "/reset")).status == 200
    assert [(await chat(replica, "again", **mine)).status for replica in three] == [200] * 3


@pytest.mark.parametrize("session", ["", "?session=a"], ids=["the server's", "a session's"])
async def test_frozen_clock_advance_applies_on_every_replica(three: list[Running], session: str) -> None:
    await steer(three[0], "POST", f"/clock{session}", {"clock": "frozen"})
    await steer(three[1], "POST", f"/clock{session}", {"advance": "90s"})
    times = [(await steer(replica, "GET", f"/clock{session}")).json() for replica in three]
    assert times[0] == times[1] == times[2]
    assert 90.0 <= times[0]["since_start"] < 120.0


async def test_real_clock_advance_applies_on_every_replica(three: list[Running]) -> None:
    await steer(three[2], "POST", "/clock", {"advance": "1h"})
    times = [(await steer(replica, "GET", "/clock")).json()["now"] for replica in three]
    assert max(times) - min(times) < 1.0
    assert (await steer(three[0], "GET", "/clock")).json()["since_start"] >= 3600


async def test_session_deletion_applies_on_every_replica(three: list[Running]) -> None:
    await chat(three[0], **{"x-emulator-session": "b"})
    await steer(three[0], "PUT", "/scenario?session=a", SAID)
    await chat(three[1], **{"x-emulator-session": "a"})
    listed = [(await steer(replica, "GET", "/sessions")).json()["sessions"] for replica in three]
    calls = [sorted((row["name"], row["calls"]) for row in rows) for rows in listed]
    assert calls == [[("a", 1), ("b", 1)]] * 3
    for name in "ab":
        assert (await steer(three[2], "DELETE", f"/sessions/{name}")).status == 200
        assert (await steer(three[2], "DELETE", f"/sessions/{name}")).status == 404
    assert [(await steer(replica, "GET", "/sessions")).json()["sessions"] for replica in three] == [[]] * 3
    assert await rule_of(three[1], **{"x-emulator-session": "a"}) is None


@pytest.mark.covers("language/control plane", "GET /replicas/metrics")
async def test_metrics_are_labelled_by_replica(three: list[Running]) -> None:
    await steer(three[0], "GET", "/metrics")  # what makes them is loaded: a reply is waited for 2 s
    for number, replica in enumerate(three):
        for n in range(number):
            await chat(replica, f"{n}")
    text = (await steer(three[0], "GET", "/replicas/metrics")).body.decode()
    counts = re.findall(r'^emulator_requests_total{replica="\w+",[^}]*"toy"[^}]*} (.+)$', text, re.MULTILINE)
    assert sorted(count for count in map(float, counts) if count) == [1, 2]
    assert len(set(re.findall(r'replica="(\w+)"', text))) == 3


async def test_late_replica_adopts_current_state(url: str) -> None:
    async with AsyncExitStack() as stack:
        first = await open_replica(stack, url, "version: 1\nclock: {scale: 60}\n")
        await steer(first, "PUT", "/scenario", SAID)
        await steer(first, "PUT", "/scenario?session=a", LIMITED)
        await steer(first, "POST", "/clock?session=a", {"advance": "1h"})
        late = await open_replica(stack, url, "version: 1\nclock: {scale: 60}\n")
        assert await rule_of(late) == "said"
        clocks = [(await steer(r, "GET", "/clock?session=a")).json()["now"] for r in (first, late)]
        assert abs(clocks[0] - clocks[1]) < 1.0
        mine = {"x-emulator-session": "a"}
        statuses = [(await chat((first, late)[n % 2], f"{n}", **mine)).status for n in range(4)]
        assert statuses == [200, 200, 200, 400]


async def test_first_replica_starts_from_own_files(url: str) -> None:
    async with open_replicas(url, count=1) as [alone]:
        await steer(alone, "PUT", "/scenario", SAID)
    async with open_replicas(url, count=1) as [alone]:
        assert await rule_of(alone) is None


async def test_keys_are_shared_as_digests_and_authenticate_on_every_replica(url: str, three: list[Running]) -> None:
    assert (await steer(three[0], "PUT", "/scenario", KEYS)).status == 200
    for replica in three:
        good = await chat(replica, **{"x-key": SECRET})
        bad = await chat(replica, **{"x-key": "dapi-another"})
        assert (good.status, bad.status) == (200, 401)
        document = (await steer(replica, "GET", "/scenario")).json()
        assert document["document"]["keys"] == [{"token": "dapi…", "principal": "search"}]
        text = document["text"]
    assert (await steer(three[1], "PUT", "/scenario", text + "strict: false\n")).status == 200  # as it was shown
    assert [(await chat(replica, **{"x-key": SECRET})).status for replica in three] == [200] * 3
    async with Redis.from_url(url.partition("?")[0]) as server:
        assert SECRET not in await dump(server, url.partition("=")[2])


async def dump(server: Redis, prefix: str) -> str:
    """Return everything a store holds under a prefix except the journal."""
    texts = []
    await server.config_set("rdbcompression", "no")
    async for key in server.scan_iter(f"{prefix}*"):
        if b":journal:" not in key:
            texts.append(f"{key!r} {await server.dump(key)!r}")
    return "\n".join(texts)


async def test_scenario_with_key_outside_keys_is_rejected(three: list[Running]) -> None:
    text = KEYS + f"rules: [{{name: r, when: {{header.x-key: {SECRET}}}, reply: {{text: a}}}}]\n"
    answer = await steer(three[0], "PUT", "/scenario", text)
    assert (answer.status, "name the principal" in answer.body.decode()) == (422, True)
    assert SECRET not in answer.body.decode()


async def test_concurrent_changes_converge(three: list[Running]) -> None:
    texts = [SAID.replace("said", name) for name in ("one", "two", "three")]
    await asyncio.gather(*(steer(r, "PUT", "/scenario", text) for r, text in zip(three, texts, strict=True)))
    assert len({await rule_of(replica) for replica in three}) == 1


async def test_ended_sessions_leave_no_keys_in_store(url: str, three: list[Running]) -> None:
    mine = {"x-emulator-session": "a"}
    await steer(three[0], "PUT", "/scenario?session=a", LIMITED)
    await asyncio.gather(*(chat(replica, **mine) for replica in three))
    await chat(three[0], **{"x-emulator-session": "b"})
    for name in "ab":
        await steer(three[1], "DELETE", f"/sessions/{name}")
    async with Redis.from_url(url.partition("?")[0]) as server:
        prefix = url.partition("=")[2]
        keys = [key.decode() async for key in server.scan_iter(f"{prefix}*")]
    assert not [key for key in keys if ":session:" in key or ":journal:" in key], keys


async def test_change_after_store_flush_applies_on_every_replica(tmp_path: Path) -> None:
    if find_server("redis") is None:
        pytest.skip("redis-server is not installed")
    with running("redis", tmp_path) as url:
        async with open_replicas(url, count=2) as both:
            await steer(both[0], "PUT", "/scenario?session=a", SAID)
            async with Redis.from_url(url) as server:
                await server.flushall()
            assert (await steer(both[1], "PUT", "/scenario", SAID)).status == 200
            assert (await steer(both[0], "POST", "/clock?session=a", {"advance": "1s"})).status == 200
            assert [await rule_of(replica) for replica in both] == ["said"] * 2


async def test_replicas_restore_state_to_restarted_empty_store(tmp_path: Path) -> None:
    kind = next((kind for kind in KINDS if find_server(kind)), None)
    if kind is None:
        pytest.skip("neither redis-server nor valkey-server is installed")
    port = free_port()
    async with AsyncExitStack() as stack:
        with running(kind, tmp_path, port) as url:
            pair = [await open_replica(stack, url) for _ in range(2)]
            await steer(pair[0], "PUT", "/scenario", SAID)
        assert (await steer(pair[0], "PUT", "/scenario", LIMITED)).status == 503
        with running(kind, tmp_path, port):
            async with asyncio.timeout(20):
                while (await chat(pair[0])).status != 200:
                    await asyncio.sleep(0.01)
            assert [await rule_of(replica) for replica in pair] == ["said"] * 2
            async with asyncio.timeout(20), Redis.from_url(url) as server:
                while not await server.exists("emulator:worlds"):
                    await asyncio.sleep(0.01)
            late = await open_replica(stack, url)
            assert await rule_of(late) == "said"
            assert (await steer(late, "PUT", "/scenario", LIMITED)).status == 200
            assert [await rule_of(replica) for replica in (*pair, late)] == [None] * 3


class Shaky:
    """Store that loses its connection and its data at chosen commands."""

    outlives = True
    replica = "me"

    def __init__(self) -> None:
        self.away: list[str] = []
        self.asked: list[str] = []
        self.quiet = asyncio.Event()
        self._birth = 1
        self._told: list[JSON] = []
        self._lost: asyncio.Future[None] | None = None

    def lose(self, away: list[str]) -> None:
        assert self._lost is not None
        self.away, self.asked, self._birth = away, [], self._birth + 1
        self.quiet.clear()
        self._lost.set_exception(StoreLostError("away"))

    def _ask(self, question: str) -> None:
        self.asked.append(question)
        if self.away[:1] == [question]:
            del self.away[0]
            raise StoreLostError("away")

    def now(self) -> float:
        return 0.0

    async def join(self, *, again: bool = False) -> tuple[str, Mapping[str, ClusterSnapshot]]:
        self._ask("enter")
        return str(self._birth), {}

    async def change(self, session: str, change: JSON, document: JSON, before: int) -> PendingChange | None:
        self._ask("change")
        self._told.append(change)
        return PendingChange(1, frozenset({"me"}))

    async def receive(self) -> tuple[int, JSON] | None:
        self._ask("hear")
        if self._told:
            return 1, self._told.pop()
        self._lost = asyncio.get_running_loop().create_future()
        self.quiet.set()
        await self._lost
        return None

    async def reply(self, number: int, reply: JSON) -> None:
        """Ignore the reply."""


@pytest.mark.parametrize(
    ("away", "asked"),
    [
        pytest.param([], ["enter", "change", "hear", "hear"], id="at once"),
        pytest.param(
            ["enter"], ["enter", "enter", "change", "hear", "hear"], id="lost again when it reports its changes"
        ),
        pytest.param(
            ["change"],
            ["enter", "change", "enter", "change", "hear", "hear"],
            id="lost again when it receives all changes",
        ),
    ],
)
async def test_replica_publishes_state_to_recovered_store_before_listening(away: list[str], asked: list[str]) -> None:
    runtime, store = create_application(load_text(PLAIN, "shared"), vendors={"toy": TOY}).runtime, Shaky()
    commons = cast(ClusterBus, store)
    replica = Replica(runtime, commons, SharedJournal(commons, runtime.find))
    await replica.enter()
    task = asyncio.create_task(replica.run())
    async with asyncio.timeout(20):
        await store.quiet.wait()
        store.lose(away)
        await store.quiet.wait()
    assert store.asked == asked
    task.cancel()


class Slow:
    """Store of two replicas, one of which misses replies."""

    outlives = True
    replica = "me"

    def __init__(self) -> None:
        self.late: frozenset[str] = frozenset()
        self.hoped: list[frozenset[str]] = []

    async def gather_replies(
        self, posted: PendingChange, patience: float, silent: frozenset[str]
    ) -> Mapping[str, JSON]:
        self.hoped.append(silent)
        return {name: {"told": name} for name in posted.replicas - self.late}

    async def post(self, change: JSON) -> PendingChange:
        return PendingChange(1, frozenset({"me", "busy"}))


async def test_gather_waits_again_for_recovered_replica(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runtime, store = create_application(load_text(PLAIN, "shared"), vendors={"toy": TOY}).runtime, Slow()
    commons = cast(ClusterBus, store)
    replica = Replica(runtime, commons, SharedJournal(commons, runtime.find))
    busy = frozenset({"busy"})
    for late in (busy, busy, frozenset(), frozenset()):
        store.late = late
        assert (await replica.gather("sessions")).keys() == {"me", "busy"} - late
    assert store.hoped == [frozenset(), busy, busy, frozenset()]
    assert [record.message for record in caplog.records] == ["the replica busy does not answer"]


async def test_replicas_delete_counters_of_replaced_scenario(url: str) -> None:
    async with open_replicas(url, LIMITED, count=2) as two:
        assert [(await chat(replica)).status for replica in two] == [200] * 2
        teller = cast(Replica, two[0].built.runtime.controller)
        known = teller._snapshots[""]
        document = {**as_object(known.document), "era": "another"}
        posted = await teller._bus.change(  # the sender is killed before it has reset anything
            "", {"op": "put", "session": "", "world": document}, document, known.version
        )
        assert posted is not None
        assert len(await teller._bus.gather_replies(posted, 20.0)) == 2
        place, _, prefix = url.partition("?prefix=")
        async with Redis.from_url(place, decode_responses=True) as server:
            assert [key async for key in server.scan_iter(f"{prefix}:*:session:*")] == []


async def test_concurrent_changes_reuse_connections(url: str) -> None:
    async with open_replicas(url, count=2) as two, Redis.from_url(url.partition("?")[0]) as server:

        async def count(changes: int) -> int:
            texts = [f"version: 1\nname: n{number}\n" for number in range(changes)]
            puts = [steer(two[n % 2], "PUT", f"/scenario?session={n}", text) for n, text in enumerate(texts)]
            assert [answer.status for answer in await asyncio.gather(*puts)] == [200] * changes
            return len(await server.client_list())

        few = await count(2)
        assert await count(40) <= few + 4  # commands of each replica besides changes: journals and messages


async def list_keys(url: str, *parts: str) -> list[str]:
    """List the keys under the tests' prefix with one of these parts."""
    place, _, prefix = url.partition("?prefix=")
    async with Redis.from_url(place, decode_responses=True) as server:
        keys = [key async for key in server.scan_iter(f"{prefix}:*")]
    return sorted(key for key in keys if any(part in key for part in parts))


async def miss(replica: Running, url: str) -> None:
    """Let the other replicas consider this one dead."""
    place, _, prefix = url.partition("?prefix=")
    commons = cast(Replica, replica.built.runtime.controller)._bus
    async with Redis.from_url(place) as server:
        await server.srem(f"{prefix}:owners", commons.replica)


async def hear_again(replica: Running) -> None:
    """Let the replica catch up."""
    await cast(Replica, replica.built.runtime.controller)._enter_again()


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        pytest.param("PUT", "/scenario?session=a", SAID, id="a session's scenario was replaced"),
        pytest.param("POST", "/reset?session=a", None, id="a session was reset"),
        pytest.param("DELETE", "/sessions/a", None, id="a session was ended"),
    ],
)
async def test_replica_deletes_stale_session_counters_after_missed_change(
    url: str, method: str, target: str, body: str | None
) -> None:
    mine = {"x-emulator-session": "a"}
    async with open_replicas(url, count=2) as [one, late]:
        await steer(one, "PUT", "/scenario?session=a", LIMITED)
        await chat(late, **mine)
        await miss(late, url)
        await steer(one, method, target, body)
        await chat(late, "meanwhile", **mine)
        await hear_again(late)
        assert await list_keys(url, ":session:a:") == []


async def test_replica_deletes_stale_counters_after_missed_scenario(url: str) -> None:
    async with open_replicas(url, LIMITED, count=2) as [one, late]:
        await miss(late, url)
        await steer(one, "PUT", "/scenario", SAID)
        await chat(late, "meanwhile")
        await hear_again(late)
        assert await list_keys(url, ":session:") == []
        assert await rule_of(late) == "said"


async def test_missed_clock_change_preserves_counters(url: str) -> None:
    async with open_replicas(url, LIMITED, count=2) as [one, late]:
        assert [(await chat(replica)).status for replica in (one, late)] == [200] * 2
        await miss(late, url)
        await steer(one, "POST", "/clock", {"advance": "60s"})
        await hear_again(late)
        statuses = [(await chat(replica)).status for replica in (one, late)]
        assert statuses == [200, 400]


async def test_session_with_own_clock_preserves_server_counters(url: str) -> None:
    async with AsyncExitStack() as stack:
        one = await open_replica(stack, url, LIMITED)
        await steer(one, "POST", "/clock?session=a", {"advance": "1h"})
        late = await open_replica(stack, url, LIMITED)
        assert [(await chat(replica)).status for replica in (one, late)] == [200] * 2
        assert (await steer(one, "DELETE", "/sessions/a")).status == 200
        assert [(await chat(replica)).status for replica in (one, late)] == [200, 400]


async def test_first_replica_deletes_counters_of_unknown_scenarios(url: str) -> None:
    async with open_replicas(url, count=2) as [one, other]:
        await steer(one, "PUT", "/scenario", LIMITED)
        await steer(one, "PUT", "/scenario?session=a", LIMITED)
        for mine in ({}, {"x-emulator-session": "a"}):
            await chat(other, **mine)
        assert len(await list_keys(url, ":session:")) > 2
    async with open_replicas(url, count=1):
        assert await list_keys(url, ":session:") == []
