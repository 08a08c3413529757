"""``Shape``: all constraints on one value, after the schemas that apply to it are merged.

It has also the modes of generation (typical, minimal, …), and ``Solver``, by which arrays and objects build their
parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import field
from fractions import Fraction
from math import ceil, floor
from typing import Literal, NamedTuple, Protocol

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object
from emulator.core.rng import derive_key
from emulator.generation.json_schema.resolve import Node
from emulator.generation.json_schema.validator import Checker
from emulator.generation.step_budget import StepBudget

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
    """Constraint that ``low`` to ``high`` items are instances of ``node``; ``evaluates``: these count as evaluated."""

    node: Node
    low: int
    high: int | None
    evaluates: bool


class Undecided(NamedTuple):
    """Keyword that several options satisfy; ``name``: the property that ``dependentSchemas`` depends on."""

    keyword: str
    node: Node
    name: str = ""


ANY_NUMBER = Interval()
ANY_COUNT = Count()


@fast_dataclass(slots=True)
class Shape:
    """All constraints on one value.

    Fields:
        unique, twins: no two items are equal; the first two are.
        members: unmerged schemas with keywords about properties, as ``additionalProperties`` depends on its siblings.
        items: unmerged schemas with keywords about items.
        choices: keywords that are undecided.
        exclusions: schemas of one keyword that the value must not satisfy.
        notes: every merged schema.
        lax: a branch of ``oneOf`` was chosen without the negation of its siblings.
        delicate: the value must be validated, as it may fail the schemas.
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
        """Return a copy that can be narrowed independently."""
        twin = copy(self)
        for name in _LISTS:
            setattr(twin, name, list(getattr(self, name)))
        twin.required, twin.seen = dict(self.required), dict(self.seen)
        return twin

    def larger(self, count: int) -> Shape:
        """Return a copy with at least ``count`` members or items."""
        twin = copy(self)
        if not self.member_count.at_least(count).empty:
            twin.member_count = self.member_count.at_least(count)
        if not self.item_count.at_least(count).empty:
            twin.item_count = self.item_count.at_least(count)
        return twin

    @property
    def empty(self) -> bool:
        """Return whether the shape evidently allows no value."""
        return not self.types or self.values == []

    def settle(self) -> None:
        """Drop types that have no value within the other bounds."""
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
    """Return the one of :data:`TYPES` that a value has."""
    if isinstance(value, float):
        return "integer" if value.is_integer() else "fraction"
    return _PLAIN_TYPES[type(value)]


_PLAIN_TYPES: Mapping[type, str] = {
    str: "string", int: "integer", bool: "boolean", type(None): "null", list: "array", dict: "object",
}  # fmt: skip


Mode = Literal["typical", "minimal", "boundary", "adversarial", "invalid"]


@fast_dataclass(frozen=True, slots=True)
class Style:
    """Preferences of one mode among the values that a schema allows.

    Fields:
        optional: share of optional properties that are present.
        deepest: levels below which only required parts are present.
        members: values after which only required parts are present.
        items: maximum of items in addition to the required ones.
        hints: ``examples`` and ``default`` of the schema are used.
        extreme: numbers, lengths and counts are at one of their bounds.
        hostile: texts are hard to parse naively.
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
    """Position of a value in the instance.

    Fields:
        key: key of the draws for the value.
        depth: number of levels above the value.
        name: property that is or contains the value.
        spare: only required parts are present, because attempts with optional ones failed.
    """

    key: bytes
    depth: int = 0
    name: str = ""
    spare: bool = False

    def below(self, step: str | int, name: str) -> Position:
        return Position(derive_key(self.key, step), self.depth + 1, name, self.spare)


class Solver(Protocol):
    """Builder of the values in an array or an object; a protocol, as the builder's module imports both writers."""

    root: Node
    style: Style
    budget: StepBudget
    checker: Checker

    def frugal(self, place: Position) -> bool:
        """Return whether only required parts are present from this position on."""

    def solve(self, nodes: tuple[Node, ...], place: Position) -> JSON:
        """Return a value that is an instance of every node.

        Raises:
            Unsatisfiable: no value is.
            Exhausted: no value was found within the budget.
        """
