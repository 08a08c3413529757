"""Traces: a span for each attempt, under whatever trace the client sent; the extra ``otel``.

Sources: open-telemetry/semantic-conventions-genai, docs/gen-ai/gen-ai-spans.md; open-telemetry/semantic-conventions,
docs/http/http-spans.md. They are told in real time, whatever clock the scenario goes by.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING

from emulator import __version__
from emulator.core.clock import Clock, RealClock
from emulator.core.faultable import FaultableResponse
from emulator.core.vendor import AnyVendor, InferenceCall
from emulator.handler.call_record import CallRecord
from emulator.handler.context import RequestContext
from emulator.observability.metrics import SCHEMA
from emulator.observability.totals import OPERATIONS

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider

Value = str | int | float | bool | Sequence[str]
FAULT = "emulator.fault"  # the name of an event
_KNOBS = ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty")
_NANO = 1_000_000_000
_FAILED = 500  # the least status for which a server's span is an error


class Spans:
    """Begins and ends the spans of calls."""

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry import propagate, trace

        self._trace = trace
        self._extract = propagate.extract
        self._tracer = provider.get_tracer("emulator", __version__, schema_url=SCHEMA)

    def begin(self, method: str, headers: Mapping[str, str]) -> Span:
        """The span of a call that comes now."""
        parent = self._extract(headers)
        return self._tracer.start_span(method, parent, self._trace.SpanKind.SERVER, start_time=time.time_ns())

    def end(self, span: Span, vendor: AnyVendor, exchange: RequestContext, trace: CallRecord, clock: Clock) -> None:
        """A call is over: say what it was and what became of it, and each of its faults."""
        ended = time.time_ns()
        if span.is_recording():
            span.update_name(_name(exchange, trace))
            span.set_attributes(dict(_describe(exchange, trace)))
            if exchange.call is not None:
                span.set_attributes(dict(_describe_call(exchange.call, vendor, exchange, trace)))
            if trace.failure and (trace.status >= _FAILED or not trace.status or trace.failure == "cut"):
                span.set_status(self._trace.StatusCode.ERROR, trace.hint or None)
            began = ended - int(_NANO * _to_real(clock, trace.duration))
            for name, attributes, due in _list_faults(exchange, trace):
                at = began + int(_NANO * _to_real(clock, due))
                span.add_event(FAULT, {"emulator.fault.type": name, **attributes}, max(began, min(at, ended)))
        span.end(ended)


def _name(exchange: RequestContext, trace: CallRecord) -> str:
    """``chat my-model``; of what asks no model the method."""
    if trace.operation is None:
        return exchange.wire.method
    return f"{OPERATIONS.get(trace.operation, trace.operation)} {trace.deployment}"


def _describe(exchange: RequestContext, trace: CallRecord) -> Iterator[tuple[str, Value]]:
    wire = exchange.wire
    yield "http.request.method", wire.method
    yield "url.path", wire.path
    if trace.status:
        yield "http.response.status_code", trace.status
    if trace.failure:
        yield "error.type", trace.failure
    yield "emulator.request.id", wire.key.hex()
    yield "emulator.attempt", trace.number
    if wire.session:
        yield "emulator.session", wire.session
    if trace.rule is not None:
        yield "emulator.rule", trace.rule


def _describe_call(
    call: InferenceCall, vendor: AnyVendor, exchange: RequestContext, trace: CallRecord
) -> Iterator[tuple[str, Value]]:
    task = call.deployment.task
    yield "gen_ai.operation.name", OPERATIONS.get(task, task)
    yield "gen_ai.provider.name", vendor.name_provider(exchange.wire.path)
    yield "gen_ai.request.model", call.deployment.name
    yield "gen_ai.response.model", call.deployment.model or call.deployment.name
    yield "gen_ai.request.stream", call.stream
    yield from _describe_sampling(call)
    if exchange.plan is None:
        return
    yield "gen_ai.usage.input_tokens", trace.prompt_tokens
    yield "gen_ai.usage.output_tokens", trace.sent_tokens
    reasons = [choice.finish_reason for choice in exchange.plan.choices if choice.finish_reason]
    if reasons and trace.sent.whole:
        yield "gen_ai.response.finish_reasons", reasons
    if call.stream and trace.ttft is not None:
        yield "gen_ai.response.time_to_first_chunk", trace.ttft


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
    for name, value in sampling.knobs:
        if name in _KNOBS and isinstance(value, int | float) and not isinstance(value, bool):
            yield f"gen_ai.request.{name}", float(value)


def _list_faults(exchange: RequestContext, trace: CallRecord) -> Iterator[tuple[str, Mapping[str, Value], float]]:
    """Each fault of the call once, in their order: where it struck, if anywhere, and seconds after admission."""
    struck = list(exchange.strikes)
    answer = exchange.answer
    for name in trace.faults:
        strike = next((one for one in struck if one.fault == name), None)
        if strike is None or not isinstance(answer, FaultableResponse):
            yield name, {}, trace.duration
            continue
        struck.remove(strike)
        yield name, {"emulator.fault.position": strike.at}, _find_due(answer, strike.at)


def _find_due(delivery: FaultableResponse, at: int) -> float:
    """When a byte is due; past the last, when the end is."""
    ends = accumulate(len(piece.data) for piece in delivery.chunks)
    due = next((piece.due for end, piece in zip(ends, delivery.chunks, strict=True) if at < end), delivery.end)
    return due if due < inf else 0.0


def _to_real(clock: Clock, seconds: float) -> float:
    """By a clock that follows no other time, nothing lasts."""
    return seconds / clock.scale if isinstance(clock, RealClock) else 0.0
