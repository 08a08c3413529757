"""``VerdictRule``, its finding (a breach, or why it is not judged), and ``Expectations``, figures by which it judges.

``control/verdict.py`` takes the figures from ``expect`` and ``budget`` of the scenario.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from emulator.core.dataclass import fast_dataclass
from emulator.verdicts.calls import Call, CallHistory

LONG_WAIT = 60.0  # seconds


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a session may spend; ``None``: without bound.

    Fields:
        output_tokens: sent, wasted ones included.
        cost: USD.
        attempts: attempts of one request.
    """

    output_tokens: int | None = None
    cost: float | None = None
    attempts: int | None = None


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """Figures of the rules; durations in seconds.

    Fields:
        early: share of a wait by which a client may come early, as it draws its waits and takes time itself.
        growth: minimum ratio of a wait to the one before.
        attempts: maximum of attempts of one request.
        retries_after_delivery: a client may repeat a request of which it has a part of the answer.
        deadline: after so long a client leaves a call.
        hedges: maximum of equal calls at once.
        closes_within: maximum duration of a stream after the client has made its next call.
        concurrency: maximum of calls at once; ``None``: not judged.
        reuses_connections: whether a client reuses connections is judged.
        ignored: names of rules that are not applied.
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


@fast_dataclass(frozen=True, slots=True)
class Breach:
    """Breach of a rule by calls: a sentence, and the figures in it."""

    rule: str
    calls: Sequence[Call]
    sentence: str
    figures: Mapping[str, float] = field(default_factory=dict)


@fast_dataclass(frozen=True, slots=True)
class Unjudged:
    """Reason why a rule has nothing to judge."""

    why: str


Finding = list[Breach] | Unjudged


@fast_dataclass(frozen=True, slots=True)
class VerdictRule:
    """Rule about a client's calls; ``needs_clock``: it judges waits, so the scenario's time has to be the client's."""

    name: str
    judge: Callable[[CallHistory, Expectations], Finding]
    needs_clock: bool = False


def show(seconds: float) -> str:
    """Format seconds for a sentence."""
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"
