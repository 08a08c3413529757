"""``Expectations``: the figures by which the rules judge a session's client.

``control/verdict.py`` takes them from ``expect`` and ``budget`` of the scenario.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LONG_WAIT = 60.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a session may spend; ``None``: without bound.

    Fields:
        output_tokens: sent, wasted ones included.
        cost: USD.
        attempts: of one request.
    """

    output_tokens: int | None = None
    cost: float | None = None
    attempts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """Figures of the rules; durations in seconds.

    Fields:
        early: share of a ``Retry-After`` by which a client may come early.
        growth: least ratio of a wait to the one before.
        ignored: names of rules that are not applied.
        concurrency, reuses_connections: not judged unless set.
    """

    early: float = 0.1
    growth: float = 1.5
    attempts: int = 5
    retries_after_delivery: bool = False
    deadline: float = LONG_WAIT
    hedges: int = 1
    closes_within: float = 5.0
    concurrency: int | None = None
    reuses_connections: bool = False
    budget: Budget | None = None
    ignored: frozenset[str] = field(default_factory=frozenset)


ROBUST = Expectations()
