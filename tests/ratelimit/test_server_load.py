"""Load on the wire: who runs, who waits, and how fast."""

import asyncio

import pytest

from tests.conftest import Start
from tests.handler.toy import TOY
from tests.ratelimit.clients import AZURE, DATABRICKS, move, toy_stream, until_busy, wait_for


@pytest.mark.covers("language/keys of latency", "capacity", "queue")
async def test_load_bounds_running_and_queued_calls(start: Start) -> None:
    running = await start("latency: {ttft: 10s, load: {capacity: 2, queue: 1}}\n", vendors=[TOY])
    ask = [
        asyncio.create_task(running.ask("toy", "/chat", {"prompt": str(i), "max": 1}, headers={"x-key": "k"}))
        for i in range(5)
    ]
    refused = await wait_for(running, ask, 2)
    assert all(answer.body.startswith(b"overloaded") for answer in refused)
    move(running, 10)
    assert len(await wait_for(running, ask, 4)) == 4
    move(running, 10)
    assert sum(answer.status == 200 for answer in await asyncio.gather(*ask)) == 3
    last = list(running.built.journal)[-1]
    assert last.ttft == pytest.approx(20.0)


@pytest.mark.covers("language/keys of latency", "load")
async def test_load_stretches_token_gaps(start: Start) -> None:
    running = await start("latency: {itl: 1s, load: {capacity: 3, factor: 3.0}}\n", vendors=[TOY])
    streams = [await toy_stream(running, 5) for _ in range(3)]
    for reader, writer in streams:
        move(running, 4)
        await reader.readuntil(b"0\r\n\r\n")
        writer.close()
        await writer.wait_closed()
    assert [entry.duration for entry in running.built.journal] == [pytest.approx(gap * 4) for gap in (1, 2, 3)]


async def test_load_is_counted_per_deployment(start: Start) -> None:
    running = await start("latency: {ttft: 1s, load: {capacity: 1, queue: 0}}\n")
    calls = [asyncio.create_task(chat.ask(running)) for chat in (DATABRICKS, DATABRICKS, AZURE)]
    assert [answer.status for answer in await wait_for(running, calls, 1)] == [503]
    while not all(call.done() for call in calls):
        move(running, 1)
        await asyncio.sleep(0.001)
    assert sorted(call.result().status for call in calls) == [200, 200, 503]


async def test_queued_call_starts_when_slot_is_freed(start: Start) -> None:
    running = await start("latency: {ttft: 1s, itl: 1s, load: {capacity: 1}}\n", vendors=[TOY])
    first, second = await toy_stream(running, 3), asyncio.create_task(toy_stream(running, 3))
    await until_busy(running, 2)
    assert not second.done()
    for _ in range(3):
        move(running, 1)
        await first[0].readuntil(b"\n\r\n")
    reader, writer = await second
    for _ in range(3):
        move(running, 1)
        await reader.readuntil(b"\n\r\n")
    assert await reader.readexactly(5) == b"0\r\n\r\n"
    for each in (first[1], writer):
        each.close()
        await each.wait_closed()
    assert [entry.ttft for entry in running.built.journal] == [pytest.approx(1.0), pytest.approx(4.0)]


async def test_client_leaving_queue_takes_no_slot(start: Start) -> None:
    running = await start("latency: {ttft: 1s, itl: 1s, load: {capacity: 1}}\n", vendors=[TOY])
    first = await toy_stream(running, 3)
    _, gone = await running.connect("toy")
    gone.write(b'POST /chat HTTP/1.1\r\nHost: x\r\nx-key: k\r\nContent-Length: 26\r\n\r\n{"prompt":"gone","max":99}')
    await until_busy(running, 2)
    last = asyncio.create_task(toy_stream(running, 3))
    await until_busy(running, 3)
    gone.close()
    await gone.wait_closed()
    move(running, 3)
    reader, writer = await last
    move(running, 3)
    await reader.readuntil(b"0\r\n\r\n")
    assert [entry.duration for entry in running.built.journal] == [3.0, 3.0, 6.0]
    for each in (first[1], writer):
        each.close()
        await each.wait_closed()
