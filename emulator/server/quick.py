"""Answers of the short road: a whole call at once, and nothing of it unless all of it."""

from __future__ import annotations

from multidict import CIMultiDict

from emulator.control.journal import Journal
from emulator.control.timing import Timing
from emulator.core.bounds import is_light, is_long, is_open
from emulator.core.clock import RealClock
from emulator.core.plan import Plan
from emulator.core.record import record
from emulator.core.state import NearState
from emulator.core.vendor import AnyService, AnyVendor, Call
from emulator.core.wire import Foretold, Headers, WireRequest, WireResponse, WireStream
from emulator.pipeline import LONG_PROMPT, UNMATCHED, Emulator
from emulator.server.explain import Explainer
from emulator.server.head import LAST_CHUNK, chunk, frame, word_head
from emulator.server.known import Head, Written
from emulator.server.metrics import VendorMetrics
from emulator.server.read import identify
from emulator.server.slip import Said, Slip
from emulator.server.trace import AROUND, TOKEN, cut_credentials

_MOST_CALLS = 512  # that came more than once
_LARGEST = 8192  # bytes of the body of one of them


@record(frozen=True, slots=True, eq=False)
class _Answer:
    """An answer without its head; ``size``: of the body without framing, ``events``: of a stream."""

    status: int
    headers: Headers
    framing: str
    body: bytes
    size: int
    events: int
    goes_on: bool


