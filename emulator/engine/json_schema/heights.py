"""How deep the shallowest instance of a schema nests, so that recursion is left where it can be."""

from __future__ import annotations

from math import inf

from emulator.core.json import JSON
from emulator.engine.budget import Budget
from emulator.engine.json_schema.keywords import positional
from emulator.engine.json_schema.resolve import Dialect, Node

_SCALARS = frozenset({"string", "number", "integer", "boolean", "null"})
_NEVER = 1 << 30  # above any position on the way


class Heights:
    """Heights of nodes, each found once.

    A height never promises an instance; only ``inf`` is certain: every instance would be endless.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._known: dict[tuple[int, int], float] = {}
        self._way: dict[tuple[int, int], int] = {}
        self._lowest = _NEVER

    def of(self, nodes: tuple[Node, ...]) -> float:
        """Levels below a value that is an instance of all nodes: 0 for a string, 1 for a list of strings."""
        return max((self._height(node) for node in nodes), default=0)

    def _height(self, node: Node) -> float:
        if not isinstance(node.schema, dict) or not node.schema.keys() & _KEYWORDS:
            return 0
        mark = (id(node.schema), id(node.path[-1]))
        if mark in self._known:
            return self._known[mark]
        if mark in self._way:
            self._lowest = min(self._lowest, self._way[mark])
            return inf
        self._budget.spend()
        position, outer, self._lowest = len(self._way), self._lowest, _NEVER
        self._budget.descend(position)
        self._way[mark] = position
        height = self._asked(node)
        del self._way[mark]
        if height < inf or self._lowest >= position:
            self._known[mark] = height  # an endless one counts only if nothing above it was left open
        self._lowest = min(outer, self._lowest)
        return height

    def _asked(self, node: Node) -> float:
        schema = node.schema
        heights = [self._height(node.resolve(schema["$ref"]))] if "$ref" in schema else []
        if heights and node.dialect <= Dialect.DRAFT_7:
            return heights[0]
        heights += [self._height(node.below(branch)) for branch in schema.get("allOf", ())]
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                heights.append(self._least(node, schema[keyword]))
        heights.append(self._own(node))
        return max(heights)

    def _least(self, node: Node, branches: list[JSON]) -> float:
        least = inf
        for branch in branches:
            if branch is not False:
                least = min(least, self._height(node.below(branch)))
            if least == 0:
                break
        return least

    def _own(self, node: Node) -> float:
        """What the schema's own type asks; 0 if it allows a scalar."""
        schema = node.schema
        types = schema.get("type")
        types = set(types) if isinstance(types, list) else {types}
        if "enum" in schema or "const" in schema or types & _SCALARS or not types <= {"object", "array"}:
            return 0
        heights = []
        if "object" in types:
            heights.append(self._object(node))
        if "array" in types:
            heights.append(self._array(node))
        return min(heights)

    def _object(self, node: Node) -> float:
        required, properties = node.schema.get("required"), node.schema.get("properties", {})
        names = [name for name in required if name in properties] if isinstance(required, list) else []
        return max((1 + self._height(node.below(properties[name])) for name in names), default=0)

    def _array(self, node: Node) -> float:
        first, rest = positional(node.schema)
        count = node.schema.get("minItems", 0)
        items = [*first[:count], *([rest] if count > len(first) else [])]
        return max((1 + self._height(node.below(item)) for item in items), default=0)


_KEYWORDS = frozenset({"$ref", "allOf", "anyOf", "oneOf", "required", "minItems"})
