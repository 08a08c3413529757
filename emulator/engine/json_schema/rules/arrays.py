"""Rules for arrays."""

from __future__ import annotations

from emulator.core.json import JSON, as_number
from emulator.engine.json_schema.equality import identity
from emulator.engine.json_schema.keywords import contains_bounds, positional
from emulator.engine.json_schema.resolve import Dialect, Node
from emulator.engine.json_schema.rules.evaluated import evaluated_items
from emulator.engine.json_schema.rules.judge import Judge


def has_enough_items(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, list) or len(value) >= as_number(argument)


def has_few_items(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, list) or len(value) <= as_number(argument)


def has_unique_items(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return argument is not True or not isinstance(value, list) or len({identity(v) for v in value}) == len(value)


def has_items(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    """``items`` and ``prefixItems`` together."""
    if not isinstance(value, list):
        return True
    first, rest = positional(node.keywords)
    below = [node.below(schema) for schema in first[: len(value)]]
    if not all(judge.valid(n, v) for n, v in zip(below, value, strict=False)):
        return False
    after = node.below(rest)
    return rest is True or all(judge.valid(after, item) for item in value[len(first) :])


def does_contain(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, list):
        return True
    low, high = contains_bounds(node)
    below = node.below(argument)
    found = sum(judge.valid(below, item) for item in value)
    return low <= found and (high is None or found <= high)


def has_evaluated_items(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, list) or node.dialect < Dialect.DRAFT_2019 or argument is True:
        return True
    below = node.below(argument)
    seen = evaluated_items(judge, node, value, own=False)
    return all(judge.valid(below, item) for index, item in enumerate(value) if index not in seen)
