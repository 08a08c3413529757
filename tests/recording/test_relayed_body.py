"""Bodies that pass within the call that receives them."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from emulator.http.certificates import load_authority, make_context
from emulator.http.connection import IncomingRequest
from emulator.recording.exchange import load_folder
from emulator.recording.observer import ResponseStart
from emulator.recording.relay import Relay
from tests.handler.shakes import trusting
from tests.recording.servers import Answer, recording, serving

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b"data: " + b"word " * 200 + b"\n\n"
MANY = 24 * 1024  # events: more than the buffers of two connections hold


def frame(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def ask(
    url: str, target: str = "/x", context: ssl.SSLContext | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send a request; the response is read as the test wants."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port, ssl=context)
    writer.write(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return reader, writer


async def read_body(reader: asyncio.StreamReader) -> bytes:
    """Read a chunked response to its last chunk."""
    await reader.readuntil(b"\r\n\r\n")
    parts = []
    while size := int(await reader.readline(), 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readexactly(2)
    return b"".join(parts)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 500], ids=["an event a chunk", "500 events a chunk"])
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
async def test_long_streams_pass_whole(framing: str, size: int, tmp_path: Path) -> None:
    body = EVENT * (MANY // 4)

    async def answer(http: IncomingRequest) -> bool:
        head = CHUNKED if framing == "chunked" else CHUNKED.replace(b"Transfer-Encoding: chunked\r\n", b"")
        if framing == "length":
            head = head.replace(b"\r\n\r\n", b"\r\nContent-Length: %d\r\n\r\n" % len(body))
        http.connection.write(head)
        for start in range(0, len(body), size * len(EVENT)):
            part = body[start : start + size * len(EVENT)]
            http.connection.write(frame(part) if framing == "chunked" else part)
            await http.connection.drain()
        if framing == "chunked":
            http.connection.write(b"0\r\n\r\n")
        return framing != "close"

    async with (
        serving(answer) as url,
        recording({"tgi": url}, tmp_path) as server,
        aiohttp.ClientSession() as client,
        client.get(server.urls["tgi"] + "/x") as response,
    ):
        assert await response.read() == body
    (exchange,) = load_folder(tmp_path)
    assert (exchange.ending, exchange.body) == ("whole", body)


class SlowObserver:
    """Observer; a slow one is behind after each part until :meth:`catch_up`."""

    def __init__(self, *, is_slow: bool = False) -> None:
        self.is_slow = is_slow
        self.size = 0
        self.ending = ""
        self.missing = self.excess = 0
        self.behind: asyncio.Future[None] | None = None

    def on_request(self, data: bytes) -> None:
        """Do nothing."""

    def on_sent(self, time: float) -> None:
        """Do nothing."""

    def on_head(self, head: ResponseStart, offset: float) -> None:
        """Do nothing."""

    def on_data(self, data: bytes, offset: float) -> asyncio.Future[None] | None:
        self.size += len(data)
        if self.is_slow and (self.behind is None or self.behind.done()):
            self.behind = asyncio.get_running_loop().create_future()
        return self.behind

    def on_end(self, ending: str, offset: float, missing: int, excess: int) -> None:
        self.ending, self.missing, self.excess = ending, missing, excess

    def on_failed(self, reason: str) -> None:
        """Do nothing."""

    def catch_up(self) -> None:
        if self.behind is not None and not self.behind.done():
            self.behind.set_result(None)


def write_until_blocked(blocked: asyncio.Event) -> Answer:
    """Service that writes many events; it sets ``blocked`` once its connection takes no more."""

    async def answer(http: IncomingRequest) -> bool:
        connection = http.connection
        connection.write(CHUNKED)
        for _ in range(MANY // 8):
            connection.write(frame(EVENT) * 8)
            if connection.is_behind:
                for _ in range(50):  # what the other side takes is taken by then
                    await asyncio.sleep(0)
                if connection.is_behind:
                    blocked.set()
                await connection.drain()
        connection.write(b"0\r\n\r\n")
        return True

    return answer


@asynccontextmanager
async def relaying(
    answer: Answer, observer: SlowObserver, silence: float = 60.0, context: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """The URL of a relay to a service; the observer sees the calls of ``/x``."""
    async with serving(answer) as url:
        relay = Relay({"tgi": url}, silence=silence)

        async def pass_on(http: IncomingRequest) -> bool:
            target = http.head.target
            return await relay.pass_on(http, "tgi", target, {}, observer if target == "/x" else SlowObserver())

        try:
            async with serving(pass_on, context) as front:
                yield front
        finally:
            await relay.close()


@pytest.mark.slow
async def test_slow_recording_slows_the_service() -> None:
    observer, blocked = SlowObserver(is_slow=True), asyncio.Event()
    async with relaying(write_until_blocked(blocked), observer) as url:
        reader, writer = await ask(url)
        reading = asyncio.create_task(read_body(reader))
        await blocked.wait()
        seen = observer.size
        assert 0 < seen < 1024**2
        for _ in range(50):
            await asyncio.sleep(0)
        assert observer.size == seen  # nothing is read while the recording is behind
        while not reading.done():
            observer.catch_up()
            await asyncio.sleep(0)
        assert len(await reading) == observer.size == MANY * len(EVENT)
        assert observer.ending == "whole"
        writer.close()


@pytest.mark.slow
@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "TLS"])
async def test_slow_client_slows_the_service_and_is_no_silence(*, is_secure: bool, tmp_path: Path) -> None:
    observer, blocked = SlowObserver(), asyncio.Event()
    authority = load_authority(tmp_path) if is_secure else None
    context = None if authority is None else make_context(authority, ["127.0.0.1"])
    async with relaying(write_until_blocked(blocked), observer, silence=0.05, context=context) as url:
        reader, writer = await ask(url, context=None if authority is None else trusting(authority.path))
        await blocked.wait()  # as the relay reads nothing, while its client reads nothing
        assert observer.size < MANY * len(EVENT)
        loop = asyncio.get_running_loop()
        silent: asyncio.Future[None] = loop.create_future()
        loop.call_later(0.15, silent.set_result, None)  # a service that may not send is not silent
        await silent
        assert await read_body(reader) == EVENT * MANY
        assert (observer.size, observer.ending) == (MANY * len(EVENT), "whole")
        writer.close()


@pytest.mark.slow
async def test_slow_client_that_leaves_ends_the_stream() -> None:
    observer, blocked, left = SlowObserver(), asyncio.Event(), asyncio.Event()
    write = write_until_blocked(blocked)

    async def answer(http: IncomingRequest) -> bool:
        try:
            return await write(http)
        finally:
            left.set()

    async with relaying(answer, observer) as url:
        _, writer = await ask(url)
        await blocked.wait()
        writer.transport.abort()
        await left.wait()
        assert observer.ending == "client left"


async def catch_up(observer: SlowObserver, reader: asyncio.StreamReader) -> bytes:
    """Read to the end of the connection while the recording catches up."""
    reading = asyncio.create_task(reader.read())
    while not reading.done():
        observer.catch_up()
        await asyncio.sleep(0)
    return await reading


async def test_later_response_on_the_same_connection_is_no_excess() -> None:
    """The response has come whole and another call uses its connection, while the recording is behind."""
    observer, is_read = SlowObserver(is_slow=True), asyncio.Event()
    calls: dict[object, set[str]] = {}

    async def answer(http: IncomingRequest) -> bool:
        connection, path = http.connection, http.head.path
        calls.setdefault(connection, set()).add(path)
        body = b"onetwo" if path == "/x" else b"a longer body"
        connection.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body[:3]))
        if path == "/x":
            await is_read.wait()
        connection.write(body[3:])
        return True

    async with relaying(answer, observer) as url:
        reader, writer = await ask(url)
        await reader.readuntil(b"one")
        is_read.set()
        while {"/x", "/later"} not in calls.values():
            later, other = await ask(url, "/later")
            await later.readuntil(b"a longer body")
            other.close()
        writer.write(b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        body = await catch_up(observer, reader)
        assert body.startswith(b"twoHTTP/1.1 200 OK\r\n")  # the connection of the client has stayed open
        assert (observer.ending, observer.excess) == ("whole", 0)
        writer.close()


async def test_slow_recording_is_no_silence() -> None:
    """Also where the service may go on sending."""
    observer, is_read = SlowObserver(is_slow=True), asyncio.Event()

    async def answer(http: IncomingRequest) -> bool:
        http.connection.write(CHUNKED + frame(b"one"))
        await is_read.wait()
        http.connection.write(frame(b"two") + b"0\r\n\r\n")
        return True

    async with relaying(answer, observer, silence=0.05) as url:
        reader, writer = await ask(url)
        reading = asyncio.create_task(read_body(reader))
        loop = asyncio.get_running_loop()
        silent: asyncio.Future[None] = loop.create_future()
        loop.call_later(0.15, silent.set_result, None)
        await silent
        is_read.set()
        while not reading.done():
            observer.catch_up()
            await asyncio.sleep(0)
        assert await reading == b"onetwo"
        assert observer.ending == "whole"
        writer.close()


LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"


@pytest.mark.parametrize(
    ("parts", "ending", "missing", "passed_on"),
    [
        pytest.param([LENGTH + b"one", b"two"], "cut", 4, b"onetwo", id="length"),
        pytest.param([CHUNKED + frame(b"one"), frame(b"two")], "cut", 0, frame(b"one") + frame(b"two"), id="chunked"),
        pytest.param(
            [CHUNKED + frame(b"one"), frame(b"two") + b"zz\r\n"],
            "cut",
            0,
            frame(b"one") + frame(b"two"),
            id="no chunk",
        ),
        pytest.param(
            [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\none", b"two"], "whole", 0, b"onetwo", id="until it closes"
        ),
    ],
)
async def test_connection_lost_while_the_recording_is_behind(
    parts: list[bytes], ending: str, missing: int, passed_on: bytes
) -> None:
    """What came before is passed on."""
    observer, is_read, is_lost = SlowObserver(is_slow=True), asyncio.Event(), asyncio.Event()

    async def answer(http: IncomingRequest) -> bool:
        transport = http.connection.transport
        assert transport is not None
        http.connection.write(parts[0])
        await is_read.wait()
        http.connection.write(parts[1])
        transport.write_eof()
        try:
            await asyncio.Event().wait()
        finally:
            is_lost.set()  # the relay closes its side as soon as it has read the end
        return False

    async with relaying(answer, observer) as url:
        reader, writer = await ask(url)
        head = await reader.readuntil(b"\r\n\r\n")
        first = await reader.readuntil(b"one")
        is_read.set()
        await is_lost.wait()
        assert observer.size == 3
        assert parts[0].startswith(head)
        assert first + await catch_up(observer, reader) == passed_on
        assert (observer.size, observer.ending, observer.missing) == (6, ending, missing)
        writer.close()


async def test_head_and_events_come_as_they_are_sent(tmp_path: Path) -> None:
    """The head does not wait for the first event, and an event leaves in the iteration of the loop that receives it."""
    go = asyncio.Semaphore(0)

    async def answer(http: IncomingRequest) -> bool:
        for part in (CHUNKED, frame(b"one"), frame(b"two") + frame(b"three"), b"0\r\n\r\n"):
            http.connection.write(part)
            await go.acquire()
        return True

    async with serving(answer) as url, recording({"tgi": url}, tmp_path) as server:
        reader, writer = await ask(server.urls["tgi"])
        for expected in (CHUNKED, frame(b"one"), frame(b"two") + frame(b"three"), b"0\r\n\r\n"):
            assert await reader.readexactly(len(expected)) == expected
            go.release()
        writer.close()
    (exchange,) = load_folder(tmp_path)
    assert [write.data for write in exchange.writes] == [b"one", b"two", b"three"]


@pytest.mark.parametrize(
    ("bytes_", "ending", "body"),
    [
        pytest.param(CHUNKED + frame(b"one") + b"zz\r\n", "cut", b"one", id="no chunk"),
        pytest.param(CHUNKED, "cut", b"", id="head alone"),
        pytest.param(CHUNKED + frame(b"one") + b"5\r\nab", "cut", b"oneab", id="half a chunk"),
        pytest.param(CHUNKED + frame(b"one") + b"0\r\nX-Sum: 1\r\n\r\n", "whole", b"one", id="trailer"),
        pytest.param(CHUNKED + frame(b"one") + b"0\r\n\r\nHTTP/1.1 200 OK\r\n", "whole", b"one", id="more follows"),
    ],
)
async def test_bytes_at_once_then_the_end(bytes_: bytes, ending: str, body: bytes, tmp_path: Path) -> None:
    async def answer(http: IncomingRequest) -> bool:
        http.connection.write(bytes_)
        return False

    async with serving(answer) as url, recording({"tgi": url}, tmp_path) as server:
        reader, writer = await ask(server.urls["tgi"])
        head = await reader.readexactly(len(CHUNKED))
        rest = b""
        while len(rest) < len(body) or (ending == "whole" and not rest.endswith(b"0\r\n\r\n")):
            rest += await reader.read(2**16)
        if ending == "cut":
            rest += await reader.read()
        writer.close()
    assert head == CHUNKED
    assert rest == b"".join(map(frame, filter(None, [body[:3], body[3:]]))) + b"0\r\n\r\n" * (ending == "whole")
    (exchange,) = load_folder(tmp_path)
    assert (exchange.ending, exchange.body) == (ending, body)


@pytest.mark.parametrize("events", [3, 600])
async def test_connection_to_the_service_is_used_again(events: int, tmp_path: Path) -> None:
    """Also where the end comes while a client is slow."""
    connections = set()

    async def answer(http: IncomingRequest) -> bool:
        connections.add(http.connection)
        http.connection.write(CHUNKED + frame(EVENT) * events + b"0\r\n\r\n")
        await http.connection.drain()
        return True

    async with serving(answer) as url, recording({"tgi": url}, tmp_path) as server:
        for _ in range(5):
            reader, writer = await ask(server.urls["tgi"])
            assert await read_body(reader) == EVENT * events
            writer.close()
    assert len(connections) == 1
    assert [len(exchange.body) for exchange in load_folder(tmp_path)] == [events * len(EVENT)] * 5
