"""Journal entries at the time the client has its response."""

import asyncio
import gc
import socket
from urllib.parse import urlsplit

import pytest

from emulator.handler.explain import Explainer
from emulator.journal.entry import JournalEntry, JournalItem
from tests.conftest import Start
from tests.handler.toy import TOY
from tests.http.calls import HEAD, chat
from tests.http_client import Running
from tests.untyped_json import JSON

KEY = {"x-key": "key-of-mine"}


async def ask(running: Running, **fields: object) -> JournalEntry:
    """Make one call; return its entry as of the end of the response."""
    await running.ask("toy", "/chat", {"prompt": "Hi", "max": 3, **fields}, headers=KEY)
    entry: JournalEntry = [*running.built.journal][-1]
    return entry


@pytest.mark.parametrize("stream", [False, True])
async def test_entry_is_complete_once_response_is_received(start: Start, stream: bool) -> None:
    running = await start("rules: [{name: fixed, reply: {text: one two three}}]\n", vendors=[TOY])
    entry = await ask(running, stream=stream)
    assert (entry.whole, entry.client_left, entry.status, entry.rule) == (True, False, 200, "fixed")
    assert (entry.stream, entry.operation, entry.finish_reason, entry.attempt) == (stream, "chat", "stop", 1)
    assert entry.payload is not None
    assert entry.payload.text == "one two three"
    assert (entry.payload.body is None) == stream
    assert entry.events == (3 if stream else 0)
    assert entry.bytes_in == len(entry.payload.request.body)


