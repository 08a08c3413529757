"""Messages between processes, over every implementation of the bus."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

import pytest

from emulator.core.bus import ClusterBus, ClusterSnapshot, PendingChange
from emulator.storage import open_store
from emulator.storage.ipc import serve_hub
from tests.storage.servers import KINDS, find_server, running

pytestmark = pytest.mark.slow

PREFIXES = count()


@pytest.fixture(params=["hub", *KINDS], scope="module")
def server_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    kind: str = request.param
    if kind == "hub":
        yield kind
        return
    if find_server(kind) is None:
        pytest.skip(f"{KINDS[kind]} is not installed")
    with running(kind, tmp_path_factory.mktemp(kind)) as url:
        yield url


@pytest.fixture
async def two(server_url: str, tmp_path: Path) -> AsyncIterator[list[ClusterBus]]:
    """The same as two processes reach it; both have entered."""
    async with AsyncExitStack() as stack:
        url = f"{server_url}?prefix=commons{next(PREFIXES)}"
        if server_url == "hub":
            await stack.enter_async_context(serve_hub(tmp_path / "hub"))
            url = f"hub://{tmp_path / 'hub'}"
        found: list[ClusterBus] = []
        for _ in range(2):
            store = open_store(url)
            stack.push_async_callback(store.close)
            assert store.bus is not None
            found.append(store.bus)
        if server_url == "hub":
            for number, commons in enumerate(found):
                commons._name = f"worker:{number}"  # type: ignore[attr-defined]  # one process is one worker
        for commons in found:
            await commons.join()
        yield found


async def hear(commons: ClusterBus) -> object:
    while (heard := await commons.receive()) is None:
        pass
    return heard[1]


async def test_changes_arrive_in_same_order(two: list[ClusterBus]) -> None:
    posted = await asyncio.gather(*(two[n % 2].post({"n": n}) for n in range(20)))
    heard = [[await hear(commons) for _ in range(20)] for commons in two]
    assert heard[0] == heard[1]
    assert sorted(change["n"] for change in heard[0]) == list(range(20))  # type: ignore[index]  # objects
    assert all(each.replicas == {commons.replica for commons in two} for each in posted)


async def test_replies_are_collected_from_live_replicas(two: list[ClusterBus]) -> None:
    posted = await two[0].post("what?")
    for number, commons in enumerate(two):
        await commons.reply(posted.number, {"n": number})
    assert await two[0].gather_replies(posted, 5.0) == {two[0].replica: {"n": 0}, two[1].replica: {"n": 1}}


async def test_gather_times_out_for_silent_replica(two: list[ClusterBus]) -> None:
    posted = await two[0].post("what?")
    await two[1].reply(posted.number, 1)
    assert await two[0].gather_replies(posted, 0.05) == {two[1].replica: 1}
    again = await two[0].post("what?")
    await two[1].reply(again.number, 2)
    assert await two[0].gather_replies(PendingChange(again.number, frozenset({two[1].replica})), 5.0) == {
        two[1].replica: 2
    }


async def test_silent_replica_is_waited_for_briefly(two: list[ClusterBus]) -> None:
    silent = frozenset({two[1].replica})
    posted = await two[0].post("what?")
    await two[0].reply(posted.number, 1)
    async with asyncio.timeout(20):
        assert await two[0].gather_replies(posted, 60.0, silent) == {two[0].replica: 1}
    again = await two[0].post("what?")
    for commons in two:
        await commons.reply(again.number, 2)
    assert await two[0].gather_replies(again, 60.0, silent) == {two[0].replica: 2, two[1].replica: 2}


async def test_stale_change_is_rejected(two: list[ClusterBus]) -> None:
    first = await two[0].change("a", {"op": 1}, {"stands": 1}, 0)
    assert first is not None
    assert await two[1].change("a", {"op": 2}, {"stands": 2}, 0) is None
    second = await two[1].change("a", {"op": 2}, {"stands": 2}, first.number)
    assert second is not None
    _, worlds = await two[0].join(again=True)
    assert worlds == {"a": ClusterSnapshot(second.number, {"stands": 2})}
    assert await two[0].change("a", {"op": 3}, None, second.number) is not None
    assert (await two[0].join(again=True))[1] == {}


async def test_calls_are_ordered_over_all_sessions(two: list[ClusterBus]) -> None:
    first = await two[0].append("a", [b"one", b"two"], 10, "1")
    assert await two[1].append("b", [b"three"], 10, "1") == first + 2
    assert await two[1].read(0) == [(first, b"one"), (first + 1, b"two"), (first + 2, b"three")]
    assert await two[0].read(first) == [(first + 1, b"two"), (first + 2, b"three")]
    assert await two[0].read(first + 2) == []


async def test_repeated_append_records_calls_once(server_url: str, two: list[ClusterBus]) -> None:
    if server_url == "hub":
        pytest.skip("the supervisor loses no answer")
    first = await two[0].append("a", [b"one", b"two"], 10, "7")
    assert await two[1].append("a", [b"of another"], 10, "7") == first + 2
    assert await two[0].append("a", [b"one", b"two"], 10, "7") == first
    assert await two[0].append("a", [b"three"], 10, "8") == first + 3
    assert [text for _, text in await two[0].read(0)] == [b"one", b"two", b"of another", b"three"]


async def test_many_calls_are_read_in_order_in_parts(two: list[ClusterBus]) -> None:
    for number in range(8):
        await two[number % 2].append(
            "ab"[number % 2], [b"%d %d" % (number, n) for n in range(200)], 10_000, f"{number}"
        )
    found: list[tuple[int, bytes]] = []
    last = 0
    while calls := await two[0].read(last):
        found += calls
        last = calls[-1][0]
    assert len(found) == 1600
    assert [number for number, _ in found] == sorted({number for number, _ in found})


async def test_journal_keeps_latest_calls_of_session(two: list[ClusterBus]) -> None:
    await two[0].append("a", [b"%d" % n for n in range(5)], 3, "1")
    assert [text for _, text in await two[0].read(0)] == [b"2", b"3", b"4"]


async def test_journal_is_cleared_up_to_number_or_completely(two: list[ClusterBus]) -> None:
    first = await two[0].append("a", [b"1", b"2", b"3"], 10, "1")
    await two[0].append("b", [b"4"], 10, "2")
    await two[1].clear("a", first + 1)
    assert [text for _, text in await two[0].read(0)] == [b"3", b"4"]
    await two[1].clear("a", None)
    assert [text for _, text in await two[0].read(0)] == [b"4"]
    await two[1].clear(None, None)
    assert await two[0].read(0) == []
