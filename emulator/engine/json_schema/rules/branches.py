"""Rules that are other schemas for the same value."""

from __future__ import annotations

from emulator.core.json import JSON, as_array, as_text
from emulator.engine.json_schema.resolve import Dialect, Node
from emulator.engine.json_schema.rules.judge import Judge


def meets_reference(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return judge.valid_at(node.resolve(as_text(argument)), value)


def meets_dynamic_reference(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return judge.valid(node.resolve_dynamic(as_text(argument)), value)


def meets_recursive_reference(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return judge.valid(node.resolve_recursive(as_text(argument)), value)


def meets_all(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return all(judge.valid(node.below(schema), value) for schema in as_array(argument))


def meets_any(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return any(judge.valid(node.below(schema), value) for schema in as_array(argument))


def meets_just_one(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    found = 0
    for schema in as_array(argument):
        found += judge.valid(node.below(schema), value)
        if found > 1:
            return False
    return found == 1


def meets_not(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return not judge.valid(node.below(argument), value)


def meets_condition(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    schema = node.keywords
    if node.dialect <= Dialect.DRAFT_6 or not ("then" in schema or "else" in schema):
        return True
    branch = "then" if judge.valid(node.below(argument), value) else "else"
    return judge.valid(node.below(schema.get(branch, True)), value)
