"""What became of a request: settled with its limits, entered in journal and metrics."""

from emulator.control.journal import Entry, Evidence, Journal
from emulator.core.plan import Plan
from emulator.core.vendor import Call
from emulator.limits import Admission
from emulator.pipeline import Emulator
from emulator.server.exchange import Exchange
from emulator.server.explain import Explainer
from emulator.server.metrics import VendorMetrics


class Recorder:
    """Records the answers of one vendor."""

    def __init__(
        self, vendor: str, emulator: Emulator, journal: Journal, metrics: VendorMetrics, explainer: Explainer
    ) -> None:
        self._vendor = vendor
        self._emulator = emulator
        self._journal = journal
        self._metrics = metrics
        self._explainer = explainer

    async def settle(self, exchange: Exchange, admission: Admission) -> None:
        """Charge what was sent, and give up the slot when the answer was over, however late that is noticed."""
        now, sent = self._emulator.clock.now(), exchange.sent
        tokens = None if exchange.plan is None else exchange.sent_tokens
        over = min(now, exchange.started + sent.reached) if sent.whole else now
        await self._emulator.release(admission, tokens, over)

    def record(self, exchange: Exchange) -> None:
        """Enter the request in journal and metrics."""
        wire, sent, started = exchange.wire, exchange.sent, exchange.started
        plan, call = exchange.plan, exchange.call
        usage = plan.usage if plan is not None else None
        entry = Entry(
            id=wire.key.hex(),
            time=started,
            vendor=self._vendor,
            method=wire.method,
            path=wire.path,
            status=sent.status,
            deployment=call.deployment.name if call is not None else None,
            principal=wire.principal,
            session=wire.session,
            rule=exchange.rule,
            error=exchange.error,
            prompt_tokens=usage.prompt_tokens if usage is not None else 0,
            completion_tokens=usage.completion_tokens if usage is not None else 0,
            sent_tokens=exchange.sent_tokens,
            planned_ttft=_plan_ttft(plan, call) if plan is not None and call is not None else None,
            ttft=sent.first - started if sent.first else None,
            duration=self._emulator.clock.now() - started,
            whole=sent.whole,
            faults=tuple([fault.type for fault in exchange.faults]),
        )
        if exchange.match is not None and self._emulator.rules:
            wire.forget_json()
            entry.evidence = Evidence(self._explainer, wire, exchange.match, exchange.identity, exchange.attempt)
        self._journal.add(entry)
        self._metrics.add(entry)


def _plan_ttft(plan: Plan, call: Call) -> float:
    """Seconds after admission at which the body is to begin."""
    due = plan.choices[0].due if call.stream and plan.choices else ()
    return float(due[0]) if len(due) else plan.due
