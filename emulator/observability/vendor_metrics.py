"""Metrics of one vendor: totals overall and by session, and figures of its latest requests.

``handler/recorder.py`` adds each call. The pages of the vendors and of the emulator read them.
"""

from array import array
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import chain, count, repeat
from math import nan
from typing import Protocol

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.requests import ChatRequest, EmbeddingRequest
from emulator.core.vendor import RequestOutcome
from emulator.observability.totals import OTHER, CountedCall, MetricTotals

_MAX_SESSIONS = 1000  # with totals of their own; the least recently used is evicted
_MAX_SESSION_SERIES = 200  # different labels of a session
_MAX_DEPLOYMENTS = 10_000  # registered names


class FinishedCall(CountedCall, Protocol):
    """Record of an answered request; ``over``: the response was sent, so the record no longer changes."""

    @property
    def over(self) -> bool: ...

    @property
    def path(self) -> str: ...

    @property
    def session(self) -> str: ...


class LabelledTotals:
    """Totals of finished requests by labels; ``provider`` maps a path to the OpenTelemetry provider name."""

    def __init__(self, provider: Callable[[str], str]) -> None:
        self._provider = provider
        self._known: dict[str | None, str] = {None: ""}
        self._all = MetricTotals()
        self._sessions: OrderedDict[str, MetricTotals] = OrderedDict()
        self._open: list[Sequence[FinishedCall]] = []

    def register(self, names: Iterable[str]) -> None:
        """Register deployments; requests to others are counted under the model OTHER."""
        for name in names:
            if len(self._known) < _MAX_DEPLOYMENTS:
                self._known[name] = name

    def add(self, kinds: Iterable[Sequence[FinishedCall]]) -> None:
        """Count requests, each sequence of one kind; those still being sent are counted later."""
        some, self._open = [*self._open, *kinds], []
        for alike in some:
            if alike[0].over:
                self._count(alike)
            else:
                self._open.append(alike)

    def _count(self, calls: Sequence[FinishedCall]) -> None:
        call = calls[0]
        name = call.deployment
        model = OTHER if name is None and call.asked_operation else self._known.get(name, OTHER)
        labels = call.asked_operation, self._provider(call.path), model, call.status, call.failure
        self._all.add(calls, labels)
        if call.session:
            self._take(call.session).add(calls, labels)

    def _take(self, session: str) -> MetricTotals:
        totals = self._sessions.get(session)
        if totals is None:
            totals = self._sessions[session] = MetricTotals(_MAX_SESSION_SERIES)
            if len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
        else:
            self._sessions.move_to_end(session)
        return totals

    def of(self, session: str | None) -> MetricTotals:
        """Return the totals of all sessions, or of one."""
        self.add(())
        return self._all if session is None else self._sessions.get(session) or MetricTotals()

    def forget(self, session: str) -> None:
        self.add(())
        self._sessions.pop(session, None)


_LATEST = 10_000  # requests of which figures are stored
_COLUMNS = (
    "deployment",
    "served",
    "duration",
    "ttft",
    "prompt_tokens",
    "completion_tokens",
    "events",
)  # of a row of figures
_WIDTH = len(_COLUMNS)
_MAX_NAMES = 4 * _LATEST  # of deployments and served models; a row has two
_MAX_COUNTERS = 10_000  # by deployment, served model and class of status; the one counted longest ago is evicted
_MAX_LAST = 1000  # pairs of deployment and session with the time of their last request
_LATE = "late_error"  # the fault
_MAX_OUTCOMES = 1000  # different ones that are counted
_MAX_PENDING = 100  # requests counted in one pass: more would delay responses
_MAX_INT64 = 2**63 - 1  # the array of limits holds 64-bit integers


class AnsweredCall(FinishedCall, Protocol):
    """Figures of an answered request; see :class:`emulator.journal.entry.JournalEntry`."""

    @property
    def error(self) -> str | None: ...

    @property
    def reason(self) -> str: ...

    @property
    def served(self) -> str: ...

    @property
    def ended(self) -> float: ...

    @property
    def completion_tokens(self) -> int: ...

    @property
    def events(self) -> int: ...


@fast_dataclass(slots=True, eq=False)
class _Load:
    """Responses of one deployment that have begun and not ended, and their choices."""

    responses: int = 0
    choices: int = 0


