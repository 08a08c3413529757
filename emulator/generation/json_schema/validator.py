"""Validate an instance against a JSON Schema: every validation keyword, one rule each.

The builder validates what it has written, and ``emulator instance --mode invalid`` what it has broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from emulator.core.json import JSON, Object, as_array, as_number, as_object, as_text
from emulator.generation.json_schema.equality import equal, exact, identity, is_finite, is_number
from emulator.generation.json_schema.formats import conforms
from emulator.generation.json_schema.keywords import (
    constrains_rest,
    contains_bounds,
    has_type,
    is_additional,
    listed,
    named,
    positional,
)
from emulator.generation.json_schema.resolve import Dialect, Node
from emulator.generation.regex.match import matches
from emulator.generation.step_budget import StepBudget

Rule = Callable[["Checker", Node, JSON, JSON], bool]
"""Return whether a value satisfies a keyword: takes the checker, the schema, the keyword's argument and the value."""


def meets_reference(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return checker.valid_at(node.resolve(as_text(argument)), value)


def meets_dynamic_reference(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return checker.valid(node.resolve_dynamic(as_text(argument)), value)


def meets_recursive_reference(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return checker.valid(node.resolve_recursive(as_text(argument)), value)


def meets_all(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return all(checker.valid(node.below(schema), value) for schema in as_array(argument))


def meets_any(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return any(checker.valid(node.below(schema), value) for schema in as_array(argument))


def meets_just_one(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    found = 0
    for schema in as_array(argument):
        found += checker.valid(node.below(schema), value)
        if found > 1:
            return False
    return found == 1


def meets_not(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not checker.valid(node.below(argument), value)


def meets_condition(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    schema = node.keywords
    if node.dialect <= Dialect.DRAFT_6 or not ("then" in schema or "else" in schema):
        return True
    branch = "then" if checker.valid(node.below(argument), value) else "else"
    return checker.valid(node.below(schema.get(branch, True)), value)


def _in_place(checker: Checker, node: Node, value: JSON) -> Iterator[Node]:
    """Yield schemas that apply to the same value as ``node`` and accept it."""
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
    yield from (below for below in map(node.below, branches) if checker.valid(below, value))
    if "if" in schema:
        yield from _conditional(checker, node, value)


def _conditional(checker: Checker, node: Node, value: JSON) -> Iterator[Node]:
    condition = node.below(node.keywords["if"])
    met = checker.valid(condition, value)
    if met:
        yield condition
    branch = node.keywords.get("then" if met else "else")
    if branch is not None:
        yield node.below(branch)


def evaluated_names(checker: Checker, node: Node, value: Object, own: bool = True) -> set[str]:
    """Return the names that ``node`` evaluates; ``own``: by its ``unevaluatedProperties``, too."""
    schema = node.keywords
    if "additionalProperties" in schema or (own and "unevaluatedProperties" in schema):
        return set(value)
    found = value.keys() & named(schema, "properties").keys()
    patterns = named(schema, "patternProperties")
    found |= {name for name in value if any(matches(pattern, name, checker.budget) for pattern in patterns)}
    for below in _in_place(checker, node, value):
        found |= evaluated_names(checker, below, value)
    return found


def evaluated_items(checker: Checker, node: Node, value: list[JSON], own: bool = True) -> set[int]:
    """Return the item indices that ``node`` evaluates; ``own``: by its ``unevaluatedItems``, too."""
    schema = node.keywords
    if constrains_rest(schema) or (own and "unevaluatedItems" in schema):
        return set(range(len(value)))
    first, _ = positional(schema)
    found = set(range(min(len(first), len(value))))
    if "contains" in schema and node.dialect >= Dialect.DRAFT_2020:
        below = node.below(schema["contains"])
        found |= {index for index, item in enumerate(value) if checker.valid(below, item)}
    for below in _in_place(checker, node, value):
        found |= evaluated_items(checker, below, value)
    return found


def has_enough_items(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, list) or len(value) >= as_number(argument)


def has_few_items(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, list) or len(value) <= as_number(argument)


def has_unique_items(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return argument is not True or not isinstance(value, list) or len({identity(v) for v in value}) == len(value)


def has_items(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    """Validate ``items`` and ``prefixItems``."""
    if not isinstance(value, list):
        return True
    first, rest = positional(node.keywords)
    below = [node.below(schema) for schema in first[: len(value)]]
    if not all(checker.valid(n, v) for n, v in zip(below, value, strict=False)):
        return False
    after = node.below(rest)
    return rest is True or all(checker.valid(after, item) for item in value[len(first) :])


def does_contain(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, list):
        return True
    low, high = contains_bounds(node)
    below = node.below(argument)
    found = sum(checker.valid(below, item) for item in value)
    return low <= found and (high is None or found <= high)


def has_evaluated_items(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, list) or node.dialect < Dialect.DRAFT_2019 or argument is True:
        return True
    below = node.below(argument)
    seen = evaluated_items(checker, node, value, own=False)
    return all(checker.valid(below, item) for index, item in enumerate(value) if index not in seen)


def has_enough_members(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, dict) or len(value) >= as_number(argument)


def has_few_members(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, dict) or len(value) <= as_number(argument)


def has_required(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict) or isinstance(argument, bool):
        return True
    return all(name in value for name in as_array(argument))


def has_properties(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict):
        return True
    schemas = as_object(argument).items()
    return all(checker.valid(node.below(schema), value[name]) for name, schema in schemas if name in value)


def has_pattern_properties(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict):
        return True
    return all(
        checker.valid(node.below(schema), member)
        for pattern, schema in as_object(argument).items()
        for name, member in value.items()
        if matches(pattern, name, checker.budget)
    )


def has_additional_properties(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict) or argument is True:
        return True
    below, schema, budget = node.below(argument), node.keywords, checker.budget
    return all(checker.valid(below, v) for name, v in value.items() if is_additional(schema, name, budget))


def has_proper_names(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict):
        return True
    below = node.below(argument)
    return all(checker.valid(below, name) for name in value)


def has_dependencies(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    """Validate ``dependentRequired``, ``dependentSchemas``, and ``dependencies``, which combines both."""
    if not isinstance(value, dict):
        return True
    for name, needed in as_object(argument).items():
        if name not in value:
            continue
        if isinstance(needed, str):
            needed = [needed]
        met = all(n in value for n in needed) if isinstance(needed, list) else checker.valid(node.below(needed), value)
        if not met:
            return False
    return True


def has_evaluated_members(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict) or node.dialect < Dialect.DRAFT_2019 or argument is True:
        return True
    below = node.below(argument)
    seen = evaluated_names(checker, node, value, own=False)
    return all(checker.valid(below, member) for name, member in value.items() if name not in seen)


def is_of_type(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    names = argument if isinstance(argument, list) else [argument]
    return any(has_type(value, name, node.dialect) for name in names)


def is_listed(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    members = as_array(argument)
    if isinstance(value, str):
        checker.budget.spend(len(members) // 8)
        return value in members
    checker.budget.spend(len(members))
    return any(equal(value, member) for member in members)


def is_same(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return equal(value, argument)


def is_not_below(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not is_number(value):
        return True
    low = as_number(argument)
    return value > low if node.keywords.get("exclusiveMinimum") is True else value >= low


def is_not_above(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not is_number(value):
        return True
    high = as_number(argument)
    return value < high if node.keywords.get("exclusiveMaximum") is True else value <= high


def is_above(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return isinstance(argument, bool) or not is_number(value) or value > as_number(argument)


def is_below(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return isinstance(argument, bool) or not is_number(value) or value < as_number(argument)


def is_multiple(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not is_number(value) or not argument:
        return True
    return is_finite(value) and (exact(value) / exact(as_number(argument))).denominator == 1


def is_long_enough(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, str) or len(value) >= as_number(argument)


def is_short_enough(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, str) or len(value) <= as_number(argument)


def has_pattern(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, str) or matches(as_text(argument), value, checker.budget)


def is_of_format(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not checker.assert_formats or not isinstance(value, str) or conforms(as_text(argument), value)


RULES: Mapping[str, Rule] = {
    "type": is_of_type,
    "enum": is_listed,
    "const": is_same,
    "minimum": is_not_below,
    "maximum": is_not_above,
    "exclusiveMinimum": is_above,
    "exclusiveMaximum": is_below,
    "multipleOf": is_multiple,
    "minLength": is_long_enough,
    "maxLength": is_short_enough,
    "pattern": has_pattern,
    "format": is_of_format,
    "minItems": has_enough_items,
    "maxItems": has_few_items,
    "uniqueItems": has_unique_items,
    "items": has_items,
    "prefixItems": has_items,
    "contains": does_contain,
    "unevaluatedItems": has_evaluated_items,
    "minProperties": has_enough_members,
    "maxProperties": has_few_members,
    "required": has_required,
    "properties": has_properties,
    "patternProperties": has_pattern_properties,
    "additionalProperties": has_additional_properties,
    "propertyNames": has_proper_names,
    "dependentRequired": has_dependencies,
    "dependentSchemas": has_dependencies,
    "dependencies": has_dependencies,
    "unevaluatedProperties": has_evaluated_members,
    "$ref": meets_reference,
    "$dynamicRef": meets_dynamic_reference,
    "$recursiveRef": meets_recursive_reference,
    "allOf": meets_all,
    "anyOf": meets_any,
    "oneOf": meets_just_one,
    "not": meets_not,
    "if": meets_condition,
}


class Checker:
    """Evaluates instances against nodes within a budget.

    Fields:
        assert_formats: a string that violates its ``format`` is invalid; unknown formats never matter.
    """

    def __init__(self, budget: StepBudget) -> None:
        self.budget = budget
        self.assert_formats = True
        self._depth = 0
        self._known: dict[tuple[int, int, int], bool] = {}

    def valid(self, node: Node, value: JSON) -> bool:
        """Return whether ``value`` is an instance.

        Raises:
            Exhausted: evaluation exceeds the budget.
            Unsatisfiable: a reference has no target.
        """
        schema = node.schema
        if isinstance(schema, bool):
            return schema
        self.budget.spend(20)
        if not self._depth:
            self._known.clear()
        self._depth += 1
        self.budget.descend(self._depth)
        try:
            return all(rule(self, node, schema[keyword], value) for keyword, rule in rules_of(node))
        finally:
            self._depth -= 1

    def valid_at(self, node: Node, value: JSON) -> bool:
        """Return whether ``value`` is an instance of the target of a reference; evaluate each pair once."""
        mark = (id(node.schema), id(node.path[-1]), id(value))
        if len(node.path) > 1 or not self._depth:
            return self.valid(node, value)
        if mark not in self._known:
            self._known[mark] = self.valid(node, value)
        return self._known[mark]

    def all_valid(self, nodes: tuple[Node, ...], value: JSON) -> bool:
        return all(self.valid(node, value) for node in nodes)


def rules_of(node: Node) -> Iterator[tuple[str, Rule]]:
    """Yield the keywords of a schema that have a rule, each with its rule."""
    schema = node.keywords
    if "$ref" in schema and node.dialect <= Dialect.DRAFT_7:
        yield "$ref", RULES["$ref"]  # up to draft 7 siblings of a reference are ignored
        return
    for keyword in schema:
        rule = RULES.get(keyword)
        if rule is not None:
            yield keyword, rule
