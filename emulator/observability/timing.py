"""Measure how late the server sends against its own plan, in real seconds: tokens, and ends of responses.

The recorder adds each response; ``GET /_emulator/timing`` reports it, and a bound can declare the run invalid.
"""

from __future__ import annotations

import logging
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from itertools import zip_longest
from math import ceil, log
from operator import sub
from typing import Protocol

from emulator.core.dataclass import fast_dataclass

logger = logging.getLogger("emulator")
_FINEST = 1e-6  # seconds; the upper bound of the first bucket
_STEP = 1.02  # ratio of the bounds of adjacent buckets: quantiles are right within 2 %
_MAX_PENDING = 250  # values counted in one pass: more would delay responses


@fast_dataclass(slots=True, eq=False)
class Quantiles:
    """Histogram of lateness in seconds, with exponential buckets."""

    count: int = 0
    worst: float = 0.0
    total: float = 0.0
    _buckets: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, late: Sequence[float], *others: Quantiles) -> None:
        """Count values here and in other histograms."""
        if not late:
            return
        finest, per_step = _FINEST, 1.0 / log(_STEP)
        places = Counter([int(log(seconds / finest) * per_step) + 1 if seconds > finest else 0 for seconds in late])
        for histogram in (self, *others):
            histogram.count += len(late)
            histogram.total += sum(late)
            histogram.worst = max(histogram.worst, *late)
            buckets = histogram._buckets
            buckets.extend([0] * (max(places) + 1 - len(buckets)))
            for place, count in places.items():
                buckets[place] += count

    def merge(self, other: Quantiles) -> Quantiles:
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
        """Return the upper bound of the quantile ``part`` (0 to 1) in seconds; at most ``worst``."""
        wanted = ceil(self.count * part)
        seen = 0
        for bucket, count in enumerate(self._buckets):
            seen += count
            if seen >= wanted:
                return min(self.worst, _FINEST * _STEP**bucket if bucket else 0.0)
        return 0.0


@fast_dataclass(slots=True, eq=False)
class Errors:
    """Lateness of first tokens, of gaps between tokens and of the ends of responses."""

    ttft: Quantiles = field(default_factory=Quantiles)
    itl: Quantiles = field(default_factory=Quantiles)
    end: Quantiles = field(default_factory=Quantiles)

    def merge(self, other: Errors) -> Errors:
        return Errors(self.ttft.merge(other.ttft), self.itl.merge(other.itl), self.end.merge(other.end))

    @property
    def p99(self) -> float:
        """Largest p99 of the three."""
        return max(self.ttft.quantile(0.99), self.itl.quantile(0.99), self.end.quantile(0.99))


class TimedCall(Protocol):
    """Due and actual times of a response; see :class:`emulator.journal.entry.JournalEntry`."""

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


class TimingAccuracy:
    """Timing errors of all responses since the process started, and since the last reset."""

    def __init__(self) -> None:
        self._ttft: list[float] = []
        self._itl: list[float] = []
        self._end: list[float] = []
        self._at_once: list[float] = []  # of first tokens that are the ends, too
        self._before = Errors()
        self._latest = Errors()
        self._bound: float | None = None
        self._is_reported = False

    def set_bound(self, bound: float | None) -> None:
        """Set the p99, in seconds, above which the run is invalid (``None``: never), and reset."""
        self._bound = bound
        self.reset()

    def add(self, call: TimedCall, scale: float) -> None:
        """Count a response that was sent to its end; ``scale``: scenario seconds in a real second."""
        planned, ttft, end, late = call.planned_ttft, call.ttft, call.planned_end, call.lateness
        if planned is not None and ttft is not None:
            self._ttft.append(max(0.0, ttft - planned) / scale)
        if len(late) > 1:
            gaps = map(abs, map(sub, late[1:], late))
            self._itl += gaps if scale == 1.0 else [gap / scale for gap in gaps]
        if end is not None:
            self._end.append((late[-1] if late else max(0.0, call.duration - end)) / scale)
        if len(self._end) + len(self._itl) >= _MAX_PENDING:
            self._flush()

    def add_at_once(self, late: float) -> None:
        """Count a whole response without delay, sent ``late`` real seconds after its request."""
        self._at_once.append(late)
        if len(self._at_once) >= _MAX_PENDING:
            self._flush()

    def reset(self) -> None:
        """Begin a new run; :attr:`overall` keeps the values of earlier ones."""
        self._flush()
        self._before = self._before.merge(self._latest)
        self._latest = Errors()
        self._is_reported = False

    @property
    def overall(self) -> Errors:
        self._flush()
        return self._before.merge(self._latest)

    @property
    def latest(self) -> Errors:
        self._flush()
        return self._latest

    @property
    def bound(self) -> float | None:
        """Maximum p99 of the schedule error of a valid run, in seconds; ``None``: none."""
        return self._bound

    @property
    def invalid(self) -> str | None:
        """Reason why the run since the last reset is invalid as a measurement; ``None`` if it is valid."""
        p99 = self.latest.p99
        if self._bound is None or p99 <= self._bound:
            return None
        return f"the p99 of the schedule error is {p99 * 1000:.2f} ms, above {self._bound * 1000:g} ms"

    def _flush(self) -> None:
        latest = self._latest
        for errors, waiting in ((latest.ttft, self._ttft), (latest.itl, self._itl), (latest.end, self._end)):
            errors.add(waiting)
            waiting.clear()
        latest.ttft.add(self._at_once, latest.end)
        self._at_once.clear()
        if not self._is_reported and self._bound is not None and latest.p99 > self._bound:
            self._is_reported = True
            logger.warning("the run is invalid as a measurement: %s", self.invalid)
