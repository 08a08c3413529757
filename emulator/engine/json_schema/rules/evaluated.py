"""Which properties and items the schemas at one place have already spoken of."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.core.json import JSON, Object, as_text
from emulator.engine.json_schema.keywords import listed, named, positional, speaks_of_rest
from emulator.engine.json_schema.resolve import Dialect, Node
from emulator.engine.json_schema.rules.judge import Judge
from emulator.engine.regex.matching import matches


def _in_place(judge: Judge, node: Node, value: JSON) -> Iterator[Node]:
    """Schemas that apply to the same value as ``node`` does, and accept it."""
    schema = node.keywords
    for keyword, resolve in (
        ("$ref", node.resolve),
        ("$dynamicRef", node.resolve_dynamic),
        ("$recursiveRef", node.resolve_recursive),
    ):
        if keyword in schema:
            yield resolve(as_text(schema[keyword]))
    branches = [*listed(schema, "allOf"), *listed(schema, "anyOf"), *listed(schema, "oneOf")]
    if isinstance(value, dict):
        branches += [below for name, below in named(schema, "dependentSchemas").items() if name in value]
    yield from (below for below in map(node.below, branches) if judge.valid(below, value))
    if "if" in schema:
        yield from _conditional(judge, node, value)


def _conditional(judge: Judge, node: Node, value: JSON) -> Iterator[Node]:
    condition = node.below(node.keywords["if"])
    met = judge.valid(condition, value)
    if met:
        yield condition
    branch = node.keywords.get("then" if met else "else")
    if branch is not None:
        yield node.below(branch)


def evaluated_names(judge: Judge, node: Node, value: Object, own: bool = True) -> set[str]:
    """Names ``node`` speaks of; ``own``: counting its ``unevaluatedProperties``."""
    schema = node.keywords
    if "additionalProperties" in schema or (own and "unevaluatedProperties" in schema):
        return set(value)
    found = value.keys() & named(schema, "properties").keys()
    patterns = named(schema, "patternProperties")
    found |= {name for name in value if any(matches(pattern, name, judge.budget) for pattern in patterns)}
    for below in _in_place(judge, node, value):
        found |= evaluated_names(judge, below, value)
    return found


def evaluated_items(judge: Judge, node: Node, value: list[JSON], own: bool = True) -> set[int]:
    """Positions ``node`` speaks of; ``own``: counting its ``unevaluatedItems``."""
    schema = node.keywords
    if speaks_of_rest(schema) or (own and "unevaluatedItems" in schema):
        return set(range(len(value)))
    first, _ = positional(schema)
    found = set(range(min(len(first), len(value))))
    if "contains" in schema and node.dialect >= Dialect.DRAFT_2020:
        below = node.below(schema["contains"])
        found |= {index for index, item in enumerate(value) if judge.valid(below, item)}
    for below in _in_place(judge, node, value):
        found |= evaluated_items(judge, below, value)
    return found
