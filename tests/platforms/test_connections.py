"""What a client sees of its connection, alike on every system: run as it is, and in the simulations."""

import asyncio
import gc
import logging
import os
import socket
import struct
import sys
from collections.abc import Iterator

import pytest

from emulator.http.proactor import is_proactor, watch_resets
from emulator.serve.in_process import start_here
from tests.conftest import Start
from tests.handler.toy import TOY
from tests.http_client import Running
from tests.platforms.loops import NETNAME_DELETED, ProactorLoop

_TEXT = "0123456789abcdef" * 2_000
_CUT = len(_TEXT) * 9 // 10
_DISCONNECT = f"rules:\n- name: r\n  reply: {{text: {_TEXT}}}\n  faults: [{{type: disconnect, at: 0.9}}]\n"
_DROP = "rules:\n- name: r\n  reply: {text: one}\n  faults: [{type: disconnect, at: 0}]\n"
_ASK = b'POST /chat HTTP/1.1\r\nHost: x\r\nx-key: k\r\nConnection: close\r\nContent-Length: 15\r\n\r\n{"prompt":"hi"}'
_CHAT = (
    b"POST /openai/v1/chat/completions HTTP/1.1\r\nHost: x\r\napi-key: k\r\nContent-Type: application/json\r\n"
    b'Content-Length: 68\r\n\r\n{"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}'
)
_ECHO = b"GET /echo HTTP/1.1\r\nHost: x\r\nx-key: k\r\n\r\n"


async def read(running: Running, sent: bytes) -> tuple[bytes, bool]:
    """Return the body that a client receives, and whether its connection is reset."""
    reader, writer = await running.connect("toy")
    writer.write(sent)
    received = b""
    try:
        while data := await asyncio.wait_for(reader.read(65_536), 20):
            received += data
    except ConnectionResetError:
        return received.partition(b"\r\n\r\n")[2], True
    finally:
        writer.close()
    return received.partition(b"\r\n\r\n")[2], False


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No garbage is collected, so that a descriptor that only its collection would close stays open."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("scenario", [pytest.param(_DROP, id="before a byte"), pytest.param(_DISCONNECT, id="within")])
async def test_reset_is_reset_each_time(start: Start, scenario: str) -> None:
    served = await start(scenario, vendors=[TOY])
    expected = b"" if scenario is _DROP else _TEXT[:_CUT].encode()
    found = [await read(served, _ASK) for _ in range(50)]
    assert found == [(expected, True)] * 50


async def test_slow_reader_receives_what_was_sent_before_reset(start: Start) -> None:
    if sys.platform == "win32" and not is_proactor(asyncio.get_running_loop()):
        pytest.skip("the selector loop of Windows has no count of these bytes; the emulator takes it nowhere")
    served = await start(_DISCONNECT, vendors=[TOY])
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(client, ("127.0.0.1", int(served.urls["toy"].rpartition(":")[2])))
        await loop.sock_sendall(client, _ASK)
        received = b""
        was_reset = False
        for _ in range(30):  # a server that does not wait for this client has sent its reset by then
            await asyncio.sleep(0.001)
        try:
            while data := await loop.sock_recv(client, 1024):
                received += data
        except ConnectionResetError:
            was_reset = True
        assert was_reset
        assert received.partition(b"\r\n\r\n")[2] == _TEXT[:_CUT].encode()


async def test_half_closing_client_is_answered(start: Start) -> None:
    served = await start(vendors=[TOY])
    loop = asyncio.get_running_loop()
    found = []
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", int(served.urls["toy"].rpartition(":")[2]))) as client:
            client.sendall(_ECHO)
            client.shutdown(socket.SHUT_WR)  # the server finds the request and the end at once
            client.setblocking(False)
            found.append((await loop.sock_recv(client, 4096))[:15])
    assert found == [b"HTTP/1.1 200 OK"] * 20


@pytest.mark.usefixtures("uncollected")
async def test_client_that_resets_leaves_no_trace(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    served = await start("rules:\n- name: r\n  reply: {text: one}\n  latency: {ttft: 1h}\n", vendors=[TOY])
    port = int(served.urls["toy"].rpartition(":")[2])
    linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)

    async def reset() -> None:
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(_ASK)
        while not served.clients:
            await asyncio.sleep(0.001)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        client.close()
        while served.clients:
            await asyncio.sleep(0.001)
        for _ in range(3):
            await asyncio.sleep(0)

    with caplog.at_level(logging.INFO, "asyncio"):
        await reset()
        before = _count_files()
        for _ in range(3):
            await reset()
    assert [record for record in caplog.records if record.name == "asyncio"] == []
    assert _count_files() == before


@pytest.mark.skipif(sys.platform != "linux", reason="epoll is beneath the simulated port")
def test_emulator_in_process_ignores_policy_of_selector_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ProactorLoop] = []

    class Loop(ProactorLoop):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(asyncio, "ProactorEventLoop", Loop, raising=False)
    with start_here([_DROP], {}) as running:
        port = int(running.url("azure").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(_CHAT)
            head = client.recv(4096)
            with pytest.raises(ConnectionResetError):
                client.recv(4096)
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert len(made) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="epoll is beneath the simulated port")
def test_connection_that_is_lost_twice_is_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def lose() -> None:
        loop = asyncio.get_running_loop()
        watch_resets(loop)
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
            sock = server.accept()[0]
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport, _ = await loop.connect_accepted_socket(asyncio.Protocol, sock)
        for _ in range(2):  # as its reader and its writer may, each with an error of its own
            loop.call_soon(transport._call_connection_lost, None)  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert sock.fileno() == -1

    with asyncio.Runner(loop_factory=ProactorLoop) as runner:
        runner.run(lose())
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


def _count_files() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


async def test_client_that_resets_during_accept_leaves_port_open(start: Start) -> None:
    loop = asyncio.get_running_loop()
    if not isinstance(loop, ProactorLoop):
        pytest.skip("only a simulated port can be told to fail")
    served = await start(vendors=[TOY])
    loop.port.accept_errors = [OSError(NETNAME_DELETED, "the network name is no longer available")] * 2
    for _ in range(2):
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await served.ask("toy", "/echo", headers={"x-key": "k"})
    assert (await served.ask("toy", "/echo", headers={"x-key": "k"})).status == 200
