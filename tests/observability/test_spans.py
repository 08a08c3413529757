"""Tests of OpenTelemetry spans, their parents and fault events."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from emulator.observability.metrics import SCHEMA
from emulator.observability.spans import Spans
from emulator.vendors import VENDORS
from tests.conftest import Start
from tests.control.asking import KEY
from tests.handler.toy import TOY
from tests.http_client import Answer, Running
from tests.untyped_json import JSON

RULES = """
rules:
  - {name: busy, when: {prompt: {contains: rivers}}, error: {kind: overloaded}}
  - name: bent
    when: {prompt: {contains: tides}}
    faults: [{type: stall, after_tokens: 1, for: 20ms}, {type: truncate, after_tokens: 2}]
  - {name: cut, when: {prompt: {contains: storms}}, faults: [{type: disconnect, after_tokens: 1}]}
"""


class Collector:
    """Span processor that collects finished spans."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.spans = Spans(provider)

    @property
    def heard(self) -> Sequence[ReadableSpan]:
        return self._exporter.get_finished_spans()


@pytest.fixture
def collector() -> Collector:
    return Collector()


async def ask(running: Running, prompt: str, parent: str = "", **more: JSON) -> Answer | None:
    """Send one chat request; return ``None`` if the connection was closed."""
    headers = {**KEY, **({"traceparent": parent} if parent else {})}
    try:
        return await running.ask("toy", "/chat", {"prompt": prompt, "max": 3, "stream": True, **more}, headers=headers)
    except (asyncio.IncompleteReadError, ConnectionResetError):
        return None


def reported(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def faults(span: ReadableSpan) -> list[str]:
    assert all(event.name == "emulator.fault" for event in span.events)
    return [str((event.attributes or {})["emulator.fault.type"]) for event in span.events]


async def test_call_span_has_gen_ai_attributes(start: Start, collector: Collector) -> None:
    running = await start("version: 1\n", vendors=[TOY], spans=collector.spans)
    answer = await ask(running, "Hi")
    assert answer is not None
    (span,) = collector.heard
    assert (span.name, span.kind, span.parent) == ("chat toy", SpanKind.SERVER, None)
    assert span.instrumentation_scope is not None
    assert span.instrumentation_scope.schema_url == SCHEMA
    attributes = reported(span)
    assert attributes.pop("gen_ai.response.time_to_first_chunk") == running.built.journal.list_calls()[0].load().ttft
    assert attributes == {
        "http.request.method": "POST",
        "url.path": "/chat",
        "http.response.status_code": 200,
        "emulator.request.id": answer.header("x-emulator-request-id"),
        "emulator.attempt": 1,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "toy",
        "gen_ai.request.model": "toy",
        "gen_ai.response.model": "toy",
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": 3,
        "gen_ai.usage.input_tokens": running.built.journal.list_calls()[0].load().prompt_tokens,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.response.finish_reasons": ("length",),
    }


async def test_sampling_parameters_are_span_attributes(start: Start, collector: Collector) -> None:
    running = await start("version: 1\n", vendors=[VENDORS["databricks"]], spans=collector.spans)
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4, "temperature": 0.5, "stop": ["x", "y"]}
    path = "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations"
    for _ in range(3):
        await running.ask("databricks", path, body, headers={"Authorization": "Bearer k"})
    spans = [reported(span) for span in collector.heard]
    assert [span["emulator.attempt"] for span in spans] == [1, 2, 3]
    for span in spans:
        assert (span["gen_ai.request.temperature"], span["gen_ai.request.stop_sequences"]) == (0.5, ("x", "y"))


@pytest.mark.parametrize(
    ("prompt", "error", "status"),
    [
        pytest.param("Hi", None, StatusCode.UNSET, id="none"),
        pytest.param("rivers", "overloaded", StatusCode.UNSET, id="a refusal below 500 is the client's"),
        pytest.param("tides", None, StatusCode.UNSET, id="an early end is no error"),
        pytest.param("storms", "cut", StatusCode.ERROR, id="a connection that was cut"),
    ],
)
async def test_errors_set_span_status(
    start: Start, collector: Collector, prompt: str, error: str | None, status: StatusCode
) -> None:
    running = await start("version: 1\n" + RULES, vendors=[TOY], spans=collector.spans)
    await ask(running, prompt)
    (span,) = collector.heard
    assert (reported(span).get("error.type"), span.status.status_code) == (error, status)


async def test_request_without_model_is_named_by_method(start: Start, collector: Collector) -> None:
    running = await start(vendors=[TOY], spans=collector.spans)
    await running.ask("toy", "/nowhere", headers=KEY)
    (span,) = collector.heard
    assert (span.name, reported(span)["error.type"], reported(span)["url.path"]) == ("GET", "not_found", "/nowhere")


async def test_fault_is_span_event_with_position_and_time(start: Start, collector: Collector) -> None:
    running = await start("version: 1\n" + RULES, vendors=[TOY], spans=collector.spans)
    answer = await ask(running, "tides")
    assert answer is not None
    (span,) = collector.heard
    assert faults(span) == ["stall", "truncate"]
    stall, truncate = span.events
    assert stall.attributes is not None
    assert stall.attributes["emulator.fault.position"] == answer.body.index(b"\n") + 1
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.start_time <= stall.timestamp <= truncate.timestamp <= span.end_time
    assert span.end_time - span.start_time >= 20_000_000


async def test_concurrent_faults_are_recorded_once_under_their_parents(start: Start, collector: Collector) -> None:
    running = await start("version: 1\n" + RULES, vendors=[TOY], spans=collector.spans)
    prompts = ["Hi", "rivers", "tides", "storms"]
    parents = {number: f"00-{number + 1:032x}-{number + 17:016x}-01" for number in range(64)}
    async with asyncio.TaskGroup() as group:
        for number, parent in parents.items():
            group.create_task(ask(running, f"{prompts[number % 4]} {number}", parent))
    async with asyncio.timeout(60):
        while len(collector.heard) < len(parents):
            await asyncio.sleep(0.01)
    by_parent = {}
    for span in collector.heard:
        assert span.parent is not None
        assert span.context is not None
        assert span.parent.is_remote
        assert span.context.trace_id == span.parent.trace_id
        by_parent[span.parent.trace_id, span.parent.span_id] = span
    entries = {entry.traceparent: entry for entry in running.built.journal}
    assert len(by_parent) == len(entries) == 64
    for number, parent in parents.items():
        span, entry = by_parent[number + 1, number + 17], entries[parent]
        assert reported(span)["emulator.request.id"] == entry.id
        assert faults(span) == list(entry.faults)
        assert reported(span)["gen_ai.usage.output_tokens" if entry.error is None else "emulator.attempt"]
    count = Counter(fault for span in collector.heard for fault in faults(span))
    assert count == {"stall": 16, "truncate": 16, "disconnect": 16}


async def test_unsampled_trace_has_no_span(start: Start, collector: Collector) -> None:
    running = await start("version: 1\n" + RULES, vendors=[TOY], spans=collector.spans)
    await ask(running, "tides", f"00-{1:032x}-{2:016x}-00")
    assert collector.heard == ()


async def test_spans_are_disabled_without_collector(start: Start) -> None:
    running = await start(RULES, vendors=[TOY])
    assert all(app._spans is None for app in running.built.apps)
