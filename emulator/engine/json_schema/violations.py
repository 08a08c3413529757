"""Which rules an instance breaks, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from emulator.core.json import JSON
from emulator.engine.json_schema.check import Checker, rules_of
from emulator.engine.json_schema.keywords import is_additional, positional
from emulator.engine.json_schema.resolve import Node
from emulator.engine.regex.matching import matches

Path = tuple[str | int, ...]


class Spot(NamedTuple):
    """A value of the instance and a schema that applies to it."""

    node: Node
    value: JSON
    path: Path


_IN_PLACE = {"$ref": Node.resolve, "$dynamicRef": Node.resolve_dynamic, "$recursiveRef": Node.resolve_recursive}


def below(checker: Checker, spot: Spot, keyword: str) -> Iterator[Spot] | None:
    """What ``keyword`` applies schemas to, whatever the value; ``None`` if it is a rule of its own."""
    node, value, path = spot
    argument = node.schema[keyword]
    if keyword in _IN_PLACE:
        return iter([Spot(_IN_PLACE[keyword](node, argument), value, path)])
    if keyword == "allOf":
        return (Spot(node.below(schema), value, path) for schema in argument)
    if keyword == "if":
        return _conditional(checker, spot)
    if keyword in ("items", "prefixItems"):
        return _items(spot)
    if keyword in ("properties", "patternProperties", "additionalProperties"):
        return None if argument is False else _members(checker, spot, keyword)
    return None


def _conditional(checker: Checker, spot: Spot) -> Iterator[Spot]:
    schema = spot.node.schema
    met = checker.valid(spot.node.below(schema["if"]), spot.value)
    branch = schema.get("then" if met else "else")
    if branch is not None:
        yield spot._replace(node=spot.node.below(branch))


def _items(spot: Spot) -> Iterator[Spot]:
    first, rest = positional(spot.node.schema)
    for index, item in enumerate(spot.value if isinstance(spot.value, list) else ()):
        schema = first[index] if index < len(first) else rest
        yield Spot(spot.node.below(schema), item, (*spot.path, index))


def _members(checker: Checker, spot: Spot, keyword: str) -> Iterator[Spot]:
    argument, budget = spot.node.schema[keyword], checker.budget
    for name, value in spot.value.items() if isinstance(spot.value, dict) else ():
        if keyword == "properties":
            found = [argument[name]] if name in argument else []
        elif keyword == "patternProperties":
            found = [schema for pattern, schema in argument.items() if matches(pattern, name, budget)]
        else:
            found = [argument] if is_additional(spot.node.schema, name, budget) else []
        for schema in found:
            yield Spot(spot.node.below(schema), value, (*spot.path, name))


def violations(checker: Checker, spot: Spot) -> Iterator[tuple[str, Path]]:
    """Keyword and path of every broken rule; a missing property counts for itself."""
    node, value, path = spot
    if not isinstance(node.schema, dict):
        if node.schema is False:
            yield "false", path
        return
    for keyword, rule in rules_of(node):
        if rule(checker, node, node.schema[keyword], value):
            continue
        spots = below(checker, spot, keyword)
        if keyword == "required":
            yield from ((keyword, path) for name in node.schema[keyword] if name not in value)
        elif spots is None:
            yield keyword, path
        elif keyword != "prefixItems" or "items" not in node.schema:  # one of the two speaks for both
            yield from (broken for other in spots for broken in violations(checker, other))
