"""Requests on both event loops: responses, paced streams, faults and disconnects."""

import asyncio
import signal
import time

import pytest

from emulator.core.storage import StoreLostError
from emulator.serve.server import _wait_until_stopped, has_uvloop, run
from tests.conftest import running
from tests.handler.toy import TOY
from tests.http_client import Running, read_until_reset

KEY = {"x-key": "k"}
LOOPS = [
    pytest.param(False, id="asyncio"),
    pytest.param(True, id="uvloop", marks=pytest.mark.skipif(not has_uvloop(), reason="uvloop is not installed")),
]
SCENARIO = """version: 1
name: loops
latency: {ttft: 20ms, itl: 2ms}
rules:
  - {name: quick, when: {prompt: Hi}, reply: {chunks: [one, two, three]}}
  - {name: slow, latency: {itl: 1h}}
"""


async def _ask(served: Running) -> None:
    whole = await served.ask("toy", "/chat", {"prompt": "Hi"}, headers=KEY)
    started = time.monotonic()
    stream = await served.ask("toy", "/chat", {"prompt": "Hi", "stream": True}, headers=KEY)
    assert time.monotonic() - started >= 0.024
    assert (whole.body, stream.body) == (b"onetwothree", b"one\ntwo\nthree\n")
    assert stream.chunks == (b"one\n", b"two\n", b"three\n")
    fault = {**KEY, "x-emulator-fault": "disconnect; after_tokens=2"}
    assert await read_until_reset(served, "toy", "/chat", {"prompt": "Hi", "stream": True}, fault) == (
        b"one\ntwo\n",
        True,
    )


async def _leave(served: Running) -> None:
    """A client that hangs up in the midst of a stream leaves no traceback and nothing in flight."""
    url = served.urls["toy"].removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(url[0], int(url[1]))
    body = b'{"prompt":"Tell me more","max":1000,"stream":true}'
    writer.write(b"POST /chat HTTP/1.1\r\nHost: x\r\nx-key: k\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    await reader.readuntil(b"\r\n\r\n")
    writer.transport.abort()
    while served.built.apps[0].service.metrics.in_flight():
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("uvloop", LOOPS)
def test_server_works_on_each_event_loop(uvloop: bool) -> None:
    async def main() -> str:
        async with running(SCENARIO, vendors=[TOY]) as served:
            await _ask(served)
            await _leave(served)
            entries = [*served.built.journal]
            assert [entry.whole for entry in entries] == [True, True, False, False]
        return type(asyncio.get_running_loop()).__module__

    assert run(main(), uvloop=uvloop).startswith("uvloop" if uvloop else "asyncio")


@pytest.mark.parametrize("uvloop", LOOPS)
def test_run_returns_coroutine_result(uvloop: bool) -> None:
    async def main() -> int:
        await asyncio.sleep(0)
        return 7

    assert run(main(), uvloop=uvloop) == 7


@pytest.mark.parametrize("error", [None, StoreLostError("away")])
async def test_signal_as_the_wait_for_the_store_ends_is_not_lost(error: Exception | None) -> None:
    stops: asyncio.Queue[signal.Signals] = asyncio.Queue()

    async def start() -> None:
        await asyncio.sleep(0)
        stops.put_nowait(signal.SIGTERM)
        if error is not None:
            raise error

    stopped = await _wait_until_stopped(start(), stops)
    assert stopped is signal.SIGTERM or stops.get_nowait() is signal.SIGTERM


async def test_start_without_signal_leaves_queue_as_it_is() -> None:
    stops: asyncio.Queue[signal.Signals] = asyncio.Queue()
    assert await _wait_until_stopped(asyncio.sleep(0), stops) is None
    stops.put_nowait(signal.SIGINT)
    assert stops.get_nowait() is signal.SIGINT
