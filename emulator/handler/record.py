"""What became of a request: settled with its limits, entered in journal and metrics."""

from __future__ import annotations

from emulator.core.clock import RealClock
from emulator.core.faultable import FaultableResponse
from emulator.core.http import Response, StreamingResponse
from emulator.core.plan import Plan
from emulator.handler.call_record import CallRecord
from emulator.handler.context import RequestContext
from emulator.handler.explain import Explainer, judge
from emulator.handler.planning import Emulator
from emulator.http.compact_record import CompactRecord
from emulator.journal.journal import Journal
from emulator.observability.timing import TimingReport
from emulator.observability.vendor_metrics import VendorMetrics
from emulator.ratelimit import Ticket


class CallRecorder:
    """Records the answers of one vendor."""

    def __init__(
        self,
        vendor: str,
        emulator: Emulator,
        journal: Journal,
        timing: TimingReport,
        metrics: VendorMetrics,
        explainer: Explainer,
    ) -> None:
        self._vendor = vendor
        self._emulator = emulator
        self.journal = journal
        self._timing = timing
        self._scale = emulator.clock.scale if isinstance(emulator.clock, RealClock) else 0.0
        self._metrics = metrics
        self.explainer = explainer
        self._settings = emulator.journal

    def enter(self, slip: CompactRecord) -> None:
        """Enter a call of the short road in journal and metrics."""
        self.journal.add_attempt(slip, self._settings.entries)
        self._metrics.add(slip)
        if self._scale:
            self._timing.add_at_once(slip.duration / self._scale)

    async def settle(self, exchange: RequestContext, admission: Ticket) -> None:
        """Charge what was sent, and give up the slot when the answer was over, however late that is noticed."""
        now, sent = self._emulator.clock.now(), exchange.sent
        tokens = None if exchange.plan is None else exchange.sent_tokens
        over = min(now, exchange.started + sent.reached) if sent.whole else now
        await self._emulator.release(admission, tokens, over)

    def record(self, exchange: RequestContext) -> None:
        """Enter a request in journal and metrics; all is known of it, and the last byte is still to be sent."""
        if exchange.trace is not None:
            return
        exchange.trace = trace = self._trace(exchange)
        if isinstance(exchange.answer, FaultableResponse):
            trace.raw, trace.strikes = exchange.answer.body, exchange.strikes
        wire, journal = exchange.wire, self.journal
        if exchange.epoch == journal.epoch(wire.session):
            if exchange.fingerprint:
                followed = journal.follow(wire.session, exchange.fingerprint, wire.key.hex())
                trace.attempts, trace.retry_of = followed
                trace.number = trace.attempts.count
            if trace.asked and self._emulator.reads_secrets:  # what its rules look at is gone afterwards
                trace.verdicts = judge(self._emulator, self._vendor, exchange)
            trace.cut()
            journal.add(trace, self._settings.entries)
        else:
            trace.drop_payload()
        self._metrics.add(trace)
        if self._scale and exchange.plan is not None and exchange.sent.whole and not exchange.faults:
            self._timing.add(trace, self._scale)

    def close(self, exchange: RequestContext, *, left: bool) -> CallRecord:
        """Say how an exchange ended in truth, once it is over; ``left``: the client did not wait for the answer."""
        self.record(exchange)
        trace, sent = exchange.trace, exchange.sent
        assert trace is not None
        trace.over = True
        if sent.whole and not left:
            return trace
        trace.left = left or not exchange.is_cut
        trace.sent_tokens = exchange.sent_tokens
        trace.ended = self._emulator.clock.now()
        entry = trace.load()
        entry.whole = False
        entry.client_left = trace.left
        entry.status = sent.status
        entry.sent_tokens = trace.sent_tokens
        entry.duration = trace.duration
        if entry.seq:
            self.journal.amend(entry)
        return trace

    def _trace(self, exchange: RequestContext) -> CallRecord:
        wire, sent, call, plan, answer = exchange.wire, exchange.sent, exchange.call, exchange.plan, exchange.answer
        deployment, served = exchange.asked if call is None else (call.deployment.name, call.served)
        usage = choice = planned_end = None
        if plan is not None:
            usage, planned_end = plan.usage, _plan_end(plan)
            choice = plan.choices[0] if plan.choices else None
        whole = usage is not None and sent.whole and sent.tokens is None
        return CallRecord(  # in the order of its fields: naming so many costs more than all else here
            self.explainer,
            self._vendor,
            wire,
            exchange.started,
            self._emulator.clock.now(),
            exchange.start_seq,
            exchange.fingerprint,
            exchange.attempt,
            sent,
            usage.completion_tokens if usage is not None and whole else exchange.sent_tokens,
            len(wire.body),
            deployment,
            served,
            None if call is None else call.deployment.task,
            call is not None and call.stream,
            exchange.match,
            bool(self._emulator.rules) and exchange.match is not None,
            exchange.error,
            exchange.hint and self._emulator.tokens.cut(exchange.hint),
            exchange.limits,
            usage,
            exchange.planned_ttft,
            planned_end,
            None if choice is None else choice.finish_reason,
            choice,
            () if answer is None else answer.headers,
            exchange.extra,
            _body_of(answer),
            self._settings.bodies,
        )


def _body_of(answer: Response | StreamingResponse | FaultableResponse | None) -> bytes | None:
    """What an answer in one piece says."""
    if isinstance(answer, Response) or (isinstance(answer, FaultableResponse) and not answer.streamed):
        return answer.body
    return None


def _plan_end(plan: Plan) -> float:
    """Seconds after admission at which the last token is due."""
    choices = plan.choices
    if len(choices) == 1 and len(choices[0].due):
        return float(choices[0].due[-1])
    return max((float(choice.due[-1]) for choice in choices if len(choice.due)), default=plan.due)
