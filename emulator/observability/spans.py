"""Build OpenTelemetry spans, one per request, as children of the client's trace; needs the extra ``otel``.

OpenTelemetry's environment variables set up their export over OTLP; without them there is none. Timestamps are real
time under every clock of a scenario.

Sources: open-telemetry/semantic-conventions-genai, docs/gen-ai/gen-ai-spans.md; open-telemetry/semantic-conventions,
docs/http/http-spans.md.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING

from emulator import __version__
from emulator.core.calls import InferenceCall
from emulator.core.clock import Clock, RealClock
from emulator.core.extras import explain_missing
from emulator.core.faultable import FaultableResponse
from emulator.core.vendor import AnyVendor
from emulator.handler.call_record import CallRecord
from emulator.handler.context import RequestContext
from emulator.observability.metrics import SCHEMA
from emulator.observability.totals import OPERATIONS

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider

log = logging.getLogger("emulator")
Value = str | int | float | bool | Sequence[str]
FAULT_EVENT = "emulator.fault"  # the name of an event
_NUMERIC_SAMPLING = ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty")
_NANO = 1_000_000_000
_METHODS = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"})
_FAILED = 500  # the lowest status for which a server's span is an error


class Spans:
    """Factory of the spans of requests."""

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry import propagate, trace

        self._trace = trace
        self._extract = propagate.extract
        self._tracer = provider.get_tracer("emulator", __version__, schema_url=SCHEMA)

    def begin(self, method: str, headers: Mapping[str, str]) -> Span:
        """Start the span of a request; its parent is in the headers."""
        parent = self._extract(headers)
        return self._tracer.start_span(method, parent, self._trace.SpanKind.SERVER, start_time=time.time_ns())

    def end(self, span: Span, vendor: AnyVendor, context: RequestContext, record: CallRecord, clock: Clock) -> None:
        """End a span with the attributes of request and response, and an event for each fault."""
        ended = time.time_ns()
        if span.is_recording():
            span.update_name(_name(context, record))
            span.set_attributes(dict(_describe(context, record)))
            if context.call is not None:
                span.set_attributes(dict(_describe_call(context.call, vendor, context, record)))
            if record.failure and (record.status >= _FAILED or not record.status or record.failure == "cut"):
                span.set_status(self._trace.StatusCode.ERROR, record.hint or None)
            began = ended - int(_NANO * _to_real(clock, record.duration))
            for name, attributes, due in _list_faults(context, record):
                at = began + int(_NANO * _to_real(clock, due))
                span.add_event(FAULT_EVENT, {"emulator.fault.type": name, **attributes}, max(began, min(at, ended)))
        span.end(ended)


def _name(context: RequestContext, record: CallRecord) -> str:
    """Return the span's name, such as ``chat my-model``; of requests to no model the HTTP method."""
    if record.operation is None:
        method = context.request.method
        return method if method in _METHODS else "HTTP"
    operation = record.asked_operation or record.operation
    return f"{OPERATIONS.get(operation, operation)} {record.deployment}"


def _describe(context: RequestContext, record: CallRecord) -> Iterator[tuple[str, Value]]:
    wire = context.request
    if wire.method in _METHODS:
        yield "http.request.method", wire.method
    else:
        yield "http.request.method", "_OTHER"
        yield "http.request.method_original", wire.method
    yield "url.path", wire.path
    if record.status:
        yield "http.response.status_code", record.status
    if record.failure:
        yield "error.type", record.failure
    yield "emulator.request.id", wire.key.hex()
    yield "emulator.attempt", record.number
    if wire.session:
        yield "emulator.session", wire.session
    if record.rule is not None:
        yield "emulator.rule", record.rule


