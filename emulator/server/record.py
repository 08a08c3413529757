"""What became of a request: settled with its limits, entered in journal and metrics."""

from __future__ import annotations

from emulator.control.entry import Entry, Evidence, Kept
from emulator.control.journal import Journal
from emulator.control.timing import Timing
from emulator.core.clock import RealClock
from emulator.core.delivery import Delivery
from emulator.core.plan import Plan
from emulator.core.wire import WireResponse, WireStream
from emulator.limits import Admission
from emulator.pipeline import Emulator
from emulator.server.exchange import Exchange
from emulator.server.explain import Explainer
from emulator.server.metrics import VendorMetrics


class Recorder:
    """Records the answers of one vendor."""

    def __init__(
        self,
        vendor: str,
        emulator: Emulator,
        journal: Journal,
        timing: Timing,
        metrics: VendorMetrics,
        explainer: Explainer,
    ) -> None:
        self._vendor = vendor
        self._emulator = emulator
        self._journal = journal
        self._timing = timing
        self._scale = emulator.clock.scale if isinstance(emulator.clock, RealClock) else 0.0
        self._metrics = metrics
        self._explainer = explainer
        self._settings = emulator.journal

    async def settle(self, exchange: Exchange, admission: Admission) -> None:
        """Charge what was sent, and give up the slot when the answer was over, however late that is noticed."""
        now, sent = self._emulator.clock.now(), exchange.sent
        tokens = None if exchange.plan is None else exchange.sent_tokens
        over = min(now, exchange.started + sent.reached) if sent.whole else now
        await self._emulator.release(admission, tokens, over)

    def record(self, exchange: Exchange) -> None:
        """Enter a request in journal and metrics; all is known of it, and the last byte is still to be sent."""
        if exchange.entry is not None:
            return
        exchange.entry = entry = self._make_entry(exchange)
        wire = exchange.wire
        if exchange.era == self._journal.era(wire.session):
            if any(exchange.identity):
                entry.attempts, entry.retry_of = self._journal.follow(wire.session, exchange.identity, entry.id)
                entry.number = entry.attempts.count
            wire.forget_json()
            if self._settings.bodies:
                entry.kept = _keep(exchange, self._settings.bodies)
            asked = exchange.match if self._emulator.rules else None
            if asked is not None or entry.kept is not None:
                entry.evidence = Evidence(self._explainer, asked, exchange.identity, exchange.attempt)
            self._journal.add(entry, self._settings.entries)
        self._metrics.add(entry)
        if self._scale and entry.whole and exchange.plan is not None and not entry.faults:
            self._timing.add(entry, self._scale)

    def close(self, exchange: Exchange, *, left: bool) -> None:
        """Say how an exchange ended in truth, once it is over; ``left``: the client did not wait for the answer."""
        self.record(exchange)
        entry, sent = exchange.entry, exchange.sent
        if entry is None or (sent.whole and not left):
            return
        entry.whole = False
        entry.client_left = left or not exchange.is_cut
        entry.status = sent.status
        entry.sent_tokens = exchange.sent_tokens
        entry.duration = self._emulator.clock.now() - exchange.started
        if entry.seq:
            self._journal.amend(entry)

    def _make_entry(self, exchange: Exchange) -> Entry:
        wire, sent, started = exchange.wire, exchange.sent, exchange.started
        plan, call = exchange.plan, exchange.call
        usage = plan.usage if plan is not None else None
        deployment, served = exchange.asked
        return Entry(
            id=wire.key.hex(),
            time=started,
            arrival=exchange.arrival,
            vendor=self._vendor,
            method=wire.method,
            path=wire.path,
            status=sent.status,
            deployment=deployment,
            served=served,
            operation=call.deployment.task if call is not None else None,
            stream=call is not None and call.stream,
            principal=wire.principal,
            session=wire.session,
            rule=exchange.rule,
            error=exchange.error,
            finish_reason=plan.choices[0].finish_reason if plan is not None and plan.choices else None,
            prompt_tokens=usage.prompt_tokens if usage is not None else 0,
            completion_tokens=usage.completion_tokens if usage is not None else 0,
            sent_tokens=exchange.sent_tokens,
            planned_ttft=exchange.planned_ttft,
            ttft=sent.first - started if sent.first else None,
            planned_end=_plan_end(plan) if plan is not None else None,
            duration=self._emulator.clock.now() - started,
            lateness=sent.lateness,
            whole=sent.whole,
            faults=tuple([fault.type for fault in exchange.faults]),
            hint=exchange.hint,
            limits=exchange.limits,
            events=sent.events,
            bytes_in=len(wire.body),
            bytes_out=sent.size,
        )


def _plan_end(plan: Plan) -> float:
    """Seconds after admission at which the last token is due."""
    return max((float(choice.due[-1]) for choice in plan.choices if len(choice.due)), default=plan.due)


def _keep(exchange: Exchange, most: int) -> Kept:
    """Request and answer, each body up to ``most`` bytes."""
    wire, plan, answer = exchange.wire, exchange.plan, exchange.answer
    cut = len(wire.body) > most
    if cut:
        wire.body = wire.body[:most]
    kept = Kept(wire, request_cut=cut)
    body = None
    if isinstance(answer, WireResponse) or (isinstance(answer, Delivery) and not answer.streamed):
        body = answer.body
    if isinstance(answer, WireResponse | WireStream | Delivery):
        kept.headers = (*answer.headers, *exchange.extra)
    kept.body = body if body is None else body[:most]
    kept.response_cut = body is not None and len(body) > most
    if plan is not None and plan.choices:
        choice = plan.choices[0]
        text = "".join(choice.tokens) if len(choice.spans) == 1 else choice.text()
        kept.text, kept.tool_calls = text[:most], choice.tool_calls
        kept.response_cut |= len(text) > most
    kept.measure()
    return kept
