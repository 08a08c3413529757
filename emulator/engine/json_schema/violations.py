"""Which rules an instance breaks, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from emulator.core.json import JSON, Object, as_array, as_object, as_text
from emulator.engine.budget import Budget
from emulator.engine.json_schema.check import Checker, rules_of
from emulator.engine.json_schema.keywords import is_additional, named, positional, required_names
from emulator.engine.json_schema.resolve import Node
from emulator.engine.regex.matching import matches

Path = tuple[str | int, ...]


class Spot(NamedTuple):
    """A value of the instance and a schema that applies to it."""

    node: Node
    value: JSON
    path: Path


_RESOLVE = {"$ref": Node.resolve, "$dynamicRef": Node.resolve_dynamic, "$recursiveRef": Node.resolve_recursive}


def below(checker: Checker, spot: Spot, keyword: str) -> Iterator[Spot] | None:
    """What ``keyword`` applies schemas to, whatever the value; ``None`` if it is a rule of its own."""
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


def _schemas_for(name: str, schema: Object, keyword: str, budget: Budget) -> list[JSON]:
    """What a keyword about properties asks of one of them."""
    if keyword == "properties":
        members = named(schema, keyword)
        return [members[name]] if name in members else []
    if keyword == "patternProperties":
        return [below for pattern, below in named(schema, keyword).items() if matches(pattern, name, budget)]
    return [schema[keyword]] if is_additional(schema, name, budget) else []


def violations(checker: Checker, spot: Spot) -> Iterator[tuple[str, Path]]:
    """Keyword and path of every broken rule; a missing property counts for itself."""
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
        elif keyword != "prefixItems" or "items" not in schema:  # one of the two speaks for both
            yield from (broken for other in spots for broken in violations(checker, other))