class VendorMetrics:
    """Implementation of :class:`emulator.core.vendor.Metrics`.

    Requests are counted in batches, or when a metric is read, to keep the request path short.
    """

    def __init__(self, provider: Callable[[str], str] = lambda path: "") -> None:
        self._waiting: list[AnsweredCall] = []
        self._sums = LabelledTotals(provider)
        self._requests = 0
        self._prompt_tokens = 0
        self._completion_tokens = 0
        self._errors: Counter[str] = Counter()
        self._by_deployment: Counter[tuple[str, str, int]] = Counter()  # key: deployment, served model, class of status
        self._figures = array("d")
        self._names: dict[str, int] = {}
        self._numbers = count()
        self._last: dict[tuple[str, str], float] = {}
        self._loads: defaultdict[str, _Load] = defaultdict(_Load)  # by deployment
        self._prompts = 0
        self._outcomes: Counter[RequestOutcome] = Counter()
        self._joined = 0
        self._limits = array("q")
        self.running = 0

    def add(self, call: AnsweredCall) -> None:
        """Count an answered request; tokens only if it reached a deployment."""
        self._waiting.append(call)
        if len(self._waiting) >= _MAX_PENDING:
            self.catch_up()

    def catch_up(self) -> None:
        """Count the requests of the batch and release their records."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        kinds: defaultdict[Hashable, list[AnsweredCall]] = defaultdict(list)
        for call in waiting:
            kinds[call.kind].append(call)
        self._requests += len(waiting)
        for alike in kinds.values():
            self._count(alike)
        for *_, latest in sorted(kinds.values(), key=_read_end):
            if latest.deployment is not None:
                self._note_end(latest.deployment, latest.session, latest.ended)
        del self._figures[: -_LATEST * _WIDTH]
        del self._limits[:-_LATEST]
        self._sums.add(kinds.values())

    def _count(self, calls: Sequence[AnsweredCall]) -> None:
        first, many = calls[0], len(calls)
        begun = first.deployment is not None
        outcome = RequestOutcome(first.path, _find_failure(first), first.status, begun, first.reason)
        if outcome in self._outcomes or len(self._outcomes) < _MAX_OUTCOMES:
            self._outcomes[outcome] += many
        deployment, served, status = first.deployment, first.served, first.status
        if not 200 <= status < 400:
            self._errors[first.error or ""] += many
        if deployment is None:
            return
        self._count_at((deployment, served, status // 100), many)
        prompt, completion = [call.prompt_tokens for call in calls], [call.completion_tokens for call in calls]
        self._prompt_tokens += sum(prompt)
        self._completion_tokens += sum(completion)
        places = self._place(deployment), self._place(served)
        ttfts = [nan if ttft is None else ttft for ttft in [call.ttft for call in calls]]
        times = [call.duration for call in calls], ttfts
        events = [call.events for call in calls]
        rows = zip(*map(repeat, places), *times, prompt, completion, events, strict=False)
        self._figures.extend(chain.from_iterable(rows))

    def _count_at(self, key: tuple[str, str, int], many: int) -> None:
        """Add to a counter and evict the one counted longest ago: clients may invent any number of names."""
        counts = self._by_deployment
        counts[key] = counts.pop(key, 0) + many
        if len(counts) > _MAX_COUNTERS:
            del counts[next(iter(counts))]

    def _place(self, name: str) -> int:
        """Return the number of a name in the figures; evict names without figures when there are too many."""
        place = self._names.get(name)
        if place is None:
            if len(self._names) >= _MAX_NAMES:
                used = {*self._figures[::_WIDTH], *self._figures[1::_WIDTH]}
                self._names = {known: number for known, number in self._names.items() if number in used}
            place = self._names[name] = next(self._numbers)
        return place

    def register(self, names: Iterable[str]) -> None:
        """Register deployments; requests to others are counted under the model OTHER."""
        self._sums.register(names)

    def sums(self, session: str | None) -> MetricTotals:
        """Return the totals of finished requests, of all sessions or of one."""
        self.catch_up()
        return self._sums.of(session)

    def forget(self, session: str) -> None:
        self.catch_up()
        self._sums.forget(session)

    def total(self, name: str, **labels: str) -> float:
        """Return a counter; ``failed`` takes the label ``error``, request counters ``deployment`` and ``served``."""
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
            "prompts": self._prompts,
        }
        return totals.get(name, 0)

    def outcomes(self) -> Mapping[RequestOutcome, int]:
        self.catch_up()
        return self._outcomes

    def samples(self, name: str, **labels: str) -> Sequence[float]:
        """Return one figure, or ``itl``, of the latest requests that have it.

        ``labels`` select requests by ``deployment`` and ``served``.
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
        """Store the end of the last request of a session to a deployment; evict the oldest pair."""
        key = (deployment, session)
        self._last.pop(key, None)
        self._last[key] = ended
        if len(self._last) > _MAX_LAST:
            del self._last[next(iter(self._last))]

    def last(self, deployment: str, session: str) -> float | None:
        self.catch_up()
        return self._last.get((deployment, session))

    def begin(self, call: InferenceCall | None) -> None:
        """Count a response that begins."""
        if call is None:
            return
        load, request = self._loads[call.deployment.name], call.request
        choices = prompts = 1
        if type(request) is not ChatRequest or request.sampling.n != 1:  # few are not
            choices, prompts = call.choices, call.choices // call.variants
        load.responses += 1
        load.choices += choices
        self._prompts += prompts
        self._joined += load.responses > 1
        if not isinstance(request, EmbeddingRequest):
            self._limits.append(min(request.sampling.max_tokens or 0, _MAX_INT64))

    def end(self, call: InferenceCall | None) -> None:
        """Count the end of a response that has begun."""
        if call is None:
            return
        load, request = self._loads[call.deployment.name], call.request
        load.responses -= 1
        load.choices -= 1 if type(request) is ChatRequest and request.sampling.n == 1 else call.choices

    def working(self, deployment: str) -> int:
        return self._loads[deployment].responses if deployment in self._loads else 0

    def generating(self, deployment: str) -> int:
        return self._loads[deployment].choices if deployment in self._loads else 0

    def in_flight(self) -> int:
        return self.running


def _read_end(calls: Sequence[AnsweredCall]) -> float:
    return calls[-1].ended


def _find_failure(call: AnsweredCall) -> str:
    """Return why a request failed, which for a stream may be a fault in its midst."""
    return call.error or (_LATE if _LATE in call.faults else call.failure)


def _read(row: Sequence[float], name: str) -> float:
    """Return one figure of a row, for ``itl`` the mean gap between tokens in seconds; NaN if there is none."""
    if name != "itl":
        return row[_COLUMNS.index(name)]
    _, _, duration, ttft, _, tokens, _ = row
    return nan if tokens < 2 else (duration - ttft) / (tokens - 1)
