"""All that is asked of one value, narrowed until a value can be written from it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from emulator.core.json import JSON, Object
from emulator.engine.json_schema.resolve import Node

TYPES = ("object", "array", "string", "integer", "fraction", "boolean", "null")
"""The types of JSON Schema made disjoint: ``fraction`` is a number that is not whole."""


class Interval(NamedTuple):
    """Numbers between two bounds; ``None``: none on that side."""

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
    """A count between two bounds."""

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
