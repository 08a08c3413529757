"""Responses with faults on real sockets: bytes, times and the end of the connection."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from emulator.core.clock import FrozenClock
from emulator.core.http import Event, Mark
from emulator.core.json import dump_json
from emulator.http.connection import Connection as ServerConnection
from emulator.http.listeners import Listeners
from emulator.http.schedule import ScheduleWriter, SendProgress, frame_batches, frame_events
from emulator.scenario.load import load_text
from emulator.serve.application import create_application
from tests.conftest import Start, running
from tests.handler.toy import TOY
from tests.http import calls
from tests.http_client import Answer, Running, read_answer
from tests.untyped_json import JSON

SAY = "rules:\n- name: r\n  reply: {{chunks: [one, two, three, four]}}\n  faults: [{}]\n"
LINES = b"one\ntwo\nthree\nfour\n"
SLOW = "latency: {ttft: 1s, itl: 1s}\n"


@dataclass(frozen=True, slots=True)
class Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def head(self) -> bytes:
        return await self.reader.readuntil(b"\r\n\r\n")

    async def rest(self) -> tuple[bytes, bool]:
        """Read the rest; return it with whether a reset ended it."""
        data = b""
        try:
            while part := await self.reader.read(65536):
                data += part
        except ConnectionResetError:
            return data, True
        return data, False


@asynccontextmanager
async def connect(
    served: Running,
    body: JSON,
    *,
    headers: str = "",
    version: str = "1.1",
    context: ssl.SSLContext | None = None,
    room: int | None = None,
) -> AsyncIterator[Connection]:
    """Send a call of the toy's chat; ``room``: bytes of the client's receive buffer."""
    url = urlsplit(served.urls["toy"])
    sock = socket.socket()
    sock.setblocking(False)
    if room is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    await asyncio.get_running_loop().sock_connect(sock, (url.hostname, url.port))
    name = url.hostname if context else None
    reader, writer = await asyncio.open_connection(sock=sock, ssl=context, server_hostname=name)
    payload = dump_json({"prompt": "Hi", **body})
    head = f"POST /chat HTTP/{version}\r\nHost: x\r\nx-key: k\r\n{headers}Content-Length: {len(payload)}\r\n\r\n"
    writer.write(head.encode() + payload)
    try:
        yield Connection(reader, writer)
    finally:
        writer.close()


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)


def frozen(served: Running) -> FrozenClock:
    clock = served.built.clock
    assert isinstance(clock, FrozenClock)
    return clock


async def until(holds: Callable[[], object]) -> None:
    """Yield to the loop until a condition holds."""
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0)


async def settle(served: Running) -> None:
    await until(lambda: list(served.built.journal))


async def test_reset_before_any_byte(start: Start) -> None:
    served = await start(SAY.format("{type: disconnect}"), vendors=[TOY])
    async with connect(served, {"stream": True}) as connection:
        assert await connection.rest() == (b"", True)
    await settle(served)
    (entry,) = served.built.journal
    assert (entry.status, entry.whole, entry.faults) == (0, False, ("disconnect",))


@pytest.mark.parametrize(
    ("position", "parts"),
    [
        pytest.param("after_tokens: 0", [], id="after the head"),
        pytest.param("after_tokens: 2", [b"one\n", b"two\n"], id="after two tokens"),
        pytest.param("after_bytes: 6", [b"one\n", b"tw"], id="inside an event"),
        pytest.param("at: 1", [b"one\n", b"two\n", b"three\n", b"four\n"], id="after all, before the last chunk"),
    ],
)
async def test_stream_reset_follows_all_earlier_bytes(start: Start, position: str, parts: list[bytes]) -> None:
    served = await start(SAY.format(f"{{type: disconnect, {position}}}"), vendors=[TOY])
    async with connect(served, {"stream": True}) as connection:
        assert b"200 OK" in await connection.head()
        assert await connection.rest() == (chunked(*parts), True)


async def test_unary_reset_sends_less_than_content_length(start: Start) -> None:
    served = await start(SAY.format("{type: disconnect, after_bytes: 5}"), vendors=[TOY])
    async with connect(served, {}) as connection:
        assert b"Content-Length: 15\r\n" in await connection.head()
        assert await connection.rest() == (b"onetw", True)


@pytest.mark.slow
async def test_reset_waits_for_slow_reader(start: Start) -> None:
    text = "0123456789abcdef" * 20_000
    rule = f"rules:\n- name: r\n  reply: {{text: {text}}}\n  faults: [{{type: disconnect, at: 0.9}}]\n"
    served = await start(rule, vendors=[TOY])
    async with connect(served, {}, room=4096) as connection:
        await connection.head()
        transport = connection.writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        for _ in range(1000):
            await asyncio.sleep(0)
        assert served.built.apps[0].service.metrics.in_flight() == 1
        transport.resume_reading()
        assert await connection.rest() == (text[: len(text) * 9 // 10].encode(), True)


async def test_reset_under_tls(tmp_path: Path) -> None:
    rule = "version: 1\nname: tls\nclock: frozen\n" + SAY.format("{type: disconnect, after_tokens: 2}")
    async with running(rule, tmp_path, vendors=[TOY]) as served:
        context = ssl.create_default_context(cafile=str(served.certificate))
        async with connect(served, {"stream": True}, context=context) as connection:
            await connection.head()
            data, _ = await connection.rest()
    assert data == chunked(b"one\n", b"two\n")


async def test_truncated_stream_is_not_whole(start: Start) -> None:
    served = await start(SAY.format("{type: truncate, after_tokens: 2}"), vendors=[TOY])
    await served.ask("toy", "/chat", {"prompt": "Hi", "stream": True}, headers={"x-key": "k"})
    (entry,) = served.built.journal
    assert (entry.whole, entry.client_left, entry.finish_reason, entry.sent_tokens) == (False, False, None, 2)


async def test_truncated_stream_ends_cleanly_and_connection_continues(start: Start) -> None:
    served = await start(SAY.format("{type: truncate, after_tokens: 2}"), vendors=[TOY])
    async with connect(served, {"stream": True}) as connection:
        answer = await read_answer(connection.reader)
        assert answer.chunks == (b"one\n", b"two\n")
        connection.writer.write(b"GET /echo HTTP/1.1\r\nHost: x\r\nx-key: k\r\n\r\n")
        assert (await read_answer(connection.reader)).status == 200


@pytest.mark.covers("language/faults", "stall")
async def test_stall_follows_clock(start: Start) -> None:
    served = await start(SAY.format("{type: stall, after_tokens: 2, for: 1h}"), vendors=[TOY])
    async with connect(served, {"stream": True}) as connection:
        await connection.head()
        first = chunked(b"one\n", b"two\n")
        assert await connection.reader.readexactly(len(first)) == first
        clock = frozen(served)
        clock.advance(3599.0)
        clock.advance(0.5)
        for _ in range(20):
            await asyncio.sleep(0)
        assert not connection.reader._buffer  # type: ignore[attr-defined]  # nothing has come
        clock.advance(0.5)
        last = chunked(b"three\n", b"four\n") + b"0\r\n\r\n"
        assert await connection.reader.readexactly(len(last)) == last


async def test_stall_adds_to_pacing(start: Start) -> None:
    served = await start(
        "clock: instant\nversion: 1\n" + SLOW + SAY.format("{type: stall, at: 1, for: 1m}"), vendors=[TOY]
    )
    async with connect(served, {"stream": True}) as connection:
        assert (await read_answer(connection.reader)).body == LINES
    await settle(served)
    (entry,) = served.built.journal
    assert (entry.duration, entry.ttft, entry.whole) == (64.0, 1.0, True)


@pytest.mark.covers("language/faults", "hang")
async def test_hang_ends_when_client_leaves(start: Start) -> None:
    served = await start(SAY.format("{type: hang}"), vendors=[TOY])
    async with connect(served, {}) as connection:
        for _ in range(20):
            await asyncio.sleep(0)
        assert not list(served.built.journal)
        assert not connection.reader._buffer  # type: ignore[attr-defined]
    await settle(served)
    (entry,) = served.built.journal
    assert (entry.status, entry.whole) == (0, False)
    assert served.built.apps[0].service.metrics.in_flight() == 0


async def test_mid_stream_hang_ends_when_client_leaves(start: Start) -> None:
    served = await start(SAY.format("{type: hang, after_tokens: 1}"), vendors=[TOY])
    async with connect(served, {"stream": True}) as connection:
        await connection.head()
        assert await connection.reader.readexactly(9) == chunked(b"one\n")
    await settle(served)
    (entry,) = served.built.journal
    assert (entry.status, entry.whole) == (200, False)


async def test_hang_closes_after_duration(start: Start) -> None:
    served = await start(SAY.format("{type: hang, for: 30s}"), vendors=[TOY])
    async with connect(served, {}) as connection:
        clock = frozen(served)
        await until(lambda: clock._sleepers)
        clock.advance(30.0)
        assert await connection.rest() == (b"", False)


async def test_hang_does_not_block_shutdown() -> None:
    async with running(SAY.format("{type: hang}"), vendors=[TOY]) as served, connect(served, {}):
        await until(served.built.apps[0].service.metrics.in_flight)
    (entry,) = served.built.journal
    assert entry.status == 0


@pytest.mark.covers("language/faults", "drip")
async def test_drip_sends_bytes_by_clock(start: Start) -> None:
    served = await start(SAY.format("{type: drip, bytes_per_second: 2}"), vendors=[TOY])
    async with connect(served, {}) as connection:
        await connection.head()
        clock = frozen(served)
        for byte in b"onetwothreefour":
            await until(lambda: clock._sleepers)
            clock.advance(0.5)
            assert await connection.reader.readexactly(1) == bytes([byte])
    await settle(served)


@pytest.mark.parametrize(
    ("fault", "body"),
    [
        pytest.param("{type: split, writes: byte}", LINES, id="every byte a chunk"),
        pytest.param("{type: duplicate, after_tokens: 1}", b"one\ntwo\ntwo\nthree\nfour\n", id="an event twice"),
        pytest.param("{type: reorder, after_tokens: 1}", b"one\nthree\ntwo\nfour\n", id="two events exchanged"),
        pytest.param("{type: empty_body}", b"", id="no body"),
        pytest.param("{type: late_error, after_tokens: 1}", b"one\ninternal: None\n", id="an error at the end"),
    ],
)
async def test_faulted_stream_is_valid_http(start: Start, fault: str, body: bytes) -> None:
    served = await start(SAY.format(fault), vendors=[TOY])
    async with connect(served, {"stream": True}) as connection:
        answer = await read_answer(connection.reader)
    assert answer.body == body
    assert "byte" not in fault or len(answer.chunks) == len(body)


async def test_unary_late_error_is_complete_vendor_error(start: Start) -> None:
    served = await start(SAY.format("{type: late_error, message: late, after_tokens: 1}"), vendors=[TOY])
    answer = await ask(served, "/chat", {"prompt": "Hi"})
    assert (answer.status, answer.body) == (200, b"internal: late {}")


async def test_http_1_0_client_gets_faulted_stream_unchunked(start: Start) -> None:
    served = await start(SAY.format("{type: truncate, after_tokens: 2}"), vendors=[TOY])
    async with connect(served, {"stream": True}, version="1.0") as connection:
        assert b"chunked" not in await connection.head()
        assert await connection.rest() == (b"one\ntwo\n", False)


async def test_status_204_has_no_body(start: Start) -> None:
    served = await start(SAY.format("{type: status, status: 204}"), vendors=[TOY])
    async with connect(served, {}, headers="Connection: close\r\n") as connection:
        head = await connection.head()
        assert head.startswith(b"HTTP/1.1 204 No Content\r\n")
        assert b"Content-Length" not in head
        assert await connection.rest() == (b"", False)


async def test_faults_apply_to_errors_and_listings(start: Start) -> None:
    rules = (
        "rules:\n"
        "- {name: a, when: {endpoint: /chat}, error: {kind: overloaded}, faults: [{type: status, status: 200}]}\n"
        "- {name: b, when: {endpoint: /echo}, faults: [{type: garbage}]}\n"
        "- {name: c, when: {endpoint: /drop}, faults: [{type: garbage}]}\n"
    )
    served = await start(rules, vendors=[TOY])
    refused = await ask(served, "/chat", {"prompt": "Hi"})
    assert (refused.status, refused.body[:10]) == (200, b"overloaded")
    catalogue = await ask(served, "/echo")
    assert not catalogue.body.endswith(b"}")
    with pytest.raises(asyncio.IncompleteReadError):
        await ask(served, "/drop")


async def ask(served: Running, target: str, body: JSON = None, **headers: str) -> Answer:
    fields = {"x-key": "k", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return await served.ask("toy", target, body, headers=fields)


ALWAYS = "rules:\n- {name: r, error: {kind: overloaded}, faults: [{type: status, status: 222}]}\n"


@pytest.mark.covers("language/headers", "x-emulator-error", "x-emulator-fault")
async def test_headers_override_rules(start: Start) -> None:
    served = await start(ALWAYS, vendors=[TOY])
    prompt: JSON = {"prompt": "Hi", "max": 3}
    assert (await ask(served, "/chat", prompt)).status == 222
    bent = await ask(served, "/chat", prompt, x_emulator_fault="wrong_content_type; value=a/b, status; status=203")
    assert (bent.status, bent.header("content-type")) == (203, "a/b")
    assert b"overloaded" not in bent.body
    refused = await ask(served, "/chat", prompt, X_Emulator_Error="timeout; status=408")
    assert (refused.status, refused.body) == (408, b"timeout: None {}")
    assert [entry.faults for entry in served.built.journal] == [("status",), ("wrong_content_type", "status"), ()]


@pytest.mark.covers("language/headers", "x-emulator-ttft")
async def test_ttft_header_sets_time_to_first_token(start: Start) -> None:
    served = await start("version: 1\nclock: instant\n" + SLOW, vendors=[TOY])
    await ask(served, "/chat", {"prompt": "Hi", "max": 3}, x_emulator_ttft="7s")
    (entry,) = served.built.journal
    assert entry.duration == 9.0


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"x_emulator_fault": "disconect"}, id="a fault"),
        pytest.param({"x_emulator_error": "oops"}, id="an error"),
        pytest.param({"x_emulator_ttft": "fast"}, id="a duration"),
    ],
)
async def test_invalid_header_value_returns_problem(start: Start, headers: dict[str, str]) -> None:
    served = await start(ALWAYS, vendors=[TOY])
    answer = await ask(served, "/chat", {"prompt": "Hi"}, **headers)
    assert (answer.status, answer.header("content-type")) == (400, "application/problem+json")
    assert next(iter(headers)).replace("_", "-") in answer.json()["detail"]


async def test_header_faults_can_be_disabled() -> None:
    built = create_application(load_text("version: 1\nname: test\n"), vendors={"toy": TOY}, header_faults=False)
    listeners = Listeners(built.runtime, built.control)
    await listeners.open("127.0.0.1", {"front": 0, "toy": 0})
    answer = await ask(Running(built, listeners.urls), "/chat", {"prompt": "Hi", "max": 3}, x_emulator_error="oops")
    await listeners.close()
    assert answer.status == 200


class Line(ServerConnection):
    """Connection that keeps what is written; ``is_open`` is set."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.open = True

    @property
    def is_open(self) -> bool:
        return self.open

    @property
    def is_behind(self) -> bool:
        return False

    def write(self, data: bytes) -> None:
        self.written.append(data)

    write_last = write


