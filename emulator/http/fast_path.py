"""Answer requests whose head was seen before directly from the connection, without a task."""

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
from emulator.handler.parse import ParseCache, authenticate_principal
from emulator.handler.planning import LONG_PROMPT, UNMATCHED, Emulator
from emulator.handler.record import CallRecorder
from emulator.http.cached_head import CachedHead, Connection, DelayedWriter, Written
from emulator.http.compact_record import CompactRecord, ReplayedResponse
from emulator.http.response_head import LAST_CHUNK, check_headers, chunk, encode_head, frame, identify_response
from emulator.http.stream_writer import Sent, StreamState, StreamWriter, Tell
from emulator.observability.vendor_metrics import VendorMetrics

log = logging.getLogger("emulator")


class Writer(Protocol):
    """What is written of an answer, and when."""

    def go(self, transport: asyncio.WriteTransport | None, tell: Tell) -> None:
        """Write what is due, now and whenever more is."""

    def cancel(self) -> None:
        """Write no more."""


class DelayedResponse:
    """Writes an answer in one piece ``due`` seconds after admission.

    ``word``: the whole of it, when it is sent at a time; ``size``: of its body.
    ``before_end`` is called when all is known of the answer and it is still to be written.
    """

    def __init__(
        self,
        clock: Clock,
        started: float,
        due: float,
        word: Callable[[float], bytes],
        size: int,
        sent: Sent,
        before_end: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._due, self._at = due, started + due
        self._word = word
        self._size = size
        self._sent = sent
        self._before_end = before_end
        self._transport: asyncio.WriteTransport | None = None
        self._tell: Tell | None = None

    def go(self, transport: asyncio.WriteTransport | None, tell: Tell) -> None:
        self._transport, self._tell = transport, tell
        self._clock.call_at(self._at, self._write)

    def cancel(self) -> None:
        self._tell = None

    def _write(self) -> None:
        tell, self._tell = self._tell, None
        if tell is None:
            return
        outcome: StreamState | Exception = StreamState.GONE
        transport, sent, now = self._transport, self._sent, self._clock.now()
        try:
            if transport is not None and not transport.is_closing():
                data = self._word(now)
                sent.size, sent.first, sent.reached, sent.whole = self._size, now, self._due, True
                self._before_end()
                transport.write(data)
                outcome = StreamState.DONE
        except Exception as error:
            outcome = error
        tell(outcome)


class DelayedResponses:
    """One answer on one connection; ``opening``: what is written of it at once."""

    __slots__ = ("_carrier", "_exchange", "_metrics", "_opening", "_recorder", "_waits", "_writer")

    def __init__(
        self, exchange: RequestContext, opening: bytes, writer: Writer, recorder: CallRecorder, metrics: VendorMetrics
    ) -> None:
        self._exchange = exchange
        self._opening = opening
        self._writer = writer
        self._recorder = recorder
        self._metrics = metrics
        self._carrier: Connection | None = None
        self._waits = False  # for the client to read

    def begin(self, carrier: Connection, transport: asyncio.Transport) -> None:
        """Write the head and whatever is due, and the rest when it is."""
        self._carrier = carrier
        self._metrics.running += 1
        self._metrics.work(self._exchange.call, 1)
        if self._opening:
            transport.write(self._opening)
        self._writer.go(transport, self._hear)

    def resume(self) -> None:
        """The client has read what was sent."""
        if self._waits and self._carrier is not None:
            self._waits = False
            self._writer.go(self._carrier.transport, self._hear)

    def disconnect(self) -> None:
        """The client has left."""
        self._end(left=True)

    def _hear(self, outcome: StreamState | Exception) -> None:
        carrier = self._carrier
        if carrier is None:
            return
        if outcome is StreamState.SLOW:
            self._waits = True
            if not carrier.writing_paused:
                asyncio.get_running_loop().call_soon(self.resume)  # others have their turn
            return
        if isinstance(outcome, Exception):
            wire = self._exchange.wire
            log.error("bug in the emulator: %s %s", wire.method, wire.path, exc_info=outcome)
        self._end(left=False)
        carrier.end_flow(whole=outcome is StreamState.DONE)

    def _end(self, *, left: bool) -> None:
        if self._carrier is not None:
            self._carrier = None
            self._writer.cancel()
            self._metrics.running -= 1
            self._metrics.work(self._exchange.call, -1)
            self._recorder.close(self._exchange, left=left)


@fast_dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """An answer without its head.

    Fields:
        parts: its body as it is written.
        size: of the body without framing.
        events: of a stream.
    """

    status: int
    headers: Headers
    framing: str
    parts: tuple[bytes, ...]
    size: int
    events: int
    goes_on: bool


class FastHandler:
    """Answers the usual calls of one vendor; ``state`` must be near."""

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

    def answer(self, head: CachedHead, body: bytes) -> Written | DelayedWriter | None:
        """The answer, entered in the journal once it is whole; ``None``: it takes the long road.

        Raises:
            EmulatedError: the call is refused; nothing has happened.
        """
        emulator, state, most = self._emulator, self._state, self.most
        if len(body) > most > 0:
            return None  # the answer could not be made once more
        emulator.clock.catch_up()
        started = emulator.clock.now()
        wire = head.open(body)
        session = wire.session
        if head.is_stateful and state.fetch_now(session, self.vendor):
            return None
        wire.principal = self._vendor.authenticate(wire, self._service)
        known = self._memo.find(wire, head.place)
        identity = authenticate_principal(self.vendor, wire) if known is None else known.fingerprint
        wire.attempt = attempt = state.peek(session, ATTEMPTS, identity)
        wire.key = emulator.name_answer(identity, attempt)
        call = self._read(head, wire) if known is None else known.call
        if call is None or not self._takes(call):
            return None
        plan = emulator.decide(call, UNMATCHED, wire.key, started, None, identity if attempt else None)
        answer = self._make(head, wire, call, plan, identity)
        if answer is None:
            return None
        if attempt and known is None:
            self._memo.remember(wire, identity, call)
        if isinstance(answer, DelayedResponses):
            state.count_now(session, ATTEMPTS, identity)
            return answer
        written = self._word_whole(wire, plan, answer)
        state.count_now(session, ATTEMPTS, identity)
        self._record(head, wire, call, plan, answer, identity)
        return written

    def _make(
        self, head: CachedHead, wire: Request, call: InferenceCall, plan: Plan, identity: bytes
    ) -> _Answer | DelayedResponses | None:
        late = plan.due > 0.0
        if call.stream:
            stream = call.codec.stream(plan, wire)
            return self._begin(stream, self._enter(head, wire, call, plan, stream, identity)) if late else _pour(stream)
        whole = call.codec.render(plan, wire)
        answer = _word(whole)
        if answer is None or not late:
            return answer
        return self._delay(answer, self._enter(head, wire, call, plan, whole, identity)) if answer.goes_on else None

    def _word_whole(self, wire: Request, plan: Plan, answer: _Answer) -> Written:
        """An answer with its head."""
        headers, goes_on = (*answer.headers, identify_response(wire.key)), answer.goes_on
        opening = encode_head(self._vendor, answer.status, headers, answer.framing, plan.created, keep_alive=goes_on)
        return b"".join((opening, *answer.parts)), goes_on

    def _read(self, head: CachedHead, wire: Request) -> InferenceCall | None:
        """The call, if it is one."""
        wire.headers, whole = head.seen, wire.headers
        parsed = head.endpoint.parse(wire, self._service)
        wire.headers = whole
        return parsed if isinstance(parsed, InferenceCall) else None

    def _takes(self, call: InferenceCall) -> bool:
        """The call changes nothing, waits for nothing, is quickly made, and would be read the same way at any time.

        Raises:
            EmulatedError: it asks for more than there may be.
        """
        if call.store_result is not None or call.delay or call.quotas or not call.repeatable:
            return False
        if call.cancel_ids is not None and not self._emulator.immediate:
            return False  # there would be time to stop it
        bounds, ask, deployment = self._emulator.bounds, call.request, call.deployment
        if not is_cheap(ask, bounds.messages):
            if is_unbounded(ask) or is_slow(ask, deployment):
                return False
            bounds.check(ask, deployment)
        return sum(call.prompt_tokens) <= LONG_PROMPT

    def _record(
        self, head: CachedHead, wire: Request, call: InferenceCall, plan: Plan, answer: _Answer, identity: bytes
    ) -> None:
        journal, usage, ended = self._recorder.journal, plan.usage, self._emulator.clock.now()
        body, bytes_out, most = wire.body, answer.size, self.most
        size = AROUND + usage.completion_tokens * TOKEN + bytes_out + len(body) + head.size if most else 0
        slip = CompactRecord(  # in the order of its fields: naming so many costs more than all else here
            self if most else None,
            head if most else None,
            head.address,
            wire.principal,
            call.deployment,
            call.served,
            plan.created,
            ended,
            journal.next_seq(),
            body if most else b"",
            identity,
            wire.attempt,
            wire.key,
            answer.status,
            usage.prompt_tokens,
            usage.completion_tokens,
            plan.choices[0].finish_reason if plan.choices else None,
            len(body),
            bytes_out,
            answer.events,
            size,
        )
        self._recorder.enter(slip)

    def _begin(self, stream: StreamingResponse, exchange: RequestContext) -> DelayedResponses:
        """A stream that takes its time."""
        headers, started = (*stream.headers, *exchange.extra), exchange.started
        opening = encode_head(self._vendor, stream.status, headers, frame(stream.status, None), started)
        over = partial(self._recorder.record, exchange)
        pump = StreamWriter(self._emulator.clock, started, iter(stream.events), exchange.sent, over, chunked=True)
        return DelayedResponses(exchange, opening, pump, self._recorder, self._metrics)

    def _delay(self, answer: _Answer, exchange: RequestContext) -> DelayedResponses:
        """An answer in one piece that takes its time."""
        headers, started, plan = (*answer.headers, *exchange.extra), exchange.started, exchange.plan
        assert plan is not None
        check_headers(headers)

        def word(now: float) -> bytes:
            return b"".join((encode_head(self._vendor, answer.status, headers, answer.framing, now), *answer.parts))

        over = partial(self._recorder.record, exchange)
        late = DelayedResponse(self._emulator.clock, started, plan.due, word, answer.size, exchange.sent, over)
        return DelayedResponses(exchange, b"", late, self._recorder, self._metrics)

    def _enter(
        self,
        head: CachedHead,
        wire: Request,
        call: InferenceCall,
        plan: Plan,
        answer: Response | StreamingResponse,
        identity: bytes,
    ) -> RequestContext:
        """A call whose answer begins."""
        head.close(wire)
        journal, started = self._recorder.journal, plan.created
        exchange = RequestContext(wire, started, journal.epoch(wire.session), journal.next_seq(), overrides=False)
        exchange.fingerprint, exchange.parsed = identity, call
        exchange.match, exchange.plan, exchange.answer = UNMATCHED, plan, answer
        exchange.extra = (identify_response(wire.key),)
        exchange.sent.status = answer.status
        return exchange

    def replay(self, slip: CompactRecord) -> ReplayedResponse:
        """An answer once more, for whoever reads the journal."""
        emulator = self._emulator
        assert slip.head is not None
        wire = slip.head.open(slip.body)
        wire.principal, wire.attempt, wire.key = slip.principal, slip.attempt, slip.key
        call = self._read(slip.head, wire)
        assert call is not None
        plan = emulator.decide(call, UNMATCHED, slip.key, slip.started)
        answer = call.codec.stream(plan, wire) if call.stream else call.codec.render(plan, wire)
        slip.head.close(wire)
        wire.forget_json()
        headers = (*answer.headers, identify_response(slip.key))
        body = answer.body if isinstance(answer, Response) else None
        return ReplayedResponse(wire, headers, body, plan.choices[0] if plan.choices else None)


def _word(answer: Response) -> _Answer | None:
    """One in one piece."""
    body = answer.body
    if not body:
        return None
    framing = frame(answer.status, None if answer.chunked else len(body))
    parts = (chunk(body), LAST_CHUNK) if answer.chunked else (body,)
    return _Answer(answer.status, answer.headers, framing, parts, len(body), 0, not answer.close)


def _pour(answer: StreamingResponse) -> _Answer | None:
    """A stream, if it goes out in one write."""
    events = answer.events
    batches = events.batches() if isinstance(events, BatchedEvents) else None
    first = None if batches is None else next(batches, None)
    if batches is None or first is None or next(batches, None) is not None:
        return None
    pieces, size, count = first
    framing = frame(answer.status, None)
    return _Answer(answer.status, answer.headers, framing, (*pieces, LAST_CHUNK), size, count, True)
