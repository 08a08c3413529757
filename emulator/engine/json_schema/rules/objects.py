"""Rules for objects."""

from __future__ import annotations

from emulator.core.json import JSON, as_array, as_number, as_object
from emulator.engine.json_schema.keywords import is_additional
from emulator.engine.json_schema.resolve import Dialect, Node
from emulator.engine.json_schema.rules.evaluated import evaluated_names
from emulator.engine.json_schema.rules.judge import Judge
from emulator.engine.regex.matching import matches


def has_enough_members(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, dict) or len(value) >= as_number(argument)


def has_few_members(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, dict) or len(value) <= as_number(argument)


def has_required(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict) or isinstance(argument, bool):
        return True
    return all(name in value for name in as_array(argument))


def has_properties(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict):
        return True
    schemas = as_object(argument).items()
    return all(judge.valid(node.below(schema), value[name]) for name, schema in schemas if name in value)


def has_pattern_properties(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict):
        return True
    return all(
        judge.valid(node.below(schema), member)
        for pattern, schema in as_object(argument).items()
        for name, member in value.items()
        if matches(pattern, name, judge.budget)
    )


def has_additional_properties(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict) or argument is True:
        return True
    below, schema, budget = node.below(argument), node.keywords, judge.budget
    return all(judge.valid(below, v) for name, v in value.items() if is_additional(schema, name, budget))


def has_proper_names(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict):
        return True
    below = node.below(argument)
    return all(judge.valid(below, name) for name in value)


def has_dependencies(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    """``dependentRequired``, ``dependentSchemas``, and ``dependencies``, which was both."""
    if not isinstance(value, dict):
        return True
    for name, needed in as_object(argument).items():
        if name not in value:
            continue
        if isinstance(needed, str):
            needed = [needed]
        met = all(n in value for n in needed) if isinstance(needed, list) else judge.valid(node.below(needed), value)
        if not met:
            return False
    return True


def has_evaluated_members(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict) or node.dialect < Dialect.DRAFT_2019 or argument is True:
        return True
    below = node.below(argument)
    seen = evaluated_names(judge, node, value, own=False)
    return all(judge.valid(below, member) for name, member in value.items() if name not in seen)
