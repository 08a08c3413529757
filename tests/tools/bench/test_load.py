"""The program that makes load counts what comes back."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from os import getpid

import pytest
from aiohttp import web

from tests.tools.bench.load import NUMBER, Load, Loader, loader
from tests.tools.bench.servers import Running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or shutil.which("cc") is None, reason="no compiler for the load"
    ),
]
EVENT = 'data: {"choices":[{"delta":{"content":%s}}]}\n\n'
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.fixture(scope="module")
def program() -> Iterator[Loader]:
    with loader() as made:
        yield made


class Server:
    """Answers in one of several ways, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def whole(self, request: web.Request) -> web.Response:
        self.asked.append((await request.json())["text"])
        return web.json_response({"answer": "x" * 5000})

    async def refusing(self, request: web.Request) -> web.Response:
        return web.Response(status=429)

    async def streaming(self, request: web.Request) -> web.StreamResponse:
        """An empty text, three tokens, one of them cut in two, and the end."""
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        text = "".join(EVENT % token for token in ('""', '"a"', '" \\"b"', '"c"')) + "data: [DONE]\n\n"
        await response.write(text[:90].encode())
        await asyncio.sleep(0)
        await response.write(text[90:].encode())
        return response

    async def cut(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        assert request.transport is not None
        request.transport.abort()
        return response

    async def endless(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await asyncio.sleep(60)
        return response


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
async def port(server: Server) -> AsyncIterator[int]:
    app = web.Application()
    for name in ("whole", "refusing", "streaming", "cut", "endless"):
        app.router.add_post(f"/{name}", getattr(server, name))
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield int(runner.addresses[0][1])
    await runner.cleanup()


async def measure(program: Loader, port: int, path: str, *, leave: float = 0.0) -> dict[str, float]:
    load = Load(body={"text": f"number {NUMBER}"}, connections=3, warm=0.05, ttft=0.0, itl=0.0, leave=leave)
    running = Running(port, f"/{path}", getpid(), 0.0)
    return dict(await asyncio.to_thread(program.run, load, running, 0.15))


async def test_answers_are_counted_and_no_request_comes_twice(program: Loader, port: int, server: Server) -> None:
    figures = await measure(program, port, "whole")
    assert figures["answers"] > 0
    assert figures["failed"] == 0
    assert "tokens" not in figures
    assert figures["latency_p50"] <= figures["latency_p99"]
    await measure(program, port, "whole")
    assert len(set(server.asked)) == len(server.asked)
    assert all(len(text) == len("number 00000000") for text in server.asked)


async def test_a_token_is_an_event_with_a_text(program: Loader, port: int) -> None:
    figures = await measure(program, port, "streaming")
    assert figures["tokens"] == pytest.approx(3 * figures["answers"], rel=0.2)
    assert {"ttft_mean", "drift_mean", "cpu_per_token"} <= figures.keys()
    assert figures["failed"] == 0


@pytest.mark.parametrize("path", ["refusing", "cut"])
async def test_what_is_no_answer_has_failed(program: Loader, port: int, path: str) -> None:
    assert (await measure(program, port, path))["failed"] > 0


async def test_clients_that_leave_are_no_failures(program: Loader, port: int) -> None:
    load = Load(body={}, connections=20, warm=0.05, leave=100.0)
    running = Running(port, "/endless", getpid(), 0.0)
    figures = await asyncio.to_thread(program.run, load, running, 0.6)
    assert figures["left"] > 0
    assert figures["failed"] == 0


async def test_requests_come_at_the_rate_that_was_asked_for(program: Loader, port: int, server: Server) -> None:
    load = Load(body={"text": NUMBER}, connections=3, warm=0.05, rate=20)
    figures = await asyncio.to_thread(program.run, load, Running(port, "/whole", getpid(), 0.0), 0.5)
    assert figures["failed"] == 0
    assert 1 < len(server.asked) <= 20  # else hundreds


def test_what_the_program_does_not_know_it_refuses(program: Loader) -> None:
    done = subprocess.run(
        [str(program.path), "1", str(getpid()), __file__, "speed=1"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "load: what is speed=1?\n")