async def test_joined_events_share_one_chunk() -> None:
    clock, line, sent, ended = FrozenClock(), Line(), SendProgress(), list[bytes]()
    events: list[Event] = [(0.0, b"a", 1, Mark.JOINED), (1.0, b"b", 2, Mark.FINISH), (1.0, b"c", 2, Mark.DONE)]
    frames = frame_events(events, chunked=True)
    schedule = ScheduleWriter(line, clock, clock.now(), frames, sent, lambda: ended.extend(line.written))
    running = asyncio.ensure_future(schedule.run())
    await asyncio.sleep(0)
    assert line.written == []
    clock.advance(1.0)
    assert await running
    assert (b"".join(line.written), sent.events, ended) == (b"2\r\nab\r\n1\r\nc\r\n", 3, [])


async def test_nothing_was_sent_to_a_client_that_left_before() -> None:
    clock, line, sent, ended = FrozenClock(), Line(), SendProgress(), list[bool]()
    line.open = False
    frames = frame_events([(0.0, b"a", 1, Mark.PLAIN)], chunked=True)
    schedule = ScheduleWriter(line, clock, clock.now(), frames, sent, lambda: ended.append(True))
    assert (await schedule.run(), ended, line.written, sent) == (False, [], [], SendProgress(dues=[], lateness=[]))


