"""Sums over calls, by what labels say of them: as many as are configured, however many callers invent."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

OTHER = "_OTHER"
OPERATIONS = {"completions": "text_completion"}  # by GenAI's names; others are called there as they are here
DURATIONS = tuple([0.01 * 2**step for step in range(14)])
FIRST_TOKENS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
PER_TOKEN = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
_TOGETHER = 64  # values that are put into buckets at once, which costs less
_MOST_SERIES = 2000  # some kilobyte each; in later ones no model has a name, in those after them no status, either
_MOST_NAMES = 1000  # of rules and the like; later ones are counted as others


Labels = tuple[str | None, str, str, int, str]
"""What calls have in common that are counted together: operation, provider, model, status, failure.

Operation: ``None``: no model was asked. Model: a deployment's name, if it is known here.
"""


class Counted(Protocol):
    """A call that is over, as far as it is counted; :class:`Entry` says what its figures mean."""

    @property
    def kind(self) -> Hashable:
        """Calls with an equal one differ in nothing that is counted but tokens and times."""

    @property
    def operation(self) -> str | None: ...

    @property
    def deployment(self) -> str | None: ...

    @property
    def status(self) -> int: ...

    @property
    def failure(self) -> str:
        """Why it failed, in one word; empty: it did not."""

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


@dataclass(slots=True)
class Histogram:
    """How many values are no more than each bound, the last: of any size; and values that wait to be counted."""

    bounds: tuple[float, ...]
    counts: list[int] = field(init=False)
    total: float = 0.0
    waiting: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    def settle(self) -> None:
        """Count those that wait."""
        values = sorted(self.waiting)
        before = 0
        for place, bound in enumerate((*self.bounds, inf)):
            reached = bisect_right(values, bound)
            self.counts[place] += reached - before
            before = reached
        self.total += sum(values)
        self.waiting.clear()

    def merge(self, other: Histogram) -> Histogram:
        """Both together."""
        merged = Histogram(self.bounds, total=self.total + other.total)
        merged.counts = [one + two for one, two in zip(self.counts, other.counts, strict=True)]
        return merged


@dataclass(slots=True)
class Series:
    """Calls of the same labels."""

    count: int = 0
    prompt_tokens: int = 0
    sent_tokens: int = 0
    duration: Histogram = field(default_factory=lambda: Histogram(DURATIONS))
    first_token: Histogram = field(default_factory=lambda: Histogram(FIRST_TOKENS))
    per_token: Histogram = field(default_factory=lambda: Histogram(PER_TOKEN))

    def add(self, calls: Sequence[Counted]) -> None:
        """Count some, as equal as :attr:`Counted.kind` says; their first tokens, too, if they are streams."""
        self.count += len(calls)
        self.prompt_tokens += sum([call.prompt_tokens for call in calls])
        self.sent_tokens += sum([call.sent_tokens for call in calls])
        self.duration.waiting += [call.duration for call in calls]
        if calls[0].stream and not calls[0].failure:
            self._add_times(calls)
        if len(self.duration.waiting) >= _TOGETHER:
            self.settle()

    def _add_times(self, calls: Sequence[Counted]) -> None:
        """Count the times of streams that succeeded."""
        for call in calls:
            if call.ttft is not None:
                self.first_token.waiting.append(call.ttft)
                if call.sent_tokens > 1:
                    self.per_token.waiting.append((call.duration - call.ttft) / (call.sent_tokens - 1))

    def settle(self) -> None:
        """Count what waits."""
        for histogram in (self.duration, self.first_token, self.per_token):
            histogram.settle()


@dataclass(slots=True)
class Totals:
    """What calls to one vendor add up to; ``most``: different labels, but for some beyond that say little."""

    most: int = _MOST_SERIES
    series: dict[Labels, Series] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)

    def add(self, calls: Sequence[Counted], labels: Labels) -> None:
        """Count some of one kind."""
        self._take(labels).add(calls)
        rule, faults = calls[0].rule, calls[0].faults
        if rule is not None:
            name = rule if rule in self.rules or len(self.rules) < _MOST_NAMES else OTHER
            self.rules[name] += len(calls)
        for fault in faults:
            self.faults[fault] += len(calls)

    def _take(self, labels: Labels) -> Series:
        """The series of these labels, or of what is left of them where there are too many."""
        series = self.series.get(labels)
        if series is None:
            operation, provider, _, status, failure = labels
            if len(self.series) >= self.most:
                labels = operation, provider, OTHER, status, failure
            if len(self.series) >= 2 * self.most:
                labels = operation, provider, OTHER, status // 100 * 100, failure
            series = self.series.setdefault(labels, Series())
        return series

    def settle(self) -> None:
        """Count what waits."""
        for series in self.series.values():
            series.settle()
