"""Record of one call as the request handler leaves it; the journal entry is built from it on demand.

``recorder.py`` builds the record.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from multidict import CIMultiDict

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import NOTHING, Request
from emulator.core.quota import Left
from emulator.core.redaction.bodies import redact_body, redact_events
from emulator.core.redaction.credentials import MaskedCredential
from emulator.core.redaction.values import redact, redact_request, redact_text
from emulator.http.schedule import SendProgress
from emulator.journal.entry import (
    NO_ATTEMPTS,
    Attempts,
    EntryExplainer,
    JournalEntry,
    LimitCheck,
    MatchEvidence,
    RecordedResponse,
    find_p99,
    thin_out,
)
from emulator.journal.payload import Payload
from emulator.scenario.credentials import NO_TOKENS, ListedCredentials
from emulator.scenario.matching import UNMATCHED, Match, RuleResult


def redact_payload(request: Request, response: RecordedResponse, most: int, tokens: ListedCredentials) -> Payload:
    """Build the payload for the journal, with credentials redacted.

    ``most``: bytes kept of each body. ``tokens``: credentials that the scenario lists.
    """
    body, choice = response.body, response.choice
    request = replace(request)  # the record may need what the client sent, to respond again
    redact_request(request)
    request.body = tokens.redact_bytes(redact_body(request.body))
    request.drop_parsed()
    request.query = _cut_values(request.query, tokens)
    if (heads := _cut_values(request.headers, tokens)) is not request.headers:
        request.headers = CIMultiDict(heads)
    headers = tuple([(name, tokens.redact(redact("header", name, value))) for name, value in response.headers])
    payload = Payload(request, headers)
    if body is not None:
        payload.body = tokens.redact_bytes(redact_body(body[:most]))
    if choice is not None:
        text = choice.sequence.text if len(choice.segments) == 1 else choice.text()
        payload.text = tokens.redact(redact_text(text[:most]))
        payload.tool_calls = tuple([(name, tokens.redact(redact_text(args))) for name, args in choice.tool_calls])
        payload.response_cut = len(text) > most
    payload.response_cut |= body is not None and len(body) > most
    return payload


def _cut_values(values: Mapping[str, str], tokens: ListedCredentials) -> Mapping[str, str]:
    """Redact listed credentials in headers or a query; a redacted value still compares equal to the original."""
    changed = {
        name: MaskedCredential(value, shown)
        for name, value in values.items()
        if (shown := tokens.redact(value)) != value
    }
    return {**values, **changed} if changed else values


def has_credential(raw: bytes, tokens: ListedCredentials) -> bool:
    """Return whether bytes hold a credential; redaction would shift the fault positions in them."""
    return not raw == redact_body(raw) == redact_events(raw) == tokens.redact_bytes(raw)


BYTES_PER_TOKEN = 24  # bytes of a token in a response with its due time; equal tokens share their text
OBJECT_OVERHEAD = 1024  # bytes of the objects around the payload
_MAX_TRACEPARENT = 64  # characters; a value of version 00 has 55
_DROPPED_MATCH = Match()  # in place of a match dropped with the payload


@fast_dataclass(slots=True, eq=False)
class RefusedCall:
    """Why a request was refused; the fields of :class:`JournalEntry`, and the vendor's ``reason``, for its metrics."""

    error: str | None = None
    hint: str = ""
    limits: tuple[LimitCheck, ...] = ()
    reason: str = ""


NOT_REFUSED = RefusedCall()


