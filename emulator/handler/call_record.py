"""The record of a call as the request handler leaves it; the journal entry is built from it on demand."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from multidict import CIMultiDict

from emulator.core.http import NOTHING, Headers, Request
from emulator.core.plan import Choice, Usage
from emulator.core.redaction.bodies import redact_body, redact_events
from emulator.core.redaction.credentials import MaskedCredential
from emulator.core.redaction.values import cut_head, redact, redact_request, redact_text
from emulator.faults import FaultSite
from emulator.http.stream_writer import Sent
from emulator.journal.record import (
    Attempts,
    Explainer,
    JournalEntry,
    LimitCheck,
    MatchEvidence,
    Payload,
    find_p99,
    thin_out,
)
from emulator.scenario.credentials import NO_TOKENS, ListedCredentials
from emulator.scenario.matching import Match, RuleResult


def redact_payload(
    wire: Request, headers: Headers, body: bytes | None, choice: Choice | None, most: int, tokens: ListedCredentials
) -> Payload:
    """Request and answer, each body up to ``most`` bytes; ``tokens``: what the scenario lists."""
    redact_request(wire)
    wire.body = tokens.cut_bytes(redact_body(wire.body))
    wire.forget_json()
    wire.query = _cut_values(wire.query, tokens)
    if (heads := _cut_values(wire.headers, tokens)) is not wire.headers:
        wire.headers = CIMultiDict(heads)
    kept = Payload(wire, tuple([(name, tokens.cut(redact("header", name, value))) for name, value in headers]))
    if body is not None:
        kept.body = tokens.cut_bytes(redact_body(body[:most]))
    if choice is not None:
        text = choice.tokens_said.text if len(choice.segments) == 1 else choice.text()
        kept.text = tokens.cut(redact_text(text[:most]))
        kept.tool_calls = tuple([(name, tokens.cut(redact_text(said))) for name, said in choice.tool_calls])
        kept.response_cut = len(text) > most
    kept.response_cut |= body is not None and len(body) > most
    return kept


def _cut_values(values: Mapping[str, str], tokens: ListedCredentials) -> Mapping[str, str]:
    """Headers or a query; what is cut is still equal to the whole."""
    changed = {
        name: MaskedCredential(value, shown) for name, value in values.items() if (shown := tokens.cut(value)) != value
    }
    return {**values, **changed} if changed else values


def is_telling(raw: bytes, tokens: ListedCredentials) -> bool:
    """Whether bytes hold a credential: where it was cut, places in them would be others."""
    return not raw == redact_body(raw) == redact_events(raw) == tokens.cut_bytes(raw)


TOKEN = 24  # bytes that a token takes in an answer, with its time; its text is shared by all who say it
AROUND = 1024  # bytes of what holds all this
_LONGEST_TRACEPARENT = 64  # characters; one of the known version has 55
_PAIR = 2 * 49  # bytes of two texts beside their letters
_MET = Match()  # in place of one that is no longer known


def size_of(pairs: Mapping[str, str]) -> int:
    """Bytes of names and values: a client chooses both."""
    return _PAIR * len(pairs) + sum(map(len, pairs.keys())) + sum(map(len, pairs.values()))


@dataclass(slots=True, eq=False)
class CallRecord:
    """One call as the journal has it; :class:`JournalEntry` says what its figures mean.

    Fields:
        ended: Unix seconds.
        explainer, match: as long as what was sent is kept; of the latter ``taken`` and ``bent`` stay.
        asked: rules were asked.
        usage, choice, finish_reason: of the plan, if there was one; the latter two of its first choice.
        headers: of the answer; ``extra``: those beside its own.
        body: of an answer in one piece; ``raw``: of one that was bent, and where the faults struck in it.
        most: bytes that are kept of each body; 0: neither bodies nor headers are kept.
        verdicts: what each rule said, where rules look at credentials, which are not kept.
        left: the client did not wait for the answer; ``over``: nothing of it changes any more.
    """

    explainer: Explainer | None
    vendor: str
    wire: Request
    started: float
    ended: float
    start_seq: int
    fingerprint: bytes
    attempt: int
    sent: Sent
    sent_tokens: int
    bytes_in: int
    deployment: str | None
    served: str
    operation: str | None
    stream: bool
    match: Match | None
    asked: bool
    error: str | None
    hint: str
    limits: tuple[LimitCheck, ...]
    usage: Usage | None
    planned_ttft: float | None
    planned_end: float | None
    finish_reason: str | None
    choice: Choice | None
    headers: Headers
    extra: Headers
    body: bytes | None
    most: int
    raw: bytes | None = None
    strikes: tuple[FaultSite, ...] = ()
    number: int = 1
    attempts: Attempts = field(default_factory=Attempts)
    retry_of: str | None = None
    seq: int = 0
    size: int = 0
    request_cut: bool = False
    response_cut: bool = False
    verdicts: tuple[RuleResult, ...] = ()
    entry: JournalEntry | None = None
    traceparent: str | None = None
    left: bool = False
    over: bool = False
    taken: str | None = None
    bent: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.wire.key.hex()

    @property
    def session(self) -> str:
        return self.wire.session

    @property
    def path(self) -> str:
        return self.wire.path

    @property
    def rule(self) -> str | None:
        return self.taken if self.match is None or self.match.rule is None else self.match.rule.name

    @property
    def faults(self) -> tuple[str, ...]:
        match = self.match
        if match is None or not match.outcome.faults:
            return self.bent
        return tuple([fault.type for fault in match.outcome.faults])

    @property
    def kind(self) -> Hashable:
        return self

    @property
    def failure(self) -> str:
        """Why it failed, in one word; empty: it did not."""
        if self.error:
            return self.error
        if self.sent.status >= 400:
            return str(self.sent.status)
        return "" if self.sent.whole and not self.left else "client_left" if self.left else "cut"

    @property
    def status(self) -> int:
        return self.sent.status

    @property
    def ttft(self) -> float | None:
        """Seconds after admission at which the body began."""
        return self.sent.first - self.started if self.sent.first else None

    @property
    def lateness(self) -> Sequence[float]:
        """Seconds by which each write was late."""
        return self.sent.lateness

    @property
    def duration(self) -> float:
        """Seconds from admission to the end."""
        return self.ended - self.started

    @property
    def events(self) -> int:
        return self.sent.events

    @property
    def prompt_tokens(self) -> int:
        return 0 if self.usage is None else self.usage.prompt_tokens

    @property
    def completion_tokens(self) -> int:
        return 0 if self.usage is None else self.usage.completion_tokens

    def cut(self) -> None:
        """Keep of bodies what there is room for, and no credential of the head; say how large that is."""
        wire, most = self.wire, self.most
        times = self.sent.pack()
        if not most:
            self._empty()
            return
        wire.forget_json()
        wire.documents = NOTHING  # what is kept is bounded where it is kept
        cut_head(wire)
        self._shorten(most)
        said = 0 if self.choice is None else self.choice.count * TOKEN
        if self.body is not None:
            said += min(most, len(self.body))
        if self.raw is not None:
            self.raw = self.raw[:most]
            said += len(self.raw)
        self.size = AROUND + said + times + len(wire.body) + size_of(wire.headers)
        if wire.query:
            self.size += size_of(wire.query)

    def _shorten(self, most: int) -> None:
        if len(self.wire.body) > most:
            self.wire.body, self.request_cut = self.wire.body[:most], True
        if self.body is not None and len(self.body) > most:
            self.body, self.response_cut = self.body[:most], True

    def drop_payload(self) -> None:
        """Keep no more than the figures."""
        self.size = self.most = 0
        self.asked = False
        if len(self.sent.lateness) > 1:
            self.sent.lateness = [find_p99(self.sent.lateness)]
        self._empty()
        if self.entry is not None:
            self.entry.drop_payload()

    def _empty(self) -> None:
        """Hold on to nothing of the request, the answer and the scenario that it met."""
        self.taken, self.bent = self.rule, self.faults
        self.explainer, self.match = None, None if self.match is None else _MET
        self.traceparent = self._find_traceparent()
        self.wire.forget()
        self.headers = self.extra = ()
        self.choice = self.body = self.raw = None
        self.sent.dues = ()

    def load(self) -> JournalEntry:
        """The entry, made when it is first asked for."""
        if self.entry is None:
            self.entry = self.without_payload()
            if self.most:
                self.entry.keep = self._keep
        return self.entry

    def without_payload(self) -> JournalEntry:
        """Its figures alone."""
        if self.entry is not None:
            return self.entry
        entry = self._make()
        if self.asked or self.most:
            match = self.match if self.asked else None
            entry.evidence = MatchEvidence(self.explainer, match, self.fingerprint, self.attempt, self.verdicts)
        return entry

    def _make(self) -> JournalEntry:
        wire, sent = self.wire, self.sent
        return JournalEntry(
            id=self.id,
            time=self.started,
            seq=self.seq,
            start_seq=self.start_seq,
            vendor=self.vendor,
            method=wire.method,
            path=wire.path,
            status=sent.status,
            deployment=self.deployment,
            served=self.served,
            operation=self.operation,
            stream=self.stream,
            principal=wire.principal,
            session=wire.session,
            attempts=self.attempts,
            number=self.number,
            retry_of=self.retry_of,
            rule=self.rule,
            error=self.error,
            finish_reason=self.finish_reason,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            sent_tokens=self.sent_tokens,
            planned_ttft=self.planned_ttft,
            ttft=self.ttft,
            planned_end=self.planned_end,
            duration=self.duration,
            lateness=self.lateness,
            whole=sent.whole,
            faults=self.faults,
            hint=self.hint,
            limits=self.limits,
            events=sent.events,
            bytes_in=self.bytes_in,
            bytes_out=sent.size,
            traceparent=self._find_traceparent(),
        )

    def _find_traceparent(self) -> str | None:
        return self.traceparent or read_traceparent(self.wire.headers)

    def _keep(self) -> Payload:
        tokens = NO_TOKENS if self.explainer is None else self.explainer.tokens
        kept = redact_payload(self.wire, (*self.headers, *self.extra), self.body, self.choice, self.most, tokens)
        if self.raw is not None and not is_telling(self.raw, tokens):
            kept.raw = self.raw[: self.sent.size]
            kept.strikes = tuple([strike for strike in self.strikes if strike.at <= self.sent.size])
        if self.stream or self.raw is not None:
            kept.writes = thin_out(self.sent.dues, self.sent.lateness)
        kept.request_cut, kept.size = self.request_cut, self.size
        kept.response_cut |= self.response_cut
        return kept


def read_traceparent(headers: Mapping[str, str]) -> str | None:
    """What the client says of its trace."""
    value = headers.get("traceparent")
    return None if value is None else value[:_LONGEST_TRACEPARENT]
