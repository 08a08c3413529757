"""Calls of a session as the rules of a verdict read them, and which of them are attempts of the same request.

``control/verdict.py`` builds them from journal records.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from emulator.core.json import JSON

_BREAKING = frozenset({"disconnect", "empty_body", "garbage", "hang", "late_error", "truncate"})
_SHORTENING = frozenset({"late_error", "truncate"})  # of streams that end as HTTP has it
_SLACK = 0.005  # seconds; the end of an answer is noted just before its last byte is written
_UNNOTICED = 0.25  # seconds until the end of a connection that its client has closed is noticed


def has_failed(status: int, faults: Sequence[str], *, whole: bool, error: str | None = None) -> bool:
    """Return whether the client has no whole answer.

    Args:
        faults: types of the response's faults.
        error: kind of a refusal; in a stream it may come as an event, with status 200.
    """
    return error is not None or not 200 <= status < 400 or not whole or not _BREAKING.isdisjoint(faults)


@dataclass(frozen=True, slots=True)
class CallContent:
    """Parts of a call that are read on demand.

    Fields:
        sent: headers of the request, by lower-case name.
        received: headers of the response, by lower-case name.
        body: body of the request.
        text: text of the answer as far as it was sent.
        tool_calls: pairs of name and arguments.
    """

    sent: Mapping[str, str] = field(default_factory=dict)
    received: Mapping[str, str] = field(default_factory=dict)
    body: JSON = None
    text: str = ""
    tool_calls: Sequence[tuple[str, str]] = ()


@dataclass(eq=False, kw_only=True)
class Call:
    """One call of a session; times in real seconds.

    Fields:
        number: ``seq`` of the call in the journal, by which messages name it; 0 while it is open.
        key: equal for equal requests.
        principal: principal that called.
        end: end of the answer, or when the client was seen to have left; for an open call, the present time.
        has_ended: the call is in the journal.
        delivered: number of tokens sent.
        bytes_out: bytes of the body sent.
        connection: number of its connection; 0: unknown.
    """

    id: str
    number: int
    key: Hashable
    start: float
    end: float
    principal: str = ""
    status: int = 200
    error: str | None = None
    stream: bool = False
    whole: bool = True
    client_left: bool = False
    has_ended: bool = True
    faults: Sequence[str] = ()
    delivered: int = 0
    prompt_tokens: int = 0
    bytes_out: int = 0
    connection: int = 0
    cost: float = 0.0
    read: Callable[[], CallContent] = CallContent

    @cached_property
    def content(self) -> CallContent:
        return self.read()

    @property
    def client(self) -> Hashable:
        """Return a key of the client program: principal and ``User-Agent``."""
        return self.principal, self.content.sent.get("user-agent", "")

    @property
    def name(self) -> str:
        return f"#{self.number}" if self.number else self.id

    @property
    def duration(self) -> float:
        return self.end - self.start

    @property
    def failed(self) -> bool:
        """Whether the call has ended without a whole answer for the client."""
        return self.has_ended and has_failed(self.status, self.faults, whole=self.whole, error=self.error)

    @property
    def is_cut(self) -> bool:
        """Whether a stream broke off, or an error ended it, while its client was still connected."""
        is_short = not self.whole or not _SHORTENING.isdisjoint(self.faults)
        return self.stream and self.has_ended and is_short and self.status == 200 and not self.client_left


@dataclass(frozen=True, slots=True, eq=False)
class Retry:
    """A call that repeats a failed one; ``waited``: real seconds between them."""

    before: Call
    call: Call

    @property
    def waited(self) -> float:
        return max(0.0, self.call.start - self.before.end)


@dataclass(frozen=True, slots=True)
class CallHistory:
    """Calls of a session in the order of their requests, with the attempts among them.

    Fields:
        chains: attempts of one request, each after the failure of the one before; single calls are chains of one.
        follows_clock: scenario time passes as real time does; else waits cannot be compared with ``Retry-After``.
    """

    calls: Sequence[Call]
    chains: Sequence[Sequence[Call]]
    follows_clock: bool = True

    @property
    def retries(self) -> Iterator[Retry]:
        for chain in self.chains:
            yield from map(Retry, chain, chain[1:])


def build_history(calls: Sequence[Call], *, follows_clock: bool = True) -> CallHistory:
    """Join calls, given in the order of their requests, to attempts."""
    failed: dict[Hashable, list[list[Call]]] = defaultdict(list)  # chains that may go on
    chains: list[list[Call]] = []
    for call in calls:
        known = failed[call.key]
        before = [chain for chain in known if _is_retry(chain[-1], call)]
        if before:
            chain = max(before, key=lambda chain: chain[-1].end)
            known.remove(chain)
            chain.append(call)
        else:
            chain = [call]
            chains.append(chain)
        if call.failed:
            known.append(chain)
    return CallHistory(calls, chains, follows_clock)


def _is_retry(before: Call, call: Call) -> bool:
    return before.failed and before.end <= call.start + find_slack(before)


def find_slack(call: Call) -> float:
    return _UNNOTICED if call.client_left else _SLACK


def find_overlaps(calls: Sequence[Call], most: int) -> list[Call]:
    """Return the calls that ran at once when there were most of them, if these were more than ``most``.

    An end that is noticed late is no overlap.
    """
    running: list[Call] = []
    worst: list[Call] = []
    for call in calls:
        running = [one for one in running if not one.has_ended or one.end - find_slack(one) > call.start]
        running.append(call)
        if len(running) > max(most, len(worst)):
            worst = [*running]
    return worst
