"""Whether an instance is true to its schema: a complete evaluator of the validation keywords.

Source: JSON Schema drafts 4, 6, 7, 2019-09 and 2020-12, core and validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from emulator.core.json import JSON
from emulator.engine.budget import Budget
from emulator.engine.json_schema import formats
from emulator.engine.json_schema.equality import equal, exact, identity, is_number
from emulator.engine.json_schema.keywords import contains_bounds, has_type, is_additional, positional
from emulator.engine.json_schema.resolve import Dialect, Node
from emulator.engine.regex.matching import matches


class Checker:
    """Evaluates instances against nodes within a budget.

    Args:
        assert_formats: a string that is not of its ``format`` is not valid; unknown formats never matter.
    """

    def __init__(self, budget: Budget, assert_formats: bool = True) -> None:
        self.budget = budget
        self.assert_formats = assert_formats
        self._depth = 0
        self._known: dict[tuple[int, int, int], bool] = {}

    def valid(self, node: Node, value: JSON) -> bool:
        """Whether ``value`` is an instance.

        Raises:
            Unsatisfiable: finding out goes beyond the bound, or a reference leads nowhere.
        """
        schema = node.schema
        if not isinstance(schema, dict):
            return schema is not False
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
        """The same for the target of a reference, which many may lead to: each is evaluated once per value."""
        mark = (id(node.schema), id(node.path[-1]), id(value))
        if len(node.path) > 1 or not self._depth:
            return self.valid(node, value)
        if mark not in self._known:
            self._known[mark] = self.valid(node, value)
        return self._known[mark]

    def all_valid(self, nodes: tuple[Node, ...], value: JSON) -> bool:
        return all(self.valid(node, value) for node in nodes)


Rule = Callable[[Checker, Node, JSON, JSON], bool]


def rules_of(node: Node) -> Iterator[tuple[str, Rule]]:
    """The keywords of a schema that can be broken, each with its rule."""
    schema = node.schema
    if "$ref" in schema and node.dialect <= Dialect.DRAFT_7:
        yield "$ref", RULES["$ref"]  # up to draft 7 whatever stands beside a reference is ignored
        return
    for keyword in schema:
        rule = RULES.get(keyword)
        if rule is not None:
            yield keyword, rule


def _type(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    names = argument if isinstance(argument, list) else [argument]
    return any(has_type(value, name, node.dialect) for name in names)


def _enum(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if isinstance(value, str):
        checker.budget.spend(len(argument) // 8)
        return value in argument
    checker.budget.spend(len(argument))
    return any(equal(value, member) for member in argument)


def _const(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return equal(value, argument)


def _ref(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return checker.valid_at(node.resolve(argument), value)


def _dynamic_ref(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return checker.valid(node.resolve_dynamic(argument), value)


def _recursive_ref(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return checker.valid(node.resolve_recursive(argument), value)


def _all_of(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return all(checker.valid(node.below(schema), value) for schema in argument)


def _any_of(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return any(checker.valid(node.below(schema), value) for schema in argument)


def _one_of(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    found = 0
    for schema in argument:
        found += checker.valid(node.below(schema), value)
        if found > 1:
            return False
    return found == 1


def _not(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not checker.valid(node.below(argument), value)


def _if(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if node.dialect <= Dialect.DRAFT_6 or not ("then" in node.schema or "else" in node.schema):
        return True
    branch = "then" if checker.valid(node.below(argument), value) else "else"
    return checker.valid(node.below(node.schema.get(branch, True)), value)


def _minimum(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not is_number(value):
        return True
    return bool(value > argument) if node.schema.get("exclusiveMinimum") is True else bool(value >= argument)


def _maximum(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not is_number(value):
        return True
    return bool(value < argument) if node.schema.get("exclusiveMaximum") is True else bool(value <= argument)


def _exclusive_minimum(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return isinstance(argument, bool) or not is_number(value) or value > argument


def _exclusive_maximum(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return isinstance(argument, bool) or not is_number(value) or value < argument


def _multiple_of(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not is_number(value) or not argument or (exact(value) / exact(argument)).denominator == 1


def _min_length(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, str) or len(value) >= argument


def _max_length(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, str) or len(value) <= argument


def _pattern(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, str) or matches(argument, value, checker.budget)


def _format(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not checker.assert_formats or not isinstance(value, str) or formats.conforms(argument, value)


def _min_items(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, list) or len(value) >= argument


def _max_items(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, list) or len(value) <= argument


def _unique_items(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return argument is not True or not isinstance(value, list) or len({identity(v) for v in value}) == len(value)


def _items(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, list):
        return True
    first, rest = positional(node.schema)
    below = [node.below(schema) for schema in first[: len(value)]]
    if not all(checker.valid(n, v) for n, v in zip(below, value, strict=False)):
        return False
    after = node.below(rest)
    return rest is True or all(checker.valid(after, item) for item in value[len(first) :])


def _contains(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, list):
        return True
    low, high = contains_bounds(node)
    below = node.below(argument)
    found = sum(checker.valid(below, item) for item in value)
    return low <= found and (high is None or found <= high)


def _min_properties(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, dict) or len(value) >= argument


def _max_properties(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, dict) or len(value) <= argument


def _required(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    return not isinstance(value, dict) or isinstance(argument, bool) or all(name in value for name in argument)


def _properties(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict):
        return True
    return all(checker.valid(node.below(schema), value[name]) for name, schema in argument.items() if name in value)


def _pattern_properties(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict):
        return True
    return all(
        checker.valid(node.below(schema), member)
        for pattern, schema in argument.items()
        for name, member in value.items()
        if matches(pattern, name, checker.budget)
    )


def _additional_properties(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict) or argument is True:
        return True
    below = node.below(argument)
    budget = checker.budget
    return all(checker.valid(below, v) for name, v in value.items() if is_additional(node.schema, name, budget))


def _property_names(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    if not isinstance(value, dict):
        return True
    below = node.below(argument)
    return all(checker.valid(below, name) for name in value)


def _dependencies(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    """``dependentRequired``, ``dependentSchemas``, and ``dependencies``, which was both."""
    if not isinstance(value, dict):
        return True
    for name, needed in argument.items():
        if name not in value:
            continue
        if isinstance(needed, str):
            needed = [needed]
        met = all(n in value for n in needed) if isinstance(needed, list) else checker.valid(node.below(needed), value)
        if not met:
            return False
    return True


def _unevaluated_properties(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    from emulator.engine.json_schema.evaluated import evaluated_names

    if not isinstance(value, dict) or node.dialect < Dialect.DRAFT_2019 or argument is True:
        return True
    below = node.below(argument)
    seen = evaluated_names(checker, node, value, own=False)
    return all(checker.valid(below, member) for name, member in value.items() if name not in seen)


def _unevaluated_items(checker: Checker, node: Node, argument: JSON, value: JSON) -> bool:
    from emulator.engine.json_schema.evaluated import evaluated_items

    if not isinstance(value, list) or node.dialect < Dialect.DRAFT_2019 or argument is True:
        return True
    below = node.below(argument)
    seen = evaluated_items(checker, node, value, own=False)
    return all(checker.valid(below, item) for index, item in enumerate(value) if index not in seen)


RULES: Mapping[str, Rule] = {
    "type": _type, "enum": _enum, "const": _const, "$ref": _ref, "$dynamicRef": _dynamic_ref,
    "$recursiveRef": _recursive_ref, "allOf": _all_of, "anyOf": _any_of, "oneOf": _one_of, "not": _not, "if": _if,
    "minimum": _minimum, "maximum": _maximum, "exclusiveMinimum": _exclusive_minimum,
    "exclusiveMaximum": _exclusive_maximum, "multipleOf": _multiple_of, "minLength": _min_length,
    "maxLength": _max_length, "pattern": _pattern, "format": _format, "minItems": _min_items, "maxItems": _max_items,
    "uniqueItems": _unique_items, "items": _items, "prefixItems": _items, "contains": _contains,
    "minProperties": _min_properties, "maxProperties": _max_properties, "required": _required,
    "properties": _properties, "patternProperties": _pattern_properties, "propertyNames": _property_names,
    "additionalProperties": _additional_properties, "dependentRequired": _dependencies,
    "dependentSchemas": _dependencies, "dependencies": _dependencies,
    "unevaluatedProperties": _unevaluated_properties, "unevaluatedItems": _unevaluated_items,
}  # fmt: skip
