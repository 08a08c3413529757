"""Emulators that share a store act as one."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis.asyncio import Redis
from redis.asyncio.client import Monitor

from emulator.vendors import VENDORS
from tests.golden import read_request
from tests.handler.shared import HEADERS, PLAIN, chat, open_replica, open_replicas, steer
from tests.http_client import Answer, Running, read_answer
from tests.storage.servers import KINDS, find_server, free_port, running
from tests.tools.soak.load import CHATS
from tests.vendors.databricks.management.api import Workspace, external

pytestmark = pytest.mark.slow

LIMITED = """
version: 1
name: shared
limits: [{unit: requests, amount: 60, window: 60s, strategy: sliding}]
rules: [{name: every third, times: {every: 3}, reply: {text: third}}]
"""
_OWN = re.compile(rb"127\.0\.0\.1:\d+")


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


async def test_request_limit_is_exact_across_replicas(replicas: list[Running]) -> None:
    statuses = Counter(await asyncio.gather(*(status(replicas[n % 3], f"{n}") for n in range(192))))
    assert statuses == {200: 60, 400: 132}


@pytest.mark.parametrize("vendor", ["tgi", "databricks", "mindie"])  # the last two look at what is kept, too
async def test_store_commands_per_call(kind: str, tmp_path: Path, vendor: str) -> None:
    limits = "[{unit: requests, amount: 5, window: 60s}, {unit: concurrency, amount: 500}]"
    target, model = CHATS[vendor]
    body = {"model": model, "messages": [{"role": "user", "content": "a"}], "max_tokens": 2}
    with running(kind, tmp_path) as url:
        async with AsyncExitStack() as stack:
            served = {vendor: VENDORS[vendor]}
            replica = await open_replica(stack, url, f"version: 1\nlimits: {limits}\n", served)
            server = await stack.enter_async_context(Redis.from_url(url))
            monitor = await stack.enter_async_context(server.monitor())
            headers = {"authorization": "Bearer a"}
            answers = [await replica.ask(vendor, target, body, headers=headers) for _ in range(7)]
            await server.echo("enough")
            heard = await asyncio.wait_for(listen(monitor, "ECHO enough"), 20)
    asked = sum(":world:" in command for command in heard)
    assert [answer.status for answer in answers] == [200] * 5 + [429] * 2, answers[0].body
    assert asked == 7 + 2 * 5  # each asks once, and reports when it will end and that it has
    assert len({answer.header("x-emulator-request-id") for answer in answers}) == 7  # each is another attempt


async def listen(monitor: Monitor, last: str) -> list[str]:
    """Collect the commands a store receives, up to a last one."""
    heard: list[str] = []
    async for found in monitor.listen():
        if found["command"] == last:
            break
        if found["client_type"] != "lua":
            heard.append(found["command"])
    return heard


async def test_endpoint_made_on_one_replica_serves_on_all(kind: str, tmp_path: Path) -> None:
    scenario = "version: 1\nlimits: [{unit: requests, amount: 9, window: 1h, strategy: sliding}]\n"
    served = {"databricks": VENDORS["databricks"]}
    with running(kind, tmp_path) as url:
        async with AsyncExitStack() as stack:
            one, other = [Workspace(await open_replica(stack, url, scenario, served)) for _ in range(2)]
            assert (await other.chat()).status == 404
            secret = {"openai_api_key_plaintext": "sk-very-secret", "openai_api_base": "https://host"}
            assert (await one.make(external(openai_config=secret))).status == 200
            answers = [await each.chat() for each in (other, one, other)]
            assert [answer.status for answer in answers] == [200] * 3
            assert len({answer.header("x-emulator-request-id") for answer in answers}) == 3
            [level] = (await steer(other.running, "GET", "/limits")).json()["limits"]
            assert level["left"] == 6  # each was charged once
            assert (await one.call("DELETE", "/mine")).status == 200
            assert [(await each.chat()).status for each in (one, other, other)] == [404] * 3
            async with Redis.from_url(url) as server:
                await server.config_set("rdbcompression", "no")
                held = [await server.dump(key) async for key in server.scan_iter("*")]
    assert not any(b"very-secret" in (each or b"") for each in held)


@pytest.mark.parametrize("vendor", VENDORS)
async def test_limits_in_store_leave_responses_identical(kind: str, tmp_path: Path, vendor: str) -> None:
    scenario = "version: 1\nclock: frozen\nlimits: [{unit: requests, amount: 100000, window: 1h}]\n"
    served = {vendor: VENDORS[vendor]}
    with running(kind, tmp_path) as url:
        async with AsyncExitStack() as stack:
            near, far = [await open_replica(stack, at, scenario, served) for at in ("memory://", url)]
            for path in sorted((Path(__file__).parent.parent / "vendors" / vendor / "golden").glob("*.http")):
                head, body = read_request(path)
                for _ in range(2 if body else 1):
                    one, other = [await each.send(vendor, as_head(head), body) for each in (near, far)]
                    assert cut(one) == cut(other), path.name


def as_head(lines: str) -> bytes:
    return "".join(line + "\r\n" for line in lines.split("\n")).encode()


def cut(answer: Answer) -> tuple[bytes, bytes]:
    """Return a response without its times and ports."""
    return _OWN.sub(b"", answer.head), _OWN.sub(b"", answer.body)


async def test_rules_count_calls_across_replicas(replicas: list[Running]) -> None:
    answers = [await replica.ask("toy", "/chat", {"prompt": "a", "max": 2}, headers=HEADERS) for replica in replicas]
    assert [answer.header("x-emulator-rule") for answer in answers] == [None, None, "every third"]


async def test_repeated_request_gets_new_id_on_each_replica(replicas: list[Running]) -> None:
    ids = {
        (await replica.ask("toy", "/chat", {"prompt": "a"}, headers=HEADERS)).header("x-emulator-request-id")
        for replica in replicas
    }
    assert len(ids) == 3


async def test_reset_applies_to_all_replicas(replicas: list[Running]) -> None:
    await asyncio.gather(*(status(replicas[n % 3], f"{n}") for n in range(60)))
    assert await status(replicas[0], "more") == 400
    assert (await replicas[1].ask("front", "/_emulator/reset", method="POST")).status == 200
    assert [await status(replica, "more") for replica in replicas] == [200] * 3


async def test_open_calls_of_all_replicas_are_listed(replicas: list[Running]) -> None:
    await steer(replicas[0], "PUT", "/scenario", "version: 1\nclock: frozen\nlatency: {ttft: 1s}\n")
    asked = []
    for number in (1, 2):
        asked.append(asyncio.create_task(chat(replicas[number], f"to {number}")))
        while (found := (await steer(replicas[0], "GET", "/open")).json())["total"] < number:
            pass
    assert [call["prompt_line"] for call in found["calls"]] == ["to 1", "to 2"]
    seen = (await steer(replicas[1], "GET", "/open")).json()
    assert [call["start_seq"] for call in seen["calls"]] == [call["start_seq"] for call in found["calls"]]
    await steer(replicas[0], "POST", "/clock", {"advance": "9s"})
    assert [answer.status for answer in await asyncio.gather(*asked)] == [200, 200]
    assert (await steer(replicas[0], "GET", "/open")).json()["total"] == 0


async def test_calls_fail_while_store_is_down_and_recover(kind: str, tmp_path: Path) -> None:
    port = free_port()
    async with AsyncExitStack() as stack:
        with running(kind, tmp_path, port) as url:
            replica = await open_replica(stack, url, LIMITED)
            assert await status(replica, "a") == 200
        away = await replica.ask("toy", "/chat", {"prompt": "a", "max": 2}, headers=HEADERS)
        assert (away.status, away.body) == (400, b"not_ready: None {}")  # in the words of its vendor
        assert await read_health(replica) == {"up": 0, "losses_total": 1}
        assert (await steer(replica, "GET", "/limits")).status == 503
        with running(kind, tmp_path, port):
            assert await status(replica, "a") == 200
            assert await read_health(replica) == {"up": 1, "losses_total": 1}


async def read_health(replica: Running) -> dict[str, float]:
    """Return the store metrics."""
    text = (await steer(replica, "GET", "/metrics")).body.decode()
    reported = {name: float(value) for name, value in re.findall(r"^emulator_store_(\w+) (\S+)$", text, re.MULTILINE)}
    assert abs(reported.pop("skew_seconds")) < 1.0
    return reported


async def test_call_outliving_scenario_leaves_no_session_keys(kind: str, tmp_path: Path) -> None:
    with running(kind, tmp_path) as url:
        async with open_replicas(url, LIMITED, count=2) as two:
            place = urlsplit(two[0].urls["toy"])
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            writer.write(b"POST /chat HTTP/1.1\r\nHost: a\r\nx-key: k\r\nTransfer-Encoding: chunked\r\n\r\n")
            assert await status(two[0], "b") == 200  # by then the first is under way
            assert (await steer(two[1], "PUT", "/scenario", PLAIN)).status == 200
            writer.write(b'd\r\n{"prompt":""}\r\n0\r\n\r\n')
            assert (await asyncio.wait_for(read_answer(reader), 20)).status == 200
            writer.close()
            async with Redis.from_url(url, decode_responses=True) as server:
                assert [key async for key in server.scan_iter("*:session:*")] == []
