"""One request and all that is found out about it on its way to the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from emulator.core.errors import EmulatedError
from emulator.core.faultable import CloseMode, FaultableResponse
from emulator.core.http import DROPPED, Headers, Request, Response, StreamingResponse
from emulator.core.plan import Plan
from emulator.core.vendor import InferenceCall, Parsed
from emulator.faults import AnyFault, FaultSite
from emulator.handler.call_record import CallRecord
from emulator.http.stream_writer import Sent
from emulator.journal.record import LimitCheck
from emulator.ratelimit import Ticket
from emulator.scenario.matching import Match

if TYPE_CHECKING:
    from opentelemetry.trace import Span

_LONGEST_NAME = 256  # characters of a deployment's name that nothing has: it stays when the request is forgotten


@dataclass(slots=True, eq=False)
class RequestContext:
    """A request and its answer; what is known is recorded even if it ends early.

    Fields:
        started: when it was admitted, Unix seconds.
        epoch: of the journal it belongs to; ``start_seq``: which of its calls it is.
        fingerprint: what makes it the same as another.
        parsed: the call, or the answer or change of a route that no model answers.
        refusal: what was said in place of an answer.
        overrides: a header asks something of the emulator itself.
        error: kind of refusal; ``limits``: those that refused; ``hint``: what may be meant instead.
        answer: what is sent; ``extra``: headers beside its own; ``strikes``: where faults struck in it.
        trace: what is left of it, once it is recorded.
        span: what is told of it elsewhere, if anything is.
    """

    wire: Request
    started: float
    epoch: tuple[int, int] = (0, 0)
    start_seq: int = 0
    overrides: bool = True
    fingerprint: bytes = b""
    parsed: Parsed | None = None
    match: Match | None = None
    plan: Plan | None = None
    admission: Ticket | None = None
    refusal: EmulatedError | None = None
    error: str | None = None
    limits: tuple[LimitCheck, ...] = ()
    hint: str = ""
    answer: Response | StreamingResponse | FaultableResponse | None = None
    extra: Headers = ()
    strikes: tuple[FaultSite, ...] = ()
    sent: Sent = field(default_factory=Sent)
    trace: CallRecord | None = None
    span: Span | None = None

    @property
    def attempt(self) -> int:
        """How often it came before, once it is named."""
        return self.wire.attempt

    @property
    def call(self) -> InferenceCall | None:
        """What is asked of a model, if anything is."""
        return self.parsed if isinstance(self.parsed, InferenceCall) else None

    @property
    def asked(self) -> tuple[str | None, str]:
        """Name of the deployment that was asked, as far as it is known, and which of those behind it answers."""
        if self.call is not None:
            return self.call.deployment.name, self.call.served
        details = {} if self.refusal is None else self.refusal.details
        name = details.get("deployment")
        return (str(name)[:_LONGEST_NAME], str(details.get("served", ""))) if name else (None, "")

    @property
    def rule(self) -> str | None:
        """Name of the rule that took the request."""
        return self.match.rule.name if self.match is not None and self.match.rule is not None else None

    @property
    def faults(self) -> tuple[AnyFault, ...]:
        """What bends the answer, in order."""
        return self.match.outcome.faults if self.match is not None else ()

    @property
    def sent_tokens(self) -> int:
        """Tokens of the answer that went out."""
        if self.plan is None:
            return 0
        if self.sent.tokens is not None:
            return self.sent.tokens
        return self.plan.usage.completion_tokens if self.sent.whole else self.plan.count_due(self.sent.reached)

    @property
    def planned_ttft(self) -> float | None:
        """Seconds after admission at which the body is to begin."""
        plan, call = self.plan, self.call
        if plan is None or call is None:
            return None
        due = plan.choices[0].due if call.stream and plan.choices else ()
        return float(due[0]) if len(due) else plan.due

    @property
    def is_cut(self) -> bool:
        """The answer itself ends before it is whole."""
        if isinstance(self.answer, FaultableResponse):
            return self.answer.ending is not CloseMode.COMPLETE
        return isinstance(self.answer, Response) and self.answer.status == DROPPED
