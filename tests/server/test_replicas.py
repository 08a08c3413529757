"""Several emulators that share a store answer as one."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from emulator.scenario.load import load_text
from emulator.server.build import build
from emulator.server.join import joined
from emulator.server.listen import Listeners
from tests.server.toy import TOY
from tests.state.servers import KINDS, find_server, free_port, running
from tests.wire import Running

HEADERS = {"x-key": "k"}
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


async def open_replica(stack: AsyncExitStack, url: str) -> Running:
    built = build(load_text(LIMITED, "shared"), vendors={"toy": TOY}, state_url=url)
    await stack.enter_async_context(joined(built.runtime))
    listeners = Listeners(built.runtime, built.control)
    await listeners.open("127.0.0.1", {"front": 0, "toy": 0})
    stack.push_async_callback(listeners.close)
    return Running(built, listeners.urls)


@pytest.fixture
async def replicas(kind: str, tmp_path: Path) -> AsyncIterator[list[Running]]:
    async with AsyncExitStack() as stack:
        url = stack.enter_context(running(kind, tmp_path))
        yield [await open_replica(stack, url) for _ in range(3)]


async def chat(replica: Running, prompt: str) -> int:
    return (await replica.ask("toy", "/chat", {"prompt": prompt, "max": 2}, headers=HEADERS)).status


async def test_sixty_a_minute_are_exactly_sixty_over_three(replicas: list[Running]) -> None:
    statuses = Counter(await asyncio.gather(*(chat(replicas[n % 3], f"{n}") for n in range(192))))
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
    await asyncio.gather(*(chat(replicas[n % 3], f"{n}") for n in range(60)))
    assert await chat(replicas[0], "more") == 400
    assert (await replicas[1].ask("front", "/_emulator/reset", method="POST")).status == 200
    assert [await chat(replica, "more") for replica in replicas] == [200] * 3


async def test_a_store_that_dies_refuses_and_comes_back(kind: str, tmp_path: Path) -> None:
    port = free_port()
    async with AsyncExitStack() as stack:
        with running(kind, tmp_path, port) as url:
            replica = await open_replica(stack, url)
            assert await chat(replica, "a") == 200
        away = await replica.ask("toy", "/chat", {"prompt": "a", "max": 2}, headers=HEADERS)
        assert (away.status, away.body) == (400, b"not_ready: None {}")  # in the words of its vendor
        with running(kind, tmp_path, port):
            assert await chat(replica, "a") == 200