async def test_stream_stopped_between_batches_ends_once() -> None:
    clock, line, sent = FrozenClock(), Line(), SendProgress()
    frames = frame_batches([(b" ", [b"head", b"1"], 1, 1), (b"", [b"2end"], 1, 1)])
    schedule = ScheduleWriter(line, clock, clock.now(), frames, sent, lambda: None, separate=True)
    running = asyncio.ensure_future(schedule.run())
    await asyncio.sleep(0)
    schedule.stop(frame_events([(0.0, b"!", 1, Mark.DONE)], chunked=True), lambda: b"end")
    assert await running
    assert (b"".join(line.written), sent.events) == (b"head 11\r\n!\r\nend", 2)


async def test_client_that_leaves_a_long_stream_without_delays_left_early(start: Start) -> None:
    """More than the system buffers between them hold: what is not sent is not recorded as sent."""
    text = "tides " * 5000
    served = await start(f"rules:\n- name: r\n  reply: {{chunks: [{', '.join([text] * 200)}]}}\n")
    reader, writer = await calls.connect(served, room=4096)
    writer.write(calls.frame_request(calls.chat(stream=True)))
    assert len(await reader.readexactly(8192)) == 8192
    writer.transport.abort()
    await settle(served)
    (entry,) = served.built.journal
    assert (entry.status, entry.whole, entry.client_left) == (200, False, True)
