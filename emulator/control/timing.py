"""How well the server kept its own schedule: planned against actual times of everything it sent, in real seconds."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, log

from emulator.control.entry import Entry

log_ = logging.getLogger("emulator")
_FINEST = 1e-6  # seconds; what is less late is on time
_STEP = 1.02  # each bucket is so much wider than the one before: quantiles are right within 2 %
_FOLDED = 1000  # calls that wait to be counted until somebody asks
_LOG_STEP = log(_STEP)


@dataclass(slots=True, eq=False)
class Quantiles:
    """How late things were; room for any number of them."""

    count: int = 0
    worst: float = 0.0
    total: float = 0.0
    _buckets: dict[int, int] = field(default_factory=dict)

    def add(self, seconds: float) -> None:
        self.count += 1
        self.total += seconds
        self.worst = max(self.worst, seconds)
        bucket = ceil(log(seconds / _FINEST) / _LOG_STEP) if seconds > _FINEST else 0
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    def quantile(self, part: float) -> float:
        """Seconds that such a part was late at most; no more than the worst."""
        wanted = ceil(self.count * part)
        seen = 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen >= wanted:
                return min(self.worst, _FINEST * _STEP**bucket if bucket else 0.0)
        return 0.0


@dataclass(slots=True, eq=False)
class Errors:
    """What was late: first tokens, gaps between tokens, ends of answers."""

    ttft: Quantiles = field(default_factory=Quantiles)
    itl: Quantiles = field(default_factory=Quantiles)
    end: Quantiles = field(default_factory=Quantiles)

    def count(self, ttft: float | None, lateness: tuple[float, ...], end: float | None) -> None:
        if ttft is not None:
            self.ttft.add(ttft)
        for before, after in pairwise(lateness):
            self.itl.add(abs(after - before))
        if end is not None:
            self.end.add(end)

    @property
    def p99(self) -> float:
        """The worst p99 of the three."""
        return max(self.ttft.quantile(0.99), self.itl.quantile(0.99), self.end.quantile(0.99))


class Timing:
    """Errors of all answers since the process began, and since the last reset."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float | None, tuple[float, ...], float | None]] = []
        self._overall = Errors()
        self._latest = Errors()
        self._bound: float | None = None
        self._said = False

    def hold(self, bound: float | None) -> None:
        """From now on the run is invalid once a p99 since reset is above ``bound`` seconds; ``None``: it never is."""
        self._bound = bound
        self.reset()

    def add(self, entry: Entry, scale: float) -> None:
        """Count an answer that went out whole, by a clock so many times as fast as real time."""
        planned, ttft, end = entry.planned_ttft, entry.ttft, entry.planned_end
        late = tuple([late / scale for late in entry.lateness])
        first = None if planned is None or ttft is None else max(0.0, ttft - planned) / scale
        last = None if end is None else (late[-1] if late else max(0.0, entry.duration - end) / scale)
        self._waiting.append((first, late, last))
        if len(self._waiting) >= _FOLDED:
            self._fold()

    def reset(self) -> None:
        """Begin anew; what was counted since the process began stays."""
        self._fold()
        self._latest = Errors()
        self._said = False

    @property
    def overall(self) -> Errors:
        self._fold()
        return self._overall

    @property
    def latest(self) -> Errors:
        self._fold()
        return self._latest

    @property
    def bound(self) -> float | None:
        """Seconds."""
        return self._bound

    @property
    def invalid(self) -> str | None:
        """Why the run since reset is no good as a measurement, if it is not."""
        p99 = self.latest.p99
        if self._bound is None or p99 <= self._bound:
            return None
        return f"p99 of lateness is {p99 * 1000:.2f} ms, above {self._bound * 1000:g} ms"

    def _fold(self) -> None:
        waiting, self._waiting = self._waiting, []
        for ttft, lateness, end in waiting:
            self._overall.count(ttft, lateness, end)
            self._latest.count(ttft, lateness, end)
        if waiting and not self._said and self._bound is not None and self._latest.p99 > self._bound:
            self._said = True
            log_.warning("the run is invalid as a measurement: %s", self.invalid)
