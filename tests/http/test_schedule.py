"""Timed responses: their times and bytes, requests meanwhile, disconnects, slow readers and the end."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import pytest

from emulator.http.timeouts import ConnectionPhase
from tests.conftest import Start, running
from tests.http.calls import chat, frame_request
from tests.http.calls import connect as open_connection
from tests.http.test_writer import frozen, until
from tests.http_client import Answer, Running, read_answer

SLOW = "latency: {ttft: 1s, itl: 1s}\n"
LONG = 3600.0  # seconds; later than the end of any stream here


class Client:
    """Client that reads everything it receives."""

    def __init__(self, served: Running, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._served = served
        self.reader = reader
        self.writer = writer

    async def ask(self, body: bytes) -> None:
        """Send a call."""
        self.writer.write(frame_request(body))

    async def begin(self, body: bytes) -> None:
        """Send a call and wait until it is under way."""
        await self.ask(body)
        await until(lambda: in_flight(self._served))


@asynccontextmanager
async def connect(served: Running, room: int | None = None) -> AsyncIterator[Client]:
    """Connect a client; ``room``: bytes of its kernel's receive buffer."""
    reader, writer = await open_connection(served, room=room)
    try:
        yield Client(served, reader, writer)
    finally:
        writer.close()


def in_flight(served: Running) -> int:
    return served.built.runtime.active.apps["databricks"].service.metrics.in_flight()


def _pass_time(served: Running, reading: "asyncio.Future[Answer]") -> bool:
    frozen(served).advance(1.0)
    return reading.done()


async def test_events_are_written_and_recorded_at_their_due_times(start: Start) -> None:
    served = await start(SLOW)
    async with connect(served) as client:
        await client.begin(chat(stream=True, max_tokens=3))
        assert in_flight(served) == 1
        assert await client.reader.readuntil(b"\r\n\r\n")
        for _ in range(3):
            frozen(served).advance(1.0)
        assert b"[DONE]" in await client.reader.readuntil(b"0\r\n\r\n")
    entry = [*served.built.journal][-1]
    assert (entry.planned_ttft, entry.ttft, entry.planned_end, entry.duration) == (1.0, 1.0, 3.0, 3.0)
    assert (entry.whole, entry.client_left, entry.sent_tokens, [*entry.lateness]) == (True, False, 3, [0.0, 0.0, 0.0])
    assert entry.payload is not None
    assert [*entry.payload.writes] == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]
    assert in_flight(served) == 0


async def test_whole_response_is_written_and_recorded_at_its_due_time(start: Start) -> None:
    served = await start(SLOW)
    async with connect(served) as client:
        await client.begin(chat(max_tokens=3))
        frozen(served).advance(2.9)
        await asyncio.sleep(0)
        assert in_flight(served) == 1
        frozen(served).advance(0.1)
        answer = await asyncio.wait_for(read_answer(client.reader), 10)
    entry = [*served.built.journal][-1]
    assert (answer.status, len(answer.body)) == (200, entry.bytes_out)
    assert (entry.planned_ttft, entry.ttft, entry.planned_end, entry.duration) == (3.0, 3.0, 3.0, 3.0)
    assert (entry.whole, entry.client_left, entry.sent_tokens, in_flight(served)) == (True, False, 3, 0)


async def test_who_leaves_before_an_answer_in_one_piece_gets_none(start: Start) -> None:
    served = await start(SLOW)
    async with connect(served) as client:
        await client.begin(chat(max_tokens=3))
        client.writer.transport.abort()
        await until(lambda: not in_flight(served))
    frozen(served).advance(LONG)
    entry = [*served.built.journal][-1]
    assert (entry.whole, entry.client_left, entry.sent_tokens, entry.bytes_out) == (False, True, 0, 0)


async def test_what_comes_meanwhile_is_answered_afterwards_and_in_order(start: Start) -> None:
    served = await start(SLOW)
    async with connect(served) as client:
        await client.begin(chat("One", stream=True, max_tokens=2))
        for text in ("Two", "Three"):
            await client.ask(chat(text, max_tokens=2, stream=text == "Two"))
        answers = []
        for _ in range(3):
            reading = asyncio.ensure_future(read_answer(client.reader))
            await until(partial(_pass_time, served, reading))
            answers.append(await reading)
    assert [answer.status for answer in answers] == [200, 200, 200]
    ids = [answer.header("x-emulator-request-id") for answer in answers]
    assert ids == [entry.id for entry in [*served.built.journal][-3:]]


