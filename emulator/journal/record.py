"""The record of one call: its figures, and its request and response for as long as they fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from weakref import ref

from emulator.core.http import LONGEST_PATH, Headers, Request
from emulator.faults import FaultSite
from emulator.scenario.credentials import ListedCredentials
from emulator.scenario.matching import Match, RequestAttributes, RuleResult, find_nearest


def describe_nearest(verdicts: Iterable[RuleResult], *, loggable: bool = False) -> str:
    """Which rule came closest, what it found and what it wanted."""
    nearest = find_nearest(verdicts)
    return "There are no rules." if nearest is None else f"The nearest is {describe(nearest, loggable=loggable)}"


def describe(verdict: RuleResult, *, loggable: bool = False) -> str:
    """One rule's word on a request; ``loggable``: without what prompt, headers, query and body say."""
    if verdict.failed is None:
        drawn = "" if verdict.draw is None else f" (drew {verdict.draw:.6f})"
        return f"{verdict.rule!r}: takes it{drawn}."
    found = verdict.loggable if loggable else verdict.detail
    detail = f" ({found})" if found else ""
    return f"{verdict.rule!r}: {verdict.failed} does not hold{detail}."


UNTAKEN = "No rule takes it."
_FORGOTTEN = "No rule takes it; the request is no longer kept."
_MOST_WRITES = 200  # of one call that are told


