"""All that several schemas together ask of one value, merged and narrowed before anything is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from emulator.core.json import JSON
from emulator.engine.json_schema.bounds import Budget
from emulator.engine.json_schema.check import contains_bounds, has_type, positional
from emulator.engine.json_schema.equality import equal, exact
from emulator.engine.json_schema.negation import ATOMIC
from emulator.engine.json_schema.resolve import Dialect, Node

TYPES = ("object", "array", "string", "integer", "fraction", "boolean", "null")
"""The types of JSON Schema made disjoint: ``fraction`` is a number that is not whole."""

_FAMILIES = {"number": ("integer", "fraction")}


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


class Span(NamedTuple):
    """A count between two bounds."""

    low: int = 0
    high: int | None = None

    def at_least(self, count: JSON) -> Span:
        return self._replace(low=max(self.low, ceil(count)))

    def at_most(self, count: JSON) -> Span:
        count = floor(count)
        return self._replace(high=count if self.high is None else min(self.high, count))

    @property
    def empty(self) -> bool:
        return self.high is not None and self.low > self.high


class Contains(NamedTuple):
    """Between ``low`` and ``high`` items are instances of ``node``."""

    node: Node
    low: int
    high: int | None


class Undecided(NamedTuple):
    """A keyword that can be met in several ways; ``name``: the property it depends on, if it does."""

    keyword: str
    node: Node
    name: str = ""


@dataclass(slots=True)
class Shape:
    """What is asked of one value.

    Fields:
        members: node of a schema that speaks of properties, as it stands (names it adds depend on its own lists).
        items: likewise for items.
        choices: what is still to be decided; the rest is settled.
        exclusions: schemas of one keyword of which the value must be no instance.
        notes: every schema that was merged.
        delicate: what is built must be checked, for it is not right by construction.
    """

    types: frozenset[str] = frozenset(TYPES)
    values: list[JSON] | None = None
    interval: Interval = Interval()
    multiples: list[Fraction] = field(default_factory=list)
    length: Span = Span()
    patterns: list[str] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    item_count: Span = Span()
    unique: bool = False
    items: list[Node] = field(default_factory=list)
    contains: list[Contains] = field(default_factory=list)
    member_count: Span = Span()
    members: list[Node] = field(default_factory=list)
    names: list[Node] = field(default_factory=list)
    required: dict[str, None] = field(default_factory=dict)
    dependent: list[tuple[str, list[str]]] = field(default_factory=list)
    unevaluated_members: list[Node] = field(default_factory=list)
    unevaluated_items: list[Node] = field(default_factory=list)
    choices: list[Undecided] = field(default_factory=list)
    exclusions: list[Node] = field(default_factory=list)
    notes: list[JSON] = field(default_factory=list)
    seen: dict[tuple[int, int], JSON] = field(default_factory=dict)
    delicate: bool = False

    def copy(self) -> Shape:
        """A shape that can be narrowed further without touching this one."""
        twin = copy(self)
        for name in _LISTS:
            setattr(twin, name, list(getattr(self, name)))
        twin.required, twin.seen = dict(self.required), dict(self.seen)
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
        if self.member_count.empty or (self.member_count.high or 0) < len(self.required) and self.member_count.high is not None:
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


def absorb(shape: Shape, node: Node, budget: Budget, depth: int = 0) -> None:
    """Narrow ``shape`` by everything ``node`` asks, through references and ``allOf``."""
    budget.spend()
    budget.descend(depth)
    schema = node.schema
    if not isinstance(schema, dict):
        if schema is False:
            shape.types = frozenset()
        return
    mark = (id(schema), id(node.path[-1]))
    if mark in shape.seen:
        return  # a reference back to what is already asked asks nothing new
    shape.seen[mark] = schema  # kept alive, so that no other schema gets its id
    if "$ref" in schema:
        absorb(shape, node.resolve(schema["$ref"]), budget, depth + 1)
        if node.dialect <= Dialect.DRAFT_7:
            return
    shape.notes.append(schema)
    for keyword, argument in schema.items():
        narrow = _NARROW.get(keyword)
        if narrow is not None:
            narrow(shape, node, argument)
        elif keyword in _CHOICES:
            shape.choices.append(Undecided(keyword, node))
            shape.delicate = True
    _absorb_below(shape, node, budget, depth)
    shape.settle()


def _absorb_below(shape: Shape, node: Node, budget: Budget, depth: int) -> None:
    schema = node.schema
    if "$dynamicRef" in schema:
        absorb(shape, node.resolve_dynamic(schema["$dynamicRef"]), budget, depth + 1)
    if "$recursiveRef" in schema:
        absorb(shape, node.resolve_recursive(schema["$recursiveRef"]), budget, depth + 1)
    for below in schema.get("allOf", ()):
        absorb(shape, node.below(below), budget, depth + 1)


_CHOICES = frozenset({"anyOf", "oneOf", "if"})


def _type(shape: Shape, node: Node, argument: JSON) -> None:
    names = argument if isinstance(argument, list) else [argument]
    allowed: set[str] = set()
    for name in names:
        allowed.update(_FAMILIES.get(name, (name,)) if isinstance(name, str) else ())
    if not shape.types <= allowed:
        shape.types &= allowed
        shape.sift()


def _enum(shape: Shape, node: Node, argument: JSON) -> None:
    values = argument if shape.values is None else [v for v in shape.values if _among(v, argument)]
    excluded = [value for node in shape.exclusions for value in _listed(node.schema)]
    shape.values = [value for value in values if type_of(value) in shape.types and not _among(value, excluded)]


def _const(shape: Shape, node: Node, argument: JSON) -> None:
    _enum(shape, node, [argument])


def _minimum(shape: Shape, node: Node, argument: JSON) -> None:
    shape.interval = shape.interval.above(exact(argument), node.schema.get("exclusiveMinimum") is True)


def _maximum(shape: Shape, node: Node, argument: JSON) -> None:
    shape.interval = shape.interval.below(exact(argument), node.schema.get("exclusiveMaximum") is True)


def _exclusive_minimum(shape: Shape, node: Node, argument: JSON) -> None:
    if not isinstance(argument, bool):
        shape.interval = shape.interval.above(exact(argument), True)


def _exclusive_maximum(shape: Shape, node: Node, argument: JSON) -> None:
    if not isinstance(argument, bool):
        shape.interval = shape.interval.below(exact(argument), True)


def _multiple_of(shape: Shape, node: Node, argument: JSON) -> None:
    if argument:
        shape.multiples.append(abs(exact(argument)))


def _min_length(shape: Shape, node: Node, argument: JSON) -> None:
    shape.length = shape.length.at_least(argument)


def _max_length(shape: Shape, node: Node, argument: JSON) -> None:
    shape.length = shape.length.at_most(argument)


def _pattern(shape: Shape, node: Node, argument: JSON) -> None:
    shape.patterns.append(argument)


def _format(shape: Shape, node: Node, argument: JSON) -> None:
    if isinstance(argument, str):
        shape.formats.append(argument)


def _min_items(shape: Shape, node: Node, argument: JSON) -> None:
    shape.item_count = shape.item_count.at_least(argument)


def _max_items(shape: Shape, node: Node, argument: JSON) -> None:
    shape.item_count = shape.item_count.at_most(argument)


def _unique_items(shape: Shape, node: Node, argument: JSON) -> None:
    shape.unique = shape.unique or argument is True


def _items(shape: Shape, node: Node, argument: JSON) -> None:
    if not shape.items or shape.items[-1] is not node:
        shape.items.append(node)
    first, rest = positional(node.schema)
    if rest is False:
        shape.item_count = shape.item_count.at_most(len(first))


def _contains(shape: Shape, node: Node, argument: JSON) -> None:
    low, high = contains_bounds(node)
    shape.contains.append(Contains(node.below(argument), low, high))
    shape.item_count = shape.item_count.at_least(low)
    shape.delicate = True


def _min_properties(shape: Shape, node: Node, argument: JSON) -> None:
    shape.member_count = shape.member_count.at_least(argument)


def _max_properties(shape: Shape, node: Node, argument: JSON) -> None:
    shape.member_count = shape.member_count.at_most(argument)


def _required(shape: Shape, node: Node, argument: JSON) -> None:
    if isinstance(argument, list):
        shape.required.update(dict.fromkeys(argument))


def _members(shape: Shape, node: Node, argument: JSON) -> None:
    if not shape.members or shape.members[-1] is not node:
        shape.members.append(node)


def _property_names(shape: Shape, node: Node, argument: JSON) -> None:
    shape.names.append(node.below(argument))


def _dependencies(shape: Shape, node: Node, argument: JSON) -> None:
    for name, needed in argument.items():
        if isinstance(needed, list | str):
            shape.dependent.append((name, [needed] if isinstance(needed, str) else needed))
        else:
            shape.choices.append(Undecided("dependent", node.below(needed), name))
            shape.delicate = True


def _not(shape: Shape, node: Node, argument: JSON) -> None:
    keyword = next(iter(argument)) if isinstance(argument, dict) and len(argument) == 1 else None
    if keyword == "type":
        opposite = Shape()
        _type(opposite, node, argument["type"])
        shape.types -= opposite.types
        shape.sift()
    elif keyword in ATOMIC:
        shape.exclusions.append(node.below(argument))
        shape.types &= _ONLY_OF.get(keyword, shape.types)
        if shape.values is not None:
            listed = _listed(argument)
            shape.values = [v for v in shape.values if type_of(v) in shape.types and not _among(v, listed)]
        shape.delicate = True
    else:
        shape.choices.append(Undecided("not", node))
        shape.delicate = True


_ONLY_OF = {
    "pattern": frozenset({"string"}),
    "format": frozenset({"string"}),
    "multipleOf": frozenset({"integer", "fraction"}),
}


def _unevaluated_properties(shape: Shape, node: Node, argument: JSON) -> None:
    shape.unevaluated_members.append(node.below(argument))
    shape.delicate = True


def _unevaluated_items(shape: Shape, node: Node, argument: JSON) -> None:
    shape.unevaluated_items.append(node.below(argument))
    shape.delicate = True


_NARROW: Mapping[str, Callable[[Shape, Node, JSON], None]] = {
    "type": _type, "enum": _enum, "const": _const, "minimum": _minimum, "maximum": _maximum,
    "exclusiveMinimum": _exclusive_minimum, "exclusiveMaximum": _exclusive_maximum, "multipleOf": _multiple_of,
    "minLength": _min_length, "maxLength": _max_length, "pattern": _pattern, "format": _format,
    "minItems": _min_items, "maxItems": _max_items, "uniqueItems": _unique_items, "items": _items,
    "prefixItems": _items, "contains": _contains, "minProperties": _min_properties,
    "maxProperties": _max_properties, "required": _required, "properties": _members,
    "patternProperties": _members, "additionalProperties": _members, "propertyNames": _property_names,
    "dependentRequired": _dependencies, "dependentSchemas": _dependencies, "dependencies": _dependencies, "not": _not, "unevaluatedProperties": _unevaluated_properties,
    "unevaluatedItems": _unevaluated_items,
}  # fmt: skip


def _listed(schema: JSON) -> list[JSON]:
    """The values an atomic schema lists."""
    if "const" in schema:
        return [schema["const"]]
    return list(schema.get("enum", ()))


def _among(value: JSON, values: list[JSON]) -> bool:
    return any(equal(value, other) for other in values)


def type_of(value: JSON) -> str:
    """Which of :data:`TYPES` a value is."""
    if has_type(value, "integer"):
        return "integer"
    if has_type(value, "number"):
        return "fraction"
    return next(name for name in TYPES if has_type(value, name))
