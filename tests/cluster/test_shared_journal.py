"""The journal of every replica has the same entries."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, suppress
from typing import cast

import pytest
from redis.asyncio import Redis

from emulator.cluster.replica import Replica, end_tasks
from emulator.cluster.shared_journal import SharedJournal
from emulator.core.bus import ClusterBus
from emulator.core.json import Object, as_object, as_text, parse_json
from emulator.core.storage import StoreLostError
from emulator.scenario.load import load_text
from emulator.serve.application import create_application
from tests.handler.shared import PLAIN, chat, open_replica, open_replicas, steer
from tests.handler.toy import TOY
from tests.http_client import Running
from tests.observability.test_access_log import make_entry
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

MINE = {"x-emulator-session": "mine"}
RULES = """
version: 1
limits: [{unit: requests, amount: 5, window: 1h, strategy: sliding}]
rules: [{name: rivers, when: {prompt: {contains: rivers}}, times: {nth: 2}, reply: {text: wet}}]
"""


@pytest.fixture
async def three(url: str) -> AsyncIterator[list[Running]]:
    async with open_replicas(url, RULES) as replicas:
        yield replicas


async def read(replica: Running, query: str = "") -> JSON:
    return (await steer(replica, "GET", f"/requests{query}")).json()["requests"]


async def test_every_replica_lists_all_calls_of_session(three: list[Running]) -> None:
    answers = [await chat(three[n % 3], f"{n // 3}", **MINE) for n in range(9)]
    await chat(three[1], "another's")
    lists = [await read(replica, "?session=mine") for replica in three]
    assert lists[0] == lists[1] == lists[2]
    assert sorted(call["id"] for call in lists[0]) == sorted(a.header("x-emulator-request-id") or "" for a in answers)
    assert [call["seq"] for call in lists[0]] == sorted(call["seq"] for call in lists[0])
    by_id = {call["id"]: (call["attempt"], call["status"]) for call in lists[0]}
    found = [by_id[answer.header("x-emulator-request-id") or ""] for answer in answers]
    assert found == [(1 + n % 3, 200 if n < 5 else 400) for n in range(9)]


async def test_call_detail_is_identical_on_every_replica(three: list[Running]) -> None:
    for _ in range(2):
        answer = await chat(three[0], "rivers", **MINE)
    await steer(three[0], "PUT", "/scenario?session=other", "version: 1\n")
    name = answer.header("x-emulator-request-id")
    shown = [(await steer(replica, "GET", f"/requests/{name}")).json() for replica in three]
    assert shown[0] == shown[1] == shown[2]
    assert shown[0]["rule"] == "rivers"
    assert shown[0]["response"]["text"] == "wet"
    assert shown[0]["request"]["body"]["prompt"] == "rivers"
    assert [(row["rule"], row["takes"]) for row in shown[0]["explanation"]] == [("rivers", True)]


async def test_retries_are_linked_across_replicas(three: list[Running]) -> None:
    ids = [(await chat(replica, "again", **MINE)).header("x-emulator-request-id") for replica in three]
    for replica in three:
        calls = sorted(await read(replica, "?session=mine"), key=lambda call: call["attempt"])
        assert [call["id"] for call in calls] == ids
        assert [(call["retry_of"], call["retries"]) for call in calls] == [(None, 2), (ids[0], 1), (ids[1], 0)]


async def test_since_and_wait_span_replicas(three: list[Running]) -> None:
    for n in range(3):
        await chat(three[n], f"{n}")
    [first, *_] = await read(three[0])
    assert len(await read(three[1], f"?since={first['seq']}")) == 2
    waiting = asyncio.create_task(read(three[2], "?wait=5s"))
    await asyncio.sleep(0)
    assert len(await read(three[2])) == 3
    late = await chat(three[0], "late")
    assert [call["id"] for call in await waiting] == [late.header("x-emulator-request-id")]


async def test_verify_counts_calls_of_every_replica(three: list[Running]) -> None:
    for replica in three:
        await chat(replica, "tides", **MINE)
    asked: JSON = {
        "session": "mine",
        "calls": {"prompt": {"contains": "tides"}, "status": 200},
        "times": {"exactly": 3},
    }
    assert [(await steer(replica, "POST", "/verify", asked)).status for replica in three] == [200] * 3


async def test_reset_clears_journal_on_every_replica(three: list[Running]) -> None:
    for replica in three:
        await chat(replica, "before", **MINE)
        await chat(replica, "before")
    await steer(three[1], "POST", "/reset?session=mine")
    await chat(three[2], "after", **MINE)
    assert [len(await read(replica, "?session=mine")) for replica in three] == [1] * 3
    assert [len(await read(replica, "?session=")) for replica in three] == [3] * 3
    await steer(three[0], "POST", "/reset")
    assert [len(await read(replica)) for replica in three] == [0] * 3


async def test_late_replica_reads_earlier_calls(url: str) -> None:
    async with AsyncExitStack() as stack:
        first = await open_replica(stack, url, RULES)
        await chat(first, "early", **MINE)
        late = await open_replica(stack, url, RULES)
        assert await read(late, "?session=mine") == await read(first, "?session=mine")
        assert len(await read(late)) == 1


async def test_calls_outlive_their_replica(url: str) -> None:
    async with AsyncExitStack() as stack:
        stays = await open_replica(stack, url, RULES)
        async with open_replicas(url, RULES, count=1) as [leaves]:
            await chat(leaves, "farewell", **MINE)
        assert [call["session"] for call in await read(stays)] == ["mine"]


async def test_journal_includes_unrouted_paths_across_replicas(three: list[Running]) -> None:
    for replica in three:
        await replica.ask("front", "/nowhere")
    calls = await read(three[0])
    assert [(call["path"], call["attempt"]) for call in calls] == [("/nowhere", 1), ("/nowhere", 2), ("/nowhere", 3)]
    assert len({call["id"] for call in calls}) == 3


async def test_store_holds_no_full_credential(url: str, three: list[Running]) -> None:
    await chat(three[0], "a", authorization="Bearer dapi-very-secret", **MINE)
    [call] = await read(three[1])
    shown = (await steer(three[1], "GET", f"/requests/{call['id']}")).json()
    assert shown["request"]["headers"]["authorization"] == "Bearer dapi…"
    address, _, prefix = url.partition("?prefix=")
    async with Redis.from_url(address) as server:
        [text] = await server.lrange(f"{prefix}:journal:mine", 0, -1)
        assert b"very-secret" not in text


async def test_concurrent_calls_appear_once_on_every_replica(three: list[Running]) -> None:
    answers = await asyncio.gather(*(chat(three[n % 3], f"{n}", **MINE) for n in range(120)))
    wanted = sorted(answer.header("x-emulator-request-id") or "" for answer in answers)
    for replica in three:
        assert sorted(call["id"] for call in await read(replica, "?session=mine&limit=1000")) == wanted


class LosesAnswers:
    """Store that appends calls and loses every second reply."""

    def __init__(self, commons: ClusterBus) -> None:
        self._bus = commons
        self.lost = 0
        self._is_bad = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._bus, name)

    async def append(self, session: str, entries: Sequence[bytes], most: int, batch: str) -> int:
        first = await self._bus.append(session, entries, most, batch)
        self._is_bad = not self._is_bad
        if self._is_bad:
            self.lost += 1
            raise StoreLostError("no answer within 1 s")
        return first


async def test_calls_appear_once_despite_lost_store_replies(three: list[Running]) -> None:
    journals = [cast(SharedJournal, replica.built.journal) for replica in three]
    deaf = [LosesAnswers(journal._bus) for journal in journals]
    for journal, commons in zip(journals, deaf, strict=True):
        journal._bus = cast(ClusterBus, commons)
    wanted: list[str] = []
    for part in range(3):
        answers = [await chat(three[n % 3], f"{part} {n}", **MINE) for n in range(9)]
        wanted += [answer.header("x-emulator-request-id") or "" for answer in answers]
        for journal in journals:
            with suppress(StoreLostError):
                await journal.send()
    for journal in journals:
        with suppress(StoreLostError):
            await journal.send()
        await journal.send()
    for replica in three:
        calls = await read(replica, "?session=mine&limit=1000")
        assert sorted(call["id"] for call in calls) == sorted(wanted)
        assert len({call["seq"] for call in calls}) == len(wanted)
    assert min(commons.lost for commons in deaf) > 0


async def list_journals(url: str) -> list[bytes]:
    address, _, prefix = url.partition("?prefix=")
    async with Redis.from_url(address) as server:
        return [key async for key in server.scan_iter(f"{prefix}:journal:*")]


async def test_amendment_after_session_end_is_not_stored(url: str) -> None:
    async with open_replicas(url, RULES, count=1) as [alone]:
        await chat(alone, "a", **MINE)
        journal = cast(SharedJournal, alone.built.journal)
        await journal.send()
        await journal.read_new()
        [entry] = journal
        await steer(alone, "DELETE", "/sessions/mine")
        assert await list_journals(url) == []
        journal.amend(entry)
        await journal.send()
        assert await list_journals(url) == []


ENDED: Object = {"op": "end", "session": "mine", "world": None}


async def test_session_end_discards_calls_being_appended(url: str) -> None:
    async with open_replicas(url, RULES, count=1) as [alone]:
        replica, journal = cast(Replica, alone.built.runtime.controller), cast(SharedJournal, alone.built.journal)
        async with journal._appending:  # the store is slow to take them
            await chat(alone, "a", **MINE)
            ending = asyncio.ensure_future(replica._take(1, ENDED))
            await asyncio.sleep(0)
            sending = asyncio.ensure_future(journal.send())
            await asyncio.sleep(0)
        await asyncio.gather(ending, sending)
        assert await list_journals(url) == []


async def test_session_end_removes_calls_appended_before_it_arrives(url: str) -> None:
    async with open_replicas(url, RULES, count=1) as [alone]:
        replica, journal = cast(Replica, alone.built.runtime.controller), cast(SharedJournal, alone.built.journal)
        await chat(alone, "a", **MINE)
        await journal.send()  # its number is higher than that of the change
        assert await list_journals(url) != []
        await replica._take(1, ENDED)
        assert await list_journals(url) == []


class Away:
    """Store that answers nothing for a while."""

    outlives = True

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.appended: list[str] = []
        self.is_back = asyncio.Event()

    async def append(self, session: str, entries: Sequence[bytes], most: int, batch: str) -> int:
        if self.failures:
            self.failures -= 1
            raise StoreLostError("away")
        self.appended += [as_text(as_object(parse_json(text.partition(b"\n")[2]))["path"]) for text in entries]
        self.is_back.set()
        return len(self.appended)


async def test_calls_of_an_outage_are_sent_once_the_store_is_back() -> None:
    runtime, store = create_application(load_text(PLAIN, "shared"), vendors={"toy": TOY}).runtime, Away(2)
    journal = SharedJournal(cast(ClusterBus, store), runtime.find)
    sending = asyncio.create_task(journal.run())
    journal.add(make_entry(path="/of-the-outage"))
    async with asyncio.timeout(20):
        await store.is_back.wait()  # though no further call comes
    assert store.appended == ["/of-the-outage"]
    await end_tasks([sending])
