"""Rules for a value as a whole, for numbers and for strings."""

from __future__ import annotations

from emulator.core.json import JSON, as_array, as_number, as_text
from emulator.engine.json_schema.equality import equal, exact, is_finite, is_number
from emulator.engine.json_schema.formats import conforms
from emulator.engine.json_schema.keywords import has_type
from emulator.engine.json_schema.resolve import Node
from emulator.engine.json_schema.rules.judge import Judge
from emulator.engine.regex.matching import matches


def is_of_type(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    names = argument if isinstance(argument, list) else [argument]
    return any(has_type(value, name, node.dialect) for name in names)


def is_listed(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    members = as_array(argument)
    if isinstance(value, str):
        judge.budget.spend(len(members) // 8)
        return value in members
    judge.budget.spend(len(members))
    return any(equal(value, member) for member in members)


def is_same(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return equal(value, argument)


def is_not_below(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    if not is_number(value):
        return True
    low = as_number(argument)
    return value > low if node.keywords.get("exclusiveMinimum") is True else value >= low


def is_not_above(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    if not is_number(value):
        return True
    high = as_number(argument)
    return value < high if node.keywords.get("exclusiveMaximum") is True else value <= high


def is_above(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return isinstance(argument, bool) or not is_number(value) or value > as_number(argument)


def is_below(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return isinstance(argument, bool) or not is_number(value) or value < as_number(argument)


def is_multiple(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    if not is_number(value) or not argument:
        return True
    return is_finite(value) and (exact(value) / exact(as_number(argument))).denominator == 1


def is_long_enough(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, str) or len(value) >= as_number(argument)


def is_short_enough(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, str) or len(value) <= as_number(argument)


def has_pattern(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, str) or matches(as_text(argument), value, judge.budget)


def is_of_format(judge: Judge, node: Node, argument: JSON, value: JSON) -> bool:
    return not judge.assert_formats or not isinstance(value, str) or conforms(as_text(argument), value)
