"""What the journal keeps of an exchange before and after somebody reads it."""

from collections.abc import Callable

import pytest

from emulator.server.trace import Trace
from tests.conftest import Start
from tests.server.toy import TOY
from tests.wire import Running

RULES = "rules: [{name: fixed, reply: {text: one two three}}]\n"


async def leave(start: Start, scenario: str = "") -> tuple[Running, Trace]:
    """A server that has answered one call, and what that left behind."""
    running = await start(RULES + scenario, vendors=[TOY])
    await running.ask("toy", "/chat", {"prompt": "Hi", "max": 3}, headers={"x-key": "key-of-mine"})
    (trace,) = running.built.journal.recorded
    assert isinstance(trace, Trace)
    return running, trace


async def test_nothing_is_made_of_a_call_that_nobody_reads(start: Start) -> None:
    running, trace = await leave(start)
    assert trace.entry is None
    (entry,) = running.built.journal
    assert trace.read() is entry


@pytest.mark.parametrize(
    "before", [pytest.param(Trace.read, id="read before"), pytest.param(Trace.cut, id="never read before")]
)
async def test_figures_outlive_all_else(start: Start, before: Callable[[Trace], object]) -> None:
    _, trace = await leave(start)
    before(trace)
    trace.forget()
    entry = trace.read()
    assert (entry.kept, entry.evidence, trace.size) == (None, None, 0)
    assert (entry.status, entry.rule, entry.finish_reason, entry.bytes_in) == (200, "fixed", "stop", 26)
    assert (trace.wire.body, dict(trace.wire.headers), trace.body) == (b"", {}, None)


async def test_without_bodies_no_header_is_held_either(start: Start) -> None:
    _, trace = await leave(start, "journal: {bodies: none}\n")
    assert (trace.wire.body, dict(trace.wire.headers), trace.headers, trace.size) == (b"", {}, (), 0)


async def test_what_is_kept_counts_by_its_bytes(start: Start) -> None:
    _, trace = await leave(start)
    entry = trace.read()
    assert entry.kept is not None
    assert entry.size == trace.size >= len(entry.kept.request.body) + len(entry.kept.body or b"")
