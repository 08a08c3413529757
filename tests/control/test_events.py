"""Tests of the event stream."""

import asyncio
import json
from collections.abc import Mapping
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import pytest

from emulator.control import events
from emulator.core.json import Object
from tests.conftest import Start
from tests.control.asking import ask, control, until_waiting
from tests.handler.toy import TOY
from tests.http_client import Running
from tests.journal.test_journal import make_entry

RULES = """
rules:
  - {name: greets, when: {prompt: {contains: Hello}}, reply: {text: Good day}}
"""
NONE: Mapping[str, str] = {}


class Viewer:
    """Client of the event stream."""

    def __init__(self, running: Running, query: str = "", headers: Mapping[str, str] = NONE) -> None:
        self._url = urlsplit(running.urls["toy"])
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._request = f"GET /_emulator/events{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{lines}\r\n"
        self.head = ""

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._url.hostname, self._url.port)
        self._writer.write(self._request.encode())
        self.head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, at: TracebackType | None) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def line(self) -> str:
        """Return the next line that is not empty and no chunk size; an empty one at the end."""
        while text := (await asyncio.wait_for(self._reader.readline(), 10)).decode().strip():
            if ":" in text:
                return text
        return await self.line() if not self._reader.at_eof() else ""

    async def event(self) -> tuple[str, Object]:
        """Return id and entry of the next event, skipping comments."""
        name = ""
        while line := await self.line():
            field, _, value = line.partition(": ")
            if field == "id":
                name = value
            elif field == "data":
                entry: Object = json.loads(value)
                return name, entry
        raise EOFError


@pytest.fixture
async def toy(start: Start) -> Running:
    return await start(RULES, vendors=[TOY])


@pytest.mark.covers("language/control plane", "GET /events")
@pytest.mark.covers("promises/journal", "the same as events")
async def test_events_stream_new_calls(toy: Running) -> None:
    await ask(toy, "before")
    async with Viewer(toy) as viewer:
        assert "Content-Type: text/event-stream\r\n" in viewer.head
        assert (await viewer.line()).startswith(": ")
        await until_waiting(toy)
        await ask(toy, "Hello")
        name, entry = await viewer.event()
        listed = (await control(toy, "GET", "/requests?seq=2")).json()["requests"]
        assert (name, [entry]) == ("2", listed)
    while toy.built.journal.watchers:
        await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    ("query", "headers", "ids"),
    [
        pytest.param("?since=0", {}, ["1", "2", "3", "4"], id="from the beginning"),
        pytest.param("?since=2", {}, ["3", "4"], id="since"),
        pytest.param("", {"Last-Event-ID": "3"}, ["4"], id="a browser that comes back"),
        pytest.param("?since=1", {"Last-Event-ID": "3"}, ["2", "3", "4"], id="the query wins"),
        pytest.param("?since=0&session=s", {}, ["3", "4"], id="one session"),
        pytest.param("?since=0&rule=greets", {}, ["1", "4"], id="a filter"),
    ],
)
async def test_events_respect_since_last_event_id_and_filters(
    toy: Running, query: str, headers: Mapping[str, str], ids: list[str]
) -> None:
    await ask(toy, "Hello")
    await ask(toy, "one")
    await ask(toy, "two", "s")
    async with Viewer(toy, query, headers) as viewer:
        await until_waiting(toy)
        await ask(toy, "Hello", "s")
        assert [(await viewer.event())[0] for _ in ids] == ids


async def test_amended_call_is_resent_without_id(toy: Running) -> None:
    await ask(toy, "Hello")
    (entry,) = toy.built.journal
    async with Viewer(toy) as viewer:
        await viewer.line()
        await until_waiting(toy)
        entry.client_left = True
        toy.built.journal.amend(entry)
        name, changed = await viewer.event()
        assert (name, changed["seq"], changed["client_left"]) == ("", 1, True)


