"""The tree of a regular expression."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.engine.regex.charset import Ranges


class BadPattern(ValueError):
    """Not a regular expression, or one with parts not understood."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    options: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    part: Part
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Group:
    """A numbered group, from 1."""

    part: Part
    number: int


@dataclass(frozen=True, slots=True)
class Backreference:
    number: int


@dataclass(frozen=True, slots=True)
class Anchor:
    """``^``, ``$``, ``b`` (word boundary) or ``B`` (none)."""

    kind: str


@dataclass(frozen=True, slots=True)
class Look:
    """What must, or must not, follow or come before."""

    part: Part
    ahead: bool
    negative: bool


Part = Chars | Sequence | Choice | Repeat | Group | Backreference | Anchor | Look
NOTHING = Sequence(())


def children(part: Part) -> tuple[Part, ...]:
    """The parts directly below."""
    if isinstance(part, Sequence):
        return part.parts
    if isinstance(part, Choice):
        return part.options
    return (part.part,) if isinstance(part, Repeat | Group | Look) else ()