@fast_dataclass(slots=True, eq=False)
class CallRecord:
    """Record of one call; :class:`JournalEntry` documents the figures.

    Redacting credentials, decoding texts and explaining rules happen when the record is read, from the request that it
    holds. So does the response of most calls: its memory would cost a call more time than anything else.

    Fields:
        ended: Unix seconds.
        explainer, match: the scenario that answered, and its match; dropped with the payload.
        asked_operation: operation as metrics count it; see :func:`~emulator.handler.operations.name_operation`.
        asked: rules were evaluated.
        finish_reason: that of the plan's first choice, if there is a plan.
        response: ``None`` if it is made again when it is read: it would be most of the record's memory.
        quota: units left of each quota, by which the response was made.
        max_body_bytes: bytes kept of each body; 0: no bodies and headers are kept.
        rule_results: results of the rules, stored if rules match on credentials, which are not kept.
        left: the client disconnected early.
        over: the record is final.
    """

    explainer: EntryExplainer | None
    vendor: str
    request: Request
    started: float
    ended: float
    start_seq: int
    fingerprint: bytes
    sent: SendProgress
    bytes_in: int
    deployment: str | None
    served: str
    operation: str | None
    asked_operation: str | None
    stream: bool
    match: Match | None
    asked: bool
    refused: RefusedCall
    response: RecordedResponse | None
    quota: Left
    max_body_bytes: int
    prompt_tokens: int
    completion_tokens: int
    sent_tokens: int
    planned_ttft: float | None
    planned_end: float | None
    finish_reason: str | None
    number: int = 1
    attempts: Attempts = NO_ATTEMPTS
    retry_of: str | None = None
    seq: int = 0
    size: int = 0
    request_cut: bool = False
    response_cut: bool = False
    rule_results: tuple[RuleResult, ...] = ()
    entry: JournalEntry | None = None
    traceparent: str | None = None
    left: bool = False
    over: bool = False
    rule_name: str | None = None
    fault_types: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.request.key.hex()

    @property
    def session(self) -> str:
        return self.request.session

    @property
    def path(self) -> str:
        return self.request.path

    @property
    def error(self) -> str | None:
        return self.refused.error

    @property
    def hint(self) -> str:
        return self.refused.hint

    @property
    def rule(self) -> str | None:
        return self.rule_name if self.match is None or self.match.rule is None else self.match.rule.name

    @property
    def faults(self) -> tuple[str, ...]:
        match = self.match
        if match is None or not match.outcome.faults:
            return self.fault_types
        faults = match.outcome.faults
        if self.left and self.response is not None and self.response.raw is not None:
            faults = tuple([fault for fault in faults if fault.leaves_nothing or self._has_struck(fault.type)])
        return tuple([fault.type for fault in faults])

    def _has_struck(self, fault: str) -> bool:
        """Return whether as much of the response was sent as a fault leaves unchanged."""
        assert self.response is not None
        return bool(self.sent.status) and any(
            site.fault == fault and site.at <= self.sent.size for site in self.response.fault_sites
        )

    @property
    def kind(self) -> Hashable:
        """Return a key that calls of a vendor with equal labels share in metrics; one that is not over has its own."""
        if not self.over:
            return self
        request, sent = self.request, self.sent
        labels = request.path, request.session, self.deployment, self.served, self.asked_operation, self.stream
        is_plain = self.match is UNMATCHED and self.refused is NOT_REFUSED and sent.status < 400
        if is_plain and sent.whole and not self.left:  # most: what follows, known without asking
            return *labels, sent.status, "", None, (), ""
        return *labels, sent.status, self.failure, self.rule, self.faults, self.refused.reason

    @property
    def reason(self) -> str:
        return self.refused.reason

    @property
    def failure(self) -> str:
        """Return why the call failed, in one word; empty if it succeeded."""
        if self.refused.error:
            return self.refused.error
        if self.sent.status >= 400:
            return str(self.sent.status)
        return "" if self.sent.whole and not self.left else "client_left" if self.left else "cut"

    @property
    def status(self) -> int:
        return self.sent.status

    @property
    def ttft(self) -> float | None:
        """Return the seconds from admission to the start of the body."""
        return self.sent.first - self.started if self.sent.first else None

    @property
    def lateness(self) -> Sequence[float]:
        """Return the seconds by which each write was late."""
        return self.sent.lateness

    @property
    def duration(self) -> float:
        """Return the seconds from admission to the end."""
        return self.ended - self.started

    @property
    def events(self) -> int:
        return self.sent.events

    def join(self, attempts: Attempts, earlier: str | None) -> None:
        """Link this record to the earlier identical requests; ``earlier``: id of the latest."""
        self.attempts, self.number, self.retry_of = attempts, attempts.count, earlier

    def cut(self) -> None:
        """Truncate bodies to ``max_body_bytes`` and set ``size``, in bytes."""
        request, most, sent, response = self.request, self.max_body_bytes, self.sent, self.response
        size = OBJECT_OVERHEAD
        if sent.dues:
            size += sent.pack()
        if not most:
            self._release_references()
            return
        request.drop_parsed()
        request.documents = NOTHING  # documents have a limit of their own in the store
        if len(request.body) > most:
            request.body, self.request_cut = request.body[:most], True
        if response is not None:
            size += self._cut_response(response, most)
        self.size = size + len(request.body) + request.head_size

    def _cut_response(self, response: RecordedResponse, most: int) -> int:
        """Truncate the bodies of a response; return the size of the rest."""
        size, body = 0, response.body
        if body is not None:
            if len(body) > most:
                response.body, self.response_cut = body[:most], True
            size += min(most, len(body))
        if response.raw is not None:
            response.raw = response.raw[:most]
            size += len(response.raw)
        if response.choice is not None:
            size += response.choice.count * BYTES_PER_TOKEN
        return size

    def discard(self) -> None:
        """Drop the payload. A record that nobody has read keeps headers and match until the metrics have counted it."""
        if self.entry is not None or self.response is not None:
            self.drop_payload()
            return
        self.size = self.max_body_bytes = 0
        self.asked, self.explainer, self.request.body = False, None, b""

    def drop_payload(self) -> None:
        """Drop bodies, headers and the match; keep the figures."""
        self.size = self.max_body_bytes = 0
        self.asked = False
        if len(self.sent.lateness) > 1:
            self.sent.lateness = [find_p99(self.sent.lateness)]
        self._release_references()
        if self.entry is not None:
            self.entry.drop_payload()

    def _release_references(self) -> None:
        """Release the references to the request's payload, the response and the scenario."""
        match = self.match
        if match is not None and match is not _DROPPED_MATCH:
            self.rule_name, self.fault_types = self.rule, self.faults
            self.match = _DROPPED_MATCH
        self.explainer = None
        self.traceparent = self._read_traceparent()
        self.request.drop_payload()
        self.response, self.quota, self.sent.dues = None, (), ()

    def load(self) -> JournalEntry:
        """Return the journal entry, built on the first call."""
        if self.entry is None:
            self.entry = self.without_payload()
            if self.max_body_bytes:
                self.entry.build_payload = self._build_payload
        return self.entry

    def without_payload(self) -> JournalEntry:
        """Return the journal entry without its payload."""
        if self.entry is not None:
            return self.entry
        entry = self._build_entry()
        request, sent = self.request, self.sent
        entry.body = request.body
        entry.real_start, entry.real_end, entry.connection = sent.began or self.started, sent.over, sent.connection
        if self.asked or self.max_body_bytes:
            match = self.match if self.asked else None
            entry.evidence = MatchEvidence(self.explainer, match, self.fingerprint, request.attempt, self.rule_results)
        return entry

    def _build_entry(self) -> JournalEntry:
        request, sent = self.request, self.sent
        return JournalEntry(
            id=self.id,
            time=self.started,
            seq=self.seq,
            start_seq=self.start_seq,
            vendor=self.vendor,
            method=request.method,
            path=request.path,
            status=sent.status,
            deployment=self.deployment,
            served=self.served,
            operation=self.operation,
            stream=self.stream,
            principal=request.principal,
            session=request.session,
            attempts=self.attempts,
            number=self.number,
            retry_of=self.retry_of,
            rule=self.rule,
            error=self.error,
            finish_reason=None if sent.truncated else self.finish_reason,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            sent_tokens=self.sent_tokens,
            planned_ttft=self.planned_ttft,
            ttft=self.ttft,
            planned_end=self.planned_end,
            duration=self.duration,
            lateness=self.lateness,
            whole=sent.whole and not sent.truncated,
            faults=self.faults,
            hint=self.hint,
            limits=self.refused.limits,
            events=sent.events,
            bytes_in=self.bytes_in,
            bytes_out=sent.size,
            traceparent=self._read_traceparent(),
        )

    def _read_traceparent(self) -> str | None:
        return self.traceparent or read_traceparent(self.request.headers)

    @property
    def _has_ended_early(self) -> bool:
        """Whether less was sent than planned."""
        return not self.sent.whole or (self.sent.tokens is not None and self.sent_tokens < self.completion_tokens)

    def _cut_to_sent(self, response: RecordedResponse) -> RecordedResponse:
        """Return the part of a response that was sent; its tokens as far as they are due if there are more choices."""
        choice, count = response.choice, self.sent_tokens
        if choice is not None:
            if self.completion_tokens > choice.count:
                count = min(count, bisect_right(choice.due, self.sent.reached))
            choice = choice.cut(count) if count else None
        body = None if response.body is None else response.body[: self.sent.size]
        return replace(response, choice=choice, body=body)

    def _build_payload(self) -> Payload:
        explainer, request, response = self.explainer, self.request, self.response
        tokens = NO_TOKENS if explainer is None else explainer.tokens
        if response is None:
            response = RecordedResponse()  # of a record whose payload was evicted while its entry is read
            if explainer is not None and self.match is not None:
                response = explainer.respond_again(replace(request), self.match, self.started, self.quota)
        planned = response.choice
        if self._has_ended_early:
            response = self._cut_to_sent(response)
        payload = redact_payload(request, response, self.max_body_bytes, tokens)
        raw = response.raw
        if raw is not None and not has_credential(raw, tokens):
            payload.raw = raw[: self.sent.size]
            payload.fault_sites = tuple([strike for strike in response.fault_sites if strike.at <= self.sent.size])
        if self.sent.whole:
            payload.encode_stream = response.encode_stream
        if self.stream or raw is not None:
            payload.writes = thin_out(self.sent.dues, self.sent.lateness)
        if self._has_ended_early and planned is not None:
            payload.text = payload.text or ""
            payload.received = payload.text if self.stream else None
            payload.planned = tokens.redact(redact_text(planned.text()[: self.max_body_bytes]))
        payload.request_cut, payload.size = self.request_cut, self.size
        payload.response_cut |= self.response_cut
        return payload


def read_traceparent(headers: Mapping[str, str]) -> str | None:
    """Return the client's ``traceparent`` header, truncated."""
    value = headers.get("traceparent")
    return None if value is None else value[:_MAX_TRACEPARENT]
