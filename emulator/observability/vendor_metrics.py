"""Running totals of one vendor, overall and by session."""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import count, repeat
from math import nan
from typing import Protocol

from emulator.core.requests import EmbeddingRequest
from emulator.core.vendor import InferenceCall
from emulator.observability.totals import OTHER, CountedCall, MetricTotals

_MOST_SESSIONS = 1000  # that have sums of their own; those used longest ago go first
_MOST_OF_SESSION = 200  # different labels
_MOST_KNOWN = 10_000  # deployments with a name of their own


class Ended(CountedCall, Protocol):
    """What an exchange leaves behind; ``over``: nothing of it changes any more, as long as it is still being sent."""

    @property
    def over(self) -> bool: ...

    @property
    def path(self) -> str: ...

    @property
    def session(self) -> str: ...


class LabelledTotals:
    """Counts calls once they are over; ``provider``: by a path, as OpenTelemetry names it."""

    def __init__(self, provider: Callable[[str], str]) -> None:
        self._provider = provider
        self._known: dict[str | None, str] = {None: ""}
        self._all = MetricTotals()
        self._sessions: OrderedDict[str, MetricTotals] = OrderedDict()
        self._open: list[Sequence[Ended]] = []

    def register(self, names: Iterable[str]) -> None:
        """These deployments are counted by their names from now on."""
        for name in names:
            if len(self._known) < _MOST_KNOWN:
                self._known[name] = name

    def add(self, kinds: Iterable[Sequence[Ended]]) -> None:
        """Count some, each sequence of one kind; those that are not over wait."""
        some, self._open = [*self._open, *kinds], []
        for alike in some:
            if alike[0].over:
                self._count(alike)
            else:
                self._open.append(alike)

    def _count(self, calls: Sequence[Ended]) -> None:
        """Count some of one kind."""
        call = calls[0]
        model = self._known.get(call.deployment, OTHER)
        labels = call.operation, self._provider(call.path), model, call.status, call.failure
        self._all.add(calls, labels)
        if call.session:
            self._take(call.session).add(calls, labels)

    def _take(self, session: str) -> MetricTotals:
        totals = self._sessions.get(session)
        if totals is None:
            totals = self._sessions[session] = MetricTotals(_MOST_OF_SESSION)
            if len(self._sessions) > _MOST_SESSIONS:
                self._sessions.popitem(last=False)
        else:
            self._sessions.move_to_end(session)
        return totals

    def of(self, session: str | None) -> MetricTotals:
        """Of all calls, or of a session's."""
        self.add(())
        return self._all if session is None else self._sessions.get(session) or MetricTotals()

    def forget(self, session: str) -> None:
        """A session is over."""
        self.add(())
        self._sessions.pop(session, None)


_LATEST = 10_000  # calls of which figures are kept: nothing that was asked or answered, nor the scenario that was met
_COLUMNS = (
    "deployment",
    "served",
    "duration",
    "ttft",
    "prompt_tokens",
    "completion_tokens",
    "events",
)  # of a row of them
_WIDTH = len(_COLUMNS)
_MOST_NAMES = 4 * _LATEST  # of deployments and who served, a row having two of them
_MOST_COUNTED = 10_000  # deployments, servers and classes of status; those counted longest ago are forgotten
_SESSIONS = 1000  # and deployments of which it is known when they were asked last
_FRESH = 500  # calls that wait to be counted
_LARGEST = 2**63 - 1  # of the limits that are counted


class Answered(Ended, Protocol):
    """What an exchange leaves behind, as far as it is counted; :class:`Entry` says what its figures mean."""

    @property
    def error(self) -> str | None: ...

    @property
    def served(self) -> str: ...

    @property
    def ended(self) -> float: ...

    @property
    def completion_tokens(self) -> int: ...

    @property
    def events(self) -> int: ...


