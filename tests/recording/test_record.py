"""A recording server between a client and a service."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from emulator.http.connection import IncomingRequest
from emulator.http.streamed_body import stream_body
from emulator.http.writer import reset
from emulator.recording.exchange import load_folder
from emulator.recording.folder import ExchangeFolder
from emulator.recording.relay import UpstreamError, parse_upstreams
from tests.recording.servers import recording, serving
from tests.tools.soak.recorder import attack

HEAD = b"HTTP/1.1 200 OK\r\nX-One: 1\r\nx-two: 2\r\nContent-Type: text/plain\r\n"
BARE = HEAD.replace(b"\r\n", b"\n")
BIG = 12 * 1024**2  # bytes


async def send_whole(http: IncomingRequest) -> bool:
    http.connection.write(HEAD + b"Content-Length: 5\r\n\r\nhello")
    return True


async def lie_about_length(http: IncomingRequest) -> bool:
    http.connection.write(HEAD + b"Content-Length: 50\r\n\r\nhello")
    return False


async def break_off(http: IncomingRequest) -> bool:
    http.connection.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    transport = http.connection.transport
    assert transport is not None
    await reset(transport)
    return False


async def close_before_head(http: IncomingRequest) -> bool:
    return False


async def hang(http: IncomingRequest) -> bool:
    http.connection.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    await asyncio.sleep(30)
    return False


async def end_by_close(http: IncomingRequest) -> bool:
    http.connection.write(HEAD + b"\r\nhello")
    return False


async def refuse(http: IncomingRequest) -> bool:
    http.connection.write(b"HTTP/1.1 429 Slow Down\r\nRetry-After: 3\r\nContent-Length: 4\r\n\r\nwait")
    return True


async def split_chunks(http: IncomingRequest) -> bool:
    """Send each byte of a chunked body by itself, so that the end of a chunk comes apart from its data."""
    http.connection.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    for number in b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n":
        for _ in range(4):  # this loop receives meanwhile
            await asyncio.sleep(0)
        http.connection.write(bytes([number]))
    return True


async def send_much(http: IncomingRequest) -> bool:
    http.connection.write(HEAD + b"Content-Length: %d\r\n\r\n" % BIG)
    for _ in range(BIG // 2**16):
        http.connection.write(b"x" * 2**16)
        await http.connection.drain()
    return True


async def read_body(http: IncomingRequest) -> bool:
    size = 0
    async for part in stream_body(http):
        size += len(part)
    text = str(size).encode()
    http.connection.write(HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(text), text))
    return True


@pytest.mark.parametrize(
    ("answer", "seen", "ending", "missing"),
    [
        pytest.param(send_whole, b"hello", "whole", 0, id="whole"),
        pytest.param(split_chunks, b"hello", "whole", 0, id="chunks in parts"),
        pytest.param(end_by_close, b"hello", "whole", 0, id="ended by close"),
        pytest.param(refuse, b"wait", "whole", 0, id="429"),
        pytest.param(lie_about_length, aiohttp.ClientPayloadError, "cut", 45, id="shorter than announced"),
        pytest.param(break_off, aiohttp.ClientPayloadError, "reset", 0, id="reset"),
        pytest.param(close_before_head, aiohttp.ServerDisconnectedError, "cut", 0, id="closed before the head"),
        pytest.param(hang, aiohttp.ClientPayloadError, "timed out", 0, id="hangs"),
    ],
)
async def test_client_sees_what_the_service_did(
    answer: Callable[[IncomingRequest], Coroutine[object, object, bool]],
    seen: bytes | type[Exception],
    ending: str,
    missing: int,
    tmp_path: Path,
) -> None:
    async with (
        serving(answer) as url,
        recording({"tgi": url}, tmp_path, silence=0.2 if ending == "timed out" else 60.0) as server,
        aiohttp.ClientSession() as client,
    ):
        told = ""
        try:
            async with client.post(server.urls["front"] + "/tgi/generate", data=b"{}") as response:
                found: bytes | type[Exception] = await response.read()
                names = [name for name, _ in response.raw_headers]
                assert answer is refuse or names[:2] == [b"X-One", b"x-two"]
        except aiohttp.ClientError as error:
            found, told = type(error), str(error)
    (exchange,) = load_folder(tmp_path)
    assert (found, exchange.ending, exchange.missing) == (seen, ending, missing)
    assert ("reset by peer" in told) == (ending in ("reset", "timed out"))


@pytest.mark.parametrize(
    ("parts", "method", "excess"),
    [
        pytest.param([HEAD + b"Content-Length: 5\r\n\r\nhello!!!"], "GET", 3, id="at once"),
        pytest.param([HEAD + b"Content-Length: 5\r\n\r\nh", b"ello!!!!"], "GET", 4, id="with the last part"),
        pytest.param([BARE + b"Content-Length: 5\n\nhello!"], "GET", 1, id="lines without CR"),
        pytest.param([BARE + b"Content-Length: 5\n", b"\r", b"\nhello!"], "GET", 1, id="one line with CR"),
        pytest.param([b"\r\n\r\n" + HEAD + b"Content-Length: 5\r\n\r\nhello!"], "GET", 1, id="empty lines before"),
        pytest.param([HEAD[:9], HEAD[9:] + b"Content-Length: 5\r\n\r", b"\nhello!"], "GET", 1, id="after a split head"),
        pytest.param(
            [b"HTTP/1", b".1 103 Early Hints\r\nLink: a\r\n\r\n" + HEAD + b"Content-Length: 5\r\n\r\nhello!"],
            "GET",
            1,
            id="103",
        ),
        pytest.param([HEAD + b"Content-Length: 5\r\n\r\nhello" + HEAD + b"\r\n"], "GET", len(HEAD) + 2, id="a second"),
        pytest.param([HEAD + b"Content-Length: 5\r\n\r\nhello"], "HEAD", 0, id="body of HEAD"),
    ],
)
async def test_response_ends_where_it_announces(parts: list[bytes], method: str, excess: int, tmp_path: Path) -> None:
    async def answer(http: IncomingRequest) -> bool:
        for part in parts:
            http.connection.write(part)
            http.connection.flush()
            for _ in range(10):  # the recorder may read this part alone
                await asyncio.sleep(0)
        await asyncio.sleep(30)  # the recorder does not wait for the end of the connection
        return False

    async with serving(answer) as url, recording({"tgi": url}, tmp_path) as server:
        place = urlsplit(server.urls["tgi"])
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.write(b"%b /x HTTP/1.1\r\nHost: x\r\n\r\n" % method.encode())
        body = b"hello" if method == "GET" else b""
        assert await reader.readexactly(len(head := HEAD + b"Content-Length: 5\r\n\r\n") + len(body)) == head + body
        if excess:
            assert await reader.read() == b""  # closed, as the service's connection is
        writer.close()
        await writer.wait_closed()
    (exchange,) = load_folder(tmp_path)
    assert (exchange.ending, exchange.body, exchange.excess, exchange.missing) == ("whole", body, excess, 0)


async def test_client_that_leaves_is_recorded(tmp_path: Path) -> None:
    async with (
        serving(hang) as url,
        recording({"tgi": url}, tmp_path) as server,
        aiohttp.ClientSession() as client,
        client.post(server.urls["tgi"] + "/generate", data=b"{}") as response,
    ):
        assert await response.content.read(5) == b"hello"
        response.close()
    (exchange,) = load_folder(tmp_path)
    assert (exchange.ending, exchange.body) == ("client left", b"hello")


@pytest.mark.slow
async def test_long_bodies_pass_and_are_left_out(tmp_path: Path) -> None:
    async def answer(http: IncomingRequest) -> bool:
        return await (send_much(http) if http.head.method == "GET" else read_body(http))

    async with serving(answer) as url, recording({"tgi": url}, tmp_path) as server, aiohttp.ClientSession() as client:
        async with client.get(server.urls["tgi"] + "/much") as response:
            assert len(await response.read()) == BIG
        async with client.post(server.urls["tgi"] + "/much", data=BytesIO(b"y" * BIG)) as response:
            assert await response.text() == str(BIG)
    much, sent = load_folder(tmp_path)
    assert much.unkept + len(much.body) == BIG
    assert sent.unkept == BIG
    assert not sent.request_body


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the memory of another process is read from /proc")
def test_hostile_services_cost_no_memory() -> None:
    """Long answers pass while other streams go on; what is left out of a recording is never held."""
    size = 64 * 1024**2
    assert attack({"document": size, "one event": size, "stream": size // 16, "lie": 0, "exceed": 0, "reset": 0}) == 0


async def test_sessions_have_folders_and_own_paths_are_answered(tmp_path: Path) -> None:
    async with serving(send_whole) as url, recording({"tgi": f"{url}/base"}, tmp_path) as server:
        front = server.urls["front"]
        async with aiohttp.ClientSession() as client:
            for path, headers in (
                ("/_s/a/tgi/one?x=%20", {}),
                ("/tgi/two", {"x-emulator-session": "b"}),
                ("/tgi/three", {"Authorization": "Bearer key-of-mine~c"}),
            ):
                async with client.get(front + path, headers=headers) as response:
                    assert response.status == 200
            async with client.get(front + "/_emulator/ready") as response:
                assert response.status == 200
            async with client.get(front + "/azure/x") as response:
                assert (response.status, await response.text()) == (
                    404,
                    "No service is recorded here; there are /tgi.\n",
                )
    found = {file.parent.name: file for file in tmp_path.rglob("*.exchange")}
    assert sorted(found) == ["a", "b", "c"]
    assert load_folder(found["a"])[0].target == "/one?x=%20"


async def test_unreachable_service_is_told_and_not_recorded(tmp_path: Path) -> None:
    async with serving(send_whole) as url:
        pass
    async with (
        recording({"tgi": url}, tmp_path) as server,
        aiohttp.ClientSession() as client,
        client.get(server.urls["tgi"] + "/x") as response,
    ):
        assert response.status == 502
        assert "cannot connect to 127.0.0.1" in await response.text()
    assert not load_folder(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("databricks", "expected vendor=URL"),
        ("databricks=ftp://a", "expected vendor=URL"),
        ("nobody=http://a", "unknown vendor 'nobody'"),
        ("databricks=http://a?b=c", "no query, fragment or user"),
    ],
)
def test_wrong_upstream_is_refused(text: str, message: str) -> None:
    with pytest.raises(UpstreamError, match=r"^.+") as caught:
        parse_upstreams([text], ["databricks"])
    assert message in str(caught.value)


async def test_folder_finishes_though_its_last_write_has_just_ended(tmp_path: Path) -> None:
    folder = ExchangeFolder(tmp_path)
    last_write = asyncio.ensure_future(asyncio.sleep(0))
    folder.follow(last_write)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert last_write.done()  # and its callbacks have not run
    await folder.finish()
