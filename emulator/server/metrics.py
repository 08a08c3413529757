"""Running totals of one vendor."""

from collections import Counter, deque
from collections.abc import Sequence

_LATEST = 10_000


class VendorMetrics:
    """Implements :class:`emulator.core.vendor.Metrics` in memory."""

    def __init__(self) -> None:
        self._totals: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        self._samples: dict[str, deque[float]] = {}
        self.running = 0

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        self._totals[name, tuple(sorted(labels.items()))] += amount  # type: ignore[assignment]

    def observe(self, name: str, value: float) -> None:
        samples = self._samples.get(name)
        if samples is None:
            samples = self._samples[name] = deque(maxlen=_LATEST)
        samples.append(value)

    def total(self, name: str, **labels: str) -> float:
        """The counter; without labels, the sum over all of them."""
        if labels:
            return self._totals[name, tuple(sorted(labels.items()))]
        return sum(value for (counter, _), value in self._totals.items() if counter == name)

    def samples(self, name: str) -> Sequence[float]:
        return tuple(self._samples.get(name, ()))

    def in_flight(self) -> int:
        return self.running
