"""Running totals of one vendor."""

from collections import Counter, deque
from collections.abc import Sequence

from emulator.core.vendor import Call
from emulator.server.trace import Trace

_LATEST = 10_000


class VendorMetrics:
    """Implements :class:`emulator.core.vendor.Metrics` over what exchanges leave behind.

    Adding one is on every request's road; sums over labels and samples are made when somebody asks.
    """

    def __init__(self) -> None:
        self._requests = 0
        self._prompt_tokens = 0
        self._completion_tokens = 0
        self._errors: Counter[str] = Counter()
        self._by_deployment: Counter[tuple[str, str, int]] = Counter()  # and who served, and class of status
        self._calls: deque[Trace] = deque(maxlen=_LATEST)
        self._working: Counter[str] = Counter()
        self.running = 0

    def add(self, trace: Trace) -> None:
        """Count one answered request; one that reached a deployment counts its tokens too."""
        self._requests += 1
        status = trace.sent.status
        if not 200 <= status < 400:
            self._errors[trace.error or ""] += 1
        if trace.deployment is not None:
            self._by_deployment[trace.deployment, trace.served, status // 100] += 1
            usage = trace.usage
            if usage is not None:
                self._prompt_tokens += usage.prompt_tokens
                self._completion_tokens += usage.completion_tokens
            self._calls.append(trace)

    def total(self, name: str, **labels: str) -> float:
        """A counter; ``failed`` also by ``error``, a kind of refusal, and some by ``deployment`` and ``served``."""
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
        }
        return totals.get(name, 0)

    def samples(self, name: str, **labels: str) -> Sequence[float]:
        """The latest calls' values of one figure of :class:`Trace`, or ``itl``; those that have one.

        ``labels`` are figures, too, and only calls with the same are looked at.
        """
        calls = (call for call in self._calls if all(getattr(call, label) == labels[label] for label in labels))
        values = (_itl(call) if name == "itl" else getattr(call, name) for call in calls)
        return tuple(value for value in values if value is not None)

    def work(self, call: Call | None, step: int) -> None:
        """The answer to a call begins to go out (1), or is over (-1)."""
        if call is not None:
            self._working[call.deployment.name] += step

    def working(self, deployment: str) -> int:
        return self._working[deployment]

    def in_flight(self) -> int:
        return self.running


def _itl(call: Trace) -> float | None:
    """Mean gap between two tokens of a call, seconds."""
    if call.ttft is None or call.completion_tokens < 2:
        return None
    return (call.duration - call.ttft) / (call.completion_tokens - 1)
