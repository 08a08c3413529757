"""Contents of a call record before and after its journal entry is read."""

from array import array
from collections.abc import Callable

import pytest

from emulator.handler.call_record import CallRecord
from tests.conftest import Start
from tests.handler.toy import TOY
from tests.http_client import Running
from tests.untyped_json import JSON

RULES = "rules: [{name: fixed, reply: {text: one two three}}]\n"


before_and_after_reading = pytest.mark.parametrize(
    "before", [pytest.param(CallRecord.load, id="read before"), pytest.param(CallRecord.cut, id="never read before")]
)


async def leave(start: Start, scenario: str = "") -> tuple[Running, CallRecord]:
    """Return a server that has handled one call, and its record."""
    running = await start(RULES + scenario, vendors=[TOY])
    await running.ask("toy", "/chat", {"prompt": "Hi", "max": 3}, headers={"x-key": "key-of-mine"})
    (trace,) = running.built.journal.list_calls()
    assert isinstance(trace, CallRecord)
    return running, trace


async def test_entry_is_built_only_when_read(start: Start) -> None:
    running, trace = await leave(start)
    assert trace.entry is None
    (entry,) = running.built.journal
    assert trace.load() is entry


@before_and_after_reading
async def test_figures_survive_dropped_payload(start: Start, before: Callable[[CallRecord], object]) -> None:
    _, trace = await leave(start)
    before(trace)
    trace.drop_payload()
    entry = trace.load()
    assert (entry.payload, entry.evidence, trace.size) == (None, None, 0)
    assert (entry.status, entry.rule, entry.finish_reason, entry.bytes_in) == (200, "fixed", "stop", 26)
    assert (trace.request.body, dict(trace.request.headers), trace.response) == (b"", {}, None)


@before_and_after_reading
async def test_discarded_record_has_figures_alone(start: Start, before: Callable[[CallRecord], object]) -> None:
    _, trace = await leave(start)
    before(trace)
    trace.discard()
    entry = trace.load()
    assert (entry.payload, entry.evidence, entry.body, entry.explain()) == (None, None, b"", ())
    assert (entry.status, entry.rule, entry.finish_reason, entry.bytes_in) == (200, "fixed", "stop", 26)
    assert (trace.size, trace.request.body, trace.explainer) == (0, b"", None)
    assert (trace.failure, trace.rule, trace.faults) == ("", "fixed", ())


@before_and_after_reading
async def test_long_path_is_truncated(start: Start, before: Callable[[CallRecord], object]) -> None:
    running = await start(vendors=[TOY])
    await running.ask("toy", f"/{'long' * 1000}", {})
    (trace,) = running.built.journal.list_calls()
    assert isinstance(trace, CallRecord)
    before(trace)
    assert len(trace.load().path) == 4001
    trace.drop_payload()
    assert (len(trace.request.path), len(trace.load().path)) == (1024, 1024)


async def test_journal_without_bodies_stores_no_headers(start: Start) -> None:
    _, trace = await leave(start, "journal: {bodies: none}\n")
    assert (trace.request.body, dict(trace.request.headers), trace.response, trace.size) == (b"", {}, None, 0)


async def test_size_counts_stored_bytes(start: Start) -> None:
    _, trace = await leave(start)
    entry = trace.load()
    assert entry.payload is not None
    assert entry.size == trace.size >= len(entry.payload.request.body) + len(entry.payload.body or b"")


async def test_size_counts_headers_and_query(start: Start) -> None:
    running = await start(RULES, vendors=[TOY])
    sizes = []
    for headers, target in (({}, ""), ({f"x-{'n' * 500}": "v"}, ""), ({"x-n": "v" * 500}, ""), ({}, f"?{'q' * 500}=v")):
        await running.ask("toy", f"/chat{target}", {"prompt": "Hi", "max": 3}, headers={"x-key": "k", **headers})
        sizes.append(running.built.journal.list_calls()[-1].size)
    assert [size - sizes[0] > 500 for size in sizes] == [False, True, True, True]


@pytest.mark.parametrize(
    ("scenario", "times"), [pytest.param("", 3, id="kept"), pytest.param("journal: {bodies: none}\n", 0, id="not")]
)
async def test_times_and_raw_bytes_are_stored_with_bodies(start: Start, scenario: str, times: int) -> None:
    rule = "rules: [{name: fixed, reply: {text: a b c}, faults: [{type: stall, at: 0, for: 0s}]}]\n"
    running = await start(rule + scenario, vendors=[TOY])
    await running.ask("toy", "/chat", {"prompt": "Hi", "max": 3, "stream": True}, headers={"x-key": "k"})
    (trace,) = running.built.journal.list_calls()
    assert isinstance(trace, CallRecord)
    raw = b"" if trace.response is None else trace.response.raw
    assert (len(trace.sent.dues), len(raw or b"")) == (times, 2 * times + 2 if times else 0)


async def test_many_times_are_stored_in_arrays(start: Start) -> None:
    rule = "rules: [{name: bent, reply: {text: one two three four}, faults: [{type: split, writes: byte}]}]\n"
    running = await start(rule, vendors=[TOY])
    body = {"prompt": "Hi", "max": 9, "stream": True}
    whole = await running.ask("toy", "/chat", body, headers={"x-key": "k"})
    (trace,) = running.built.journal.list_calls()
    assert isinstance(trace, CallRecord)
    for times in (trace.sent.dues, trace.sent.lateness):
        assert isinstance(times, array)
        assert len(times) == len(whole.body)
    assert len(trace.load().lateness) == len(whole.body)


async def test_dropped_payload_reduces_lateness_to_p99(start: Start) -> None:
    running = await start(RULES, vendors=[TOY])
    await running.ask("toy", "/chat", {"prompt": "Hi", "max": 3, "stream": True}, headers={"x-key": "k"})
    (trace,) = running.built.journal.list_calls()
    assert isinstance(trace, CallRecord)
    trace.sent.lateness = [0.001] * 98 + [0.5, 0.7]
    trace.drop_payload()
    assert trace.sent.lateness == [0.7]
    assert trace.load().lateness_p99 == 0.7


async def test_long_body_is_cut_to_journal_limit(start: Start) -> None:
    running = await start("journal: {bodies: 1KiB}\n")
    target = "/serving-endpoints/databricks-gte-large-en/invocations"
    await running.ask("databricks", target, {"input": ["a"] * 20}, headers={"Authorization": "Bearer k"})
    (call,) = running.built.journal.list_calls()
    assert isinstance(call, CallRecord)
    assert call.response is not None
    assert len(call.response.body or b"") == 1024
    kept = call.load().payload
    assert kept is not None
    assert (len(kept.body or b""), kept.response_cut) == (1024, True)


async def test_record_does_not_hold_vendor_documents(start: Start) -> None:
    """Each call saw all of them; what follows another is explained by those that there are still."""
    running = await start("rules: [{name: long, when: {messages: {above: 2}}, pass: true}]\n")
    before: dict[str, JSON] = {}
    for _ in range(3):
        body = {"model": "gpt-4o", "input": "Hi", "max_output_tokens": 16, **before}
        answer = await running.ask("azure", "/openai/v1/responses", body, headers={"api-key": "k"})
        before = {"previous_response_id": answer.json()["id"]}
    traces = running.built.journal.list_calls()
    assert [trace.rule for trace in traces if isinstance(trace, CallRecord)] == [None, "long", "long"]
    assert all(not trace.request.documents for trace in traces if isinstance(trace, CallRecord))
    assert [verdict.failed for trace in traces for verdict in trace.load().explain()] == ["messages", None, None]