class JournalItem(Protocol):
    """A call in the journal: its entry, or what that is made of once somebody reads it.

    Fields:
        seq: rises over the whole server; the journal gives it.
        size: bytes that count against what is kept in all.
        explainer: whoever explains it, and so the scenario that it met, is held as long as its size is not 0.
    """

    seq: int

    @property
    def id(self) -> str: ...

    @property
    def session(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def explainer(self) -> Explainer | None: ...

    def load(self) -> JournalEntry:
        """The entry, always the same one."""

    def without_payload(self) -> JournalEntry:
        """An entry for its figures: of what was sent and said it may know nothing, and then no rule is asked again."""

    def drop_payload(self) -> None:
        """Keep no more than the figures."""


class Explainer(Protocol):
    """Whoever answered a request, and still knows by which scenario.

    Fields:
        held: how many calls of a journal hold on to it.
    """

    held: int
    tokens: ListedCredentials

    def explain(self, entry: JournalEntry) -> tuple[RuleResult, ...]:
        """What each rule said to the request, up to the one that took it."""

    def read(self, entry: JournalEntry) -> RequestAttributes | None:
        """The request as the rules saw it; ``None``: it is no longer kept. Of a body that was cut nothing is known."""


@dataclass(frozen=True, slots=True, eq=False)
class MatchEvidence:
    """What an explanation is made from, once somebody asks for it.

    Fields:
        explainer: none if the request is not kept.
        match: none if no rule was asked.
        verdicts: the explanation itself, where rules look at credentials, which are not kept.
    """

    explainer: Explainer | None
    match: Match | None
    fingerprint: bytes
    attempt: int
    verdicts: tuple[RuleResult, ...] = ()


def find_p99(late: Sequence[float]) -> float:
    """What 99 % of them do not exceed."""
    return sorted(late)[min(len(late) - 1, int(0.99 * len(late)))]


def thin_out(dues: Sequence[float], lateness: Sequence[float]) -> Sequence[tuple[float, float]]:
    """When writes were due and when they went out; of many that follow each other the one that was most late."""
    step = -(-len(dues) // _MOST_WRITES) or 1
    groups = (range(start, min(start + step, len(dues))) for start in range(0, len(dues), step))
    chosen = [max(group, key=lateness.__getitem__) for group in groups]
    return [(round(dues[at], 6), round(dues[at] + lateness[at], 6)) for at in chosen]


@dataclass(slots=True, eq=False)
class Attempts:
    """Equal requests of a session, one after the other; ``latest`` is the id of the one that came last."""

    count: int = 0
    latest: str | None = None


@dataclass(frozen=True, slots=True)
class LimitCheck:
    """What a call asked of a limit that refused it; ``wait`` in seconds, ``None``: nobody knows, or never."""

    limit: str
    unit: str
    asked: int
    available: int
    wait: float | None


@dataclass(slots=True, eq=False, weakref_slot=True)
class Payload:
    """What is kept of an exchange besides its figures, as long as there is room.

    Fields:
        request: its body may be cut.
        headers: of the answer.
        body: of an answer in one piece; may be cut.
        text: what the model said; tool calls as name and arguments.
        raw: the body of an answer that was bent, as far as it was sent; may be cut.
        strikes: where in it faults struck, in their order.
        writes: of a stream, when they were due and when they went out, seconds after admission; a choice of them.
        request_cut, response_cut: the body was longer.
        size: bytes that count against what is kept in all.
    """

    request: Request
    headers: Headers = ()
    body: bytes | None = None
    text: str | None = None
    tool_calls: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = None
    strikes: tuple[FaultSite, ...] = ()
    writes: Sequence[tuple[float, float]] = ()
    request_cut: bool = False
    response_cut: bool = False
    size: int = 0

    def measure(self) -> None:
        """Say how large it is, once it is whole."""
        said = len(self.request.body) + len(self.body or b"") + len(self.text or "")
        self.size = said + sum(map(len, (*self.request.headers.values(), *self.request.query.values())))


@dataclass(slots=True, kw_only=True, eq=False)
class JournalEntry:
    """One vendor call; times in Unix seconds, durations in seconds.

    Fields:
        seq: rises over the whole server.
        start_seq: rises with the beginnings of calls as ``seq`` does with their ends.
        vendor: ``None``: no vendor has the path.
        served: which of several behind the deployment answered.
        number: which attempt it is among equal requests of its session, from 1.
        completion_tokens: of the answer as planned; ``sent_tokens``: those that went out.
        planned_ttft: when the first byte of the body was due, after admission; ``None`` without a plan.
        ttft: when it was sent.
        planned_end: when the last byte was due.
        lateness: how late each write was.
        whole: the answer reached the client to its end; ``client_left``: the client did not wait for it.
        faults: what bent the answer, in order.
        hint: why it was refused before the rules, or by a limit.
        keep: finds what is kept, each time that somebody looks: to hold it for all who once looked would take more room
            than what it is made from. Absent once there is no room for that; so is ``evidence``.
        bytes_in, bytes_out: of the bodies as they went over the wire.
        traceparent: as the client sent it.
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
    keep: Callable[[], Payload] | None = field(default=None, repr=False)
    evidence: MatchEvidence | None = field(default=None, repr=False)

    _shown: ref[Payload] | None = field(default=None, init=False, repr=False)

    @property
    def payload(self) -> Payload | None:
        """What is kept beside the figures; the same for all who look at once."""
        if self.keep is None:
            return None
        shown = None if self._shown is None else self._shown()
        if shown is None:
            shown = self.keep()
            self._shown = ref(shown)
        return shown

    @property
    def size(self) -> int:
        """Bytes that are kept of it beside its figures."""
        return 0 if self.payload is None else self.payload.size

    @property
    def explainer(self) -> Explainer | None:
        return None if self.evidence is None else self.evidence.explainer

    def load(self) -> JournalEntry:
        """Itself, which is all there is to read."""
        return self

    def without_payload(self) -> JournalEntry:
        return self

    def drop_payload(self) -> None:
        """Keep no more than the figures."""
        self.path = self.path[:LONGEST_PATH]
        self.keep = self.evidence = self._shown = None

    @property
    def attempt(self) -> int:
        """Which attempt it is among equal requests of its session, from 1."""
        return self.number

    @property
    def retries(self) -> int:
        """How many equal requests came after it."""
        return max(0, self.attempts.count - self.number)

    @property
    def last_token(self) -> float | None:
        """When the last token was sent, after admission; ``None`` of an answer that was cut short or bent."""
        if not self.whole or self.planned_end is None or self.faults:
            return None
        if not self.stream:
            return self.ttft
        return self.planned_end + self.lateness[-1] if self.lateness else None

    @property
    def lateness_p99(self) -> float | None:
        """Seconds that 99 % of the writes were late at most."""
        return find_p99(self.lateness) if self.lateness else None

    def explain(self) -> tuple[RuleResult, ...]:
        """What each rule said, up to the one that took the call."""
        if (evidence := self.evidence) is None:
            return ()
        return evidence.verdicts or (() if evidence.explainer is None else evidence.explainer.explain(self))

    @property
    def summary(self) -> str:
        """What became of it, in one line."""
        if (gist := self.one_line) is not None:
            return gist
        verdicts = self.explain()
        return f"{UNTAKEN} {describe_nearest(verdicts)}" if verdicts else _FORGOTTEN

    @property
    def one_line(self) -> str | None:
        """The same without asking any rule again; ``None``: no rule took it."""
        if self.hint:
            return self.hint
        if self.rule is not None:
            return f"{self.rule!r} took it."
        if self.evidence is not None and self.evidence.match is None:
            refused = f"Refused before any rule was asked: {self.error}." if self.error else "No rule was asked."
            return f"{UNTAKEN} {describe_nearest(())}" if self.error == "unmatched" else refused
        return None
