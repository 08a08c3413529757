"""Pipelined requests and disconnects: each response is whole, in order and in the journal."""

import asyncio
import json
import random
import socket
import struct
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import pytest

from tests.conftest import Start
from tests.http.test_head_cache import CHAT, chat
from tests.http_client import Answer, Running, read_answer

FROZEN = "version: 1\nclock: frozen\n"
WAIT = 20.0  # seconds


def ask(number: int, *lines: str, **fields: object) -> bytes:
    """Return a chat request; all have the same head."""
    return word("POST", CHAT, chat(f"Question {number}", **fields), *lines)


def word(method: str, target: str, body: bytes = b"", *lines: str) -> bytes:
    head = ["Host: databricks", "Authorization: Bearer key-of-mine", *lines, f"Content-Length: {len(body)}"]
    return "\r\n".join([f"{method} {target} HTTP/1.1", *head, "", ""]).encode() + body


KINDS: Sequence[Callable[[int], bytes]] = (  # usual ones most, of which the fast path takes those that come alone
    ask,
    ask,
    ask,
    lambda number: ask(number, stream=True),
    lambda number: ask(number, "x-emulator-fault: truncate; after_bytes=1000000"),
    lambda number: word("GET", "/api/2.0/serving-endpoints"),
    lambda number: word("POST", CHAT, b"{"),
)


async def begin(start: Start) -> tuple[Running, asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a server that has cached the head of a chat, and a connection to it."""
    served = await start(FROZEN)
    reader, writer = await served.connect("databricks")
    for _ in range(2):
        writer.write(word("POST", CHAT, b'{"warm": true}'))
        await read_answer(reader)
    return served, reader, writer


def name(answer: Answer) -> str | None:
    return answer.header("x-emulator-request-id")


def journal(served: Running) -> list[str]:
    """Return the ids of the calls in journal order."""
    return [entry.id for entry in served.built.journal if entry.vendor == "databricks" and "warm" not in entry.path]


@pytest.mark.parametrize("seed", range(6))
async def test_a_mix_in_any_pieces_is_answered_in_order(start: Start, seed: int) -> None:
    served, reader, writer = await begin(start)
    before, draw = len(journal(served)), random.Random(seed)
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
    assert journal(served)[before:] == [name(answer) for answer in answers]


async def test_the_short_road_has_its_part_in_it(start: Start) -> None:
    served, reader, writer = await begin(start)
    taken = served.taken
    async with asyncio.timeout(WAIT):
        for number in range(5):
            writer.write(ask(number))
            assert (await read_answer(reader)).status == 200
    assert served.taken == taken + 5
    writer.close()


async def test_who_says_no_more_hears_the_answer_to_a_usual_call(start: Start) -> None:
    served, reader, writer = await begin(start)
    taken = served.taken
    writer.write(ask(1))
    writer.write_eof()
    async with asyncio.timeout(WAIT):
        answer = await read_answer(reader)
        assert await reader.read() == b""
    assert (answer.status, served.taken, journal(served)[-1]) == (200, taken + 1, name(answer))
    writer.close()


async def test_who_resets_a_connection_disturbs_nobody(start: Start) -> None:
    served, reader, writer = await begin(start)
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
    assert {entry.status for entry in [*served.built.journal][2:]} == {200}


async def test_who_reads_slowly_loses_nothing(start: Start) -> None:
    served, _, first = await begin(start)
    first.close()
    before, count = len(journal(served)), 400
    url = urlsplit(served.urls["databricks"])
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.setblocking(False)
    async with asyncio.timeout(WAIT):
        await asyncio.get_running_loop().sock_connect(line, (url.hostname, url.port))
        reader, writer = await asyncio.open_connection(sock=line, limit=1024)
        while len(served.clients) != 1:
            await asyncio.sleep(0)
        (client,) = served.clients
        assert client.transport is not None
        client.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        sending = asyncio.create_task(send_all(writer, [ask(number, max_tokens=400) for number in range(count)]))
        while not client._paused:  # the server sends nothing more until the client reads
            await asyncio.sleep(0)
        answers = [await read_answer(reader) for _ in range(count)]
        await sending
    assert journal(served)[before:] == [name(answer) for answer in answers]
    writer.close()


async def send_all(writer: asyncio.StreamWriter, requests: Sequence[bytes]) -> None:
    for request in requests:
        writer.write(request)
        await writer.drain()


async def test_answers_that_wait_go_out_when_the_server_ends(start: Start) -> None:
    served, _, first = await begin(start)
    first.close()
    lines = [await served.connect("databricks") for _ in range(20)]
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
