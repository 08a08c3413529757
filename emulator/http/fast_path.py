"""Fast request handler: respond to requests with a cached head directly from the connection, without a task."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol

from emulator.core.clock import Clock
from emulator.core.cost_limits import is_cheap, is_slow, is_unbounded
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import BatchedEvents, Headers, Request, Response, StreamingResponse
from emulator.core.plan import Plan
from emulator.core.storage import ATTEMPTS, LocalState
from emulator.core.vendor import AnyService, AnyVendor, InferenceCall
from emulator.handler.call_record import AROUND, TOKEN
from emulator.handler.context import RequestContext
from emulator.handler.parse import ParseCache, compute_fingerprint
from emulator.handler.planning import LONG_PROMPT, UNMATCHED, Emulator
from emulator.handler.record import CallRecorder
from emulator.http.cached_head import CachedHead, Connection, EncodedResponse, TimedWriter
from emulator.http.compact_record import CompactRecord, ReplayedResponse
from emulator.http.response_head import LAST_CHUNK, check_headers, chunk, encode_head, frame, identify_response
from emulator.http.stream_writer import OnDone, Sent, StreamState, StreamWriter
from emulator.observability.vendor_metrics import VendorMetrics

log = logging.getLogger("emulator")


class BodyWriter(Protocol):
    """Writer of a response body over time."""

    def go(self, transport: asyncio.WriteTransport | None, on_done: OnDone) -> None:
        """Write what is due now, and the rest when it is due."""

    def cancel(self) -> None:
        """Stop writing."""


class WholeResponseWriter:
    """Writer of a whole response ``due`` seconds after admission.

    ``encode``: returns the whole response for the time it is sent at; ``size``: bytes of its body.
    ``before_end`` is called when the response is complete, just before the response is written.
    """

    def __init__(
        self,
        clock: Clock,
        started: float,
        due: float,
        encode: Callable[[float], bytes],
        size: int,
        sent: Sent,
        before_end: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._due, self._at = due, started + due
        self._encode = encode
        self._size = size
        self._sent = sent
        self._before_end = before_end
        self._transport: asyncio.WriteTransport | None = None
        self._callback: OnDone | None = None

    def go(self, transport: asyncio.WriteTransport | None, on_done: OnDone) -> None:
        self._transport, self._callback = transport, on_done
        self._clock.call_at(self._at, self._write)

    def cancel(self) -> None:
        self._callback = None

    def _write(self) -> None:
        on_done, self._callback = self._callback, None
        if on_done is None:
            return
        outcome: StreamState | Exception = StreamState.GONE
        transport, sent, now = self._transport, self._sent, self._clock.now()
        try:
            if transport is not None and not transport.is_closing():
                data = self._encode(now)
                sent.size, sent.first, sent.reached, sent.whole = self._size, now, self._due, True
                self._before_end()
                transport.write(data)
                outcome = StreamState.DONE
        except Exception as error:
            outcome = error
        on_done(outcome)


class TimedResponse:
    """Timed response on one connection; ``opening``: bytes that are written at once."""

    __slots__ = ("_connection", "_context", "_metrics", "_opening", "_recorder", "_waits", "_writer")

    def __init__(
        self,
        context: RequestContext,
        opening: bytes,
        writer: BodyWriter,
        recorder: CallRecorder,
        metrics: VendorMetrics,
    ) -> None:
        self._context = context
        self._opening = opening
        self._writer = writer
        self._recorder = recorder
        self._metrics = metrics
        self._connection: Connection | None = None
        self._waits = False  # for a slow reader

    def begin(self, connection: Connection, transport: asyncio.Transport) -> None:
        """Write the head and what is due, and the rest when it is due."""
        self._connection = connection
        self._metrics.running += 1
        self._metrics.work(self._context.call, 1)
        if self._opening:
            transport.write(self._opening)
        self._writer.go(transport, self._on_done)

    def resume(self) -> None:
        """Continue after the client has read its backlog."""
        if self._waits and self._connection is not None:
            self._waits = False
            self._writer.go(self._connection.transport, self._on_done)

    def disconnect(self) -> None:
        """Stop writing and close the record: the client disconnected."""
        self._end(left=True)

    def _on_done(self, outcome: StreamState | Exception) -> None:
        connection = self._connection
        if connection is None:
            return
        if outcome is StreamState.SLOW:
            self._waits = True
            if not connection.writing_paused:
                asyncio.get_running_loop().call_soon(self.resume)  # other connections are served first
            return
        if isinstance(outcome, Exception):
            request = self._context.request
            log.error("bug in the emulator: %s %s", request.method, request.path, exc_info=outcome)
        self._end(left=False)
        connection.end_flow(whole=outcome is StreamState.DONE)

    def _end(self, *, left: bool) -> None:
        if self._connection is not None:
            self._connection = None
            self._writer.cancel()
            self._metrics.running -= 1
            self._metrics.work(self._context.call, -1)
            self._recorder.close(self._context, left=left)


@fast_dataclass(frozen=True, slots=True, eq=False)
class _FramedBody:
    """Response without its head.

    Fields:
        parts: of the body, with chunk framing.
        size: bytes of the body without framing.
        events: of a stream; 0: the response is no stream.
        goes_on: the connection stays open.
    """

    status: int
    headers: Headers
    framing: str
    parts: tuple[bytes, ...]
    size: int
    events: int
    goes_on: bool


class FastHandler:
    """Fast request handler of one vendor; needs local state."""

    def __init__(
        self,
        vendor: AnyVendor,
        service: AnyService,
        emulator: Emulator,
        state: LocalState,
        memo: ParseCache,
        recorder: CallRecorder,
        metrics: VendorMetrics,
    ) -> None:
        self._vendor = vendor
        self._service = service
        self._emulator = emulator
        self._state = state
        self._memo = memo
        self._recorder = recorder
        self._metrics = metrics
        self.vendor = vendor.name
        self.explainer = recorder.explainer
        self.most = emulator.journal.bodies

    def answer(self, head: CachedHead, body: bytes) -> EncodedResponse | TimedWriter | None:
        """Return the response and record its call; ``None`` if the general request handler must handle the request.

        Raises:
            EmulatedError: the call is refused; there are no side effects.
        """
        emulator, state, max_bytes = self._emulator, self._state, self.most
        if len(body) > max_bytes > 0:
            return None  # without its whole body the request could not be replayed
        emulator.clock.catch_up()
        started = emulator.clock.now()
        request = head.open(body)
        session = request.session
        if head.is_stateful and state.fetch_now(session, self.vendor):
            return None
        request.principal = self._vendor.authenticate(request, self._service)
        cached = self._memo.find(request, head.place)
        fingerprint = compute_fingerprint(self.vendor, request) if cached is None else cached.fingerprint
        request.attempt = attempt = state.peek(session, ATTEMPTS, fingerprint)
        request.key = emulator.name_answer(fingerprint, attempt)
        call = self._parse(head, request) if cached is None else cached.call
        if call is None or not self._can_handle(call):
            return None
        plan = emulator.decide(call, UNMATCHED, request.key, started, None, fingerprint if attempt else None)
        answer = self._respond(head, request, call, plan, fingerprint)
        if answer is None:
            return None
        if attempt and cached is None:
            self._memo.remember(request, fingerprint, call)
        if isinstance(answer, TimedResponse):
            state.count_now(session, ATTEMPTS, fingerprint)
            return answer
        written = self._encode_whole(request, plan, answer)
        state.count_now(session, ATTEMPTS, fingerprint)
        self._record(head, request, call, plan, answer, fingerprint)
        return written

    def _respond(
        self, head: CachedHead, request: Request, call: InferenceCall, plan: Plan, fingerprint: bytes
    ) -> _FramedBody | TimedResponse | None:
        is_timed = plan.due > 0.0
        if call.stream:
            stream = call.codec.stream(plan, request)
            if not is_timed:
                return _frame_stream(stream)
            return self._time_stream(stream, self._build_context(head, request, call, plan, stream, fingerprint))
        whole = call.codec.render(plan, request)
        answer = _frame_response(whole)
        if answer is None or not is_timed:
            return answer
        if not answer.goes_on:
            return None
        return self._time_response(answer, self._build_context(head, request, call, plan, whole, fingerprint))

    def _encode_whole(self, request: Request, plan: Plan, answer: _FramedBody) -> EncodedResponse:
        """Return the bytes of a response with its head."""
        headers, goes_on = (*answer.headers, identify_response(request.key)), answer.goes_on
        opening = encode_head(self._vendor, answer.status, headers, answer.framing, plan.created, keep_alive=goes_on)
        return b"".join((opening, *answer.parts)), goes_on

    def _parse(self, head: CachedHead, request: Request) -> InferenceCall | None:
        """Parse the request; ``None`` if it is no inference call."""
        request.headers, whole = head.seen, request.headers
        parsed = head.endpoint.parse(request, self._service)
        request.headers = whole
        return parsed if isinstance(parsed, InferenceCall) else None

    def _can_handle(self, call: InferenceCall) -> bool:
        """Return whether a call is repeatable, cheap and not stored, delayed, limited or cancellable.

        Raises:
            EmulatedError: the call exceeds a cost limit.
        """
        if call.store_result is not None or call.delay or call.quotas or not call.repeatable:
            return False
        if call.cancel_ids is not None and not self._emulator.immediate:
            return False  # a cancel request may stop it
        bounds, inference, deployment = self._emulator.bounds, call.request, call.deployment
        if not is_cheap(inference, bounds.messages):
            if is_unbounded(inference) or is_slow(inference, deployment):
                return False
            bounds.check(inference, deployment)
        return sum(call.prompt_tokens) <= LONG_PROMPT

    def _record(
        self,
        head: CachedHead,
        request: Request,
        call: InferenceCall,
        plan: Plan,
        answer: _FramedBody,
        fingerprint: bytes,
    ) -> None:
        journal, usage, ended = self._recorder.journal, plan.usage, self._emulator.clock.now()
        body, bytes_out, max_bytes = request.body, answer.size, self.most
        size = AROUND + usage.completion_tokens * TOKEN + bytes_out + len(body) + head.size if max_bytes else 0
        record = CompactRecord(  # positional: this many keyword arguments cost more than the rest of the function
            self if max_bytes else None,
            head if max_bytes else None,
            head.address,
            request.principal,
            call.deployment,
            call.served,
            plan.created,
            ended,
            journal.next_seq(),
            body if max_bytes else b"",
            fingerprint,
            request.attempt,
            request.key,
            answer.status,
            usage.prompt_tokens,
            usage.completion_tokens,
            plan.choices[0].finish_reason if plan.choices else None,
            len(body),
            bytes_out,
            answer.events,
            size,
        )
        self._recorder.enter(record)

    def _time_stream(self, stream: StreamingResponse, context: RequestContext) -> TimedResponse:
        """Return a timed stream."""
        headers, started = (*stream.headers, *context.extra), context.started
        opening = encode_head(self._vendor, stream.status, headers, frame(stream.status, None), started)
        over = partial(self._recorder.record, context)
        writer = StreamWriter(self._emulator.clock, started, iter(stream.events), context.sent, over, chunked=True)
        return TimedResponse(context, opening, writer, self._recorder, self._metrics)

    def _time_response(self, answer: _FramedBody, context: RequestContext) -> TimedResponse:
        """Return a whole response that is sent when it is due."""
        headers, started, plan = (*answer.headers, *context.extra), context.started, context.plan
        assert plan is not None
        check_headers(headers)

        def encode(now: float) -> bytes:
            return b"".join((encode_head(self._vendor, answer.status, headers, answer.framing, now), *answer.parts))

        over = partial(self._recorder.record, context)
        timed = WholeResponseWriter(self._emulator.clock, started, plan.due, encode, answer.size, context.sent, over)
        return TimedResponse(context, b"", timed, self._recorder, self._metrics)

    def _build_context(
        self,
        head: CachedHead,
        request: Request,
        call: InferenceCall,
        plan: Plan,
        answer: Response | StreamingResponse,
        fingerprint: bytes,
    ) -> RequestContext:
        """Build the context of a call with a timed response."""
        head.close(request)
        journal, started = self._recorder.journal, plan.created
        context = RequestContext(request, started, journal.epoch(request.session), journal.next_seq(), overrides=False)
        context.fingerprint, context.parsed = fingerprint, call
        context.match, context.plan, context.response = UNMATCHED, plan, answer
        context.extra = (identify_response(request.key),)
        context.sent.status = answer.status
        return context

    def replay(self, record: CompactRecord) -> ReplayedResponse:
        """Return the response of a recorded call, for a reader of the journal."""
        emulator = self._emulator
        assert record.head is not None
        request = record.head.open(record.body)
        request.principal, request.attempt, request.key = record.principal, record.attempt, record.key
        call = self._parse(record.head, request)
        assert call is not None
        plan = emulator.decide(call, UNMATCHED, record.key, record.started)
        answer = call.codec.stream(plan, request) if call.stream else call.codec.render(plan, request)
        record.head.close(request)
        request.drop_parsed()
        headers = (*answer.headers, identify_response(record.key))
        body = answer.body if isinstance(answer, Response) else None
        return ReplayedResponse(request, headers, body, plan.choices[0] if plan.choices else None)


def _frame_response(answer: Response) -> _FramedBody | None:
    """Frame a whole response; ``None`` if its body is empty."""
    body = answer.body
    if not body:
        return None
    framing = frame(answer.status, None if answer.chunked else len(body))
    parts = (chunk(body), LAST_CHUNK) if answer.chunked else (body,)
    return _FramedBody(answer.status, answer.headers, framing, parts, len(body), 0, not answer.close)


def _frame_stream(answer: StreamingResponse) -> _FramedBody | None:
    """Frame a stream that goes out in one write; ``None`` if it takes more."""
    events = answer.events
    batches = events.batches() if isinstance(events, BatchedEvents) else None
    first = None if batches is None else next(batches, None)
    if batches is None or first is None or next(batches, None) is not None:
        return None
    pieces, size, count = first
    framing = frame(answer.status, None)
    return _FramedBody(answer.status, answer.headers, framing, (*pieces, LAST_CHUNK), size, count, True)
