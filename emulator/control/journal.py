"""What was asked and what became of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import count
from typing import Protocol

from emulator.core.json import JSON
from emulator.core.secret import cut_credential
from emulator.core.wire import Headers, WireRequest
from emulator.scenario.match import Match, Verdict

LATEST = 10_000  # entries kept of a session
_MOST_ENTRIES = 100_000  # of all sessions
_MOST_KEPT = 32 * 1024**2  # bytes of requests and answers kept in all


class Explainer(Protocol):
    """Whoever answered a request, and still knows by which scenario."""

    def explain(self, entry: Entry) -> tuple[Verdict, ...]:
        """What each rule said to the request, up to the one that took it."""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What an explanation is made from, once somebody asks for it."""

    explainer: Explainer
    match: Match
    identity: bytes
    attempt: int


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


@dataclass(slots=True, eq=False)
class Kept:
    """What is kept of an exchange besides its figures, as long as there is room.

    Fields:
        request: its body may be cut.
        headers: of the answer.
        body: of an answer in one piece; may be cut.
        text: what the model said; tool calls as name and arguments.
        request_cut, response_cut: the body was longer.
        size: bytes that count against what is kept in all.
    """

    request: WireRequest
    headers: Headers = ()
    body: bytes | None = None
    text: str | None = None
    tool_calls: tuple[tuple[str, str], ...] = ()
    request_cut: bool = False
    response_cut: bool = False
    size: int = 0

    def measure(self) -> None:
        """Say how large it is, once it is whole."""
        request = self.request
        said = len(self.body or b"") + len(self.text or "")
        self.size = said + len(request.body) + sum(map(len, (*request.headers.values(), *request.query.values())))


@dataclass(slots=True, kw_only=True, eq=False)
class Entry:
    """One vendor call; times in Unix seconds, durations in seconds.

    Fields:
        seq: rises over the whole server.
        vendor: ``None``: no vendor has the path.
        number: which attempt it is among equal requests of its session, from 1.
        completion_tokens: of the answer as planned; ``sent_tokens``: those that went out.
        planned_ttft: when the first byte of the body was due, after admission; ``None`` without a plan.
        ttft: when it was sent.
        planned_end: when the last byte was due.
        lateness: how late each write was.
        whole: the answer reached the client to its end; ``client_left``: the client did not wait for it.
        faults: what bent the answer, in order.
        kept: absent once there is no room for it; ``evidence``: where no rule was asked, too.
        bytes_in, bytes_out: of the bodies as they went over the wire.
    """

    id: str
    time: float
    vendor: str | None
    method: str
    path: str
    status: int
    seq: int = 0
    deployment: str | None = None
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
    kept: Kept | None = field(default=None, repr=False)
    evidence: Evidence | None = field(default=None, repr=False)

    @property
    def attempt(self) -> int:
        """Which attempt it is among equal requests of its session, from 1."""
        return self.number

    @property
    def retries(self) -> int:
        """How many equal requests came after it."""
        return max(0, self.attempts.count - self.number)

    @property
    def lateness_p99(self) -> float | None:
        """Seconds that 99 % of the writes were late at most."""
        late = sorted(self.lateness)
        return late[min(len(late) - 1, int(0.99 * len(late)))] if late else None

    def explain(self) -> tuple[Verdict, ...]:
        """What each rule said, up to the one that took the call."""
        return () if self.evidence is None else self.evidence.explainer.explain(self)


class Journal:
    """The latest calls of each session, oldest first; each is also handed to listeners, such as the access log."""

    def __init__(self, most_kept: int = _MOST_KEPT) -> None:
        self._sessions: dict[str, deque[Entry]] = {}
        self._order: deque[Entry] = deque()
        self._kept: deque[Entry] = deque()
        self._room = most_kept
        self._numbers = count(1)
        self._era = 0
        self._eras: dict[str, int] = {}
        self._attempts: dict[str, dict[bytes, Attempts]] = {}
        self.listeners: list[Callable[[Entry], None]] = []

    def era(self, session: str) -> tuple[int, int]:
        """Changes when a session is cleared: a call that began before is entered nowhere."""
        return self._era, self._eras.get(session, 0)

    def follow(self, session: str, identity: bytes, name: str) -> tuple[Attempts, str | None]:
        """Count one more attempt of equal requests; the attempts, and the id of the one before."""
        attempts = self._attempts.setdefault(session, {}).setdefault(identity, Attempts())
        before, attempts.latest = attempts.latest, name
        attempts.count += 1
        return attempts, before

    def add(self, entry: Entry, most: int = LATEST) -> None:
        """Enter a call; a session keeps its latest ``most``."""
        entry.seq = next(self._numbers)
        entries = self._sessions.get(entry.session)
        if entries is None:
            entries = self._sessions[entry.session] = deque()
        entries.append(entry)
        while len(entries) > most:
            self._drop(entries.popleft())
        self._order.append(entry)
        if len(self._order) > _MOST_ENTRIES:
            self._forget_oldest()
        if entry.kept is not None:
            self._keep(entry, entry.kept)
        for listen in self.listeners:
            listen(entry)

    def _keep(self, entry: Entry, kept: Kept) -> None:
        """Let the oldest bodies go that no longer fit."""
        self._kept.append(entry)
        self._room -= kept.size
        while self._room < 0 and len(self._kept) > 1:
            self._drop(self._kept.popleft())

    def _drop(self, entry: Entry) -> None:
        """Keep no more than the figures of a call."""
        if entry.kept is not None:
            self._room += entry.kept.size
            entry.kept = None
        entry.evidence = None

    def _forget_oldest(self) -> None:
        oldest = self._order.popleft()
        entries = self._sessions.get(oldest.session)
        if entries and entries[0] is oldest:
            self._drop(entries.popleft())

    def find(self, name: str, session: str | None = None) -> Entry | None:
        """The latest entry with this id."""
        return next((entry for entry in reversed(list(self.of(session))) if entry.id == name), None)

    def of(self, session: str | None = None) -> Iterable[Entry]:
        """One session's calls, or all, oldest first."""
        if session is not None:
            return self._sessions.get(session, ())
        return merge(*self._sessions.values(), key=lambda entry: entry.seq)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.of())

    def __len__(self) -> int:
        return sum(map(len, self._sessions.values()))

    def clear(self, session: str | None = None) -> None:
        """Forget one session's calls, or all."""
        if session is None:
            self._era += 1
        else:
            self._eras[session] = self._eras.get(session, 0) + 1
        for name in [*self._sessions] if session is None else [session]:
            for entry in self._sessions.pop(name, ()):
                self._drop(entry)
            self._attempts.pop(name, None)
        self._order = deque(entry for entry in self._order if entry.session in self._sessions)
        self._kept = deque(entry for entry in self._kept if entry.kept is not None)


def shown_headers(headers: Mapping[str, str]) -> dict[str, JSON]:
    """Headers as they may be shown, names in lower case: credentials are cut to four characters."""
    return {name.lower(): cut_credential(name, value) for name, value in headers.items()}
