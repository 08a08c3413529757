"""Types of a verdict's rules and of their findings: a breach, or why a rule cannot be judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from emulator.verdicts.calls import Call, History
from emulator.verdicts.expectations import Expectations


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that calls break: a sentence, and the figures in it."""

    rule: str
    calls: Sequence[Call]
    sentence: str
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Why there is nothing that a rule could judge."""

    why: str


Finding = list[Breach] | Unjudged


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule by its name; ``needs_clock``: it judges waits, so the scenario's time has to be the client's."""

    name: str
    judge: Callable[[History, Expectations], Finding]
    needs_clock: bool = False


def show(seconds: float) -> str:
    """Format seconds for a sentence."""
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"