def _describe_call(
    call: InferenceCall, vendor: AnyVendor, context: RequestContext, record: CallRecord
) -> Iterator[tuple[str, Value]]:
    task = record.asked_operation or call.deployment.task
    yield "gen_ai.operation.name", OPERATIONS.get(task, task)
    yield "gen_ai.provider.name", vendor.name_provider(context.request.path)
    yield "gen_ai.request.model", call.deployment.name
    yield "gen_ai.response.model", call.deployment.model or call.deployment.name
    yield "gen_ai.request.stream", call.stream
    yield from _describe_sampling(call)
    if context.plan is None:
        return
    yield "gen_ai.usage.input_tokens", record.prompt_tokens
    yield "gen_ai.usage.output_tokens", record.sent_tokens
    reasons = [choice.finish_reason for choice in context.plan.choices if choice.finish_reason]
    if reasons and record.sent.whole:
        yield "gen_ai.response.finish_reasons", reasons
    if call.stream and record.ttft is not None:
        yield "gen_ai.response.time_to_first_chunk", record.ttft


def _describe_sampling(call: InferenceCall) -> Iterator[tuple[str, Value]]:
    sampling = getattr(call.request, "sampling", None)
    if sampling is None:
        return
    for name in ("max_tokens", "seed"):
        value = getattr(sampling, name)
        if value is not None:
            yield f"gen_ai.request.{name}", value
    if sampling.n > 1:
        yield "gen_ai.request.choice.count", sampling.n
    if sampling.stop:
        yield "gen_ai.request.stop_sequences", list(sampling.stop)
    for name, value in sampling.parameters:
        if name in _NUMERIC_SAMPLING and isinstance(value, int | float) and not isinstance(value, bool):
            yield f"gen_ai.request.{name}", float(value)


def _list_faults(context: RequestContext, record: CallRecord) -> Iterator[tuple[str, Mapping[str, Value], float]]:
    """Yield the name, attributes and time (seconds after admission) of each fault, in order.

    A fault that changed bytes has its position as attribute, and the time at which that byte was due.
    """
    struck = list(context.fault_sites)
    answer = context.response
    for name in record.faults:
        strike = next((one for one in struck if one.fault == name), None)
        if strike is None or not isinstance(answer, FaultableResponse):
            yield name, {}, record.duration
            continue
        struck.remove(strike)
        yield name, {"emulator.fault.position": strike.at}, _find_due(answer, strike.at)


def _find_due(response: FaultableResponse, at: int) -> float:
    """Return when the byte at a position is due, in seconds; past the last byte, the end of the response."""
    ends = accumulate(len(piece.data) for piece in response.chunks)
    due = next((piece.due for end, piece in zip(ends, response.chunks, strict=True) if at < end), response.end)
    return due if due < inf else 0.0


def _to_real(clock: Clock, seconds: float) -> float:
    """Convert scenario seconds to real seconds; 0 for a clock that does not advance with real time."""
    return seconds / clock.scale if isinstance(clock, RealClock) else 0.0


_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"


def wants_traces(environ: Mapping[str, str]) -> bool:
    """Return whether the environment configures an exporter that is supported; log a warning for another one.

    Sources: opentelemetry.io, "Environment variable specification" and "OpenTelemetry Protocol Exporter".
    """
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    exporter = environ.get("OTEL_TRACES_EXPORTER") or ("otlp" if any(map(environ.get, _ENDPOINTS)) else "none")
    protocol = next(filter(None, map(environ.get, _PROTOCOLS)), _PROTOCOL)
    if exporter not in ("otlp", "none"):
        log.warning("no traces are sent: OTEL_TRACES_EXPORTER is %r, and only otlp is known", exporter)
    elif exporter == "otlp" and protocol != _PROTOCOL:
        log.warning("no traces are sent: OTLP is asked for by %r, and only %s is known", protocol, _PROTOCOL)
    return exporter == "otlp" and protocol == _PROTOCOL


@contextmanager
def open_spans(environ: Mapping[str, str]) -> Iterator[Spans | None]:
    """Yield the span factory, or ``None`` without an exporter; flush the spans at exit."""
    if not wants_traces(environ):
        yield None
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning("no traces are sent: %s", explain_missing("their export", "otel"))
        yield None
        return
    provider = TracerProvider(resource=Resource.create(_name_service(environ)))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    try:
        yield Spans(provider)
    finally:
        provider.shutdown()


def _name_service(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the resource attributes; the service name is ``emulator`` unless the environment sets one."""
    named = environ.get("OTEL_SERVICE_NAME") or "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return {"service.version": __version__, **({} if named else {"service.name": "emulator"})}
