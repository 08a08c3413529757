"""Compact call record of the fast path: the request and the figures of its response.

The response itself is replayed when its payload is read: equal requests get equal responses.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from emulator.core.http import Headers, Request
from emulator.core.plan import Choice
from emulator.core.requests import Deployment
from emulator.handler.call_record import redact_payload
from emulator.http.cached_head import Address, CachedHead
from emulator.journal.record import Attempts, Explainer, JournalEntry, MatchEvidence, Payload, thin_out


@dataclass(slots=True, eq=False)
class ReplayedResponse:
    """Replayed response and its request, with credentials redacted."""

    request: Request
    headers: Headers
    body: bytes | None
    choice: Choice | None


class Replayer(Protocol):
    """Replays responses of a vendor's fast path; ``most``: bytes kept of each body."""

    vendor: str
    most: int

    @property
    def explainer(self) -> Explainer: ...

    def replay(self, record: CompactRecord) -> ReplayedResponse:
        """Return the response of a recorded call."""


@dataclass(slots=True, eq=False)
class CompactRecord:
    """Record of one call of the fast path; :class:`JournalEntry` documents the figures.

    Fields:
        replayer, head: dropped with the payload, as both reference a scenario.
        asked: the deployment.
        ended: Unix seconds.
        body: of the request.
        bytes_out: of the response body.
        events: of a stream; 0: the response is no stream.
        size: bytes that count against the journal's maximum; 0: bodies are not kept.
    """

    replayer: Replayer | None
    head: CachedHead | None
    address: Address
    principal: str
    asked: Deployment
    served: str
    started: float
    ended: float
    start_seq: int
    body: bytes
    fingerprint: bytes
    attempt: int
    key: bytes
    status: int
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str | None
    bytes_in: int
    bytes_out: int
    events: int
    size: int
    seq: int = 0
    attempts: Attempts = field(init=False)
    number: int = field(init=False)
    retry_of: str | None = field(init=False)
    entry: JournalEntry | None = None

    @property
    def vendor(self) -> str:
        return self.address.vendor

    @property
    def explainer(self) -> Explainer | None:
        return None if self.replayer is None else self.replayer.explainer

    @property
    def id(self) -> str:
        return self.key.hex()

    @property
    def session(self) -> str:
        return self.address.session

    @property
    def path(self) -> str:
        return self.address.path

    @property
    def kind(self) -> Hashable:
        return self.address, self.asked.name, self.served, self.status, self.events > 0

    @property
    def operation(self) -> str:
        return self.asked.task

    @property
    def stream(self) -> bool:
        return self.events > 0

    @property
    def rule(self) -> None:
        """Return ``None``: the fast path handles no calls that rules may match."""

    @property
    def faults(self) -> tuple[str, ...]:
        return ()

    @property
    def failure(self) -> str:
        return ""

    @property
    def over(self) -> bool:
        return True

    @property
    def sent_tokens(self) -> int:
        return self.completion_tokens

    @property
    def error(self) -> str | None:
        return None

    @property
    def deployment(self) -> str:
        return self.asked.name

    @property
    def duration(self) -> float:
        return self.ended - self.started

    @property
    def planned_ttft(self) -> float:
        return 0.0

    @property
    def planned_end(self) -> float:
        return 0.0

    @property
    def lateness(self) -> Sequence[float]:
        """Return the delay of a stream's only write, which was due at once."""
        return [self.duration] if self.events else ()

    @property
    def ttft(self) -> float:
        """Return the seconds to the first byte; the response is one write."""
        return self.ended - self.started

    def join(self, attempts: Attempts, earlier: str | None) -> None:
        """Link this record to the earlier identical requests; ``earlier``: id of the latest."""
        self.attempts, self.number, self.retry_of = attempts, attempts.count, earlier

    def drop_payload(self) -> None:
        """Drop the request body and the references to replay the response."""
        self.body, self.size = b"", 0
        self.replayer = self.head = None
        if self.entry is not None:
            self.entry.drop_payload()

    def load(self) -> JournalEntry:
        """Return the journal entry, built on the first call."""
        if self.entry is None:
            self.entry = self.without_payload()
            if self.size:
                self.entry.build_payload = self._build_payload
        return self.entry

    def without_payload(self) -> JournalEntry:
        """Return the journal entry without payload; the response is not replayed."""
        if self.entry is not None:
            return self.entry
        entry = self._build_entry()
        if self.size:
            entry.evidence = MatchEvidence(self.explainer, None, self.fingerprint, self.attempt)
        return entry

    def _build_entry(self) -> JournalEntry:
        return JournalEntry(
            id=self.id,
            time=self.started,
            seq=self.seq,
            start_seq=self.start_seq,
            vendor=self.address.vendor,
            method="POST",
            path=self.address.path,
            status=self.status,
            deployment=self.asked.name,
            served=self.served,
            operation=self.asked.task,
            stream=self.events > 0,
            principal=self.principal,
            session=self.address.session,
            attempts=self.attempts,
            number=self.number,
            retry_of=self.retry_of,
            finish_reason=self.finish_reason,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            sent_tokens=self.completion_tokens,
            planned_ttft=0.0,
            ttft=self.ttft,
            planned_end=0.0,
            duration=self.duration,
            whole=True,
            lateness=self.lateness,
            events=self.events,
            traceparent=self.address.traceparent,
            bytes_in=self.bytes_in,
            bytes_out=self.bytes_out,
        )

    def _build_payload(self) -> Payload:
        assert self.replayer is not None
        response = self.replayer.replay(self)
        tokens = self.replayer.explainer.tokens
        payload = redact_payload(
            response.request, response.headers, response.body, response.choice, self.replayer.most, tokens
        )
        if self.events:
            payload.writes = thin_out((0.0,), self.lateness)
        payload.size = self.size
        return payload
