"""What a call of the short road leaves behind: what it asked, and the figures of its answer.

The answer itself is made once more should somebody read it: the same request gets the same words.
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
    """An answer that was made once more, and the request, its credentials cut."""

    request: Request
    headers: Headers
    body: bytes | None
    choice: Choice | None


class Replayer(Protocol):
    """Whoever answers a vendor's calls on the short road; ``most``: bytes that are kept of each body."""

    vendor: str
    most: int

    @property
    def explainer(self) -> Explainer: ...

    def replay(self, slip: CompactRecord) -> ReplayedResponse:
        """The answer to a call once more."""


@dataclass(slots=True, eq=False)
class CompactRecord:
    """One call as the journal has it; :class:`JournalEntry` says what its figures mean.

    Fields:
        teller, head: whoever answered it and what it answered, as long as that is kept: both hold on to a scenario.
        asked: the deployment.
        ended: Unix seconds.
        body: of the request.
        bytes_out: of the answer's body.
        events: of a stream; 0: it is none.
        size: bytes that count against what is kept in all; 0: bodies are not kept.
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
        """No rule has a say."""

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
        """Of a stream, which goes out in one write that was due at once."""
        return [self.duration] if self.events else ()

    @property
    def ttft(self) -> float:
        """It begins as it ends: in one write."""
        return self.ended - self.started

    def join(self, attempts: Attempts, before: str | None) -> None:
        """It is one more of these attempts, after the one with that id."""
        self.attempts, self.number, self.retry_of = attempts, attempts.count, before

    def drop_payload(self) -> None:
        """Keep no more than the figures."""
        self.body, self.size = b"", 0
        self.replayer = self.head = None
        if self.entry is not None:
            self.entry.drop_payload()

    def load(self) -> JournalEntry:
        """The entry, made when it is first asked for."""
        if self.entry is None:
            self.entry = self.without_payload()
            if self.size:
                self.entry.keep = self._keep
        return self.entry

    def without_payload(self) -> JournalEntry:
        """Its figures; the answer is not made once more."""
        if self.entry is not None:
            return self.entry
        entry = self._make()
        if self.size:
            entry.evidence = MatchEvidence(self.explainer, None, self.fingerprint, self.attempt)
        return entry

    def _make(self) -> JournalEntry:
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

    def _keep(self) -> Payload:
        assert self.replayer is not None
        said = self.replayer.replay(self)
        tokens = self.replayer.explainer.tokens
        kept = redact_payload(said.request, said.headers, said.body, said.choice, self.replayer.most, tokens)
        if self.events:
            kept.writes = thin_out((0.0,), self.lateness)
        kept.size = self.size
        return kept
