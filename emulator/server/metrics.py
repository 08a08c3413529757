"""Running totals of one vendor."""

from collections import Counter, deque
from collections.abc import Sequence

from emulator.control.entry import Entry
from emulator.core.vendor import Call

_LATEST = 10_000


class VendorMetrics:
    """Implements :class:`emulator.core.vendor.Metrics` over the entries of the journal.

    Adding an entry is on every request's road; sums over labels and samples are made when somebody asks.
    """

    def __init__(self) -> None:
        self._totals: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._by_deployment: Counter[tuple[str, str, int]] = Counter()  # and who served, and class of status
        self._calls: deque[Entry] = deque(maxlen=_LATEST)
        self._working: Counter[str] = Counter()
        self.running = 0

    def add(self, entry: Entry) -> None:
        """Count one answered request; one that reached a deployment counts its tokens too."""
        totals = self._totals
        totals["requests"] += 1
        if 200 <= entry.status < 400:
            totals["succeeded"] += 1
        else:
            totals["failed"] += 1
            self._errors[entry.error or ""] += 1
        if entry.deployment is not None:
            self._by_deployment[entry.deployment, entry.served, entry.status // 100] += 1
            totals["prompt_tokens"] += entry.prompt_tokens
            totals["completion_tokens"] += entry.completion_tokens
            self._calls.append(entry)

    def total(self, name: str, **labels: str) -> float:
        """A counter; ``failed`` also by ``error``, a kind of refusal, and some by ``deployment`` and ``served``."""
        if "deployment" in labels:
            deployment, served = labels["deployment"], labels["served"]
            kinds = range(10) if name == "requests" else (int(name[0]),)
            return sum(self._by_deployment[deployment, served, kind] for kind in kinds)
        return self._errors[labels["error"]] if "error" in labels else self._totals[name]

    def samples(self, name: str, **labels: str) -> Sequence[float]:
        """The latest calls' values of one field of :class:`Entry`, or ``itl``; those that have one.

        ``labels`` are fields of an entry, too, and only calls with the same are looked at.
        """
        calls = (call for call in self._calls if all(getattr(call, label) == labels[label] for label in labels))
        values = (_itl(entry) if name == "itl" else getattr(entry, name) for entry in calls)
        return tuple(value for value in values if value is not None)

    def work(self, call: Call | None, step: int) -> None:
        """The answer to a call begins to go out (1), or is over (-1)."""
        if call is not None:
            self._working[call.deployment.name] += step

    def working(self, deployment: str) -> int:
        return self._working[deployment]

    def in_flight(self) -> int:
        return self.running


def _itl(entry: Entry) -> float | None:
    """Mean gap between two tokens of a call, seconds."""
    if entry.ttft is None or entry.completion_tokens < 2:
        return None
    return (entry.duration - entry.ttft) / (entry.completion_tokens - 1)
