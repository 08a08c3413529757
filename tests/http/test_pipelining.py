"""Pipelined requests and disconnects: each response is whole, in order and in the journal."""

import asyncio
import json
import random
import socket
import struct
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import pytest

from emulator.http.connection import Connection
from tests.conftest import Start
from tests.http.calls import CHAT, chat, connect, find_heads
from tests.http_client import Answer, Running, read_answer

FROZEN = "version: 1\nclock: frozen\n"
INSTANT = "version: 1\nclock: instant\n"
WAIT = 20.0  # seconds


def ask(number: int, *lines: str, **fields: object) -> bytes:
    """Return a chat request; all have the same head."""
    return word("POST", CHAT, chat(f"Question {number}", **fields), *lines)


def word(method: str, target: str, body: bytes = b"", *lines: str) -> bytes:
    head = ["Host: 127.0.0.1", "Authorization: Bearer key-of-mine", *lines, f"Content-Length: {len(body)}"]
    return "\r\n".join([f"{method} {target} HTTP/1.1", *head, "", ""]).encode() + body


KINDS: Sequence[Callable[[int], bytes]] = (  # usual ones most
    ask,
    ask,
    ask,
    lambda number: ask(number, stream=True),
    lambda number: ask(number, "x-emulator-ttft: 1s"),
    lambda number: ask(number, "x-emulator-ttft: 1s", stream=True),
    lambda number: ask(number, "x-emulator-fault: truncate; after_bytes=1000000"),
    lambda number: word("GET", "/api/2.0/serving-endpoints"),
    lambda number: word("POST", CHAT, b"{"),
)


def name(answer: Answer) -> str | None:
    return answer.header("x-emulator-request-id")


def journal(served: Running) -> list[str]:
    """Return the ids of the calls in journal order."""
    return [entry.id for entry in served.built.journal]


async def find_connection(served: Running) -> Connection:
    """Return the server's side of the only connection."""
    async with asyncio.timeout(WAIT):
        while len(served.clients) != 1:
            await asyncio.sleep(0)
    return served.clients[0]


@pytest.mark.parametrize("seed", range(6))
async def test_pipelined_requests_in_any_pieces_are_answered_in_order(start: Start, seed: int) -> None:
    served = await start(INSTANT)
    reader, writer = await connect(served)
    draw = random.Random(seed)
    requests = [draw.choice(KINDS)(number) for number in range(draw.randint(5, 30))]
    data, sizes = b"".join([*requests, ask(99, "Connection: close")]), [1, 50, 700, 5000, 10**6]

    async def send() -> None:
        at = 0
        while at < len(data):
            size = sizes[seed] if seed < len(sizes) else draw.choice(sizes[1:])
            writer.write(data[at : at + size])
            at += size
            await asyncio.sleep(0)

    sending = asyncio.create_task(send())
    async with asyncio.timeout(WAIT):
        answers = [await read_answer(reader) for _ in range(len(requests) + 1)]
        assert await reader.read() == b""
        await sending
    writer.close()
    assert [answer.header("Connection") for answer in answers] == [None] * len(requests) + ["close"]
    assert journal(served) == [name(answer) for answer in answers]


MIX = (
    word("GET", "/_emulator/ready"),
    ask(0, "x-emulator-ttft: 1s"),
    ask(1),
    ask(2, stream=True),
    word("POST", CHAT, b"{"),
    word("GET", "/_emulator/nothing"),
    ask(3, "x-emulator-ttft: 1s", stream=True),
    ask(9, "x-emulator-error: overloaded"),
    ask(4),
)


def describe(answer: Answer) -> tuple[object, ...]:
    """Return the status, the number of events and the words of a response."""
    words = b"".join(line for line in answer.body.split(b"\n") if b'"content"' in line)
    return answer.status, len(answer.chunks), words.partition(b'"content"')[2][:60] if words else answer.body


@pytest.mark.parametrize(
    "remembered",
    [
        pytest.param(False, id="heads that are new"),
        pytest.param(True, id="heads that are known", marks=pytest.mark.slow),
    ],
)
async def test_a_mix_split_anywhere_is_answered_alike(start: Start, remembered: bool) -> None:
    """Whole, streamed, timed, refused and control requests; what follows the split arrives while the first waits."""
    served = await start(INSTANT)
    reader, writer = await connect(served)
    connection, data = await find_connection(served), b"".join(MIX)
    expected: list[tuple[object, ...]] = []
    for at in range(0, len(data), 2 if remembered else 7):
        if not remembered:
            find_heads(served).clear()
        served.built.runtime.reset()
        for part in (data[:at], data[at:]):
            if part:
                connection.data_received(part)
        async with asyncio.timeout(WAIT):
            answers = [await read_answer(reader) for _ in MIX]
        expected = expected or [describe(answer) for answer in answers]
        assert [describe(answer) for answer in answers] == expected, at
        assert journal(served) == [found for answer in answers if (found := name(answer))], at
    assert [status for status, *_ in expected] == [200, 200, 200, 200, 400, 404, 200, 503, 200]
    writer.close()


@pytest.mark.parametrize("size", [*range(1, 12), 100, 400])
async def test_a_mix_in_pieces_of_one_size_is_answered_alike(start: Start, size: int) -> None:
    served = await start(INSTANT)
    reader, writer = await connect(served)
    connection, data = await find_connection(served), b"".join(MIX)
    for at in range(0, len(data), size):
        connection.data_received(data[at : at + size])
    async with asyncio.timeout(WAIT):
        answers = [await read_answer(reader) for _ in MIX]
    assert [answer.status for answer in answers] == [200, 200, 200, 200, 400, 404, 200, 503, 200]
    assert journal(served) == [found for answer in answers if (found := name(answer))]
    writer.close()


