"""The load generator counts responses, tokens and failures."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from os import getpid
from pathlib import Path

import pytest
from aiohttp import web

from tests.tools.bench.load import Load, Loader, loader
from tests.tools.bench.servers import NUMBER, Running, cpu_seconds

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or shutil.which("cc") is None, reason="no compiler for the load generator"
    ),
]
EVENT = 'data: {"choices":[{"delta":{"content":%s}}]}\n\n'
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.fixture(scope="module")
def program() -> Iterator[Loader]:
    with loader() as made:
        yield made


class Server:
    """Handlers that respond in several ways; ``texts`` and ``paths`` list the requests."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.paths: list[str] = []

    async def whole(self, request: web.Request) -> web.Response:
        self.texts.append((await request.json())["text"])
        self.paths.append(request.path)
        return web.json_response({"answer": "x" * 5000})

    async def refusing(self, request: web.Request) -> web.Response:
        return web.Response(status=429)

    async def streaming(self, request: web.Request) -> web.StreamResponse:
        """Send an empty text, three tokens, one of them in two writes, and the end."""
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
    app.router.add_post("/numbered/{number}", server.whole)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield int(runner.addresses[0][1])
    await runner.cleanup()


async def measure(program: Loader, port: int, path: str, *, leave: float = 0.0) -> dict[str, float]:
    load = Load(body={"text": f"number {NUMBER}"}, connections=3, warm=0.05, ttft=0.0, itl=0.0, leave=leave)
    running = Running(port, f"/{path}", getpid(), 0.0)
    return dict(await asyncio.to_thread(program.run, load, running, 0.15))


async def test_responses_are_counted_and_no_request_repeats(program: Loader, port: int, server: Server) -> None:
    figures = await measure(program, port, "whole")
    assert figures["answers"] > 0
    assert figures["failed"] == 0
    assert "tokens" not in figures
    assert figures["latency_p50"] <= figures["latency_p99"]
    await measure(program, port, "whole")
    assert len(set(server.texts)) == len(server.texts)
    assert all(len(text) == len("number 00000000") for text in server.texts)


async def test_load_counts_text_events_as_tokens(program: Loader, port: int) -> None:
    figures = await measure(program, port, "streaming")
    assert figures["tokens"] == pytest.approx(3 * figures["answers"], rel=0.2)
    assert {"ttft_mean", "drift_mean", "cpu_per_token"} <= figures.keys()
    assert figures["failed"] == 0


@pytest.mark.parametrize("path", ["refusing", "cut"])
async def test_refused_and_aborted_responses_fail(program: Loader, port: int, path: str) -> None:
    assert (await measure(program, port, path))["failed"] > 0


async def test_clients_that_leave_are_not_failures(program: Loader, port: int) -> None:
    load = Load(body={}, connections=20, warm=0.05, leave=100.0)
    running = Running(port, "/endless", getpid(), 0.0)
    figures = await asyncio.to_thread(program.run, load, running, 0.6)
    assert figures["left"] > 0
    assert figures["failed"] == 0


async def test_requests_come_at_the_configured_rate(program: Loader, port: int, server: Server) -> None:
    load = Load(body={"text": NUMBER}, connections=3, warm=0.05, rate=20)
    figures = await asyncio.to_thread(program.run, load, Running(port, "/whole", getpid(), 0.0), 0.5)
    assert figures["failed"] == 0
    assert 1 < len(server.texts) <= 20  # else hundreds


async def test_a_number_in_the_path_differs_in_each_request(program: Loader, port: int, server: Server) -> None:
    await measure(program, port, f"numbered/{NUMBER}")
    assert len(server.paths) > 1
    assert len(set(server.paths)) == len(server.paths)


def test_the_processor_time_of_all_processes_of_a_server_counts(program: Loader, tmp_path: Path) -> None:
    parent = "import subprocess, sys; subprocess.call([sys.executable, '-c', 'while True: pass'])"
    with subprocess.Popen([sys.executable, "-c", parent], start_new_session=True) as process:
        try:
            server = Running(9, "/", process.pid, 0.0)
            while process.poll() is None and (len(server.pids) < 2 or cpu_seconds(server.pids[1]) < 0.01):
                pass
            load = Load(body={}, connections=1, warm=0.05)
            both = program.run(load, server, 0.3)["server_cpu"]
            alone = _run_for(program, server.pids[:1], tmp_path)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert alone < 0.02 < both


def _run_for(program: Loader, pids: list[int], folder: Path) -> float:
    request = folder / "request"
    request.write_bytes(b"GET / HTTP/1.1\r\n\r\n")
    command = [str(program.path), "9", ",".join(map(str, pids)), str(request), "conns=1", "secs=0.3", "warm=0.05"]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return float(report["server_cpu"])


def test_an_unknown_option_is_refused(program: Loader) -> None:
    done = subprocess.run(
        [str(program.path), "1", str(getpid()), __file__, "speed=1"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "load: unknown option speed=1\n")
