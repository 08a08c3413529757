"""Questions one after the other on one connection."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import pytest

from emulator.core.storage import StoreLostError
from emulator.serve.server import has_uvloop, run
from emulator.storage.redis.pipeline import Pipeline, RedisReplyError, Reply, digest_of, read_reply, write_command
from tests.storage.servers import KINDS, find_server, running

Answer = Callable[[bytes], bytes | None]


@pytest.mark.parametrize(
    ("data", "reply"),
    [
        pytest.param(b"+OK\r\n", "OK", id="a word"),
        pytest.param(b":-7\r\n", -7, id="a number"),
        pytest.param(b"$6\r\na\r\n\xc3\xa9b\r\n", "a\r\néb", id="text with line breaks"),
        pytest.param(b"$0\r\n\r\n", "", id="empty text"),
        pytest.param(b"$-1\r\n", None, id="no text"),
        pytest.param(b"*3\r\n$1\r\na\r\n:2\r\n$-1\r\n", ["a", "2", ""], id="a list"),
        pytest.param(b"*0\r\n", [], id="an empty list"),
        pytest.param(b"*-1\r\n", [], id="no list"),
    ],
)
def test_read_reply_requires_complete_reply(data: bytes, reply: Reply) -> None:
    assert read_reply(b"??" + data + b"+next", 2) == (reply, len(data) + 2)
    for length in range(1, len(data)):
        assert read_reply(data[:length], 0) is None


def test_error_reply_is_parsed_as_error() -> None:
    found = read_reply(b"-ERR no\r\n", 0)
    assert found is not None
    assert isinstance(found[0], RedisReplyError)
    assert str(found[0]) == "ERR no"


def test_write_command_frames_arguments() -> None:
    assert write_command(["GET", "é"]) == b"*2\r\n$3\r\nGET\r\n$2\r\n\xc3\xa9\r\n"


@asynccontextmanager
async def listening(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    """The port of a server, which leaves no connection open at the end."""
    writers: list[asyncio.StreamWriter] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await serve(reader, writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.close()
        for writer in writers:
            with suppress(OSError):
                await writer.wait_closed()


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[Pipeline]:
    """A line to a server that answers each command, one of fewer than 1000 bytes; ``None``: it hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1000):
            reply = answer(data)
            if reply is None:
                break
            writer.write(reply)
        writer.close()

    async with listening(serve) as port:
        line = Pipeline(urlsplit(f"redis://127.0.0.1:{port}"), 0.2)
        try:
            yield line
        finally:
            await line.close()


@pytest.mark.parametrize("uvloop", [False, True])
def test_pipeline_works_on_each_event_loop(uvloop: bool) -> None:
    if uvloop and not has_uvloop():
        pytest.skip("uvloop is not installed")

    async def ask() -> Reply:
        async with answering(lambda data: b":1\r\n") as line:
            return await line.ask("a")

    assert run(ask(), uvloop=uvloop) == 1


async def test_replies_match_commands_in_order() -> None:
    async with answering(lambda data: b"".join(b":%d\r\n" % n for n in range(data.count(b"\r\n$1\r\n")))) as line:
        assert await line.ask("a") == 0
        assert [*await asyncio.gather(line.ask("a"), line.ask("b"), line.ask("c"))] == [0, 1, 2]


async def test_unawaited_command_is_sent_or_reported_lost() -> None:
    seen: list[bytes] = []
    lost: list[str] = []

    def answer(data: bytes) -> bytes:
        seen.append(data)
        return b":1\r\n" * data.count(b"$7\r\nEVALSHA")

    async with answering(answer) as line:
        assert not line.send_script("d", "k", [], lambda: lost.append("early"))  # there is no connection yet
        await line.reach()
        assert line.send_script("d", "k", ["told"], lambda: lost.append("told"))
        assert await line.ask("EVALSHA", "now") == 1
        assert b"told" in b"".join(seen)
        assert line.send_script("d", "k", ["never"], lambda: lost.append("never"))
        await line.close()
        await asyncio.sleep(0)
    assert lost == ["never"]


async def test_pipeline_reconnects_after_disconnect() -> None:
    replies = iter([b":1\r\n", None, b":2\r\n"])
    async with answering(lambda data: next(replies)) as line:
        assert await line.ask("a") == 1
        with pytest.raises(StoreLostError):
            await line.ask("b")
        assert await line.ask("c") == 2


