"""Count requests, tokens and times by labels in series, with a bound on their number.

``vendor_metrics.py`` feeds them, ``metrics.py`` renders them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol

from emulator.core.dataclass import fast_dataclass

OTHER = "_OTHER"
OPERATIONS = {"completions": "text_completion"}  # GenAI names that differ from ours
DURATIONS = tuple([0.01 * 2**step for step in range(14)])
FIRST_TOKENS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
PER_TOKEN = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
_MAX_SERIES = 2000  # of 400 bytes; beyond, models are merged, and beyond twice as many, status codes by class
_MAX_NAMES = 1000  # of rules; later ones are counted as OTHER

Labels = tuple[str | None, str, str, int, str]
"""Labels of a series: operation, provider, model, status, failure.

The operation is ``None`` for requests to no model; the model is the name of a registered deployment, or OTHER.
"""


class CountedCall(Protocol):
    """Figures of a finished request; see :class:`emulator.journal.entry.JournalEntry`."""

    @property
    def kind(self) -> Hashable:
        """Key that is equal for requests that differ only in tokens and times."""

    @property
    def asked_operation(self) -> str | None: ...

    @property
    def deployment(self) -> str | None: ...

    @property
    def status(self) -> int: ...

    @property
    def failure(self) -> str:
        """Error type; empty if the request succeeded."""

    @property
    def rule(self) -> str | None: ...

    @property
    def faults(self) -> tuple[str, ...]: ...

    @property
    def prompt_tokens(self) -> int: ...

    @property
    def sent_tokens(self) -> int: ...

    @property
    def duration(self) -> float: ...

    @property
    def ttft(self) -> float | None: ...

    @property
    def stream(self) -> bool: ...


@fast_dataclass(frozen=True, slots=True)
class BucketCounts:
    """Counts of values up to each bound and above the last one, and their sum."""

    bounds: tuple[float, ...]
    counts: Sequence[int]
    total: float

    def merge(self, other: BucketCounts) -> BucketCounts:
        counts = [one + two for one, two in zip(self.counts, other.counts, strict=True)]
        return BucketCounts(self.bounds, counts, self.total + other.total)


# A series is a row of one array: long-lived small objects, allocated between short-lived ones, would fragment memory.
# A row: requests, prompt tokens, sent tokens; then of each histogram its counts and its sum.
_DURATION_AT = 3
_FIRST_TOKEN_AT = _DURATION_AT + len(DURATIONS) + 2
_PER_TOKEN_AT = _FIRST_TOKEN_AT + len(FIRST_TOKENS) + 2
_EMPTY_ROW = array("d", bytes(array("d").itemsize * (_PER_TOKEN_AT + len(PER_TOKEN) + 2)))


@fast_dataclass(frozen=True, slots=True)
class Series:
    """Totals of the requests of equal labels: a row of the array."""

    figures: array[float]
    start: int

    @property
    def count(self) -> int:
        return int(self.figures[self.start])

    @property
    def prompt_tokens(self) -> int:
        return int(self.figures[self.start + 1])

    @property
    def sent_tokens(self) -> int:
        return int(self.figures[self.start + 2])

    @property
    def duration(self) -> BucketCounts:
        return self._read(_DURATION_AT, DURATIONS)

    @property
    def first_token(self) -> BucketCounts:
        return self._read(_FIRST_TOKEN_AT, FIRST_TOKENS)

    @property
    def per_token(self) -> BucketCounts:
        return self._read(_PER_TOKEN_AT, PER_TOKEN)

    def _read(self, place: int, bounds: tuple[float, ...]) -> BucketCounts:
        begin = self.start + place
        end = begin + len(bounds) + 1
        return BucketCounts(bounds, [*map(int, self.figures[begin:end])], self.figures[end])

    def add(self, calls: Sequence[CountedCall]) -> None:
        """Count requests of equal :attr:`CountedCall.kind`; of successful streams the token times, too."""
        figures, start = self.figures, self.start
        figures[start] += len(calls)
        figures[start + 1] += sum([call.prompt_tokens for call in calls])
        figures[start + 2] += sum([call.sent_tokens for call in calls])
        self._count(_DURATION_AT, DURATIONS, [call.duration for call in calls])
        if calls[0].stream and not calls[0].failure:
            begun = [(call, call.ttft) for call in calls if call.ttft is not None]
            self._count(_FIRST_TOKEN_AT, FIRST_TOKENS, [ttft for _, ttft in begun])
            gaps = [(call.duration - ttft) / (call.sent_tokens - 1) for call, ttft in begun if call.sent_tokens > 1]
            self._count(_PER_TOKEN_AT, PER_TOKEN, gaps)

    def _count(self, place: int, bounds: tuple[float, ...], values: Sequence[float]) -> None:
        if not values:
            return
        figures, begin = self.figures, self.start + place
        low, high = bisect_left(bounds, min(values)), bisect_left(bounds, max(values))
        if low == high:  # usually all are in one bucket
            figures[begin + low] += len(values)
        else:
            for value in values:
                figures[begin + bisect_left(bounds, value)] += 1
        figures[begin + len(bounds) + 1] += sum(values)


class MetricTotals:
    """Totals of the requests to one vendor; ``most``: series before labels are merged."""

    def __init__(self, most: int = _MAX_SERIES) -> None:
        self._most = most
        self._starts: dict[Labels, int] = {}
        self._figures = array("d")
        self.faults: Counter[str] = Counter()
        self.rules: Counter[str] = Counter()

    @property
    def series(self) -> Mapping[Labels, Series]:
        """Series by labels, in the order of their first request."""
        return {labels: Series(self._figures, start) for labels, start in self._starts.items()}

    def add(self, calls: Sequence[CountedCall], labels: Labels) -> None:
        """Count requests of equal :attr:`CountedCall.kind`."""
        Series(self._figures, self._place(labels)).add(calls)
        rule, faults = calls[0].rule, calls[0].faults
        if rule is not None:
            name = rule if rule in self.rules or len(self.rules) < _MAX_NAMES else OTHER
            self.rules[name] += len(calls)
        for fault in faults:
            self.faults[fault] += len(calls)

    def _place(self, labels: Labels) -> int:
        """Return the start of the row of these labels, which are merged where there are too many."""
        start = self._starts.get(labels)
        if start is None:
            operation, provider, _, status, failure = labels
            if len(self._starts) >= self._most:
                labels = operation, provider, OTHER, status, failure
            if len(self._starts) >= 2 * self._most:
                labels = operation, provider, OTHER, status // 100 * 100, failure
            start = self._starts.setdefault(labels, len(self._figures))
            if start == len(self._figures):
                self._figures.extend(_EMPTY_ROW)
        return start
