"""Coalesced writes: whole, in order, and after all ready connections were read."""

import asyncio

import pytest

from emulator.http.connection import Connection, IncomingRequest
from emulator.http.listeners import ConnectionServer
from tests.conftest import Start
from tests.http.calls import HEAD, chat, connect, frame_request
from tests.http_client import read_answer


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


Log = list[tuple[str, bytes]]


async def serve(request: IncomingRequest) -> bool:
    return True


def open_lines(log: Log, *names: str) -> list[tuple[Connection, Line]]:
    """Return connections of one server with their transports."""
    server = ConnectionServer(serve)
    opened = []
    for name in names:
        connection, line = server(), Line(log, name)
        connection.connection_made(line)
        opened.append((connection, line))
    return opened


async def test_writes_are_flushed_in_order_after_reads() -> None:
    log: Log = []
    (first, _), (second, _) = open_lines(log, "first", "second")
    first.write_last(b"1")
    second.write_last(b"2")
    assert not log
    await asyncio.sleep(0)
    assert log == [("first", b"1"), ("second", b"2")]
    first.write_last(b"3")
    first.write_last(b"4")
    first.write(b"5")
    assert log[2:] == [("first", b"345")]
    await asyncio.sleep(0)
    assert len(log) == 3


async def test_many_writes_are_flushed_early() -> None:
    log: Log = []
    for number, (connection, _) in enumerate(open_lines(log, *["line"] * 100)):
        connection.write_last(b"%d" % number)
    assert len(log) >= 80
    await asyncio.sleep(0)
    assert [data for _, data in log] == [b"%d" % number for number in range(100)]


async def test_a_long_answer_is_written_at_once_behind_those_before_it() -> None:
    log: Log = []
    ((connection, _),) = open_lines(log, "line")
    connection.write_last(b"1")
    connection.write_last(b"2" * 100_000)
    assert log == [("line", b"1" + b"2" * 100_000)]


async def test_pieces_are_joined_when_written() -> None:
    log: Log = []
    (first, _), (second, line) = open_lines(log, "first", "second")
    long = [b"1" * 100_000, b"2"]
    first.write_joined(b",", long)
    second.write_joined(b",", [b"a", b"b"])
    assert not log
    await asyncio.sleep(0)
    assert log == [("first", b",".join(long)), ("second", b"a,b")]
    first.write_last(b"3")
    first.write_joined(b",", [b"4", b"5"])
    assert log[2:] == [("first", b"34,5")]
    first.write_joined(b",", [b"6", b"7"])
    first.write_last(b"8")
    second.write_joined(b",", [b"c", b"d"])
    line.closing = True
    await asyncio.sleep(0)
    assert log[3:] == [("first", b"6,78")]


async def test_closing_connection_does_not_affect_others() -> None:
    log: Log = []
    (gone, line), (there, _) = open_lines(log, "gone", "there")
    gone.write_last(b"1")
    there.write_last(b"2")
    line.closing = True
    await asyncio.sleep(0)
    assert log == [("there", b"2")]


@pytest.mark.parametrize("parts", [1, 2, 5], ids=["in one piece", "in two", "in five"])
async def test_pipelined_requests_are_answered_in_order(start: Start, parts: int) -> None:
    served = await start("version: 1\nclock: frozen\n")
    bodies = [chat(f"Question {number}", max_tokens=4 + number) for number in range(12)]
    data = b"".join(map(frame_request, bodies))
    alone = [(await served.send("databricks", HEAD.encode(), body)).body for body in bodies]
    await served.ask("front", "/_emulator/reset", method="POST")
    reader, writer = await connect(served)
    size = -(-len(data) // parts)
    for at in range(0, len(data), size):
        writer.write(data[at : at + size])
        await asyncio.sleep(0)
    together = [(await read_answer(reader)).body for _ in bodies]
    writer.close()
    assert together == alone


@pytest.mark.parametrize("end", ["finish", "abort"])
async def test_pending_response_is_sent_before_close(start: Start, end: str) -> None:
    served = await start("version: 1\nclock: frozen\n")
    reader, writer = await connect(served)
    answer = asyncio.create_task(read_answer(reader))
    while not served.clients:
        await asyncio.sleep(0)
    (connection,) = served.clients
    connection.data_received(frame_request(chat()))
    assert len(served.built.journal) == 1
    if end == "finish":
        await connection.finish()
    else:
        connection.abort()
    assert (await answer).status == 200
    writer.close()
