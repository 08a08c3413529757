"""Which properties and items the schemas at one place have already spoken of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from emulator.core.json import JSON
from emulator.engine.json_schema.keywords import positional
from emulator.engine.json_schema.resolve import Dialect, Node
from emulator.engine.regex.matching import matches

if TYPE_CHECKING:
    from emulator.engine.json_schema.check import Checker


def in_place(checker: Checker, node: Node, value: JSON) -> Iterator[Node]:
    """Schemas that apply to the same value as ``node`` does, and accept it."""
    schema = node.schema
    for keyword, resolve in (
        ("$ref", node.resolve),
        ("$dynamicRef", node.resolve_dynamic),
        ("$recursiveRef", node.resolve_recursive),
    ):
        if keyword in schema:
            yield resolve(schema[keyword])
    branches = [*schema.get("allOf", ()), *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    dependent = schema.get("dependentSchemas", {})
    if isinstance(value, dict):
        branches += [below for name, below in dependent.items() if name in value]
    yield from (below for below in map(node.below, branches) if checker.valid(below, value))
    if "if" in schema:
        yield from _conditional(checker, node, value)


def _conditional(checker: Checker, node: Node, value: JSON) -> Iterator[Node]:
    condition = node.below(node.schema["if"])
    met = checker.valid(condition, value)
    if met:
        yield condition
    branch = node.schema.get("then" if met else "else")
    if branch is not None:
        yield node.below(branch)


def evaluated_names(checker: Checker, node: Node, value: JSON, own: bool = True) -> set[str]:
    """Names ``node`` speaks of; ``own``: counting its ``unevaluatedProperties``."""
    schema = node.schema
    if not isinstance(schema, dict):
        return set()
    if "additionalProperties" in schema or (own and "unevaluatedProperties" in schema):
        return set(value)
    found = {name for name in value if name in schema.get("properties", ())}
    patterns = schema.get("patternProperties", ())
    found |= {name for name in value if any(matches(pattern, name, checker.budget) for pattern in patterns)}
    for below in in_place(checker, node, value):
        found |= evaluated_names(checker, below, value)
    return found


def evaluated_items(checker: Checker, node: Node, value: JSON, own: bool = True) -> set[int]:
    """Positions ``node`` speaks of; ``own``: counting its ``unevaluatedItems``."""
    schema = node.schema
    if not isinstance(schema, dict):
        return set()
    first, _ = positional(schema)
    whole = "additionalItems" if isinstance(schema.get("items"), list) else "items"
    if whole in schema or (own and "unevaluatedItems" in schema):
        return set(range(len(value)))
    found = set(range(min(len(first), len(value))))
    if "contains" in schema and node.dialect >= Dialect.DRAFT_2020:
        below = node.below(schema["contains"])
        found |= {index for index, item in enumerate(value) if checker.valid(below, item)}
    for below in in_place(checker, node, value):
        found |= evaluated_items(checker, below, value)
    return found
