"""``/metrics``."""

import asyncio

import pytest

from tests.conftest import Start
from tests.ratelimit.clients import move
from tests.vendors.mindie.direct import (
    MODEL,
    REPLY,
)


@pytest.mark.covers("mindie/routes", "GET /metrics, /metrics-json")
async def test_metrics(start: Start) -> None:
    running = await start(REPLY)
    await running.ask("mindie", "/", {"inputs": "Hello"})
    answer = await running.ask("mindie", "/metrics")
    assert answer.header("Content-Type") == "text/plain; charset=utf-8"
    assert f'generation_tokens_total{{model_name="{MODEL}"}} 4' in answer.body.decode()
    off = await (await start("vendors: {mindie: {service_monitor: false}}\n")).ask("mindie", "/metrics")
    assert off.status == 500
    assert off.json()["error_type"] == "Incomplete Generation"


@pytest.mark.covers("mindie/HTTP", "beyond workers and queue")
async def test_request_beyond_workers_and_queue_loses_connection(start: Start) -> None:
    running = await start("vendors: {mindie: {max_link_num: 1}}\nlatency: {ttft: 10s}\n")
    calls = [asyncio.create_task(running.ask("mindie", "/", {"inputs": str(n)})) for n in range(3)]
    labels = f'{{model_name="{MODEL}"}}'
    while f"num_requests_running{labels} 3" not in (await running.ask("mindie", "/metrics")).body.decode():
        await asyncio.sleep(0.001)
    assert (await running.ask("mindie", "/v1/status")).json()["resource"]["runningRequestNum"] == 3
    refused = asyncio.create_task(running.ask("mindie", "/", {"inputs": "x"}))
    await asyncio.wait([refused])
    assert refused.exception() is not None
    move(running, 10)
    assert [answer.status for answer in await asyncio.gather(*calls)] == [200] * 3


async def test_only_inference_is_counted(start: Start) -> None:
    running = await start(REPLY)
    for path in ("/health", "/info", "/nowhere"):
        await running.ask("mindie", path)
    await running.ask("mindie", "/", {"inputs": "Hello"})
    await running.ask("mindie", "/", {"inputs": "Hello", "parameters": {"top_k": 0}})
    lines = (await running.ask("mindie", "/metrics")).body.decode().splitlines()
    labels = f'{{model_name="{MODEL}"}}'
    assert {
        f"request_received_total{labels} 2",
        f"request_success_total{labels} 1",
        f"request_failed_total{labels} 1",
        f"num_requests_waiting{labels} 0",
    } <= set(lines)
