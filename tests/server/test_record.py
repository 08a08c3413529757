"""What the journal knows of a call by the time its client has the answer."""

import pytest

from emulator.control.entry import Entry
from tests.conftest import Start
from tests.server.toy import TOY
from tests.wire import Running

KEY = {"x-key": "key-of-mine"}


async def ask(running: Running, **fields: object) -> Entry:
    """One call, and its entry as it stands when the answer has come."""
    await running.ask("toy", "/chat", {"prompt": "Hi", "max": 3, **fields}, headers=KEY)
    entry: Entry = [*running.built.journal][-1]
    return entry


@pytest.mark.parametrize("stream", [False, True])
async def test_an_entry_is_complete_when_the_answer_has_come(start: Start, stream: bool) -> None:
    running = await start("rules: [{name: fixed, reply: {text: one two three}}]\n", vendors=[TOY])
    entry = await ask(running, stream=stream)
    assert (entry.whole, entry.client_left, entry.status, entry.rule) == (True, False, 200, "fixed")
    assert (entry.stream, entry.operation, entry.finish_reason, entry.attempt) == (stream, "chat", "stop", 1)
    assert entry.kept is not None
    assert entry.kept.text == "one two three"
    assert (entry.kept.body is None) == stream
    assert entry.events == (3 if stream else 0)
    assert entry.bytes_in == len(entry.kept.request.body)


async def test_attempts_are_joined_in_a_session(start: Start) -> None:
    running = await start(vendors=[TOY])
    entries = [await ask(running) for _ in range(3)]
    other = await ask(running, prompt="Bye")
    assert [(entry.attempt, entry.retries) for entry in entries] == [(1, 2), (2, 1), (3, 0)]
    assert [entry.retry_of for entry in entries] == [None, entries[0].id, entries[1].id]
    assert (other.attempt, other.retry_of) == (1, None)


@pytest.mark.parametrize(
    ("settings", "kept", "cut"),
    [
        pytest.param("{bodies: none}", None, False, id="none"),
        pytest.param("{bodies: 5B}", b'{"pro', True, id="what there is room for"),
        pytest.param("{bodies: 1MiB}", b'{"prompt": "Hi", "max": 3}', False, id="all"),
    ],
)
async def test_how_much_is_kept(start: Start, settings: str, kept: bytes | None, cut: bool) -> None:
    running = await start(f"journal: {settings}\n", vendors=[TOY])
    entry = await ask(running)
    assert (None if entry.kept is None else entry.kept.request.body) == kept
    assert (entry.kept is not None and entry.kept.request_cut) == cut
    assert entry.bytes_in == 26


async def test_a_session_keeps_so_many_calls(start: Start) -> None:
    running = await start("journal: {entries: 2}\n", vendors=[TOY])
    for number in range(3):
        await ask(running, prompt=str(number))
    assert [entry.seq for entry in running.built.journal] == [2, 3]


async def test_a_call_to_no_vendor_is_entered(start: Start) -> None:
    running = await start(vendors=[TOY])
    await running.ask("front", "/nobody/v1/models")
    (entry,) = running.built.journal
    assert (entry.vendor, entry.path, entry.status, entry.error) == (None, "/nobody/v1/models", 404, "not_found")
    assert "the front port serves /toy" in entry.hint
    assert len(entry.id) == 32


async def test_a_call_that_began_before_a_reset_is_in_no_journal(start: Start) -> None:
    running = await start(vendors=[TOY])
    journal = running.built.journal
    era = journal.era("")
    running.built.runtime.reset()
    assert journal.era("") != era
    assert len(journal) == 0
