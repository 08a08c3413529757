"""Calls of a session as the rules of a verdict read them, and which of them are attempts of the same request.

``control/verdict.py`` builds them from journal records.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise
from math import inf

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON

UNLIMITED = 10**9  # equal calls at once, where their number is not judged
_HOPELESS = frozenset({400, 401, 403, 404, 413, 422})
_HOPELESS_KINDS = frozenset({"content_filter", "context_length"})
_PASSING_KINDS = frozenset({"internal", "not_ready", "overloaded", "rate_limited", "timeout"})  # under any status
_KEYS = ("idempotency-key", "x-idempotency-key")
_BREAKING = frozenset({"disconnect", "empty_body", "garbage", "hang", "late_error", "truncate"})
_STOPPING = _BREAKING | {"stall"}  # faults for which a client may leave
_SHORTENING = frozenset({"late_error", "truncate"})  # of streams that end as HTTP has it
_SLACK = 0.005  # seconds; the end of an answer is noted just before its last byte is written
_UNNOTICED = 0.25  # seconds until the end of a connection that its client has closed is noticed
_EARLY = 0.9  # part of a wait after which a caller may come back
_AT_ONCE = 0.25  # seconds; a caller that comes sooner after a failure is hardly the one that failed
_MANY = 64  # callers of equal requests; an older failure or answer of so many is looked at no more
_LONGEST_WAIT = 60.0  # seconds; a failure that is older is not the first of several that equal callers try again


def has_failed(status: int, faults: Sequence[str], *, whole: bool, error: str | None = None) -> bool:
    """Return whether the client has no whole answer.

    Args:
        faults: types of the response's faults.
        error: kind of a refusal; in a stream it may come as an event, with status 200.
    """
    return error is not None or not 200 <= status < 400 or not whole or not _BREAKING.isdisjoint(faults)


@fast_dataclass(frozen=True, slots=True)
class CallContent:
    """Parts of a call that are read on demand.

    Fields:
        sent: headers of the request, by lower-case name.
        received: headers of the response, by lower-case name.
        body: body of the request.
        text: text of the answer as far as it was sent.
        tool_calls: pairs of name and arguments.
        credentials: those in the headers of the request, masked.
        is_kept: the journal still has them.
    """

    sent: Mapping[str, str] = field(default_factory=dict)
    received: Mapping[str, str] = field(default_factory=dict)
    body: JSON = None
    text: str = ""
    tool_calls: Sequence[tuple[str, str]] = ()
    credentials: Sequence[str] = ()
    is_kept: bool = True


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
        left_at_once: the client closed a stream soon after its first bytes, as one does that wants no more of it.
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
    left_at_once: bool = False
    cost: float = 0.0
    read: Callable[[], CallContent] = CallContent

    @cached_property
    def content(self) -> CallContent:
        return self.read()

    @cached_property
    def asked(self) -> float | None:
        """Seconds that the response asks its client to wait, if it does."""
        return find_asked(self.content.received)

    @property
    def client(self) -> Hashable:
        """Return a key of the client program: principal and ``User-Agent``."""
        return self.principal, self.content.sent.get("user-agent", "")

    @property
    def idempotency_key(self) -> str:
        sent = self.content.sent
        return next((sent[name] for name in _KEYS if name in sent), "")

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
    def may_be_retried(self) -> bool:
        """Whether an equal request after this call is another attempt: it failed, and its client wanted more of it."""
        return self.failed and not (self.left_at_once and _STOPPING.isdisjoint(self.faults))

    @property
    def is_refused_for_its_content(self) -> bool:
        return self.error in _HOPELESS_KINDS

    @property
    def is_hopeless(self) -> bool:
        """Whether the same request cannot succeed later."""
        return self.is_refused_for_its_content or (self.status in _HOPELESS and self.error not in _PASSING_KINDS)

    @property
    def is_partly_delivered(self) -> bool:
        """Whether the client has bytes of the answer, other than those of an error, but not the whole answer."""
        has_bytes = self.delivered > 0 or (self.bytes_out > 0 and self.error is None)
        return self.failed and 200 <= self.status < 400 and has_bytes and (self.stream or not self.whole)

    @property
    def is_cut(self) -> bool:
        """Whether a stream broke off, or an error ended it, while its client was still connected."""
        is_short = not self.whole or not _SHORTENING.isdisjoint(self.faults)
        return self.stream and self.has_ended and is_short and self.status == 200 and not self.client_left


@fast_dataclass(frozen=True, slots=True, eq=False)
class Retry:
    """A call that repeats a failed one; ``waited``: real seconds between them."""

    before: Call
    call: Call

    @property
    def waited(self) -> float:
        return max(0.0, self.call.start - self.before.end)


@fast_dataclass(frozen=True, slots=True)
class CallHistory:
    """Calls of a session in the order of their requests, with the attempts among them.

    Fields:
        chains: attempts of one request, each after the failure of the one before; single calls are chains of one.
        follows_clock: scenario time passes as real time does; else waits cannot be compared with ``Retry-After``.
        crowds: chains of equal requests that were open at once, the most calls of each key; which caller of such
            chains tries again is not certain.
        shared: the first call of each chain that was open at once with an equal one.
    """

    calls: Sequence[Call]
    chains: Sequence[Sequence[Call]]
    follows_clock: bool = True
    crowds: Sequence[Sequence[Sequence[Call]]] = ()
    shared: Set[Call] = frozenset()

    @property
    def own_chains(self) -> Iterator[Sequence[Call]]:
        """Yield the chains that are certainly of one caller each."""
        return (chain for chain in self.chains if chain[0] not in self.shared)

    @property
    def retries(self) -> Iterator[Retry]:
        for chain in self.chains:
            yield from map(Retry, chain, chain[1:])


def build_history(calls: Sequence[Call], *, follows_clock: bool = True, hedges: int = 1) -> CallHistory:
    """Join calls, given in the order of their requests, to attempts.

    ``hedges``: how many equal calls may be open at once; ``UNLIMITED``: any number.
    """
    by_key: dict[Hashable, list[Call]] = defaultdict(list)
    for call in calls:
        by_key[call.key].append(call)
    opening = frozenset({call.connection: call for call in reversed(calls)}.values())
    joined = {key: _EqualCalls(equal, hedges, opening) for key, equal in by_key.items()}
    chains = sorted((chain for equal in joined.values() for chain in equal.chains), key=lambda chain: chain[0].start)
    crowds: list[Sequence[Sequence[Call]]] = []
    shared: set[Call] = set()
    for equal in (equal for equal in joined.values() if equal.has_callers):
        crowd, first_calls = equal.find_crowd()
        crowds += [crowd] if crowd else []
        shared |= first_calls
    return CallHistory(calls, chains, follows_clock, crowds, shared)


class _EqualCalls:
    """Calls of equal requests, in chains of attempts; ``opening``: the first call of each connection."""

    def __init__(self, calls: Sequence[Call], hedges: int, opening: Set[Call]) -> None:
        self.chains: list[list[Call]] = []
        self._opening = opening
        self._starts = [call.start for call in calls]
        self._uses: dict[int, list[float]] = defaultdict(list)  # starts of calls, by connection
        for call in calls:
            self._uses[call.connection].append(call.start)
        # where any number is allowed, calls that never overlap are taken for those of one caller
        self._hedges = 1 if hedges == UNLIMITED and not _overlap(calls) else hedges
        if self._hedges == 1 and any(self._is_other_caller(before, call) for before, call in pairwise(calls)):
            self._hedges = UNLIMITED
        self._fresh: list[Call] = []  # answered calls that began a chain while others had failed
        self._closed: dict[Call, float] = {}  # when chains ended that do not go on, by first call
        self._failed: deque[list[Call]] = deque(maxlen=_MANY)  # chains that may go on
        self._answered: deque[Call] = deque(maxlen=_MANY)
        for call in calls:
            self._add(call)

    @property
    def has_callers(self) -> bool:
        """Return whether calls that run at once, or come early, may be of several callers."""
        return self._hedges > 1

    def _add(self, call: Call) -> None:
        """Add a call to the chain whose next attempt it is, or begin one."""
        for closed in [chain for chain in self._failed if self._is_superseded(chain[-1], call)]:
            self._failed.remove(closed)
            self._closed[closed[0]] = closed[-1].end
        if self._hedges > 1:
            self._close_answered(call.start)
        chain = self._find(call)
        if chain is None:
            chain = []
            self.chains.append(chain)
            if self._failed and call.has_ended and not call.failed:
                self._fresh.append(call)
        else:
            self._failed.remove(chain)
        chain.append(call)
        if call.may_be_retried:
            self._failed.append(chain)
        elif call.has_ended and not call.failed:
            self._answered.append(call)

    def _close_answered(self, now: float) -> None:
        """Close the failed chains if as many calls that joined none had their answers, and none of these is open."""
        if self._fresh and len(self._fresh) >= len(self._failed) and all(call.end <= now for call in self._fresh):
            self._closed |= dict.fromkeys([chain[0] for chain in self._failed], max(call.end for call in self._fresh))
            self._failed.clear()
            self._fresh.clear()

    def find_crowd(self) -> tuple[Sequence[Sequence[Call]], Set[Call]]:
        """Return the chains open at once that have the most calls, and the first calls of all that had such company."""
        shared: set[Call] = set()
        running: list[tuple[float, int]] = []  # heap of the ends and places of chains
        worst: list[tuple[float, int]] = []
        size = most = 0
        for place, chain in enumerate(self.chains):
            while running and running[0][0] <= chain[0].start:
                size -= self._count_attempts(heappop(running)[1])
            heappush(running, (self._find_end(chain), place))
            if len(running) > 1:  # of more than two all but the last are known
                shared.update(self.chains[one][0] for _, one in (running if len(running) == 2 else [(0.0, place)]))
            size += self._count_attempts(place)
            if len(running) > 1 and size > most:
                worst, most = [*running], size
        return [self.chains[one] for _, one in worst if self._count_attempts(one)], shared

    def _count_attempts(self, place: int) -> int:
        chain = self.chains[place]
        return len(chain) if chain[0].failed else 0

    def _find_end(self, chain: Sequence[Call]) -> float:
        last = chain[-1]
        return self._closed.get(chain[0], inf if last.may_be_retried else last.end - find_slack(last))

    def _find(self, call: Call) -> list[Call] | None:
        """Return the chain that a call goes on with.

        Of callers that make equal requests at once, the one that may come first comes first. A call that would come
        too early is another caller's first, if there may be so many and those that failed come back later. So no caller
        is taken for a hasty one.
        """
        before = [chain for chain in self._failed if chain[-1].end <= call.start + find_slack(chain[-1])]
        if call in self._opening:
            before = [chain for chain in before if not self._is_other_caller(chain[-1], call)]
        if self._hedges == 1 and len(before) < 2:  # without a look at its headers
            return next(iter(before), None)
        if not before:
            return None
        since = min(max(chain[-1].end for chain in before), call.start - _LONGEST_WAIT)
        recent = [chain for chain in before if chain[-1].end >= since]
        if self._hedges == 1:
            return min(recent, key=_find_due)
        first = min(
            recent, key=lambda chain: (not _has_same_key(chain[-1], call), _is_final(chain[-1]), _find_due(chain))
        )
        due = _find_due(first)
        if call.start >= due or _has_same_key(first[-1], call):
            return first
        callers = len(before) + sum(chain[-1].end > call.start for chain in self.chains[-_MANY:])
        coming = len(self._starts) - bisect_left(self._starts, due)
        return first if callers >= self._hedges or coming < len(before) else None

    def _is_other_caller(self, before: Call, call: Call) -> bool:
        """Return whether a call came early after one that failed, on a new connection while the other stays open.

        The caller that failed is then still waiting: its connection is not used before its retry is due, or only by
        further callers, all of which pause and come back.
        """
        is_after = before.may_be_retried and before.end <= call.start + find_slack(before)
        if not is_after or before.connection == 0 or call not in self._opening:
            return False
        uses = self._uses[before.connection]
        place = bisect_right(uses, call.start)
        if place == len(uses) or call.start >= (due := _find_due((before,))):
            return False
        return uses[place] >= due or self._all_come_back(before, due)

    def _all_come_back(self, before: Call, due: float) -> bool:
        """Return whether equal calls pause before a retry is due, and as many as came until then come after it."""
        since = bisect_left(self._starts, before.start)
        pause, end = (bisect_left(self._starts, time) for time in ((before.end + due) / 2, due))
        return pause == end and len(self._starts) - end >= end - since

    def _is_superseded(self, before: Call, call: Call) -> bool:
        """Return whether a client left a call as an equal one, open at the same time, had its answer."""
        return before.client_left and any(
            one.start <= before.end and before.start <= one.end <= min(call.start, before.end) + _SLACK
            for one in self._answered
        )


def _has_same_key(before: Call, call: Call) -> bool:
    return bool(call.idempotency_key) and before.idempotency_key == call.idempotency_key


def _is_final(call: Call) -> bool:
    """Return whether a sound client makes no further attempt."""
    return call.is_hopeless or call.is_partly_delivered


def _find_due(chain: Sequence[Call]) -> float:
    """Return when the next attempt may come at the earliest."""
    return chain[-1].end + max((chain[-1].asked or 0.0) * _EARLY, _AT_ONCE)


def find_slack(call: Call) -> float:
    return _UNNOTICED if call.client_left else _SLACK


def _overlap(calls: Sequence[Call]) -> bool:
    """Return whether any two calls ran at once."""
    until = -inf
    for call in calls:
        if call.start < until:
            return True
        until = max(until, call.end - find_slack(call) if call.has_ended else inf)
    return False


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


def find_asked(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks its client to wait; ``None`` if it names none.

    ``headers``: by lower-case name.
    """
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        milliseconds = _parse_number(headers.get(name, ""))
        if milliseconds is not None:
            return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _parse_number(value)
    return seconds if seconds is not None or not value else _parse_date(value, headers)


def _parse_number(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        return None


def _parse_date(text: str, headers: Mapping[str, str]) -> float | None:
    """Return the seconds from a response's ``Date`` to the date in its ``Retry-After``."""
    try:
        return max(0.0, (parsedate_to_datetime(text) - parsedate_to_datetime(headers.get("date", ""))).total_seconds())
    except (TypeError, ValueError):
        return None
