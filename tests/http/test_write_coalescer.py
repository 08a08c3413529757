"""Coalesced writes: whole, in order, and after all ready connections were read."""

import asyncio
from urllib.parse import urlsplit

import pytest

from emulator.http.connection import WriteCoalescer
from tests.conftest import Start
from tests.http.test_head_cache import HEAD, chat, warm
from tests.http_client import Running, read_answer


class Line(asyncio.WriteTransport):
    """Transport that logs its writes in a shared list."""

    def __init__(self, log: list[tuple[str, bytes]], name: str) -> None:
        super().__init__()
        self._log = log
        self._name = name
        self.closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closing, "an event loop refuses this"
        self._log.append((self._name, bytes(data)))

    def is_closing(self) -> bool:
        return self.closing


def word(running: Running, body: bytes) -> bytes:
    """Return a request with the head that :func:`warm` caches."""
    head = f"{HEAD}Host: {urlsplit(running.urls['databricks']).netloc}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def test_answers_are_written_in_order_once_all_was_read() -> None:
    log: list[tuple[str, bytes]] = []
    outbox, first, second = WriteCoalescer(), Line(log, "first"), Line(log, "second")
    outbox.send(first, b"1")
    outbox.send(second, b"2")
    assert not log
    await asyncio.sleep(0)
    assert log == [("first", b"1"), ("second", b"2")]
    outbox.send(first, b"3")
    await asyncio.sleep(0)
    assert log[2:] == [("first", b"3")]


async def test_many_answers_do_not_wait_for_each_other() -> None:
    log: list[tuple[str, bytes]] = []
    outbox, line = WriteCoalescer(), Line(log, "line")
    for number in range(100):
        outbox.send(line, b"%d" % number)
    assert len(log) >= 80
    await asyncio.sleep(0)
    assert [data for _, data in log] == [b"%d" % number for number in range(100)]


async def test_who_has_left_takes_no_answer_from_others() -> None:
    log: list[tuple[str, bytes]] = []
    outbox, gone, there = WriteCoalescer(), Line(log, "gone"), Line(log, "there")
    outbox.send(gone, b"1")
    outbox.send(there, b"2")
    gone.closing = True
    outbox.flush()
    assert log == [("there", b"2")]
    await asyncio.sleep(0)
    assert len(log) == 1


@pytest.mark.parametrize("parts", [1, 2, 5], ids=["in one piece", "in two", "in five"])
async def test_requests_that_follow_each_other_without_waiting_are_answered_in_order(start: Start, parts: int) -> None:
    served = await start("version: 1\nclock: frozen\n")
    await warm(served)
    bodies = [chat(f"Question {number}", max_tokens=4 + number) for number in range(12)]
    data = b"".join(word(served, body) for body in bodies)
    alone = [(await served.send("databricks", HEAD.encode(), body)).body for body in bodies]
    await served.ask("front", "/_emulator/reset", method="POST")
    reader, writer = await served.connect("databricks")
    size = -(-len(data) // parts)
    for at in range(0, len(data), size):
        writer.write(data[at : at + size])
        await asyncio.sleep(0)
    together = [(await read_answer(reader)).body for _ in bodies]
    writer.close()
    assert together == alone


@pytest.mark.parametrize("end", ["finish", "abort"])
async def test_an_answer_that_waits_goes_out_before_its_connection_ends(start: Start, end: str) -> None:
    served = await start("version: 1\nclock: frozen\n")
    await warm(served)
    reader, writer = await served.connect("databricks")
    answer = asyncio.create_task(read_answer(reader))
    while not served.clients:
        await asyncio.sleep(0)
    (connection,) = served.clients
    connection.data_received(word(served, chat()))
    assert served.taken == 1
    if end == "finish":
        await connection.finish()
    else:
        connection.abort()
    assert (await answer).status == 200
    writer.close()
