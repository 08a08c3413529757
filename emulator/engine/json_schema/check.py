"""Whether an instance is true to its schema: a complete evaluator of the validation keywords."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.core.json import JSON
from emulator.engine.budget import Budget
from emulator.engine.json_schema.resolve import Dialect, Node
from emulator.engine.json_schema.rules.judge import Rule
from emulator.engine.json_schema.rules.table import RULES


class Checker:
    """Evaluates instances against nodes within a budget: a :class:`~emulator.engine.json_schema.rules.judge.Judge`."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.assert_formats = True
        self._depth = 0
        self._known: dict[tuple[int, int, int], bool] = {}

    def valid(self, node: Node, value: JSON) -> bool:
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
        """Of the target of a reference each value is judged once."""
        mark = (id(node.schema), id(node.path[-1]), id(value))
        if len(node.path) > 1 or not self._depth:
            return self.valid(node, value)
        if mark not in self._known:
            self._known[mark] = self.valid(node, value)
        return self._known[mark]

    def all_valid(self, nodes: tuple[Node, ...], value: JSON) -> bool:
        return all(self.valid(node, value) for node in nodes)


def rules_of(node: Node) -> Iterator[tuple[str, Rule]]:
    """The keywords of a schema that can be broken, each with its rule."""
    schema = node.keywords
    if "$ref" in schema and node.dialect <= Dialect.DRAFT_7:
        yield "$ref", RULES["$ref"]  # up to draft 7 whatever stands beside a reference is ignored
        return
    for keyword in schema:
        rule = RULES.get(keyword)
        if rule is not None:
            yield keyword, rule