async def test_idle_stream_sends_keep_alive(toy: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    assert events.KEEP_ALIVE == 15.0
    monkeypatch.setattr(events, "KEEP_ALIVE", 0.01)
    async with Viewer(toy) as viewer:
        assert [await viewer.line() for _ in range(3)] == [": calls as they come", ": still here", ": still here"]


async def test_stream_ends_when_server_closes(toy: Running) -> None:
    async with Viewer(toy) as viewer:
        await viewer.line()
        toy.built.runtime.closing.set()
        with pytest.raises(EOFError):
            await asyncio.wait_for(viewer.event(), 5)


@pytest.mark.slow
async def test_events_send_many_calls_in_order(toy: Running) -> None:
    for number in range(250):
        await ask(toy, str(number))
    async with Viewer(toy, "?since=0") as viewer:
        assert [int((await viewer.event())[0]) for _ in range(250)] == [*range(1, 251)]


@pytest.mark.slow
async def test_events_send_thousands_of_calls_in_order(toy: Running) -> None:
    journal = toy.built.journal
    for number in range(4_500):
        journal.add(make_entry(str(number)))
    async with Viewer(toy, "?since=0") as viewer:
        assert [int((await viewer.event())[0]) for _ in range(4_500)] == [*range(1, 4_501)]
        await until_waiting(toy)
        await ask(toy, "one more")
        assert (await viewer.event())[0] == "4501"


async def test_most_skips_older_calls_and_reports_count(toy: Running) -> None:
    for number in range(30):
        await ask(toy, str(number))
    async with Viewer(toy, "?since=0&most=10") as viewer:
        assert await viewer.line() == ": calls as they come"
        assert [await viewer.line() for _ in range(2)] == ["event: skipped", 'data: {"calls":20,"before":21}']
        assert [int((await viewer.event())[0]) for _ in range(10)] == [*range(21, 31)]
        await until_waiting(toy)
        await ask(toy, "one more")
        assert (await viewer.event())[0] == "31"


@pytest.mark.parametrize(
    ("query", "headers", "says"),
    [
        pytest.param("?ruel=a", NONE, "did you mean rule?", id="an unknown filter"),
        pytest.param("?most=0", NONE, "most", id="nothing at all"),
        pytest.param("", {"Last-Event-ID": "x"}, "Last-Event-ID: expected the id of an event, got 'x'", id="no id"),
    ],
)
async def test_invalid_query_or_header_is_rejected(
    toy: Running, query: str, headers: Mapping[str, str], says: str
) -> None:
    answer = await toy.ask("toy", f"/_emulator/events{query}", headers=headers)
    assert (answer.status, answer.header("Content-Type")) == (400, "application/problem+json")
    assert says in answer.json()["detail"]


async def test_head_request_returns_200(toy: Running) -> None:
    reader, writer = await toy.connect("toy")
    writer.write(b"HEAD /_emulator/events HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    assert (await asyncio.wait_for(reader.read(), 5)).startswith(b"HTTP/1.1 200 OK")
    writer.close()
    await writer.wait_closed()


async def test_event_equals_listed_entry(start: Start) -> None:
    running = await start(RULES, vendors=[TOY])
    async with Viewer(running, "?since=0") as viewer:
        for prompt in ("Hello", "Bye"):
            await ask(running, prompt)
            _, entry = await viewer.event()
            (listed,) = (await control(running, "GET", f"/requests?seq={entry['seq']}")).json()["requests"]
            assert list(entry.items()) == list(listed.items())


@pytest.mark.parametrize(
    ("calls", "brief"), [pytest.param(3, False, id="a few"), pytest.param(30, True, id="many at once")]
)
async def test_nearest_rule_is_omitted_for_many_calls(start: Start, calls: int, brief: bool) -> None:
    running = await start(RULES, vendors=[TOY])
    for number in range(calls):
        await ask(running, f"Bye {number}")
    await ask(running, "Hello")
    async with Viewer(running, "?since=0") as viewer:
        reported = [(await viewer.event())[1]["summary"] for _ in range(calls + 1)]
    nearest = "" if brief else " The nearest is 'greets': prompt does not hold"
    assert all(str(text).startswith(f"No rule matched.{nearest}") for text in reported[:-1])
    assert all(("nearest" in str(text)) != brief for text in reported[:-1])
    assert reported[-1] == "'greets' matched."


@pytest.mark.slow
async def test_many_journal_readers_take_turns(toy: Running) -> None:
    calls, viewers = 250, 12
    for number in range(calls):
        await ask(toy, f"Hello {number}")
    turns, over = 0, False

    async def count() -> None:
        nonlocal turns
        while not over:
            turns += 1
            await asyncio.sleep(0)

    async def read() -> int:
        async with Viewer(toy, "?since=0") as viewer:
            return len([await viewer.event() for _ in range(calls)])

    counting = asyncio.create_task(count())
    assert await asyncio.gather(*[read() for _ in range(viewers)]) == [calls] * viewers
    over = True
    await counting
    assert turns >= viewers * 3  # parts of a hundred, each in a turn of its own
    assert not toy.built.journal.reading.locked()


@pytest.mark.slow
async def test_idle_readers_block_no_other_reader(toy: Running) -> None:
    for number in range(250):
        await ask(toy, f"Hello {number}")
    idle = [await toy.connect("toy", limit=1) for _ in range(10)]
    for _, writer in idle:
        writer.write(b"GET /_emulator/events?since=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    async with Viewer(toy, "?since=0") as viewer:
        assert [(await viewer.event())[0] for _ in range(250)][-1] == "250"
    for _, writer in idle:
        writer.close()