async def test_silent_server_times_out() -> None:
    async with answering(lambda data: b"") as line:
        with pytest.raises(StoreLostError, match="no answer within"):
            await asyncio.gather(line.ask("a"), line.ask("b"))


async def test_loading_server_is_lost_and_bad_command_is_error() -> None:
    replies = iter([b"-LOADING wait\r\n", b"-ERR user_script:1: attempt to index a nil value\r\n"])
    async with answering(lambda data: next(replies)) as line:
        with pytest.raises(StoreLostError, match="LOADING"):
            await line.ask("a")
        with pytest.raises(RedisReplyError, match="attempt to index"):
            await line.ask("a")


@pytest.mark.parametrize("data", [b"HTTP/1.1 400 Bad Request\r\n", b"$many\r\n", b"*1\r\n\xff\xfe\r\n", b"+\xff\r\n"])
async def test_non_redis_server_raises_store_lost(data: bytes) -> None:
    async with answering(lambda _: data) as line:
        with pytest.raises(StoreLostError, match="none of this protocol"):
            await line.ask("a")


async def test_unsolicited_reply_closes_connection_with_reason() -> None:
    async with answering(lambda _: b":1\r\n-ERR max number of clients reached\r\n") as line:
        wire = await line.reach()
        assert await line.ask("a") == 1
        with pytest.raises(StoreLostError, match="max number of clients"):
            wire.send(("a",))


async def test_connect_sends_all_scripts_in_one_round_trip() -> None:
    seen = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        while seen < 12:  # nothing is answered before all is asked
            seen += (await reader.read(1000)).count(b"$6\r\nSCRIPT")
        writer.write(b"+OK\r\n" * seen)
        await reader.read()
        writer.close()

    async with listening(serve) as port:
        line = Pipeline(urlsplit(f"redis://127.0.0.1:{port}"), 20.0, [f"return {number}" for number in range(12)])
        await line.reach()
        assert seen == 12
        await line.close()


async def test_rejected_connection_is_closed() -> None:
    open_ones = 0
    all_gone = asyncio.Event()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal open_ones
        open_ones += 1
        all_gone.clear()
        while await reader.read(1000):
            writer.write(b"-WRONGPASS invalid username-password pair\r\n")
        open_ones -= 1
        all_gone.set()
        writer.close()

    async with listening(refuse) as port:
        line = Pipeline(urlsplit(f"redis://:no@127.0.0.1:{port}"), 5.0)
        for _ in range(3):
            with pytest.raises(StoreLostError, match="WRONGPASS"):
                await line.ask("a")
        async with asyncio.timeout(20):
            await all_gone.wait()
        assert open_ones == 0


@pytest.mark.parametrize(
    ("who", "asked"),
    [
        pytest.param("me@", ["AUTH", "me", ""], id="a user without a password"),
        pytest.param(":@", ["PING"], id="an empty password is none"),
    ],
)
async def test_partial_credentials_are_accepted(who: str, asked: list[str]) -> None:
    seen: list[bytes] = []

    def answer(data: bytes) -> bytes:
        seen.append(data)
        return b"+OK\r\n" * data.count(b"*")

    async with answering(answer) as line:
        half = Pipeline(line._url._replace(netloc=who + line._url.netloc), 1.0)
        assert await half.ask("PING") == "OK"
        await half.close()
    assert seen[0] == write_command(asked)


async def test_auth_and_select_precede_commands() -> None:
    seen: list[bytes] = []

    def answer(data: bytes) -> bytes:
        seen.append(data)
        return b"+OK\r\n" * data.count(b"*")

    async with answering(answer) as line:
        secured = Pipeline(line._url._replace(netloc=line._url.netloc.replace("127", "me:p%40ss@127"), path="/3"), 1.0)
        assert await secured.ask("PING") == "OK"
        await secured.close()
    assert b"".join(seen) == b"".join(map(write_command, (["AUTH", "me", "p@ss"], ["SELECT", "3"], ["PING"])))


@pytest.mark.parametrize("kind", KINDS)
async def test_script_missing_on_server_is_sent_in_full(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    if find_server(kind) is None:
        pytest.skip(f"{KINDS[kind]} is not installed")
    with running(kind, tmp_path_factory.mktemp(kind)) as url:
        line = Pipeline(urlsplit(url), 5.0)
        script = "return { KEYS[1], ARGV[1] }"
        for _ in range(2):
            assert await line.run(script, digest_of(script), "k", ["v"]) == ["k", "v"]
        await line.close()
