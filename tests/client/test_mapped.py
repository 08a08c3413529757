"""Front port behind a port mapping, as of a container or balancer."""

import asyncio
import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import pytest

from emulator import start
from emulator.client import EmulatorClient


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@contextmanager
def mapped(port: int) -> Iterator[str]:
    """Forward TCP to another port of this machine on a thread; return its URL."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pour(reader, far_writer), _pour(far_reader, writer))

    async def serve(begun: threading.Event) -> None:
        server = await asyncio.start_server(carry, "127.0.0.1")
        loops.append(asyncio.get_running_loop())
        at.append(server.sockets[0].getsockname()[1])
        begun.set()
        await ended.wait()
        server.close()  # what is still carried is cancelled with the loop, and closed then

    at: list[int] = []
    loops: list[asyncio.AbstractEventLoop] = []
    ended, begun = asyncio.Event(), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(serve(begun)), daemon=True)
    thread.start()
    assert begun.wait(30)
    try:
        yield f"http://127.0.0.1:{at[0]}"
    finally:
        loops[0].call_soon_threadsafe(ended.set)
        thread.join(30)


@pytest.fixture(scope="module")
def front() -> Iterator[str]:
    """Return the mapped front port of an emulator with a named scenario."""
    with start(name="behind") as server, mapped(urlsplit(server.front).port or 0) as url:
        yield url


def ask(url: str) -> int:
    body = {"model": "tgi", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    request.add_header("Connection", "close")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return int(answer.status)


@pytest.mark.parametrize("session", ["", "mine"])
def test_mapped_client_uses_path_url(front: str, session: str) -> None:
    with EmulatorClient(front, session=session) as client:
        url = client.url("tgi")
        assert url == (f"{front}/_s/{session}/tgi" if session else f"{front}/tgi")
        assert client.url("tgi", via="path") == url
        assert ask(url) == 200
        client.assert_called(vendor="tgi", times=1)


def test_session_of_mapped_client_uses_path_url(front: str) -> None:
    with EmulatorClient(front) as client, client.session("other") as session:
        assert session.url("tgi") == f"{front}/_s/other/tgi"


def test_explicit_via_is_respected(front: str) -> None:
    with EmulatorClient(front, session="asked") as client:
        other = client.url("tgi", via="port")
        assert urlsplit(other).netloc != urlsplit(front).netloc
        assert client.url("tgi", via="root") not in (other, f"{front}/tgi")
    with EmulatorClient(front, via="root") as client:
        assert urlsplit(client.url("tgi")).netloc != urlsplit(front).netloc


def test_unserved_vendor_raises_behind_mapping(front: str) -> None:
    with EmulatorClient(front) as client, pytest.raises(Exception, match="there are databricks, azure"):
        client.url("databrick")
