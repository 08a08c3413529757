"""Journal entry of one request: its figures, and its payload until that is evicted.

``handler/recorder.py`` adds a call record to the journal; ``handler/call_record.py`` builds the entry when it is read
by the control API, a verdict or a test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Protocol
from weakref import ref

from emulator.core.conversation import find_prompt_line
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import MAX_PATH, Headers, Request
from emulator.core.plan import Choice
from emulator.core.quota import Left
from emulator.core.redaction.values import redact_text
from emulator.faults import FaultSite
from emulator.journal.payload import Payload
from emulator.scenario.credentials import ListedCredentials
from emulator.scenario.matching import Match, RequestAttributes, RuleResult, find_nearest


def describe_nearest(verdicts: Iterable[RuleResult], *, loggable: bool = False) -> str:
    """Describe the rule that nearly matched: its first failed condition, what it wanted and what the request has."""
    nearest = find_nearest(verdicts)
    return "There are no rules." if nearest is None else f"The nearest is {describe(nearest, loggable=loggable)}"


def describe(verdict: RuleResult, *, loggable: bool = False) -> str:
    """Describe the result of one rule; ``loggable``: without content of prompt, headers, query and body."""
    if verdict.failed is None:
        drawn = "" if verdict.draw is None else f" (drew {verdict.draw:.6f})"
        return f"{verdict.rule!r}: matched{drawn}."
    found = verdict.loggable if loggable else verdict.detail
    detail = f" ({found})" if found else ""
    return f"{verdict.rule!r}: {verdict.failed} does not hold{detail}."


UNTAKEN = "No rule matched."
_FORGOTTEN = "No rule matched; the request is no longer kept."
_MAX_WRITES = 200  # of one stream that are stored


class JournalItem(Protocol):
    """Item of the journal: a :class:`JournalEntry`, or a record that builds one when it is read.

    Fields:
        seq: position in the journal of the whole server; the journal assigns it.
        size: bytes that count against the payload limit.
        explainer: holds the scenario that answered; kept while the size is not 0.
    """

    seq: int

    @property
    def id(self) -> str: ...

    @property
    def session(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def explainer(self) -> EntryExplainer | None: ...

    def load(self) -> JournalEntry:
        """Return the entry, the same object at each call."""

    def without_payload(self) -> JournalEntry:
        """Return an entry with the figures; it may have no payload and no match evidence."""

    def drop_payload(self) -> None:
        """Drop request, response and match evidence; keep the figures."""

    def discard(self) -> None:
        """Do :meth:`drop_payload` when the journal no longer refers to the item; headers and match may remain."""


@fast_dataclass(slots=True, eq=False)
class RecordedResponse:
    """Response of a recorded call.

    Fields:
        headers: headers of the response, with those that the emulator adds.
        body: body of a response in one piece.
        choice: first choice of the plan.
        raw: bytes of a response with faults.
        fault_sites: positions at which the faults changed it.
        encode_stream: returns the bytes of a stream; absent: it cannot be made again.
    """

    headers: Headers = ()
    body: bytes | None = None
    choice: Choice | None = None
    raw: bytes | None = None
    fault_sites: tuple[FaultSite, ...] = ()
    encode_stream: Callable[[], bytes] | None = None


class EntryExplainer(Protocol):
    """Matches a stored request against the rules of its scenario again.

    Fields:
        held: number of journal items with a payload that refer to it.
        tokens: credentials that the scenario lists, to redact.
    """

    held: int
    tokens: ListedCredentials

    def explain(self, entry: JournalEntry) -> tuple[RuleResult, ...]:
        """Return the result of each rule, up to the one that matched."""

    def read(self, entry: JournalEntry) -> RequestAttributes | None:
        """Return the request as the rules read it, or ``None`` if it was evicted; a truncated body is absent."""

    def respond_again(self, request: Request, match: Match, started: float, quota: Left) -> RecordedResponse:
        """Return the response that a request has had, which depends on nothing but the arguments."""


@fast_dataclass(frozen=True, slots=True, eq=False)
class MatchEvidence:
    """Input of an explanation, which is built on demand.

    Fields:
        explainer: ``None`` if the request is not stored.
        match: ``None`` if the request was refused before the rules.
        rule_results: the explanation itself, where rules match credentials, which are not stored.
    """

    explainer: EntryExplainer | None
    match: Match | None
    fingerprint: bytes
    attempt: int
    rule_results: tuple[RuleResult, ...] = ()


def find_p99(late: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return sorted(late)[min(len(late) - 1, int(0.99 * len(late)))]


def thin_out(dues: Sequence[float], lateness: Sequence[float]) -> Sequence[tuple[float, float]]:
    """Return up to 200 pairs of due and actual time of writes, in seconds; of adjacent ones the latest is chosen."""
    step = -(-len(dues) // _MAX_WRITES) or 1
    groups = (range(start, min(start + step, len(dues))) for start in range(0, len(dues), step))
    chosen = [max(group, key=lateness.__getitem__) for group in groups]
    return [(round(dues[at], 6), round(dues[at] + lateness[at], 6)) for at in chosen]


@fast_dataclass(slots=True, eq=False)
class Attempts:
    """Counter of equal requests of a session; ``latest`` is the id of the last one."""

    count: int = 0
    latest: str | None = None


NO_ATTEMPTS = Attempts(1)
"""Counter of a record that has not entered the journal."""


@fast_dataclass(frozen=True, slots=True)
class LimitCheck:
    """Check of a limit that refused a call; ``wait`` in seconds, ``None``: unknown or never."""

    limit: str
    unit: str
    asked: int
    available: int
    wait: float | None


@fast_dataclass(slots=True, kw_only=True, eq=False)
class JournalEntry:
    """Journal entry of one request; times in Unix seconds, durations in seconds.

    Fields:
        seq: order of the ends of requests, over the whole server.
        start_seq: order of their beginnings.
        vendor: ``None`` if no vendor has the path.
        served: name of the model that answered, if several are behind the deployment.
        number: position among equal requests of the session, from 1.
        completion_tokens: number of tokens of the response as planned.
        sent_tokens: number of these that were sent.
        planned_ttft: due time of the first byte of the body after admission; ``None`` without a plan.
        ttft: time of that byte, seconds after admission.
        planned_end: due time of the last byte.
        lateness: actual minus due time of each write.
        whole: the response was sent to its end.
        client_left: the client disconnected before the end.
        faults: types of the faults applied to the response, in order.
        hint: why the request was refused before the rules, or by a limit.
        build_payload: builds the payload at each read, as its source is smaller than the payload. ``None`` once
            evicted, as is ``evidence``.
        bytes_in, bytes_out: bytes of the bodies on the wire.
        traceparent: header ``traceparent`` as the client sent it.
        real_start, real_end: start and end of the call in real time, which is the client's.
        connection: number of its connection; 0: unknown.
        body: body of the request, from which ``prompt_line`` is read; empty once evicted.
    """

    id: str
    time: float
    vendor: str | None
    method: str
    path: str
    status: int
    seq: int = 0
    start_seq: int = 0
    deployment: str | None = None
    served: str = ""
    operation: str | None = None
    stream: bool = False
    principal: str = ""
    session: str = ""
    attempts: Attempts = field(default_factory=Attempts)
    number: int = 1
    retry_of: str | None = None
    rule: str | None = None
    error: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    sent_tokens: int = 0
    planned_ttft: float | None = None
    ttft: float | None = None
    planned_end: float | None = None
    duration: float = 0.0
    lateness: Sequence[float] = ()
    whole: bool = False
    client_left: bool = False
    faults: tuple[str, ...] = ()
    hint: str = ""
    limits: tuple[LimitCheck, ...] = ()
    events: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    traceparent: str | None = None
    real_start: float = 0.0
    real_end: float = 0.0
    connection: int = 0
    body: bytes = field(default=b"", repr=False)
    build_payload: Callable[[], Payload] | None = field(default=None, repr=False)
    evidence: MatchEvidence | None = field(default=None, repr=False)

    _shown: ref[Payload] | None = field(default=None, init=False, repr=False)

    @property
    def payload(self) -> Payload | None:
        """Request and response, built on demand and shared by concurrent readers; ``None`` once evicted."""
        if self.build_payload is None:
            return None
        shown = None if self._shown is None else self._shown()
        if shown is None:
            shown = self.build_payload()
            self._shown = ref(shown)
        return shown

    @property
    def size(self) -> int:
        """Bytes that count against the payload limit."""
        return 0 if self.payload is None else self.payload.size

    @property
    def explainer(self) -> EntryExplainer | None:
        return None if self.evidence is None else self.evidence.explainer

    def load(self) -> JournalEntry:
        return self

    def without_payload(self) -> JournalEntry:
        return self

    def discard(self) -> None:
        self.drop_payload()

    def drop_payload(self) -> None:
        self.path = self.path[:MAX_PATH]
        self.build_payload = self.evidence = self._shown = None
        self.body = b""

    @property
    def prompt_line(self) -> str:
        """First line of the prompt, with credentials redacted."""
        line = redact_text(find_prompt_line(self.body)) if self.body else ""
        return line if not line or self.explainer is None else self.explainer.tokens.redact(line)

    @property
    def attempt(self) -> int:
        """Position among equal requests of the session, from 1."""
        return self.number

    @property
    def retries(self) -> int:
        """Number of equal requests after this one."""
        return max(0, self.attempts.count - self.number)

    @property
    def last_token(self) -> float | None:
        """Seconds from admission to the last token; ``None`` if the response was cut short or changed by a fault."""
        if not self.whole or self.planned_end is None or self.faults:
            return None
        if not self.stream:
            return self.ttft
        return self.planned_end + self.lateness[-1] if self.lateness else None

    @property
    def lateness_p99(self) -> float | None:
        """99th percentile of ``lateness`` in seconds; ``None`` without writes."""
        return find_p99(self.lateness) if self.lateness else None

    def explain(self) -> tuple[RuleResult, ...]:
        """Return the result of each rule, up to the one that matched; empty once the evidence is evicted."""
        if (evidence := self.evidence) is None:
            return ()
        return evidence.rule_results or (() if evidence.explainer is None else evidence.explainer.explain(self))

    @property
    def summary(self) -> str:
        """Outcome in one line; may match the rules again."""
        if (line := self.one_line) is not None:
            return line
        verdicts = self.explain()
        return f"{UNTAKEN} {describe_nearest(verdicts)}" if verdicts else _FORGOTTEN

    @property
    def one_line(self) -> str | None:
        """Outcome in one line, without matching rules again; ``None`` if no rule matched."""
        if self.hint:
            return self.hint
        if self.rule is not None:
            return f"{self.rule!r} matched."
        if self.evidence is not None and self.evidence.match is None:
            refused = f"Refused before the rules: {self.error}." if self.error else "No rules apply."
            return f"{UNTAKEN} {describe_nearest(())}" if self.error == "unmatched" else refused
        return None