async def test_more_than_are_answered_in_turn_keep_their_order(start: Start) -> None:
    """Requests that arrive before others have had their turn wait behind them."""
    served = await start(FROZEN)
    reader, writer = await connect(served)
    connection = await find_connection(served)
    connection.data_received(b"".join(map(ask, range(100))))
    for number in range(100, 120):
        connection.data_received(ask(number))
    async with asyncio.timeout(WAIT):
        answers = [await read_answer(reader) for _ in range(120)]
    asked = [json.loads(entry.payload.request.body) for entry in served.built.journal if entry.payload is not None]
    assert [body["messages"][0]["content"] for body in asked] == [f"Question {number}" for number in range(120)]
    assert journal(served) == [name(answer) for answer in answers]
    writer.close()


@pytest.mark.parametrize("rest", [1, 40, 100_000], ids=["a byte", "some", "a long body"])
async def test_the_rest_of_a_request_may_come_while_another_waits(start: Start, rest: int) -> None:
    served = await start(INSTANT)
    reader, writer = await connect(served)
    connection = await find_connection(served)
    late, following = ask(1, "x-emulator-ttft: 1s"), ask(2, user="u" * rest)
    connection.data_received(late + following[:-rest])
    for part in (following[-rest:], ask(3)):
        connection.data_received(part)
    async with asyncio.timeout(WAIT):
        answers = [await read_answer(reader) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert journal(served) == [name(answer) for answer in answers]
    writer.close()


async def test_half_closed_client_gets_response(start: Start) -> None:
    served = await start(FROZEN)
    reader, writer = await connect(served)
    writer.write(ask(1))
    writer.write_eof()
    async with asyncio.timeout(WAIT):
        answer = await read_answer(reader)
        assert await reader.read() == b""
    assert (answer.status, journal(served)) == (200, [name(answer)])
    writer.close()


async def test_client_reset_does_not_affect_others(start: Start) -> None:
    served = await start(FROZEN)
    reader, writer = await connect(served)
    url = urlsplit(served.urls["databricks"])
    for number in range(100):
        with socket.create_connection((url.hostname, url.port)) as client:
            client.sendall(ask(number) * (1 + number % 3))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await asyncio.sleep(0)
    async with asyncio.timeout(WAIT):
        writer.write(ask(1000))
        assert (await read_answer(reader)).status == 200
        writer.close()
        while served.clients:
            await asyncio.sleep(0)
    assert {entry.status for entry in served.built.journal} == {200}


async def test_slow_reader_gets_every_response(start: Start) -> None:
    served, count = await start(FROZEN), 400
    async with asyncio.timeout(WAIT):
        reader, writer = await connect(served, room=4096)
        client = await find_connection(served)
        assert client.transport is not None
        client.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        sending = asyncio.create_task(send_all(writer, [ask(number, max_tokens=400) for number in range(count)]))
        while not client._is_slow:  # the server sends nothing more until the client reads
            await asyncio.sleep(0)
        answers = [await read_answer(reader) for _ in range(count)]
        await sending
    assert journal(served) == [name(answer) for answer in answers]
    writer.close()


async def send_all(writer: asyncio.StreamWriter, requests: Sequence[bytes]) -> None:
    for request in requests:
        writer.write(request)
        await writer.drain()


async def test_pending_responses_are_sent_at_shutdown(start: Start) -> None:
    served = await start(FROZEN)
    lines = [await connect(served) for _ in range(20)]
    while len(served.clients) < 20:
        await asyncio.sleep(0)
    for connection in served.clients:
        connection.data_received(ask(1))
    ending = asyncio.gather(*[connection.finish() for connection in served.clients])
    async with asyncio.timeout(WAIT):
        for reader, writer in lines:
            answer = await read_answer(reader)
            assert (answer.status, await reader.read()) == (200, b"")
            assert json.loads(answer.body)["choices"]
            writer.close()
        await ending


Cut = Callable[[bytes], list[bytes]]
CUTS: list[object] = [
    pytest.param(lambda data: [data], id="in one piece"),
    pytest.param(
        lambda data: [data[: data.index(b"\r\n\r\n") + 4], data[data.index(b"\r\n\r\n") + 4 :]], id="head, body"
    ),
    pytest.param(lambda data: [data[:-5], data[-5:-3], data[-3:]], id="a body in three"),
    pytest.param(lambda data: [data[:20], data[20:]], id="a head in two"),
    pytest.param(lambda data: [data[n : n + 1] for n in range(len(data))], id="byte by byte"),
]


@pytest.mark.parametrize("cut", CUTS)
async def test_a_request_that_comes_in_pieces(start: Start, cut: Cut) -> None:
    """Each request gets its own response on one connection, whether its head is remembered or not."""
    served = await start()
    reader, writer = await connect(served)
    connection = await find_connection(served)
    for number in range(4):
        for piece in cut(ask(number)):
            connection.data_received(piece)
        assert (await read_answer(reader)).status == 200
        if number == 1:
            for _ in range(2):  # whole, so that their head is remembered
                connection.data_received(ask(9))
                assert (await read_answer(reader)).status == 200
            assert find_heads(served)
    writer.close()
    asked = [entry.payload.request.body for entry in served.built.journal if entry.payload is not None]
    assert asked == [chat(f"Question {number}") for number in (0, 1, 9, 9, 2, 3)]
