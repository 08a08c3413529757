"""Merge the schemas that apply to a value into one shape (``shape.py``), from which ``build.py`` writes the value."""

from collections.abc import Callable, Mapping

from emulator.core.json import JSON, as_array, as_number, as_object, as_text
from emulator.generation.json_schema.equality import exact, identity
from emulator.generation.json_schema.keywords import contains_bounds, listed, listed_values, positional, required_names
from emulator.generation.json_schema.negation import ATOMIC
from emulator.generation.json_schema.resolve import Dialect, Node
from emulator.generation.json_schema.shape import Contains, Shape, Undecided, type_of
from emulator.generation.step_budget import StepBudget

Narrow = Callable[[Shape, Node, JSON], None]

_FAMILIES = {"number": ("integer", "fraction")}


def absorb(shape: Shape, node: Node, budget: StepBudget, depth: int = 0) -> None:
    """Narrow ``shape`` by all constraints of ``node``, through references and ``allOf``."""
    budget.spend()
    budget.descend(depth)
    schema = node.schema
    if isinstance(schema, bool):
        if not schema:
            shape.types = frozenset()
        return
    mark = (id(schema), id(node.path[-1]))
    if mark in shape.seen:
        return  # a recursive reference adds no constraint
    shape.seen[mark] = schema  # kept alive, so that no other schema gets its id
    if "$ref" in schema:
        absorb(shape, node.resolve(as_text(schema["$ref"])), budget, depth + 1)
        if node.dialect <= Dialect.DRAFT_7:
            return
    shape.notes.append(schema)
    for keyword, argument in schema.items():
        if keyword in _NARROW:
            budget.spend(_extent(argument))
            _NARROW[keyword](shape, node, argument)
    _absorb_below(shape, node, budget, depth)
    shape.settle()


def _extent(argument: JSON) -> int:
    """Return the number of values that a keyword lists, also inside ``not``: its cost."""
    if isinstance(argument, dict):
        argument = argument.get("enum", argument)
    return len(argument) if isinstance(argument, list | dict) else 0


def _absorb_below(shape: Shape, node: Node, budget: StepBudget, depth: int) -> None:
    schema = node.keywords
    if "$dynamicRef" in schema:
        absorb(shape, node.resolve_dynamic(as_text(schema["$dynamicRef"])), budget, depth + 1)
    if "$recursiveRef" in schema:
        absorb(shape, node.resolve_recursive(as_text(schema["$recursiveRef"])), budget, depth + 1)
    for below in listed(schema, "allOf"):
        absorb(shape, node.below(below), budget, depth + 1)


def _type(shape: Shape, node: Node, argument: JSON) -> None:
    allowed: set[str] = set()
    for name in map(as_text, argument if isinstance(argument, list) else [argument]):
        allowed.update(_FAMILIES.get(name, (name,)))
    if not shape.types <= allowed:
        shape.types &= allowed
        shape.sift()


def _enum(shape: Shape, node: Node, argument: JSON) -> None:
    values = as_array(argument)
    if shape.values is not None:
        allowed = set(map(identity, values))
        values = [value for value in shape.values if identity(value) in allowed]
    excluded = {identity(value) for node in shape.exclusions for value in listed_values(node.keywords)}
    shape.values = [value for value in values if type_of(value) in shape.types and identity(value) not in excluded]


def _const(shape: Shape, node: Node, argument: JSON) -> None:
    _enum(shape, node, [argument])


def _minimum(shape: Shape, node: Node, argument: JSON) -> None:
    shape.interval = shape.interval.above(exact(as_number(argument)), node.keywords.get("exclusiveMinimum") is True)


def _maximum(shape: Shape, node: Node, argument: JSON) -> None:
    shape.interval = shape.interval.below(exact(as_number(argument)), node.keywords.get("exclusiveMaximum") is True)


def _exclusive_minimum(shape: Shape, node: Node, argument: JSON) -> None:
    if not isinstance(argument, bool):
        shape.interval = shape.interval.above(exact(as_number(argument)), True)


def _exclusive_maximum(shape: Shape, node: Node, argument: JSON) -> None:
    if not isinstance(argument, bool):
        shape.interval = shape.interval.below(exact(as_number(argument)), True)


def _multiple_of(shape: Shape, node: Node, argument: JSON) -> None:
    if argument:
        shape.multiples.append(abs(exact(as_number(argument))))


def _min_length(shape: Shape, node: Node, argument: JSON) -> None:
    shape.length = shape.length.at_least(as_number(argument))


def _max_length(shape: Shape, node: Node, argument: JSON) -> None:
    shape.length = shape.length.at_most(as_number(argument))


