"""State of one request, from its arrival to its call record; each stage of the handler reads and extends it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING

from emulator.core.calls import InferenceCall, Parsed
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.faultable import CloseMode, FaultableResponse
from emulator.core.http import DROPPED, Headers, Request, Response, StreamingResponse
from emulator.core.plan import Plan
from emulator.core.vendor import AnyEndpoint
from emulator.faults import AnyFault, FaultSite
from emulator.handler.budget import BudgetReservation
from emulator.handler.call_record import CallRecord
from emulator.http.schedule import SendProgress
from emulator.journal.entry import LimitCheck
from emulator.ratelimit import Ticket
from emulator.scenario.matching import Match
from emulator.verdicts.calls import has_failed

if TYPE_CHECKING:
    from opentelemetry.trace import Span

_MIN_REPEATS = 2  # equal requests before one that is cached
_MAX_NAME = 256  # characters kept of an unknown deployment's name, which stays in the record without a payload


@fast_dataclass(frozen=True, slots=True, eq=False)
class RequestTarget:
    """Where a request goes, which depends on its head and the active scenario alone.

    Fields:
        path: path without the prefixes of session and vendor.
        base_url: URL of the vendor, with these prefixes.
        written_query: query as the fingerprint has it.
        headers: headers of the request, with the session suffix removed from credentials.
        visible: headers that parsers may read.
        encoding: the Content-Encoding header.
        overrides: there are ``x-emulator-*`` headers.
        head_size: bytes of headers and query as the journal counts them.
        endpoint: endpoint of path and method; ``None`` if there is none.
        missing: error of a request without an endpoint.
        place: cache key of the request, but for body and principal.
        principal: that of all requests; ``None``: each is authenticated.
    """

    method: str
    path: str
    query: Mapping[str, str]
    written_query: str
    headers: Mapping[str, str]
    params: Mapping[str, str]
    base_url: str
    session: str
    key_suffix: str
    visible: Mapping[str, str]
    encoding: str
    overrides: bool
    head_size: int
    endpoint: AnyEndpoint | None
    missing: EmulatedError | None
    place: Hashable
    principal: str | None = None

    def open_request(self) -> Request:
        """Build a request to this target, still without its body."""
        request = Request(
            self.method, self.path, self.query, self.headers, b"", self.params, self.base_url, "", self.session
        )
        request.key_suffix, request.head_size = self.key_suffix, self.head_size
        return request


def build_exact_key(place: Hashable, body: bytes, principal: str) -> Hashable:
    """Build the cache key of an exact request; equal fingerprints may have other headers, orders or repeated members.

    Args:
        place: that of its target, if need be with the vendor.
        body: its body, or a digest.
    """
    return place, body, principal


@fast_dataclass(slots=True, eq=False)
class RequestContext:
    """Context of one request: the request, its response, and the results of the stages in between.

    A call that ends early is recorded with the fields set so far.

    Fields:
        started: when the request was admitted, Unix seconds.
        epoch: epoch of the journal.
        start_seq: sequence number of the request's start.
        fingerprint: equal for equal requests.
        parsed: result of the parser: a call, or the response or change of a route without a model.
        call: the same if it is a call.
        refusal: the error in place of an answer.
        overrides: the request has ``x-emulator-*`` headers.
        error: kind of the refusal.
        limits: limits that refused the call.
        hint: sentence that says what the client may have meant.
        response: the response.
        extra: headers that the emulator adds to it.
        fault_sites: positions at which faults changed it.
        is_inner: the request is part of another one, such as a batch.
        is_forwarded: the real service answers.
        is_stopped: the response was stopped before its end by another request.
        spending: amounts that the call may add to a budget that is enforced.
        record: the call record, once the call is recorded.
        span: the OpenTelemetry span, if tracing is on.
    """

    request: Request
    target: RequestTarget
    started: float
    epoch: int = 0
    start_seq: int = 0
    overrides: bool = True
    fingerprint: bytes = b""
    parsed: Parsed | None = None
    call: InferenceCall | None = None
    match: Match | None = None
    plan: Plan | None = None
    admission: Ticket | None = None
    spending: BudgetReservation | None = None
    refusal: EmulatedError | None = None
    error: str | None = None
    limits: tuple[LimitCheck, ...] = ()
    hint: str = ""
    response: Response | StreamingResponse | FaultableResponse | None = None
    extra: Headers = ()
    fault_sites: tuple[FaultSite, ...] = ()
    sent: SendProgress = field(default_factory=SendProgress)
    is_stopped: bool = False
    is_inner: bool = False
    is_forwarded: bool = False
    record: CallRecord | None = None
    span: Span | None = None

    @property
    def attempt(self) -> int:
        """Return how often an equal request came before; 0 until the key is assigned."""
        return self.request.attempt

    @property
    def repeats(self) -> bool:
        """Return whether two equal requests came before, so that a cache of what this one takes is worth its cost."""
        return self.request.attempt >= _MIN_REPEATS

    def set_parsed(self, parsed: Parsed) -> None:
        """Set the call, or the response or change of a route without a model."""
        self.parsed = parsed
        self.call = parsed if isinstance(parsed, InferenceCall) else None

    @property
    def asked(self) -> tuple[str | None, str]:
        """Return the requested deployment's name, if known, and the name of the model that serves it."""
        if self.call is not None:
            return self.call.deployment.name, self.call.served
        details = {} if self.refusal is None else self.refusal.details
        name = details.get("deployment")
        return (str(name)[:_MAX_NAME], str(details.get("served", ""))) if name else (None, "")

    @property
    def rule(self) -> str | None:
        """Return the name of the rule that matched."""
        return self.match.rule.name if self.match is not None and self.match.rule is not None else None

    @property
    def faults(self) -> tuple[AnyFault, ...]:
        """Return the faults of the response, in order."""
        return self.match.outcome.faults if self.match is not None else ()

    @property
    def sent_tokens(self) -> int:
        """Return the number of completion tokens sent."""
        if self.plan is None:
            return 0
        if self.sent.tokens is not None:
            return self.sent.tokens
        return self.plan.usage.completion_tokens if self.sent.whole else self.plan.count_due(self.sent.reached)

    @property
    def is_settled(self) -> bool:
        """Return whether the request has taken what was reserved for it, of its quotas and of the budget."""
        admission = self.admission
        if admission is None or self.spending is not None:
            return self.spending is None
        return self.sent.whole and self.plan is not None and self.sent_tokens == admission.exact

    def count_unpaced(self) -> None:
        """Count the tokens of an unpaced stream that its client left, by its events: all of them were due at once."""
        sent, response = self.sent, self.response
        if sent.whole or sent.tokens is not None or not isinstance(response, StreamingResponse):
            return
        if self.plan is not None and self.sent_tokens >= self.plan.usage.completion_tokens:
            sent.tokens = max((event[2] for event in islice(response.events, sent.events)), default=0)

    @property
    def planned_ttft(self) -> float | None:
        """Return the planned seconds from admission to the start of the body."""
        plan, call = self.plan, self.call
        if plan is None or call is None:
            return None
        due = plan.choices[0].due if call.stream and plan.choices else ()
        return float(due[0]) if len(due) else plan.due

    @property
    def has_failed(self) -> bool:
        """Return whether the client has no whole answer."""
        sent, faults = self.sent, [fault.type for fault in self.faults]
        return has_failed(sent.status, faults, whole=sent.whole and not sent.truncated, error=self.error)

    @property
    def is_cut(self) -> bool:
        """Return whether a fault or a dropped connection ends the response early."""
        if isinstance(self.response, FaultableResponse):
            return self.response.ending is not CloseMode.COMPLETE
        return isinstance(self.response, Response) and self.response.status == DROPPED
