"""Build instances that break exactly one rule of a JSON Schema, by changing one value of a valid one.

``emulator instance --mode invalid`` prints such instances.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from emulator.core.json import JSON, Object, as_array, as_object, as_text
from emulator.core.rng import derive_key
from emulator.generation.json_schema.build import Builder
from emulator.generation.json_schema.keywords import is_additional, named, positional, required_names
from emulator.generation.json_schema.negation import breaches
from emulator.generation.json_schema.resolve import Node
from emulator.generation.json_schema.shape import Position
from emulator.generation.json_schema.validator import Checker, rules_of
from emulator.generation.regex.match import matches
from emulator.generation.step_budget import StepBudget, Unsatisfiable

Path = tuple[str | int, ...]


class Spot(NamedTuple):
    """Value within an instance, with a schema that applies to it."""

    node: Node
    value: JSON
    path: Path


_RESOLVE = {"$ref": Node.resolve, "$dynamicRef": Node.resolve_dynamic, "$recursiveRef": Node.resolve_recursive}


def below(checker: Checker, spot: Spot, keyword: str) -> Iterator[Spot] | None:
    """Yield the spots to which ``keyword`` applies schemas; return ``None`` if it states a rule itself."""
    node, value, path = spot
    argument = node.keywords[keyword]
    if keyword in _RESOLVE:
        return iter([Spot(_RESOLVE[keyword](node, as_text(argument)), value, path)])
    if keyword == "allOf":
        return (Spot(node.below(schema), value, path) for schema in as_array(argument))
    if keyword == "if":
        return _conditional(checker, spot)
    if keyword in ("items", "prefixItems"):
        return _items(spot)
    if keyword in ("properties", "patternProperties", "additionalProperties"):
        return None if argument is False else _members(checker, spot, keyword)
    return None


def _conditional(checker: Checker, spot: Spot) -> Iterator[Spot]:
    schema = spot.node.keywords
    met = checker.valid(spot.node.below(schema["if"]), spot.value)
    branch = schema.get("then" if met else "else")
    if branch is not None:
        yield spot._replace(node=spot.node.below(branch))


def _items(spot: Spot) -> Iterator[Spot]:
    first, rest = positional(spot.node.keywords)
    for index, item in enumerate(spot.value if isinstance(spot.value, list) else ()):
        schema = first[index] if index < len(first) else rest
        yield Spot(spot.node.below(schema), item, (*spot.path, index))


def _members(checker: Checker, spot: Spot, keyword: str) -> Iterator[Spot]:
    for name, value in spot.value.items() if isinstance(spot.value, dict) else ():
        for schema in _schemas_for(name, spot.node.keywords, keyword, checker.budget):
            yield Spot(spot.node.below(schema), value, (*spot.path, name))


def _schemas_for(name: str, schema: Object, keyword: str, budget: StepBudget) -> list[JSON]:
    """Return the schemas that a keyword about properties applies to the property ``name``."""
    if keyword == "properties":
        members = named(schema, keyword)
        return [members[name]] if name in members else []
    if keyword == "patternProperties":
        return [below for pattern, below in named(schema, keyword).items() if matches(pattern, name, budget)]
    return [schema[keyword]] if is_additional(schema, name, budget) else []


def violations(checker: Checker, spot: Spot) -> Iterator[tuple[str, Path]]:
    """Yield keyword and path of every broken rule; each missing property counts separately."""
    node, value, path = spot
    if node.schema is False:
        yield "false", path
    schema = node.keywords
    for keyword, rule in rules_of(node):
        if rule(checker, node, schema[keyword], value):
            continue
        spots = below(checker, spot, keyword)
        if keyword == "required":
            present = as_object(value)
            yield from ((keyword, path) for name in required_names(schema) if name not in present)
        elif spots is None:
            yield keyword, path
        elif keyword != "prefixItems" or "items" not in schema:  # the rule of ``items`` covers both
            yield from (broken for other in spots for broken in violations(checker, other))


_MAX_SPOTS = 200
_OPTIONS = 3


class Invalid(NamedTuple):
    """Instance with the keyword and path of the one rule that it breaks."""

    instance: JSON
    keyword: str
    path: Path


def break_one(builder: Builder, instance: JSON, key: bytes) -> Invalid:
    """Change ``instance`` in one place so that it breaks one rule and keeps all others.

    Raises:
        Unsatisfiable: no such change was found.
    """
    checker, root = builder.checker, builder.root
    spots = islice(_spots(builder, Spot(root, instance, ())), _MAX_SPOTS)
    rules = [(spot, keyword) for spot in spots for keyword, _ in rules_of(spot.node)]
    rules.sort(key=lambda rule: (rule[1] == "format", derive_key(key, rule[1], *rule[0].path)))
    for spot, keyword in rules:
        for value in _broken(builder, spot, keyword, key):
            changed = _replaced(instance, spot.path, value)
            found = list(islice(violations(checker, Spot(root, changed, ())), 2))
            if found == [(keyword, spot.path)]:
                return Invalid(changed, keyword, spot.path)
    raise Unsatisfiable("no instance found that breaks just one rule")


def _spots(builder: Builder, spot: Spot) -> Iterator[Spot]:
    """Yield every value of the instance with every schema that certainly applies to it."""
    if isinstance(spot.node.schema, bool):
        return
    builder.budget.spend()
    yield spot
    for keyword, _ in rules_of(spot.node):
        for other in below(builder.checker, spot, keyword) or ():
            yield from _spots(builder, other)


def _broken(builder: Builder, spot: Spot, keyword: str, key: bytes) -> Iterator[JSON]:
    """Yield values for the spot that break ``keyword`` there."""
    value, schema = spot.value, spot.node.keywords
    if keyword == "required" and isinstance(value, dict):
        for name in required_names(schema):
            yield {other: member for other, member in value.items() if other != name}
        return
    if keyword in ("additionalProperties", "unevaluatedProperties") and isinstance(value, dict):
        yield {**value, "unexpected": "value"}
    if keyword == "propertyNames" and isinstance(value, dict):
        yield from _misnamed(builder, spot, value, key)
    others = Node({name: below for name, below in schema.items() if name != keyword}, spot.node.path)
    for index, option in enumerate(islice(breaches(spot.node, keyword), _OPTIONS)):
        place = Position(derive_key(key, keyword, index), len(spot.path), str(spot.path[-1]) if spot.path else "")
        try:
            yield builder.solve((others, *option), place)
        except Unsatisfiable:
            continue


def _misnamed(builder: Builder, spot: Spot, value: Object, key: bytes) -> Iterator[JSON]:
    """Yield the object with an additional, disallowed name."""
    wrong: Object = {"type": "string", "not": spot.node.keywords["propertyNames"]}
    try:
        name = builder.solve((spot.node._replace(schema=wrong),), Position(derive_key(key, "name"), len(spot.path)))
    except Unsatisfiable:
        return
    yield {**value, as_text(name): next(iter(value.values()), "value")}


def _replaced(instance: JSON, path: Path, value: JSON) -> JSON:
    """Return the instance with another value at the path."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = as_array(instance)
        return [_replaced(item, rest, value) if index == step else item for index, item in enumerate(items)]
    members = as_object(instance)
    return {**members, step: _replaced(members[step], rest, value)}