async def test_a_client_that_sends_without_end_waits_itself(start: Start) -> None:
    served = await start(SLOW)
    async with connect(served) as client:
        await client.begin(chat(stream=True, max_tokens=2))
        client.writer.write(b"x" * 8 * 1024 * 1024)
        (connection,) = served.clients
        await until(lambda: connection._is_reading_paused)
        assert len(connection._held) < 1024 * 1024


async def test_a_client_that_leaves_is_noticed(start: Start) -> None:
    served = await start(SLOW)
    async with connect(served) as client:
        await client.begin(chat(stream=True, max_tokens=5))
        frozen(served).advance(2.0)
        assert await client.reader.readuntil(b"\r\n\r\n")
        client.writer.transport.abort()
        await until(lambda: not in_flight(served))
    entry = [*served.built.journal][-1]
    assert (entry.status, entry.whole, entry.client_left, entry.sent_tokens) == (200, False, True, 2)
    frozen(served).advance(LONG)
    assert [*served.built.journal][-1].sent_tokens == 2


async def test_a_slow_reader_waits_alone(start: Start) -> None:
    served = await start(SLOW)
    body = chat("Tell all 8.", stream=True, max_tokens=1024, logprobs=True, top_logprobs=5)  # some 300 KiB
    async with connect(served, room=4096) as client:
        await until(lambda: served.clients)
        (connection,) = served.clients
        assert connection.transport is not None
        connection.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        await client.begin(body)
        frozen(served).advance(LONG)
        await until(lambda: connection.phase is ConnectionPhase.UNREAD)
        assert in_flight(served) == 1
        slow = await asyncio.wait_for(read_answer(client.reader), 10)
    assert slow.body.endswith(b"data: [DONE]\n\n")
    assert len(slow.body) == [*served.built.journal][-1].bytes_out


async def test_a_stream_that_began_before_a_reset_is_in_no_journal(start: Start) -> None:
    served = await start(SLOW)
    async with connect(served) as client:
        await client.begin(chat(stream=True, max_tokens=2))
        await served.ask("front", "/_emulator/reset", method="POST")
        frozen(served).advance(LONG)
        assert b"[DONE]" in (await read_answer(client.reader)).body
    assert not [*served.built.journal]


async def test_streams_are_sent_to_their_end_before_the_process_ends() -> None:
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(running(SLOW))
        async with connect(served) as client:
            await client.begin(chat(stream=True, max_tokens=20))
            reading = asyncio.ensure_future(client.reader.read())
            await asyncio.wait_for(stack.aclose(), 10)
            assert (await asyncio.wait_for(reading, 10)).endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    assert [*served.built.journal][-1].whole


async def test_another_scenario_leaves_a_stream_as_it_began(start: Start) -> None:
    served = await start(SLOW)
    async with connect(served) as client:
        await client.begin(chat(stream=True, max_tokens=2))
        await served.ask("front", "/_emulator/scenario", b"version: 1\nclock: instant\n", method="PUT")
        answer = await asyncio.wait_for(read_answer(client.reader), 10)
    assert (answer.status, answer.events()[-1]) == (200, "[DONE]")


_INSTANT = "version: 1\nname: pump\nclock: instant\n"
_TEXT = "The tide turns.\\n" * 300  # more than 1024 tokens
_CALLS = {
    "azure": ("/chat/completions?api-version=2024-05-01-preview", "mistral-small-2503"),
    "databricks": ("/serving-endpoints/chat/completions", "databricks-meta-llama-3-3-70b-instruct"),
    "mindie": ("/v1/chat/completions", "llama_65b"),
    "tgi": ("/v1/chat/completions", "tgi"),
    "openvino": ("/v3/chat/completions", "llama3"),
}


@pytest.mark.parametrize("tokens", [1, 40, 1500], ids=["one token", "some", "more than one write"])
@pytest.mark.parametrize("vendor", _CALLS)
async def test_pacing_changes_nothing_but_time(start: Start, vendor: str, tokens: int) -> None:
    path, model = _CALLS[vendor]
    body = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": tokens, "stream": True}
    headers = {"Authorization": "Bearer k", "api-key": "k"}
    seen = []
    for latency in ("", "latency: {itl: 1us}\n"):
        served = await start(f"{_INSTANT}seed: 4\n{latency}rules: [{{name: r, reply: {{text: '{_TEXT}'}}}}]\n")
        answer = await served.ask(vendor, path, body, headers=headers)
        (entry,) = served.built.journal
        figures = (entry.status, entry.events, entry.bytes_out, entry.sent_tokens, entry.completion_tokens, entry.whole)
        assert entry.bytes_out == len(answer.body)
        seen.append((answer.head, answer.chunks, figures))
    assert seen[0] == seen[1]