def _pattern(shape: Shape, node: Node, argument: JSON) -> None:
    shape.patterns.append(as_text(argument))


def _format(shape: Shape, node: Node, argument: JSON) -> None:
    shape.formats.append(as_text(argument))


def _min_items(shape: Shape, node: Node, argument: JSON) -> None:
    shape.item_count = shape.item_count.at_least(as_number(argument))


def _max_items(shape: Shape, node: Node, argument: JSON) -> None:
    shape.item_count = shape.item_count.at_most(as_number(argument))


def _unique_items(shape: Shape, node: Node, argument: JSON) -> None:
    shape.unique = shape.unique or argument is True


def _items(shape: Shape, node: Node, argument: JSON) -> None:
    if not shape.items or shape.items[-1] is not node:
        shape.items.append(node)
    first, rest = positional(node.keywords)
    if rest is False:
        shape.item_count = shape.item_count.at_most(len(first))


def _contains(shape: Shape, node: Node, argument: JSON) -> None:
    low, high = contains_bounds(node)
    shape.contains.append(Contains(node.below(argument), low, high, node.dialect >= Dialect.DRAFT_2020))
    shape.item_count = shape.item_count.at_least(low)
    shape.delicate = True


def _min_properties(shape: Shape, node: Node, argument: JSON) -> None:
    shape.member_count = shape.member_count.at_least(as_number(argument))


def _max_properties(shape: Shape, node: Node, argument: JSON) -> None:
    shape.member_count = shape.member_count.at_most(as_number(argument))


def _required(shape: Shape, node: Node, argument: JSON) -> None:
    shape.required.update(dict.fromkeys(required_names(node.keywords)))


def _members(shape: Shape, node: Node, argument: JSON) -> None:
    if not shape.members or shape.members[-1] is not node:
        shape.members.append(node)


def _property_names(shape: Shape, node: Node, argument: JSON) -> None:
    shape.names.append(node.below(argument))


def _choice(keyword: str) -> Narrow:
    def defer(shape: Shape, node: Node, argument: JSON) -> None:
        shape.choices.append(Undecided(keyword, node))
        shape.delicate = True

    return defer


def _dependencies(shape: Shape, node: Node, argument: JSON) -> None:
    for name, needed in as_object(argument).items():
        if isinstance(needed, list | str):
            shape.dependent.append((name, [needed] if isinstance(needed, str) else needed))
        else:
            shape.choices.append(Undecided("dependent", node.below(needed), name))
            shape.delicate = True


def _not(shape: Shape, node: Node, argument: JSON) -> None:
    opposite = node.below(argument)
    keyword = next(iter(opposite.keywords)) if len(opposite.keywords) == 1 else None
    if keyword == "type":
        other = Shape()
        _type(other, node, opposite.keywords["type"])
        shape.types -= other.types
        shape.sift()
    elif keyword == "uniqueItems":
        _absorb_twins(shape, opposite.keywords["uniqueItems"])
    elif keyword in ATOMIC:
        shape.exclusions.append(opposite)
        shape.types &= _ONLY_OF.get(keyword, shape.types)
        if shape.values is not None:
            excluded = set(map(identity, listed_values(opposite.keywords)))
            shape.values = [v for v in shape.values if type_of(v) in shape.types and identity(v) not in excluded]
        shape.delicate = True
    else:
        shape.choices.append(Undecided("not", node))
        shape.delicate = True


def _absorb_twins(shape: Shape, unique: JSON) -> None:
    shape.types &= {"array"} if unique is True else set()
    shape.twins = True
    shape.item_count = shape.item_count.at_least(2)
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


_NARROW: Mapping[str, Narrow] = {
    "type": _type, "enum": _enum, "const": _const, "minimum": _minimum, "maximum": _maximum,
    "exclusiveMinimum": _exclusive_minimum, "exclusiveMaximum": _exclusive_maximum, "multipleOf": _multiple_of,
    "minLength": _min_length, "maxLength": _max_length, "pattern": _pattern, "format": _format,
    "minItems": _min_items, "maxItems": _max_items, "uniqueItems": _unique_items, "items": _items,
    "prefixItems": _items, "contains": _contains, "minProperties": _min_properties,
    "maxProperties": _max_properties, "required": _required, "properties": _members,
    "patternProperties": _members, "additionalProperties": _members, "propertyNames": _property_names,
    "dependentRequired": _dependencies,
    "dependentSchemas": _dependencies, "dependencies": _dependencies, "not": _not,
    "anyOf": _choice("anyOf"), "oneOf": _choice("oneOf"), "if": _choice("if"),
    "unevaluatedProperties": _unevaluated_properties,
    "unevaluatedItems": _unevaluated_items,
}  # fmt: skip
