"""Compute the least nesting depth of a schema's instances, by which the builder chooses branches that end recursion."""

from math import ceil, inf

from emulator.core.json import JSON, as_array, as_number, as_text
from emulator.generation.json_schema.keywords import listed, named, positional, required_names
from emulator.generation.json_schema.resolve import Dialect, Node
from emulator.generation.step_budget import StepBudget

_NEVER = 1 << 30  # above any position on the path


class Heights:
    """Cache of the heights of nodes.

    A finite height is an estimate and may belong to no instance; ``inf`` is exact: every instance would be endless.
    """

    def __init__(self, budget: StepBudget) -> None:
        self._budget = budget
        self._known: dict[tuple[int, int], float] = {}
        self._held: list[object] = []  # what the keys are ids of: some schemas are made for a moment
        self._way: dict[tuple[int, int], int] = {}
        self._lowest = _NEVER

    def of(self, nodes: tuple[Node, ...]) -> float:
        """Return the levels below an instance of all nodes: 0 for a string, 1 for a list of strings."""
        return max((self._height(node) for node in nodes), default=0)

    def _height(self, node: Node) -> float:
        if not node.keywords.keys() & _KEYWORDS:
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
            self._known[mark] = height  # ``inf`` is exact only if no node above it was unfinished
            self._held += node.schema, node.path[-1]
        self._lowest = min(outer, self._lowest)
        return height

    def _asked(self, node: Node) -> float:
        schema = node.keywords
        heights = [self._height(node.resolve(as_text(schema["$ref"])))] if "$ref" in schema else []
        if heights and node.dialect <= Dialect.DRAFT_7:
            return heights[0]
        heights += [self._height(node.below(branch)) for branch in listed(schema, "allOf")]
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                heights.append(self._least(node, as_array(schema[keyword])))
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
        """Return the height that the schema's own type requires; 0 if it allows a scalar."""
        schema = node.keywords
        asked = schema.get("type")
        types = set(asked) if isinstance(asked, list) else {asked}
        if "enum" in schema or "const" in schema or not types <= {"object", "array"}:
            return 0
        heights = []
        if "object" in types:
            heights.append(self._object(node))
        if "array" in types:
            heights.append(self._array(node))
        return min(heights, default=0)

    def _object(self, node: Node) -> float:
        properties = named(node.keywords, "properties")
        names = [name for name in required_names(node.keywords) if name in properties]
        return max((1 + self._height(node.below(properties[name])) for name in names), default=0)

    def _array(self, node: Node) -> float:
        first, rest = positional(node.keywords)
        count = max(0, ceil(as_number(node.keywords.get("minItems", 0))))
        items = [*first[:count], *([rest] if count > len(first) else [])]
        return max((1 + self._height(node.below(item)) for item in items), default=0)


_KEYWORDS = frozenset({"$ref", "allOf", "anyOf", "oneOf", "required", "minItems"})
