"""Answers of the short road: a whole call at once, and nothing of it unless all of it."""

from __future__ import annotations

from multidict import CIMultiDict

from emulator.control.journal import Journal
from emulator.control.timing import Timing
from emulator.core.bounds import is_long, is_open
from emulator.core.clock import RealClock
from emulator.core.plan import Plan
from emulator.core.seed import derive
from emulator.core.state import NearState
from emulator.core.vendor import AnyService, AnyVendor, Call
from emulator.core.wire import WireRequest, WireResponse
from emulator.pipeline import LONG_PROMPT, UNMATCHED, Emulator
from emulator.server.explain import Explainer
from emulator.server.head import chunk, frame, word_head
from emulator.server.known import Head, Written
from emulator.server.metrics import VendorMetrics
from emulator.server.read import identify
from emulator.server.slip import Said, Slip
from emulator.server.trace import AROUND, TOKEN, cut_credentials

_STREAM = (b'"stream":true', b'"stream": true')  # it is not worth the while to read these
_MOST_CALLS = 128  # of one head that came more than once


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

    def answer(self, head: Head, body: bytes) -> Written | None:
        """The whole answer, entered in the journal; ``None``: it takes the long road.

        Raises:
            EmulatedError: the call is refused; nothing has happened.
        """
        emulator, state, most = self._emulator, self._state, self.most
        if len(body) > most > 0:
            return None  # the answer could not be made once more
        if any(word in body for word in _STREAM):
            return None
        started = emulator.clock.now()
        wire = head.open(body)
        session = wire.session
        if head.keeps and state.fetch_now(session, self.vendor):
            return None
        wire.most_values = emulator.bounds.values
        wire.principal = self._vendor.authenticate(wire, self._service)
        known = head.calls.get(body)
        if known is None or known[1] != wire.principal:
            known, identity = None, identify(self.vendor, wire)
        else:
            identity = known[0]
        wire.attempt = attempt = state.peek(session, "attempt", identity)
        wire.key = key = derive(emulator.seed, "answer", identity, attempt)
        call = self._read(head, wire) if known is None else known[2]
        if call is None:
            return None
        plan = emulator.decide(call, UNMATCHED, key, started, None, identity if attempt else None)
        answer = call.codec.render(plan, wire)
        if not answer.body:
            return None
        if attempt and known is None and len(head.calls) < _MOST_CALLS:
            head.calls[body] = identity, wire.principal, call
        state.count_now(session, "attempt", identity)
        self._record(head, wire, call, plan, answer, identity, started)
        return self._word(answer, key, started), not answer.close

    def _read(self, head: Head, wire: WireRequest) -> Call | None:
        """The call, if the short road is for it."""
        wire.headers, whole = head.seen, wire.headers
        parsed = head.endpoint.parse(wire, self._service)
        wire.headers = whole
        if not isinstance(parsed, Call) or not self._is_usual(parsed):
            return None
        self._emulator.bounds.check(parsed.ask, parsed.deployment)
        return parsed

    def _is_usual(self, call: Call) -> bool:
        if call.stream or call.keep is not None or call.delay or call.quotas or not call.repeatable:
            return False
        return not (is_open(call.ask) or is_long(call.ask, call.deployment)) and sum(call.prompt_tokens) <= LONG_PROMPT

    def _record(
        self,
        head: Head,
        wire: WireRequest,
        call: Call,
        plan: Plan,
        answer: WireResponse,
        identity: bytes,
        started: float,
    ) -> None:
        journal, usage, ended = self._journal, plan.usage, self._emulator.clock.now()
        body, bytes_out, most = wire.body, len(answer.body), self.most
        size = AROUND + usage.completion_tokens * TOKEN + bytes_out + len(body) + head.size if most else 0
        slip = Slip(  # in the order of its fields: naming so many costs more than all else here
            self,
            head,
            wire.principal,
            call.deployment,
            call.served,
            started,
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
            size,
        )
        slip.attempts, slip.retry_of = journal.follow(wire.session, identity, wire.key.hex())
        slip.number = slip.attempts.count
        journal.add(slip, self._entries)
        self._metrics.add(slip)
        if self._scale:
            self._timing.add(slip, self._scale)

    def _word(self, answer: WireResponse, key: bytes, now: float) -> bytes:
        headers = (*answer.headers, ("x-emulator-request-id", key.hex()))
        body, length = answer.body, None if answer.chunked else len(answer.body)
        framing = frame(answer.status, length)
        head = word_head(self._vendor, answer.status, headers, framing, now, keep_alive=not answer.close)
        return b"%b%b0\r\n\r\n" % (head, chunk(body)) if answer.chunked else head + body

    def say(self, slip: Slip) -> Said:
        """An answer once more, for whoever reads the journal."""
        emulator = self._emulator
        wire = slip.head.open(slip.body)
        wire.most_values = emulator.bounds.values
        wire.principal, wire.attempt, wire.key = slip.principal, slip.attempt, slip.key
        call = self._read(slip.head, wire)
        assert call is not None
        plan = emulator.decide(call, UNMATCHED, slip.key, slip.started)
        answer = call.codec.render(plan, wire)
        wire.headers = CIMultiDict(wire.headers)
        wire.headers["Content-Length"] = str(len(wire.body))  # the head is that of another request
        cut_credentials(wire)
        wire.forget_json()
        headers = (*answer.headers, ("x-emulator-request-id", slip.key.hex()))
        return Said(wire, headers, answer.body, plan.choices[0] if plan.choices else None)
