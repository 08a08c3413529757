"""How well the server kept its own schedule: planned against actual times of everything it sent, in real seconds."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from math import ceil, log
from operator import sub
from typing import Protocol

log_ = logging.getLogger("emulator")
_FINEST = 1e-6  # seconds; what is less late is on time
_STEP = 1.02  # each bucket is so much wider than the one before: quantiles are right within 2 %
_FOLDED = 1000  # times that wait to be counted together: more would let answers wait


@dataclass(slots=True, eq=False)
class Quantiles:
    """How late things were; room for any number of them."""

    count: int = 0
    worst: float = 0.0
    total: float = 0.0
    _buckets: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, late: Sequence[float]) -> None:
        """Count some, each of which costs little."""
        if not late:
            return
        self.count += len(late)
        self.total += sum(late)
        self.worst = max(self.worst, *late)
        finest, per_step = _FINEST, 1.0 / log(_STEP)
        buckets = self._buckets
        places = [int(log(seconds / finest) * per_step) + 1 if seconds > finest else 0 for seconds in late]
        buckets.extend([0] * (max(places) + 1 - len(buckets)))
        for place in places:
            buckets[place] += 1

    def merge(self, other: Quantiles) -> Quantiles:
        """Both together."""
        return Quantiles(
            self.count + other.count,
            max(self.worst, other.worst),
            self.total + other.total,
            array("Q", map(sum, zip_longest(self._buckets, other._buckets, fillvalue=0))),
        )

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    def quantile(self, part: float) -> float:
        """Seconds that such a part was late at most; no more than the worst."""
        wanted = ceil(self.count * part)
        seen = 0
        for bucket, count in enumerate(self._buckets):
            seen += count
            if seen >= wanted:
                return min(self.worst, _FINEST * _STEP**bucket if bucket else 0.0)
        return 0.0


@dataclass(slots=True, eq=False)
class Errors:
    """What was late: first tokens, gaps between tokens, ends of answers."""

    ttft: Quantiles = field(default_factory=Quantiles)
    itl: Quantiles = field(default_factory=Quantiles)
    end: Quantiles = field(default_factory=Quantiles)

    def merge(self, other: Errors) -> Errors:
        """Both together."""
        return Errors(self.ttft.merge(other.ttft), self.itl.merge(other.itl), self.end.merge(other.end))

    @property
    def p99(self) -> float:
        """The worst p99 of the three."""
        return max(self.ttft.quantile(0.99), self.itl.quantile(0.99), self.end.quantile(0.99))


class TimedCall(Protocol):
    """When the parts of an answer were due and when they were sent, as the journal's entries have them."""

    @property
    def planned_ttft(self) -> float | None: ...

    @property
    def ttft(self) -> float | None: ...

    @property
    def planned_end(self) -> float | None: ...

    @property
    def duration(self) -> float: ...

    @property
    def lateness(self) -> Sequence[float]: ...


class TimingReport:
    """Errors of all answers since the process began, and since the last reset."""

    def __init__(self) -> None:
        self._ttft: list[float] = []
        self._itl: list[float] = []
        self._end: list[float] = []
        self._before = Errors()
        self._latest = Errors()
        self._bound: float | None = None
        self._said = False

    def hold(self, bound: float | None) -> None:
        """From now on the run is invalid once a p99 since reset is above ``bound`` seconds; ``None``: it never is."""
        self._bound = bound
        self.reset()

    def add(self, call: TimedCall, scale: float) -> None:
        """Count an answer that went out whole, by a clock so many times as fast as real time."""
        planned, ttft, end, late = call.planned_ttft, call.ttft, call.planned_end, call.lateness
        if planned is not None and ttft is not None:
            self._ttft.append(max(0.0, ttft - planned) / scale)
        if len(late) > 1:
            gaps = map(abs, map(sub, late[1:], late))
            self._itl += gaps if scale == 1.0 else [gap / scale for gap in gaps]
        if end is not None:
            self._end.append((late[-1] if late else max(0.0, call.duration - end)) / scale)
        if len(self._end) + len(self._itl) >= _FOLDED:
            self._fold()

    def add_at_once(self, late: float) -> None:
        """Count an answer in one piece that nothing delayed, so many real seconds after it was asked for."""
        self._ttft.append(late)
        self._end.append(late)
        if len(self._end) >= _FOLDED:
            self._fold()

    def reset(self) -> None:
        """Begin anew; what was counted since the process began stays."""
        self._fold()
        self._before = self._before.merge(self._latest)
        self._latest = Errors()
        self._said = False

    @property
    def overall(self) -> Errors:
        self._fold()
        return self._before.merge(self._latest)

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
        latest = self._latest
        for errors, waiting in ((latest.ttft, self._ttft), (latest.itl, self._itl), (latest.end, self._end)):
            errors.add(waiting)
            waiting.clear()
        if not self._said and self._bound is not None and latest.p99 > self._bound:
            self._said = True
            log_.warning("the run is invalid as a measurement: %s", self.invalid)
