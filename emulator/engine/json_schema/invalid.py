"""An instance that breaks exactly one rule of its schema."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from emulator.core.json import JSON, Object, as_array, as_object, as_text
from emulator.core.seed import derive
from emulator.engine.budget import Unsatisfiable
from emulator.engine.json_schema.build import Builder
from emulator.engine.json_schema.check import rules_of
from emulator.engine.json_schema.keywords import required_names
from emulator.engine.json_schema.negation import breaches
from emulator.engine.json_schema.position import Position
from emulator.engine.json_schema.resolve import Node
from emulator.engine.json_schema.violations import Path, Spot, below, violations

_MOST_SPOTS = 200
_OPTIONS = 3


class Invalid(NamedTuple):
    """An instance, and the one rule it breaks: a keyword, and where in the instance."""

    instance: JSON
    keyword: str
    path: Path


def break_one(builder: Builder, instance: JSON, key: bytes) -> Invalid:
    """Change ``instance`` in one place so that it breaks one rule and keeps all others.

    Raises:
        Unsatisfiable: no such change was found.
    """
    checker, root = builder.checker, builder.root
    spots = islice(_spots(builder, Spot(root, instance, ())), _MOST_SPOTS)
    rules = [(spot, keyword) for spot in spots for keyword, _ in rules_of(spot.node)]
    rules.sort(key=lambda rule: (rule[1] == "format", derive(key, rule[1], *rule[0].path)))
    for spot, keyword in rules:
        for value in _broken(builder, spot, keyword, key):
            changed = _replaced(instance, spot.path, value)
            found = list(islice(violations(checker, Spot(root, changed, ())), 2))
            if found == [(keyword, spot.path)]:
                return Invalid(changed, keyword, spot.path)
    raise Unsatisfiable("no instance found that breaks just one rule")


def _spots(builder: Builder, spot: Spot) -> Iterator[Spot]:
    """Every value of the instance with every schema that certainly applies to it."""
    if isinstance(spot.node.schema, bool):
        return
    builder.budget.spend()
    yield spot
    for keyword, _ in rules_of(spot.node):
        for other in below(builder.checker, spot, keyword) or ():
            yield from _spots(builder, other)


def _broken(builder: Builder, spot: Spot, keyword: str, key: bytes) -> Iterator[JSON]:
    """Values for the spot that break ``keyword`` there."""
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
        place = Position(derive(key, keyword, index), len(spot.path), str(spot.path[-1]) if spot.path else "")
        try:
            yield builder.solve((others, *option), place)
        except Unsatisfiable:
            continue


def _misnamed(builder: Builder, spot: Spot, value: Object, key: bytes) -> Iterator[JSON]:
    """The object with one more name, which is not allowed."""
    wrong: Object = {"type": "string", "not": spot.node.keywords["propertyNames"]}
    try:
        name = builder.solve((spot.node._replace(schema=wrong),), Position(derive(key, "name"), len(spot.path)))
    except Unsatisfiable:
        return
    yield {**value, as_text(name): next(iter(value.values()), "value")}


def _replaced(instance: JSON, path: Path, value: JSON) -> JSON:
    """The instance with another value at the path."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = as_array(instance)
        return [_replaced(item, rest, value) if index == step else item for index, item in enumerate(items)]
    members = as_object(instance)
    return {**members, step: _replaced(members[step], rest, value)}
