"""Sample the load of the last five minutes, with which the charts of the console begin.

``runtime.py`` holds it; ``GET /_emulator/history`` returns the samples.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

_LENGTH = 300.0  # seconds
_MAX_SAMPLES = 1200


class LoadSample(NamedTuple):
    """Load at one moment: open responses, busy and queued slots, requests so far, p99 lateness in seconds."""

    open: int
    running: int
    queued: int
    requests: int
    lateness_p99: float


class LoadHistory:
    """Loads of the last five minutes with their wall-clock times; ``measure``: returns the load of now."""

    def __init__(self, measure: Callable[[], LoadSample], now: Callable[[], float] = time.time) -> None:
        self._measure = measure
        self._now = now
        self.samples: deque[tuple[float, LoadSample]] = deque(maxlen=_MAX_SAMPLES)

    def sample(self) -> None:
        """Add a sample, and drop those that are too old."""
        now = self._now()
        self.samples.append((now, self._measure()))
        while self.samples[0][0] < now - _LENGTH:
            self.samples.popleft()
