"""Several emulators that share a store answer as one."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.server.shared import HEADERS, chat, open_replica, open_replicas
from tests.state.servers import KINDS, find_server, free_port, running
from tests.wire import Running

LIMITED = """
version: 1
name: shared
limits: [{unit: requests, amount: 60, window: 60s, strategy: sliding}]
rules: [{name: every third, times: {every: 3}, reply: {text: third}}]
"""


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    if find_server(kind) is None:
        pytest.skip(f"{KINDS[kind]} is not installed")
    return kind


@pytest.fixture
async def replicas(kind: str, tmp_path: Path) -> AsyncIterator[list[Running]]:
    with running(kind, tmp_path) as url:
        async with open_replicas(url, LIMITED) as replicas:
            yield replicas


async def status(replica: Running, prompt: str) -> int:
    return (await chat(replica, prompt)).status


async def test_sixty_a_minute_are_exactly_sixty_over_three(replicas: list[Running]) -> None:
    statuses = Counter(await asyncio.gather(*(status(replicas[n % 3], f"{n}") for n in range(192))))
    assert statuses == {200: 60, 400: 132}


async def test_rules_count_the_calls_of_all(replicas: list[Running]) -> None:
    answers = [await replica.ask("toy", "/chat", {"prompt": "a", "max": 2}, headers=HEADERS) for replica in replicas]
    assert [answer.header("x-emulator-rule") for answer in answers] == [None, None, "every third"]


async def test_the_same_request_is_another_attempt_wherever_it_comes(replicas: list[Running]) -> None:
    ids = {
        (await replica.ask("toy", "/chat", {"prompt": "a"}, headers=HEADERS)).header("x-emulator-request-id")
        for replica in replicas
    }
    assert len(ids) == 3


async def test_a_reset_is_a_reset_for_all(replicas: list[Running]) -> None:
    await asyncio.gather(*(status(replicas[n % 3], f"{n}") for n in range(60)))
    assert await status(replicas[0], "more") == 400
    assert (await replicas[1].ask("front", "/_emulator/reset", method="POST")).status == 200
    assert [await status(replica, "more") for replica in replicas] == [200] * 3


async def test_a_store_that_dies_refuses_and_comes_back(kind: str, tmp_path: Path) -> None:
    port = free_port()
    async with AsyncExitStack() as stack:
        with running(kind, tmp_path, port) as url:
            replica = await open_replica(stack, url, LIMITED)
            assert await status(replica, "a") == 200
        away = await replica.ask("toy", "/chat", {"prompt": "a", "max": 2}, headers=HEADERS)
        assert (away.status, away.body) == (400, b"not_ready: None {}")  # in the words of its vendor
        with running(kind, tmp_path, port):
            assert await status(replica, "a") == 200
