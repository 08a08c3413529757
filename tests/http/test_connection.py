"""Malformed heads, slow clients and closed connections."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from math import inf
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from emulator.http.certificates import load_authority, make_context
from emulator.http.connection import Connection, IncomingRequest
from emulator.http.listeners import ConnectionServer, Listeners, number_ports
from emulator.http.timeouts import ConnectionPhase, TimeoutMonitor, Timeouts
from emulator.scenario.load import load_text
from emulator.serve.application import create_application
from tests.conftest import FROZEN
from tests.handler.shakes import trusting
from tests.handler.toy import TOY

SECRET = b"dapi-never-to-be-told"
HEAD = b"Host: x\r\nAuthorization: Bearer " + SECRET + b"\r\n"
POST = b"POST /chat HTTP/1.1\r\nx-key: k\r\n" + HEAD
_BOUND = 30  # seconds that a test waits for what must happen; it takes milliseconds
LIMITS = Timeouts(head=30, body=120, idle=600)


class Served:
    """Toy server, and the clock of its timeout monitor."""

    def __init__(self, listeners: Listeners) -> None:
        self.listeners = listeners
        self.time = 0.0
        self._patience = TimeoutMonitor(LIMITS, lambda: self.time)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        url = urlsplit(self.listeners.urls["toy"])
        return await asyncio.open_connection(url.hostname, url.port)

    async def send(self, *parts: bytes) -> bytes:
        """Send parts one after the other has arrived; return the response."""
        reader, writer = await self.connect()
        for number, part in enumerate(parts):
            writer.write(part)
            if number < len(parts) - 1:
                await self.until(ConnectionPhase.BODY)
        answer = await reader.read()
        writer.close()
        return answer

    async def until(self, phase: ConnectionPhase) -> Connection:
        """Wait until the only connection meets a condition; return it."""
        async with asyncio.timeout(_BOUND):
            while True:
                await asyncio.sleep(0)
                clients = self.listeners.clients()
                if clients and clients[0].phase is phase:
                    return clients[0]

    def wait(self, seconds: float) -> None:
        self._patience.check(self.listeners.clients())
        self.time += seconds
        self._patience.check(self.listeners.clients())

    async def end(self, drain: float = 0.0) -> None:
        self.listeners.runtime.closing.set()
        for sock in self.listeners._sockets:
            await sock.web.finish(drain)


@asynccontextmanager
async def serving(scenario: str = "") -> AsyncIterator[Served]:
    built = create_application(load_text(FROZEN + scenario), vendors={"toy": TOY})
    listeners = Listeners(built.runtime, built.control, limits=Timeouts(inf, inf, inf))
    await listeners.open("127.0.0.1", number_ports(["toy"], 0))
    try:
        yield Served(listeners)
    finally:
        await listeners.close()


BROKEN = [
    pytest.param([b"GET / HTTP/1.1\r\n" + HEAD + b"bad header\r\n\r\n"], 400, id="a header without a colon"),
    pytest.param([b"GET / HTTP/1.1\r\n" + HEAD + b"bad header: \x00\x1b[2J\r\n\r\n"], 400, id="control letters"),
    pytest.param([b"GET / HTTP/9.9\r\n" + HEAD + b"\r\n"], 400, id="another version"),
    pytest.param([b"GET / HTTP/2.0\r\n" + HEAD + b"\r\n"], 400, id="a version that begins otherwise"),
    pytest.param([b"GET / HTTP/0.9\r\n" + HEAD + b"\r\n"], 400, id="a version that has no heads"),
    pytest.param([b"GET /chat*HTTP/1.1\r\n" + HEAD + b"\r\n"], 400, id="no version"),
    pytest.param([b"GET /_emulator/health HTTP/0.9\r\n" + HEAD + b"\r\n"], 400, id="no version, to the control plane"),
    pytest.param([b"GET /_s/\xff/chat HTTP/0.9\r\n" + HEAD + b"\r\n"], 400, id="no version, in no session"),
    pytest.param([b"BREW" + SECRET + b" /\r\n\r\n"], 400, id="no method"),
    pytest.param([b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + SECRET], 400, id="TLS"),
    pytest.param([b"GET /\x1b[2J" + SECRET + b" HTTP/1.1\r\n\r\n"], 400, id="a target that is no URL"),
    pytest.param([b"GET /?key=" + SECRET * 500 + b" HTTP/1.1\r\n\r\n"], 431, id="a target too long"),
    pytest.param([b"GET / HTTP/1.1\r\nAuthorization: " + SECRET * 500 + b"\r\n\r\n"], 431, id="a header too long"),
    pytest.param([POST + b"Content-Length: " + SECRET + b"\r\n\r\n"], 400, id="a length that is no number"),
    pytest.param([POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"], 400, id="two lengths"),
    pytest.param([POST + b"Transfer-Encoding: chunked\r\n\r\n" + SECRET + b"\r\n"], 400, id="a broken chunk at once"),
    pytest.param(
        [POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", SECRET + b"\r\n"], 400, id="a broken chunk later"
    ),
]


@pytest.mark.parametrize(("parts", "status"), BROKEN)
async def test_malformed_request_is_rejected_with_one_log_line(
    parts: list[bytes], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with serving() as served:
            answer = await served.send(*parts)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert head.endswith(b"Content-Length: 0\r\nConnection: close")
    assert not body
    assert b"server" not in head.lower()
    assert b"aiohttp" not in answer
    (record,) = caplog.records
    said = record.getMessage()
    assert said.startswith("refused a request of 127.0.0.1: ")
    assert said.isprintable()
    assert record.exc_info is None
    assert SECRET.decode() not in caplog.text


@pytest.mark.parametrize(
    "target", [b"/chat", b"/_emulator/health", b"/_emulator/nothing", b"/_s/!/chat", b"/_emulatorx"]
)
async def test_response_does_not_reveal_framework(target: bytes) -> None:
    async with serving() as served:
        answer = await served.send(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    head = answer.partition(b"\r\n\r\n")[0].lower()
    assert head.startswith(b"http/1.1 ")
    assert b"\nserver:" not in head
    assert b"aiohttp" not in head


@pytest.mark.parametrize(
    ("error", "answer", "lines"),
    [
        pytest.param(ConnectionResetError("gone"), b"", 0, id="the client has left meanwhile"),
        pytest.param(RuntimeError("ours"), b"HTTP/1.1 500 Internal Server Error", 1, id="a bug of ours"),
    ],
)
async def test_unhandled_exception_closes_or_returns_500(
    error: Exception, answer: bytes, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def serve(request: IncomingRequest) -> bool:
        raise error

    connections = ConnectionServer(serve)
    server = await asyncio.get_running_loop().create_server(connections, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await reader.read()).partition(b"\r\n")[0] == answer
    assert len(caplog.records) == lines
    writer.close()
    server.close()
    await connections.finish(0)


async def test_what_a_call_releases_after_its_end_is_released_however_it_ends() -> None:
    """An aborted connection is also lost: the second of both does not interrupt a release that waits for a store."""
    released = []

    async def serve(request: IncomingRequest) -> bool:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            released.append(True)
        return True

    connections = ConnectionServer(serve)
    server = await asyncio.get_running_loop().create_server(connections, "127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(_BOUND):
        while not any(client.phase is ConnectionPhase.ANSWER for client in connections.clients):
            await asyncio.sleep(0)
        (client,) = connections.clients
        client.abort()
        while connections.clients:
            await asyncio.sleep(0)
    assert released == [True]
    writer.close()
    server.close()


async def test_control_prefix_without_slash_belongs_to_vendor() -> None:
    async with serving() as served:
        answer = await served.send(b"GET /_emulatorx HTTP/1.1\r\nHost: x\r\nx-key: k\r\nConnection: close\r\n\r\n")
    assert b"x-emulator-request-id" in answer


SLOW = [
    pytest.param(b"", ConnectionPhase.IDLE, 600, b"", id="it asks for nothing"),
    pytest.param(POST[:30], ConnectionPhase.HEAD, 30, b"HTTP/1.1 408 ", id="half a head"),
    pytest.param(POST + b"Content-Length: 9\r\n\r\n{", ConnectionPhase.BODY, 120, b"HTTP/1.1 408 ", id="half a body"),
]


@pytest.mark.parametrize(("data", "phase", "limit", "reported"), SLOW)
async def test_slow_client_times_out(data: bytes, phase: ConnectionPhase, limit: float, reported: bytes) -> None:
    async with serving() as served:
        reader, writer = await served.connect()
        writer.write(data)
        await served.until(phase)
        served.wait(limit - 1)
        assert len(served.listeners.clients()) == 1
        served.wait(1)
        try:
            answer = await reader.read()
        except ConnectionResetError:
            answer = b""
        assert answer.startswith(reported)
        assert bool(answer) == bool(reported)
        writer.close()


@pytest.mark.slow
async def test_client_not_reading_response_times_out() -> None:
    many = "rules: [{name: much, reply: {text: '" + "word " * 200_000 + "'}}]\n"
    async with serving(many) as served:
        url = urlsplit(served.listeners.urls["toy"])
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # what the kernel takes for a client grows else
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, (url.hostname, url.port))
        body = b'{"prompt": "a", "max": 1000000}'
        request = POST + b"Content-Length: %d\r\n\r\n" % len(body) + body
        await asyncio.get_running_loop().sock_sendall(sock, request * 16)
        await served.until(ConnectionPhase.UNREAD)
        async with asyncio.timeout(_BOUND):
            while served.listeners.clients():
                served.wait(600)
                await asyncio.sleep(0)
        sock.close()


async def test_has_progressed_after_phase_change_not_every_byte() -> None:
    async with serving() as served:
        reader, writer = await served.connect()
        connection = await served.until(ConnectionPhase.IDLE)
        assert [connection.has_progressed() for _ in range(2)] == [True, False]
        writer.write(b"GET /echo HTTP/1.1\r\nHost: x\r\nx-key: k\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        await served.until(ConnectionPhase.IDLE)
        assert [connection.has_progressed() for _ in range(2)] == [True, False]
        writer.write(b"G")
        await served.until(ConnectionPhase.HEAD)
        assert [connection.has_progressed() for _ in range(2)] == [True, False]
        writer.write(b"E")
        await asyncio.sleep(0)
        assert not connection.has_progressed()
        writer.close()


async def test_head_timeout_starts_at_first_byte() -> None:
    async with serving() as served:
        _, writer = await served.connect()
        await served.until(ConnectionPhase.IDLE)
        served.wait(599)
        writer.write(b"G")
        await served.until(ConnectionPhase.HEAD)
        served.wait(29)
        assert len(served.listeners.clients()) == 1
        writer.close()


WAITING = [
    pytest.param(POST + b"Content-Length: 9\r\n\r\n{", ConnectionPhase.BODY, id="half a body"),
    pytest.param(
        POST + b'Content-Length: 15\r\n\r\n{"prompt": "a"}', ConnectionPhase.ANSWER, id="an answer that sleeps"
    ),
    pytest.param(POST[:20], ConnectionPhase.HEAD, id="half a head"),
]


@pytest.mark.parametrize(("data", "phase"), WAITING)
async def test_pending_connection_closes_when_drain_ends(data: bytes, phase: ConnectionPhase) -> None:
    async with serving("latency: {ttft: 1h}\n") as served:
        reader, writer = await served.connect()
        writer.write(data)
        await served.until(phase)
        await served.end()
        assert not served.listeners.clients()
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()


async def test_drain_sends_response_to_last_byte() -> None:
    async with serving("rules: [{name: much, reply: {text: '" + "word " * 100_000 + "'}}]\n") as served:
        reader, writer = await served.connect()
        body = b'{"prompt": "a", "max": 1000000}'
        writer.write(POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        head = await reader.readuntil(b"\r\n\r\n")
        _, rest = await asyncio.gather(served.end(drain=60), reader.read())
        assert b"Content-Length: %d\r\n" % len(rest) in head
        writer.close()


@pytest.mark.slow
async def test_idle_tls_client_does_not_delay_shutdown(tmp_path: Path) -> None:
    authority = load_authority(tmp_path)
    built = create_application(load_text(FROZEN), vendors={"toy": TOY})
    listeners = Listeners(built.runtime, built.control, drain=inf)
    await listeners.open("127.0.0.1", number_ports(["toy"], 0), make_context(authority, ["127.0.0.1"]))
    url = urlsplit(listeners.urls["toy"])
    _, writer = await asyncio.open_connection(url.hostname, url.port, ssl=trusting(authority.path))
    writer.transport.pause_reading()  # type: ignore[attr-defined]  # of every transport that reads
    await listeners.close()  # would never come to its end
    assert not listeners.clients()
    writer.transport.abort()


async def test_cancelled_drain_closes_connections() -> None:
    async with serving("latency: {ttft: 1h}\n") as served:
        _, writer = await served.connect()
        writer.write(POST + b'Content-Length: 15\r\n\r\n{"prompt": "a"}')
        await served.until(ConnectionPhase.ANSWER)
        ending = asyncio.create_task(served.end(drain=inf))
        await asyncio.sleep(0)
        ending.cancel()
        await asyncio.gather(ending, return_exceptions=True)
        async with asyncio.timeout(_BOUND):
            while served.listeners.clients():
                await asyncio.sleep(0)
        writer.close()