class Quick:
    """Answers the usual calls of one vendor; ``state`` must be near."""

    def __init__(
        self,
        vendor: AnyVendor,
        service: AnyService,
        emulator: Emulator,
        state: NearState,
        journal: Journal,
        timing: Timing,
        metrics: VendorMetrics,
        explainer: Explainer,
    ) -> None:
        self._vendor = vendor
        self._service = service
        self._emulator = emulator
        self._state = state
        self._journal = journal
        self._timing = timing
        self._metrics = metrics
        self.vendor = vendor.name
        self.explainer = explainer
        self.most = emulator.journal.bodies
        self._scale = emulator.clock.scale if isinstance(emulator.clock, RealClock) else 0.0
        self._entries = emulator.journal.entries
        self._calls: dict[tuple[Head, bytes], tuple[bytes, str, Call]] = {}  # and the identity of each, and who asks

    def answer(self, head: Head, body: bytes) -> Written | None:
        """The whole answer, entered in the journal; ``None``: it takes the long road.

        Raises:
            EmulatedError: the call is refused; nothing has happened.
        """
        emulator, state, most = self._emulator, self._state, self.most
        if len(body) > most > 0:
            return None  # the answer could not be made once more
        started = emulator.clock.now()
        wire = head.open(body)
        session = wire.session
        if head.keeps and state.fetch_now(session, self.vendor):
            return None
        wire.most_values = emulator.bounds.values
        wire.principal = self._vendor.authenticate(wire, self._service)
        known = self._calls.get((head, body))
        if known is None or known[1] != wire.principal:
            known, identity = None, identify(self.vendor, wire)
        else:
            identity = known[0]
        wire.attempt = attempt = state.peek(session, "attempt", identity)
        wire.key = key = emulator.name_answer(identity, attempt)
        call = self._read(head, wire) if known is None else known[2]
        if call is None:
            return None
        plan = emulator.decide(call, UNMATCHED, key, started, None, identity if attempt else None)
        answer = self._pour(call.codec.stream(plan, wire)) if call.stream else self._word(call.codec.render(plan, wire))
        if answer is None:
            return None
        if attempt and known is None and len(body) <= _LARGEST:
            self._remember(head, body, (identity, wire.principal, call))
        state.count_now(session, "attempt", identity)
        self._record(head, wire, call, plan, answer, identity)
        headers = (*answer.headers, ("x-emulator-request-id", key.hex()))
        goes_on = answer.goes_on
        opening = word_head(self._vendor, answer.status, headers, answer.framing, started, keep_alive=goes_on)
        return opening + answer.body, goes_on

    def _remember(self, head: Head, body: bytes, known: tuple[bytes, str, Call]) -> None:
        """Read an equal call the same way should it come again; the oldest is forgotten first."""
        if len(self._calls) >= _MOST_CALLS:
            del self._calls[next(iter(self._calls))]
        self._calls[head, body] = known

    def _read(self, head: Head, wire: WireRequest) -> Call | None:
        """The call, if the short road is for it."""
        wire.headers, whole = head.seen, wire.headers
        parsed = head.endpoint.parse(wire, self._service)
        wire.headers = whole
        if not isinstance(parsed, Call) or not _is_usual(parsed):
            return None
        bounds, ask, deployment = self._emulator.bounds, parsed.ask, parsed.deployment
        if not is_light(ask, bounds.messages):
            if is_open(ask) or is_long(ask, deployment):
                return None
            bounds.check(ask, deployment)
        return parsed

    def _record(self, head: Head, wire: WireRequest, call: Call, plan: Plan, answer: _Answer, identity: bytes) -> None:
        journal, usage, ended = self._journal, plan.usage, self._emulator.clock.now()
        body, bytes_out, most = wire.body, answer.size, self.most
        size = AROUND + usage.completion_tokens * TOKEN + bytes_out + len(body) + head.size if most else 0
        attempts, before = journal.follow(wire.session, identity, wire.key.hex())
        slip = Slip(  # in the order of its fields: naming so many costs more than all else here
            self,
            head,
            wire.principal,
            call.deployment,
            call.served,
            plan.created,
            ended,
            journal.arrive(),
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
            attempts,
            attempts.count,
            before,
        )
        journal.add(slip, self._entries)
        self._metrics.add(slip)
        if self._scale:
            self._timing.add_at_once(slip.duration / self._scale)

    def _word(self, answer: WireResponse) -> _Answer | None:
        """One in one piece."""
        body = answer.body
        if not body:
            return None
        framing = frame(answer.status, None if answer.chunked else len(body))
        whole = chunk(body) + LAST_CHUNK if answer.chunked else body
        return _Answer(answer.status, answer.headers, framing, whole, len(body), 0, not answer.close)

    def _pour(self, answer: WireStream) -> _Answer | None:
        """A stream, if it goes out in one write."""
        events = answer.events
        batches = events.batches() if isinstance(events, Foretold) else None
        first = None if batches is None else next(batches, None)
        if batches is None or first is None or next(batches, None) is not None:
            return None
        chunks, size, count = first
        framing = frame(answer.status, None)
        return _Answer(answer.status, answer.headers, framing, chunks + LAST_CHUNK, size, count, True)

    def say(self, slip: Slip) -> Said:
        """An answer once more, for whoever reads the journal."""
        emulator = self._emulator
        wire = slip.head.open(slip.body)
        wire.most_values = emulator.bounds.values
        wire.principal, wire.attempt, wire.key = slip.principal, slip.attempt, slip.key
        call = self._read(slip.head, wire)
        assert call is not None
        plan = emulator.decide(call, UNMATCHED, slip.key, slip.started)
        answer = call.codec.stream(plan, wire) if call.stream else call.codec.render(plan, wire)
        wire.headers = CIMultiDict(wire.headers)
        wire.headers["Content-Length"] = str(len(wire.body))  # the head is that of another request
        cut_credentials(wire)
        wire.forget_json()
        headers = (*answer.headers, ("x-emulator-request-id", slip.key.hex()))
        body = answer.body if isinstance(answer, WireResponse) else None
        return Said(wire, headers, body, plan.choices[0] if plan.choices else None)


def _is_usual(call: Call) -> bool:
    """It changes nothing, waits for nothing, and would be read the same way whenever it came."""
    if call.keep is not None or call.delay or call.quotas or not call.repeatable:
        return False
    return sum(call.prompt_tokens) <= LONG_PROMPT