class VendorMetrics:
    """Implements :class:`emulator.core.vendor.Metrics` over what exchanges leave behind.

    Adding one is on every request's road; they are counted some hundred at a time, or when somebody asks.
    """

    def __init__(self, provider: Callable[[str], str] = lambda path: "") -> None:
        self._waiting: list[Answered] = []
        self._sums = LabelledTotals(provider)
        self._requests = 0
        self._prompt_tokens = 0
        self._completion_tokens = 0
        self._errors: Counter[str] = Counter()
        self._by_deployment: Counter[tuple[str, str, int]] = Counter()  # and who served, and class of status
        self._figures = array("d")
        self._names: dict[str, int] = {}
        self._numbers = count()
        self._last: dict[tuple[str, str], float] = {}
        self._working: Counter[str] = Counter()
        self._joined = 0
        self._limits = array("q")
        self.running = 0

    def add(self, call: Answered) -> None:
        """Count one answered request; one that reached a deployment counts its tokens too."""
        self._waiting.append(call)
        if len(self._waiting) >= _FRESH:
            self.catch_up()

    def catch_up(self) -> None:
        """Count those that wait; nothing of them is held any longer."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        kinds: defaultdict[Hashable, list[Answered]] = defaultdict(list)
        for call in waiting:
            kinds[call.kind].append(call)
        self._requests += len(waiting)
        for alike in kinds.values():
            self._count(alike)
        del self._figures[: -_LATEST * _WIDTH]
        del self._limits[:-_LATEST]
        self._sums.add(kinds.values())

    def _count(self, calls: Sequence[Answered]) -> None:
        """Count some of one kind."""
        first, many = calls[0], len(calls)
        deployment, served, status = first.deployment, first.served, first.status
        if not 200 <= status < 400:
            self._errors[first.error or ""] += many
        if deployment is None:
            return
        self._count_at((deployment, served, status // 100), many)
        self._note_end(deployment, first.session, calls[-1].ended)
        asked, said = [call.prompt_tokens for call in calls], [call.completion_tokens for call in calls]
        self._prompt_tokens += sum(asked)
        self._completion_tokens += sum(said)
        places = self._place(deployment), self._place(served)
        times = [call.duration for call in calls], [nan if call.ttft is None else call.ttft for call in calls]
        events = [call.events for call in calls]
        for row in zip(*map(repeat, places), *times, asked, said, events, strict=False):
            self._figures.extend(row)

    def _count_at(self, key: tuple[str, str, int], many: int) -> None:
        """Count some of one deployment, the one counted latest standing last; a client may invent names without end."""
        counts = self._by_deployment
        counts[key] = counts.pop(key, 0) + many
        if len(counts) > _MOST_COUNTED:
            del counts[next(iter(counts))]

    def _place(self, name: str) -> int:
        """The number that stands for a name in the figures; names of which there are none any more are forgotten."""
        place = self._names.get(name)
        if place is None:
            if len(self._names) >= _MOST_NAMES:
                used = {*self._figures[::_WIDTH], *self._figures[1::_WIDTH]}
                self._names = {known: number for known, number in self._names.items() if number in used}
            place = self._names[name] = next(self._numbers)
        return place

    def register(self, names: Iterable[str]) -> None:
        """These deployments are counted by their names from now on."""
        self._sums.register(names)

    def sums(self, session: str | None) -> MetricTotals:
        """Of the calls that are over: all, or a session's."""
        self.catch_up()
        return self._sums.of(session)

    def forget(self, session: str) -> None:
        """A session is over."""
        self.catch_up()
        self._sums.forget(session)

    def total(self, name: str, **labels: str) -> float:
        """A counter; ``failed`` also by ``error``, a kind of refusal, and some by ``deployment`` and ``served``."""
        self.catch_up()
        if "deployment" in labels:
            deployment, served = labels["deployment"], labels["served"]
            kinds = range(10) if name == "requests" else (int(name[0]),)
            return sum(self._by_deployment[deployment, served, kind] for kind in kinds)
        if "error" in labels:
            return self._errors[labels["error"]]
        failed = self._errors.total()
        totals = {
            "requests": self._requests,
            "succeeded": self._requests - failed,
            "failed": failed,
            "prompt_tokens": self._prompt_tokens,
            "completion_tokens": self._completion_tokens,
            "joined": self._joined,
        }
        return totals.get(name, 0)

    def samples(self, name: str, **labels: str) -> Sequence[float]:
        """The latest calls' values of one of their figures, or ``itl``; those that have one.

        ``labels`` are figures, too, and only calls with the same are looked at.
        """
        if name == "limit":
            return tuple(self._limits[-_LATEST:])
        self.catch_up()
        wanted = [(_COLUMNS.index(label), self._names.get(text, -1)) for label, text in labels.items()]
        figures = self._figures
        rows = (figures[start : start + _WIDTH] for start in range(0, len(figures), _WIDTH))
        values = (_read(row, name) for row in rows if all(row[column] == number for column, number in wanted))
        return tuple(value for value in values if value == value)

    def _note_end(self, deployment: str, session: str, ended: float) -> None:
        """When a deployment was asked last in a session, the sessions of long ago forgotten."""
        key = (deployment, session)
        self._last.pop(key, None)
        self._last[key] = ended
        if len(self._last) > _SESSIONS:
            del self._last[next(iter(self._last))]

    def last(self, deployment: str, session: str) -> float | None:
        self.catch_up()
        return self._last.get((deployment, session))

    def work(self, call: InferenceCall | None, step: int) -> None:
        """The answer to a call begins to go out (1), or is over (-1)."""
        if call is None:
            return
        name = call.deployment.name
        self._working[name] += step
        if step > 0:
            self._joined += self._working[name] > 1
            if not isinstance(call.request, EmbeddingRequest):
                self._limits.append(min(call.request.sampling.max_tokens or 0, _LARGEST))

    def working(self, deployment: str) -> int:
        return self._working[deployment]

    def in_flight(self) -> int:
        return self.running


def _read(row: Sequence[float], name: str) -> float:
    """One figure of a call; of ``itl`` the mean gap between two tokens, in seconds. Not a number: it has none."""
    if name != "itl":
        return row[_COLUMNS.index(name)]
    _, _, duration, ttft, _, tokens, _ = row
    return nan if tokens < 2 else (duration - ttft) / (tokens - 1)
