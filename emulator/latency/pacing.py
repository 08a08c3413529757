"""Compute the due times of the tokens of a response, from TTFT, ITL, prefill and server load.

``handler/planning.py`` sets the due times of each plan by it.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Self

from pydantic import Field

from emulator.core.cache import lru
from emulator.core.rng import derive_key
from emulator.core.units import Duration, StrictModel, Whole
from emulator.latency.distributions import Constant, Delay

_MAX_CACHED = 4096  # tokens; bounds what the cached schedules hold to 2 MiB


class Load(StrictModel):
    """A server with batches: the more calls run, the slower each is; when its queue is full, it refuses calls."""

    capacity: Whole = Field(ge=1, description="The maximum number of calls that run at the same time.")
    factor: float = Field(default=1.0, ge=1, description="ITL is this many times longer when `capacity` calls run.")
    queue: Whole | None = Field(
        default=None,
        ge=0,
        description="The maximum number of calls that wait; further ones are refused; absent: no maximum.",
    )

    def stretch(self, running: int) -> float:
        """Return the factor on ITL: 1 for one running call, ``factor`` for ``capacity`` calls, linear in between."""
        if self.capacity == 1:
            return 1.0
        return 1.0 + (self.factor - 1.0) * (min(max(running, 1), self.capacity) - 1) / (self.capacity - 1)


class Latency(StrictModel):
    """Time to first token, inter-token latency and what load does to them; what is absent takes no time."""

    ttft: Delay | None = Field(default=None, description="The time to first token.", examples=["250ms"])
    itl: Delay | None = Field(
        default=None, description="The inter-token latency: the time between two tokens.", examples=["12ms"]
    )
    prefill: Duration | None = Field(
        default=None, description="The time that each prompt token adds to TTFT.", examples=["0.2ms"]
    )
    load: Load | None = Field(
        default=None, description="How many calls the server runs at once, and how much that slows them down."
    )

    def merge(self, other: Self | None) -> Self:
        """Return this latency with every field that ``other`` sets."""
        if other is None or not other.model_fields_set:
            return self
        return self.model_copy(update={name: getattr(other, name) for name in other.model_fields_set})

    @property
    def immediate(self) -> bool:
        """Whether no token is delayed."""
        return self.ttft is None and self.itl is None and self.prefill is None

    def pace(self, count: int, prompt_tokens: int, key: bytes, running: int = 1) -> Sequence[float]:
        """Return when each of ``count`` tokens is due, in seconds after admission, never decreasing.

        Args:
            prompt_tokens: number of prompt tokens of the whole call.
            key: key of the choice; TTFT and ITL draw from keys derived from it.
            running: running calls at admission, this one included.
        """
        if self.immediate:
            return _space(count, 0.0, 0.0)
        first = self.ttft.sample(derive_key(key, "ttft"), 1)[0] if self.ttft else 0.0
        first += (self.prefill or 0.0) * prompt_tokens
        stretch = self.load.stretch(running) if self.load else 1.0
        if self.itl is None:
            return _space(count, first, 0.0)
        if isinstance(self.itl, Constant):
            return _space(count, first, self.itl.sample(b"", 1)[0] * stretch)
        if count == 0:
            return ()
        gaps = self.itl.sample(derive_key(key, "itl"), count - 1)
        return tuple(accumulate((gap * stretch for gap in gaps), initial=first))


def _space(count: int, first: float, gap: float) -> Sequence[float]:
    """Return evenly spaced due times."""
    if gap == 0.0:
        return (first,) * count
    return _space_cached(count, first, gap) if count <= _MAX_CACHED else _step(count, first, gap)


def _step(count: int, first: float, gap: float) -> tuple[float, ...]:
    return tuple([first + gap * index for index in range(count)])


_space_cached = lru(16)(_step)
