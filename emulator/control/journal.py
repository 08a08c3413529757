"""What was asked and what became of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from emulator.core.wire import WireRequest
from emulator.scenario.match import Match, Verdict

_LATEST = 10_000
_MOST_KEPT = 32 * 1024**2  # bytes of request bodies kept for explanations


class Explainer(Protocol):
    """Whoever answered a request, and still knows by which scenario."""

    def explain(self, entry: Entry) -> tuple[Verdict, ...]:
        """What each rule said to the request, up to the one that took it."""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What an explanation is made from, once somebody asks for it."""

    explainer: Explainer
    request: WireRequest
    match: Match
    identity: bytes
    attempt: int


@dataclass(slots=True, kw_only=True, eq=False)
class Entry:
    """One vendor call; times in Unix seconds, durations in seconds.

    Fields:
        completion_tokens: of the answer as planned; ``sent_tokens``: those that went out.
        planned_ttft: when the first byte of the body was due, after admission; ``None`` without a plan.
        ttft: when it was sent.
        whole: the answer reached the client to its end.
        faults: what bent the answer, in order.
        evidence: absent where no rule was asked, and once the request is no longer kept.
    """

    id: str
    time: float
    vendor: str
    method: str
    path: str
    status: int
    deployment: str | None
    principal: str
    session: str
    rule: str | None
    error: str | None
    prompt_tokens: int
    completion_tokens: int
    sent_tokens: int = 0
    planned_ttft: float | None = None
    ttft: float | None
    duration: float
    whole: bool
    faults: tuple[str, ...] = ()
    evidence: Evidence | None = field(default=None, repr=False)

    def explain(self) -> tuple[Verdict, ...]:
        """What each rule said, up to the one that took the call."""
        return () if self.evidence is None else self.evidence.explainer.explain(self)


class Journal:
    """The latest calls, oldest first; each is also handed to a listener, such as the access log."""

    def __init__(self, most_kept: int = _MOST_KEPT) -> None:
        self._entries: deque[Entry] = deque(maxlen=_LATEST)
        self._explained: deque[Entry] = deque(maxlen=_LATEST)
        self._most_kept = most_kept
        self._kept = 0
        self.listen: Callable[[Entry], None] = _ignore

    def add(self, entry: Entry) -> None:
        self._entries.append(entry)
        if entry.evidence is not None:
            self._keep(entry, len(entry.evidence.request.body))
        self.listen(entry)

    def _keep(self, entry: Entry, size: int) -> None:
        """Let the oldest requests go that no longer fit."""
        explained = self._explained
        self._kept += size
        while explained and (self._kept > self._most_kept or len(explained) == _LATEST):
            oldest = explained.popleft()
            if oldest.evidence is not None:
                self._kept -= len(oldest.evidence.request.body)
                oldest.evidence = None
        explained.append(entry)

    def find(self, name: str) -> Entry | None:
        """The latest entry with this id."""
        return next((entry for entry in reversed(self._entries) if entry.id == name), None)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __reversed__(self) -> Iterator[Entry]:
        return reversed(self._entries)

    def clear(self, session: str | None = None) -> None:
        """Forget one session's calls, or all."""
        left = [] if session is None else [entry for entry in self._entries if entry.session != session]
        explained = [entry for entry in left if entry.evidence is not None]
        self._entries.clear()
        self._entries.extend(left)
        self._explained.clear()
        self._explained.extend(explained)
        self._kept = sum(len(entry.evidence.request.body) for entry in explained if entry.evidence is not None)


def _ignore(entry: Entry) -> None:
    """Nobody listens."""
