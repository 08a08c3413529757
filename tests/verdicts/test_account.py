"""The account of a session closes over random faults, clients that leave, and hedges, on one server and on replicas."""

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.conftest import running
from tests.control.asking import KEY
from tests.handler.shared import open_replicas
from tests.handler.toy import TOY
from tests.http_client import Running
from tests.storage.servers import KINDS, find_server
from tests.storage.servers import running as serving
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

CALLS = int(os.environ.get("ACCOUNT_CALLS", "1500"))
AT_ONCE = 16
SCENARIO = """
version: 1
name: account
prices: {toy: {input: 1, output: 3}}
rules:
  - {name: refused, when: {prompt: {contains: a}}, times: {probability: 0.15}, error: {kind: overloaded}}
  - {name: cut, times: {probability: 0.1}, faults: [{type: disconnect, after_tokens: 3}]}
  - {name: short, times: {probability: 0.1}, faults: [{type: truncate, after_tokens: 2}]}
  - {name: late, when: {stream: true}, times: {probability: 0.1}, faults: [{type: late_error, after_tokens: 4}]}
  - {name: doubled, times: {probability: 0.05}, faults: [{type: duplicate}]}
  - {name: slow, times: {probability: 0.1}, latency: {ttft: 1ms, itl: 1ms}}
"""


async def call(url: str, body: JSON, leaves_after: int | None) -> None:
    """Send a request and read its response, or leave after some bytes of it."""
    address, data = urlsplit(url), json.dumps(body).encode()
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = f"POST /chat HTTP/1.1\r\nhost: a\r\nx-key: {KEY['x-key']}\r\nconnection: close\r\n"
    try:
        writer.write(f"{head}x-emulator-session: s\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data)
        if leaves_after is None:
            await reader.read(-1)
        elif leaves_after:
            await reader.readexactly(leaves_after)
    except (ConnectionError, asyncio.IncompleteReadError):
        pass  # a fault was faster
    finally:
        writer.transport.abort()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def load(urls: Sequence[str], count: int, seed: int) -> None:
    """Make random calls, some of them twice at once."""
    drawn = random.Random(seed)
    todo = []
    for number in range(count):
        prompt = "".join(drawn.choice("abc") for _ in range(3)) + str(number // 4)
        body = {"prompt": prompt, "max": drawn.randrange(1, 30), "stream": drawn.random() < 0.7}
        leaves = drawn.choice((None, None, None, 0, drawn.randrange(1, 400)))
        copies = 2 if drawn.random() < 0.1 and number + 2 <= count else 1
        todo.append([(drawn.choice(urls), body, leaves)] + [(drawn.choice(urls), body, None)] * (copies - 1))
    gate = asyncio.Semaphore(AT_ONCE)

    async def run(calls: Sequence[tuple[str, JSON, int | None]]) -> None:
        async with gate:
            await asyncio.gather(*(call(*one) for one in calls))

    await asyncio.gather(*map(run, todo))


async def read(replica: Running, path: str) -> JSON:
    return (await replica.ask("front", f"/_emulator{path}", None, method="GET")).json()


async def settle(replicas: Sequence[Running]) -> None:
    """Wait until no replica has an open call."""
    for replica in replicas:
        while any([context for app in replica.built.runtime.active.apps.values() for context in app.open]):
            await asyncio.sleep(0.01)


async def check(replicas: Sequence[Running], count: int) -> None:
    await load([replica.urls["toy"] for replica in replicas], count, seed=5)
    await settle(replicas)
    for replica in replicas:
        usage = await read(replica, "/usage?session=s")
        calls = (await read(replica, "/requests?session=s&limit=10000"))["requests"]
        tokens, waste = usage["output_tokens"], usage["output_tokens"]["waste"]
        assert len(calls) >= count
        assert tokens["sent"] == tokens["delivered"] + tokens["wasted"] == sum(call["sent_tokens"] for call in calls)
        assert tokens["wasted"] == sum(waste.values())
        assert all(call["sent_tokens"] <= call["completion_tokens"] or call["faults"] for call in calls)
        assert all(value > 0 for value in waste.values())
        assert usage["cost"]["usd"] == pytest.approx((usage["prompt_tokens"] + 3 * tokens["sent"]) / 1e6)
        assert usage["amplification"] > 1


@pytest.fixture
async def server() -> AsyncIterator[Running]:
    async with running(SCENARIO, vendors=[TOY]) as one:
        yield one


async def test_account_closes_on_one_server(server: Running) -> None:
    await check([server], CALLS)


@pytest.mark.parametrize("kind", KINDS)
async def test_account_closes_over_three_replicas(kind: str, tmp_path: Path) -> None:
    if find_server(kind) is None:
        pytest.skip(f"{KINDS[kind]} is not installed")
    with serving(kind, tmp_path) as url:
        async with open_replicas(url, SCENARIO) as replicas:
            await check(replicas, CALLS // 3)
