"""Shape of a value: all its constraints, after the schemas that apply to it are merged."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Literal, NamedTuple, Protocol

from emulator.core.json import JSON, Object
from emulator.core.rng import derive_key
from emulator.generation.budget import Budget
from emulator.generation.json_schema.resolve import Node
from emulator.generation.json_schema.validator import Checker

TYPES = ("object", "array", "string", "integer", "fraction", "boolean", "null")
"""The types of JSON Schema made disjoint: ``fraction`` is a number that is not whole."""


class Interval(NamedTuple):
    """Range of numbers; ``None``: unbounded on that side."""

    low: Fraction | None = None
    high: Fraction | None = None
    open_low: bool = False
    open_high: bool = False

    def above(self, bound: Fraction, exclusive: bool) -> Interval:
        if self.low is None or bound > self.low or (bound == self.low and exclusive):
            return self._replace(low=bound, open_low=exclusive)
        return self

    def below(self, bound: Fraction, exclusive: bool) -> Interval:
        if self.high is None or bound < self.high or (bound == self.high and exclusive):
            return self._replace(high=bound, open_high=exclusive)
        return self

    @property
    def empty(self) -> bool:
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.open_low or self.open_high))


class Count(NamedTuple):
    """Range of a count."""

    low: int = 0
    high: int | None = None

    def at_least(self, count: float) -> Count:
        return self._replace(low=max(self.low, ceil(count)))

    def at_most(self, count: float) -> Count:
        most = floor(count)
        return self._replace(high=most if self.high is None else min(self.high, most))

    @property
    def empty(self) -> bool:
        return self.high is not None and self.low > self.high


class Contains(NamedTuple):
    """Between ``low`` and ``high`` items are instances of ``node``; ``evaluates``: they count as spoken of."""

    node: Node
    low: int
    high: int | None
    evaluates: bool


class Undecided(NamedTuple):
    """A keyword that can be met in several ways; ``name``: the property it depends on, if it does."""

    keyword: str
    node: Node
    name: str = ""


ANY_NUMBER = Interval()
ANY_COUNT = Count()


@dataclass(slots=True)
class Shape:
    """What is asked of one value.

    Fields:
        unique, twins: no two items are alike; the first two are.
        members: node of a schema that speaks of properties, as it stands (names it adds depend on its own lists).
        items: likewise for items.
        choices: what is still to be decided; the rest is settled.
        exclusions: schemas of one keyword of which the value must be no instance.
        notes: every schema that was merged.
        lax: a branch was chosen without a look at its siblings.
        delicate: what is built must be checked, for it is not right by construction.
    """

    types: frozenset[str] = frozenset(TYPES)
    values: list[JSON] | None = None
    interval: Interval = ANY_NUMBER
    multiples: list[Fraction] = field(default_factory=list)
    length: Count = ANY_COUNT
    patterns: list[str] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    item_count: Count = ANY_COUNT
    unique: bool = False
    twins: bool = False
    items: list[Node] = field(default_factory=list)
    contains: list[Contains] = field(default_factory=list)
    member_count: Count = ANY_COUNT
    members: list[Node] = field(default_factory=list)
    names: list[Node] = field(default_factory=list)
    required: dict[str, None] = field(default_factory=dict)
    dependent: list[tuple[str, list[str]]] = field(default_factory=list)
    unevaluated_members: list[Node] = field(default_factory=list)
    unevaluated_items: list[Node] = field(default_factory=list)
    choices: list[Undecided] = field(default_factory=list)
    exclusions: list[Node] = field(default_factory=list)
    notes: list[Object] = field(default_factory=list)
    seen: dict[tuple[int, int], Object] = field(default_factory=dict)
    delicate: bool = False
    lax: bool = False

    def copy(self) -> Shape:
        """A shape that can be narrowed further without touching this one."""
        twin = copy(self)
        for name in _LISTS:
            setattr(twin, name, list(getattr(self, name)))
        twin.required, twin.seen = dict(self.required), dict(self.seen)
        return twin

    def larger(self, count: int) -> Shape:
        """The same with at least so many members or items: the smaller ones were ruled out."""
        twin = copy(self)
        if not self.member_count.at_least(count).empty:
            twin.member_count = self.member_count.at_least(count)
        if not self.item_count.at_least(count).empty:
            twin.item_count = self.item_count.at_least(count)
        return twin

    @property
    def empty(self) -> bool:
        """No value can be of this shape, as far as is easily seen."""
        return not self.types or self.values == []

    def settle(self) -> None:
        """Drop types that the other bounds leave no value of."""
        gone = set()
        if self.interval.empty:
            gone |= {"integer", "fraction"}
        if self.length.empty:
            gone.add("string")
        if self.item_count.empty:
            gone.add("array")
        if self.member_count.at_least(len(self.required)).empty:
            gone.add("object")
        if gone & self.types:
            self.types -= gone
            self.sift()

    def sift(self) -> None:
        """Drop listed values of types no longer allowed."""
        if self.values is not None:
            self.values = [value for value in self.values if type_of(value) in self.types]


_LISTS = (
    "multiples", "patterns", "formats", "items", "contains", "members", "names", "dependent", "unevaluated_members",
    "unevaluated_items", "choices", "exclusions", "notes",
)  # fmt: skip


def type_of(value: JSON) -> str:
    """Which of :data:`TYPES` a value is."""
    if isinstance(value, float):
        return "integer" if value.is_integer() else "fraction"
    return _PLAIN_TYPES[type(value)]


_PLAIN_TYPES: Mapping[type, str] = {
    str: "string", int: "integer", bool: "boolean", type(None): "null", list: "array", dict: "object",
}  # fmt: skip


Mode = Literal["typical", "minimal", "boundary", "adversarial", "invalid"]


@dataclass(frozen=True, slots=True)
class Style:
    """What one mode prefers where the schema leaves it open.

    Fields:
        optional: share of optional properties that are present.
        deepest: levels below which only what is required is present.
        members: values after which only what is required is present.
        items: most items beyond the fewest.
        hints: ``examples`` and ``default`` of the schema are used.
        extreme: numbers, lengths and counts at one of their bounds.
        hostile: texts that trip careless readers.
    """

    optional: float = 0.0
    deepest: int = 0
    members: int = 0
    items: int = 0
    hints: bool = False
    extreme: bool = False
    hostile: bool = False


STYLES: dict[str, Style] = {
    "typical": Style(optional=0.75, deepest=4, members=40, items=2, hints=True),
    "minimal": Style(),
    "boundary": Style(optional=0.5, deepest=4, members=60, items=3, extreme=True),
    "adversarial": Style(optional=1.0, deepest=4, members=80, items=3, hostile=True),
}


class Position(NamedTuple):
    """Where in the instance a value goes.

    Fields:
        key: for its draws.
        depth: levels above it.
        name: of the property it is, or is in.
        spare: only what is required: what is optional was tried before, and in vain.
    """

    key: bytes
    depth: int = 0
    name: str = ""
    spare: bool = False

    def below(self, step: str | int, name: str) -> Position:
        return Position(derive_key(self.key, step), self.depth + 1, name, self.spare)


class Solver(Protocol):
    """Makes the values below an array or an object, which are asked for one by one."""

    root: Node
    style: Style
    budget: Budget
    checker: Checker

    def frugal(self, place: Position) -> bool:
        """Only what is required from here on."""

    def solve(self, nodes: tuple[Node, ...], place: Position) -> JSON:
        """A value that is an instance of every node.

        Raises:
            Unsatisfiable: there is none.
            Exhausted: none was found within the bound.
        """