@pytest.mark.covers("promises/journal", "complete before the last byte")
@pytest.mark.parametrize("stream", [False, True], ids=["in one piece", "streamed"])
@pytest.mark.parametrize("remembered", [False, True], ids=["a head that is new", "a head that is known"])
async def test_entry_is_complete_before_last_byte_is_written(start: Start, remembered: bool, stream: bool) -> None:
    """The client has not received the end of the response when the entry is made."""
    running = await start()
    if remembered:
        await running.send("databricks", HEAD.encode(), chat(stream=stream))
    url, body = urlsplit(running.urls["databricks"]), chat(stream=stream)
    seen: list[tuple[JournalEntry, bool, bytes]] = []
    with socket.create_connection((url.hostname, url.port)) as client:
        client.setblocking(False)

        def look(call: JournalItem) -> None:
            entry = call.load()
            try:
                come = client.recv(2**20, socket.MSG_PEEK)
            except BlockingIOError:
                come = b""
            seen.append((entry, entry.whole, come))

        running.built.journal.listeners.append(look)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(
            client, f"{HEAD}Host: {url.netloc}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        )
        end = b"0\r\n\r\n" if stream else b'"total_tokens":'
        received = b""
        while end not in received:
            received += await loop.sock_recv(client, 2**20)
    ((entry, whole, come),) = seen
    assert (whole, entry.status, entry.finish_reason, entry.client_left) == (True, 200, "stop", False)
    assert end not in come
    assert len(come) < len(received)


@pytest.mark.covers("promises/journal", "for what was malformed")
@pytest.mark.parametrize(
    ("body", "shown"),
    [
        pytest.param(b'{"model": "a', '{"model": "a', id="half an object"),
        pytest.param(b"Hello", "Hello", id="text"),
        pytest.param(b"[]", [], id="no object"),
        pytest.param(b'{"messages": 3}', {"messages": 3}, id="a field of another type"),
    ],
)
async def test_malformed_call_is_recorded_as_received(start: Start, body: bytes, shown: JSON) -> None:
    running = await start()
    answer = await running.send("databricks", HEAD.encode(), body)
    (row,) = (await running.ask("front", "/_emulator/requests?detail=true")).json()["requests"]
    assert (row["status"], row["request"]["body"]) == (answer.status, shown)
    assert 400 <= answer.status < 500
    assert row["error"] is not None
    assert row["id"] == answer.header("x-emulator-request-id")


@pytest.mark.covers("promises/journal", "the terminator is an event")
async def test_event_count_includes_terminator(start: Start) -> None:
    running = await start("rules: [{name: fixed, reply: {text: one two three}}]\n")
    answer = await running.send("databricks", HEAD.encode(), chat(stream=True))
    assert answer.events()[-1] == "[DONE]"
    assert [entry.events for entry in running.built.journal] == [len(answer.events())]


@pytest.mark.covers("promises/journal", "what it is a retry of, and how often it was retried")
async def test_attempts_are_linked(start: Start) -> None:
    running = await start(vendors=[TOY])
    entries = [await ask(running) for _ in range(3)]
    other = await ask(running, prompt="Bye")
    assert [(entry.attempt, entry.retries) for entry in entries] == [(1, 2), (2, 1), (3, 0)]
    assert [entry.retry_of for entry in entries] == [None, entries[0].id, entries[1].id]
    assert (other.attempt, other.retry_of) == (1, None)


@pytest.mark.covers("promises/journal", "no bodies on demand", case="none")
@pytest.mark.parametrize(
    ("settings", "kept", "cut"),
    [
        pytest.param("{bodies: none}", None, False, id="none"),
        pytest.param("{bodies: 5B}", b'{"pro', True, id="as much as fits"),
        pytest.param("{bodies: 1MiB}", b'{"prompt": "Hi", "max": 3}', False, id="all"),
    ],
)
async def test_stored_body_size_is_limited(start: Start, settings: str, kept: bytes | None, cut: bool) -> None:
    running = await start(f"journal: {settings}\n", vendors=[TOY])
    entry = await ask(running)
    assert (None if entry.payload is None else entry.payload.request.body) == kept
    assert (entry.payload is not None and entry.payload.request_cut) == cut
    assert entry.bytes_in == 26


async def test_entries_per_session_are_limited(start: Start) -> None:
    running = await start("journal: {entries: 2}\n", vendors=[TOY])
    for number in range(3):
        await ask(running, prompt=str(number))
    assert [entry.seq for entry in running.built.journal] == [2, 3]


@pytest.mark.covers("promises/journal", "for what no vendor has")
async def test_call_to_unknown_vendor_is_recorded(start: Start) -> None:
    running = await start(vendors=[TOY])
    await running.ask("front", "/nobody/v1/models")
    (entry,) = running.built.journal
    assert (entry.vendor, entry.path, entry.status, entry.error) == (None, "/nobody/v1/models", 404, "not_found")
    assert "the front port serves /toy" in entry.hint
    assert len(entry.id) == 32


async def test_reset_clears_journal_and_starts_new_epoch(start: Start) -> None:
    running = await start(vendors=[TOY])
    journal = running.built.journal
    era = journal.epoch("")
    running.built.runtime.reset()
    assert journal.epoch("") != era
    assert len(journal) == 0


SWAPPED = "version: 1\nname: another\n"
WORLDS = [
    pytest.param("", id="a rule's answer"),
    pytest.param("journal: {bodies: none}\n", id="without bodies"),
]


def find_all(running: Running) -> list[Explainer]:
    """Return all objects of a type; each references the scenario of its calls."""
    gc.collect()
    apps = running.built.runtime.active.apps
    serving = {id(apps[name].explainer) for name in apps}
    return [found for found in gc.get_objects() if type(found) is Explainer and id(found) not in serving]


@pytest.mark.parametrize("scenario", WORLDS)
async def test_entry_does_not_retain_scenario(start: Start, scenario: str) -> None:
    running = await start(f"rules: [{{name: fixed, reply: {{text: one two}}}}]\n{scenario}", vendors=[TOY])
    before = len(find_all(running))
    entry = await ask(running)
    (trace,) = running.built.journal.list_calls()
    await running.ask("front", "/_emulator/scenario", SWAPPED.encode(), method="PUT")
    trace.drop_payload()
    assert len(find_all(running)) == before
    assert (entry.rule, trace.load().summary) == ("fixed", "'fixed' matched.")
