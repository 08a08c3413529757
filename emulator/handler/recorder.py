"""Finish a request: settle its quotas, write its call record, update metrics."""

from __future__ import annotations

from collections.abc import Awaitable

from emulator.core.clock import RealClock, read_real, read_wall
from emulator.core.faultable import FaultableResponse
from emulator.core.http import Request, Response
from emulator.core.plan import Plan
from emulator.core.storage import LocalState
from emulator.handler.budget import BudgetReservation
from emulator.handler.call_record import NOT_REFUSED, CallRecord, RefusedCall
from emulator.handler.context import RequestContext
from emulator.handler.explain import Explainer, can_respond_again, explain_rules
from emulator.handler.operations import name_operation
from emulator.handler.planning import Emulator
from emulator.journal.entry import RecordedResponse
from emulator.journal.journal import Journal
from emulator.observability.timing import TimingAccuracy
from emulator.observability.vendor_metrics import VendorMetrics
from emulator.ratelimit import Ticket


class CallRecorder:
    """Records the calls of one vendor in journal and metrics."""

    def __init__(
        self,
        vendor: str,
        emulator: Emulator,
        journal: Journal,
        timing: TimingAccuracy,
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
        self._max_body, self._max_entries = emulator.journal.bodies, emulator.journal.entries
        self._has_rules = bool(emulator.rules)
        self._repeats = not emulator.retires  # deployments that answer now still do when a record is read
        self._is_local = isinstance(emulator.state, LocalState)

    def settle(self, context: RequestContext, admission: Ticket) -> Awaitable[None]:
        """Charge the tokens sent and release the slot, as of the time the response ended."""
        ended, sent = self._emulator.clock.now(), context.sent
        context.count_unpaced()
        tokens = None if context.plan is None else context.sent_tokens
        if sent.whole and context.started + sent.reached < ended:
            ended = context.started + sent.reached
        return self._emulator.release(admission, tokens, ended)

    async def spend(self, context: RequestContext, spending: BudgetReservation) -> None:
        """Add what a call took to the budget."""
        budget, call, plan = self._emulator.budget, context.call, context.plan
        if budget is None or call is None:
            return
        context.count_unpaced()
        await budget.settle(
            spending,
            call,
            context.request.session,
            prompt_tokens=0 if plan is None else plan.usage.prompt_tokens,
            output_tokens=context.sent_tokens,
            failed=context.has_failed,
            now=self._emulator.clock.now() - self._emulator.started,
        )

    def record(self, context: RequestContext) -> None:
        """Add a call to journal and metrics, just before its last byte is written."""
        if context.record is not None:
            return
        context.record = record = self._build_record(context)
        request, sent, journal = context.request, context.sent, self.journal
        if context.epoch == journal.epoch(request.session):
            if record.asked and self._must_explain_now(request):
                record.rule_results = explain_rules(self._emulator, self._vendor, context)
            record.cut()
            if context.fingerprint:
                journal.add_attempt(record, self._max_entries)
            else:
                journal.add(record, self._max_entries)
        else:
            record.drop_payload()
        self._metrics.add(record)
        if self._scale and context.plan is not None and sent.whole and not context.faults:
            if not record.planned_end and len(sent.lateness) < 2:
                self._timing.add_at_once((record.ttft or 0.0) / self._scale)
            else:
                self._timing.add(record, self._scale)

    def _must_explain_now(self, request: Request) -> bool:
        """Return whether a later explanation may differ.

        Credentials that rules match on are redacted then, documents of a remote store cannot be read, and texts that
        are too long to be searched to their end are cut.
        """
        emulator = self._emulator
        if emulator.reads_secrets or (request.documents and not self._is_local):
            return True
        return len(request.body) > emulator.max_searched

    def close(self, context: RequestContext, *, left: bool) -> CallRecord:
        """Finalise the record when the connection is done; ``left``: the client disconnected early."""
        if context.record is None:
            self.record(context)
        record, sent = context.record, context.sent
        assert record is not None
        record.over = True
        if sent.whole and not left:
            return record
        record.left = left or not context.is_cut
        context.count_unpaced()
        record.sent_tokens = context.sent_tokens
        record.ended = self._emulator.clock.now()
        sent.over = read_real(self._emulator.clock)
        self.journal.flush()  # the entry has its number then
        entry = record.load()
        entry.whole = False
        entry.client_left, entry.faults = record.left, record.faults
        entry.status, entry.finish_reason = sent.status, None
        entry.sent_tokens = record.sent_tokens
        entry.duration = record.duration
        entry.real_end = sent.over
        if entry.seq:
            self.journal.amend(entry)
        return record

    def _build_record(self, context: RequestContext) -> CallRecord:
        request, sent, call, plan, match = context.request, context.sent, context.call, context.plan, context.match
        clock, most, response = self._emulator.clock, self._max_body, None
        ended = clock.now()
        sent.over = ended if clock.is_wall else read_wall()
        if call is None:
            (name, served), task, is_stream = context.asked, None, False
            operation = name_operation(request, None) if context.error else None
        else:
            deployment, served, is_stream = call.deployment, call.served, call.stream
            name, task, operation = deployment.name, deployment.task, name_operation(request, call)
        if not self._repeats or call is None or plan is None or not can_respond_again(context, call, plan, most):
            response = _record_response(context)
        return CallRecord(  # positional: this many keyword arguments cost more than the rest of the function
            self.explainer,
            self._vendor,
            request,
            context.started,
            ended,
            context.start_seq,
            context.fingerprint,
            sent,
            len(request.body),
            name,
            served,
            task,
            operation,
            is_stream,
            match,
            match is not None and self._has_rules,
            self._describe_refusal(context) if context.error or context.hint or context.limits else NOT_REFUSED,
            response,
            () if plan is None else plan.quota,
            most,
            *_read_plan(context),
        )

    def _describe_refusal(self, context: RequestContext) -> RefusedCall:
        details = {} if context.refusal is None else context.refusal.details
        reason, hint = str(details.get("reason", "")), self._emulator.tokens.redact(context.hint)
        return RefusedCall(context.error, hint, context.limits, reason)


_Figures = tuple[int, int, int, float | None, float | None, str | None]
_NO_FIGURES: _Figures = (0, 0, 0, None, None, None)


def _read_plan(context: RequestContext) -> _Figures:
    """Return tokens of prompt and completion, tokens sent, planned TTFT and end, and the first finish reason."""
    plan, sent = context.plan, context.sent
    if plan is None:
        return _NO_FIGURES
    prompt, completion = plan.usage.prompt_tokens, plan.usage.completion_tokens
    reason = plan.choices[0].finish_reason if plan.choices else None
    tokens = completion if sent.whole and sent.tokens is None else context.sent_tokens
    if not plan.due:
        return prompt, completion, tokens, 0.0, 0.0, reason
    return prompt, completion, tokens, context.planned_ttft, _find_planned_end(plan), reason


def _record_response(context: RequestContext) -> RecordedResponse:
    """Return the response of a call that cannot be made again, as its record holds it."""
    response, plan = context.response, context.plan
    choice = plan.choices[0] if plan is not None and plan.choices else None
    if response is None:
        return RecordedResponse(context.extra, None, choice)
    headers = (*response.headers, *context.extra)
    if isinstance(response, FaultableResponse):
        body = None if response.streamed else response.body
        return RecordedResponse(headers, body, choice, response.body, context.fault_sites)
    return RecordedResponse(headers, response.body if isinstance(response, Response) else None, choice)


def _find_planned_end(plan: Plan) -> float:
    """Return the planned seconds from admission to the last token."""
    choices = plan.choices
    if len(choices) == 1 and len(choices[0].due):
        return float(choices[0].due[-1])
    return max((float(choice.due[-1]) for choice in choices if len(choice.due)), default=plan.due)
