"""Negate a schema: build schemas whose instances are no instances of the original.

The builder needs them for keywords such as ``not`` and ``oneOf``, and ``generate_invalid`` to break one keyword.
"""

from collections.abc import Callable, Iterator, Mapping

from emulator.core.json import JSON, Object, as_array, as_number, as_object, as_text
from emulator.generation.json_schema.keywords import contains_bounds, listed, named, positional, required_names
from emulator.generation.json_schema.resolve import Node
from emulator.generation.json_schema.subschemas import Schema
from emulator.generation.json_schema.validator import rules_of

Option = tuple[Node, ...]

ATOMIC = frozenset({"type", "enum", "const", "multipleOf", "pattern", "format", "uniqueItems"})
"""Keywords that are negated with ``not``, which narrows a shape directly."""


def negations(node: Node) -> Iterator[Option]:
    """Yield every way to break ``node``, one keyword each; none if it cannot be broken."""
    if node.schema is False:
        yield ()
    rules = [keyword for keyword, _ in rules_of(node)]
    for keyword in sorted(rules, key=_rank):
        yield from breaches(node, keyword)


def breaches(node: Node, keyword: str) -> Iterator[Option]:
    """Yield every way to break one keyword of ``node``."""
    argument = node.keywords[keyword]
    if keyword in ATOMIC:
        yield (_schema(node, {"not": {keyword: argument}}),)
    elif keyword in _NEGATE:
        yield from _NEGATE[keyword](node, argument)


def _rank(keyword: str) -> int:
    """Return the sort key of a keyword: changed values and omitted properties before other types."""
    ranks = ("const", "enum", "required", "properties", "pattern", "minimum", "maximum")
    last = ("type", "oneOf", "if")
    return ranks.index(keyword) if keyword in ranks else 20 + (last.index(keyword) if keyword in last else -1)


def _schema(node: Node, schema: Schema) -> Node:
    """Return a node for a built schema; parts of the original schema keep their location."""
    return Node(schema, node.path)


def _ref(node: Node, argument: JSON) -> Iterator[Option]:
    yield from negations(node.resolve(as_text(argument)))


def _dynamic_ref(node: Node, argument: JSON) -> Iterator[Option]:
    yield from negations(node.resolve_dynamic(as_text(argument)))


def _recursive_ref(node: Node, argument: JSON) -> Iterator[Option]:
    yield from negations(node.resolve_recursive(as_text(argument)))


def _all_of(node: Node, argument: JSON) -> Iterator[Option]:
    for branch in as_array(argument):
        yield (_schema(node, {"not": branch}),)


def _any_of(node: Node, argument: JSON) -> Iterator[Option]:
    yield tuple(_schema(node, {"not": branch}) for branch in as_array(argument))


def _one_of(node: Node, argument: JSON) -> Iterator[Option]:
    yield from _any_of(node, argument)
    branches = as_array(argument)
    for index, branch in enumerate(branches):
        for other in branches[:index]:
            yield node.below(branch), node.below(other)


def _not(node: Node, argument: JSON) -> Iterator[Option]:
    yield (node.below(argument),)


def _if(node: Node, argument: JSON) -> Iterator[Option]:
    schema = node.keywords
    if "then" in schema:
        yield node.below(argument), _schema(node, {"not": schema["then"]})
    if "else" in schema:
        yield _schema(node, {"not": argument}), _schema(node, {"not": schema["else"]})


def _bound(keyword: str, opposite: str, exclusive: str) -> Callable[[Node, JSON], Iterator[Option]]:
    def negate(node: Node, argument: JSON) -> Iterator[Option]:
        if isinstance(argument, bool):
            return
        inclusive = node.keywords.get(exclusive) is True or keyword == exclusive
        yield (_schema(node, {"type": "number", opposite if inclusive else _EXCLUSIVE[opposite]: argument}),)

    return negate


_EXCLUSIVE = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}


def _count(kind: str, opposite: str, step: int) -> Callable[[Node, JSON], Iterator[Option]]:
    def negate(node: Node, argument: JSON) -> Iterator[Option]:
        count = as_number(argument) + step
        if count >= 0:
            yield (_schema(node, {"type": kind, opposite: count}),)

    return negate


def _required(node: Node, argument: JSON) -> Iterator[Option]:
    for name in required_names(node.keywords):
        yield (_schema(node, {"type": "object", "properties": {name: False}}),)


def _with(node: Node, name: str, below: JSON) -> Option:
    return (_schema(node, {"type": "object", "required": [name], "properties": {name: {"not": below}}}),)


def _properties(node: Node, argument: JSON) -> Iterator[Option]:
    for name, below in as_object(argument).items():
        if below is not True and below != {}:
            yield _with(node, name, below)


def _pattern_properties(node: Node, argument: JSON) -> Iterator[Option]:
    for pattern, below in as_object(argument).items():
        if below is not True and below != {}:
            some: Object = {"type": "object", "minProperties": 1, "propertyNames": {"pattern": pattern}}
            yield (_schema(node, {**some, "additionalProperties": {"not": below}}),)


def _additional(node: Node, argument: JSON) -> Iterator[Option]:
    """Yield nodes with one more property of a common name, and nodes with undeclared properties only."""
    if argument is True or argument == {}:
        return
    known = list(named(node.keywords, "properties"))
    for name in ("extra", "other", "additional", "_", "X1", "0"):
        if name not in known:
            yield _with(node, name, argument)
    patterns: list[JSON] = [{"pattern": pattern} for pattern in named(node.keywords, "patternProperties")]
    others: Object = {"minProperties": 1, "propertyNames": {"not": {"anyOf": [{"enum": known}, *patterns]}}}
    yield (_schema(node, {"type": "object", **others, "additionalProperties": {"not": argument}}),)


def _property_names(node: Node, argument: JSON) -> Iterator[Option]:
    yield (_schema(node, {"type": "object", "minProperties": 1, "propertyNames": {"not": argument}}),)


def _dependencies(node: Node, argument: JSON) -> Iterator[Option]:
    for name, needed in as_object(argument).items():
        if isinstance(needed, list | str):
            for other in [needed] if isinstance(needed, str) else needed:
                yield (_schema(node, {"type": "object", "required": [name], "properties": {other: False}}),)
        else:
            yield _schema(node, {"type": "object", "required": [name]}), _schema(node, {"not": needed})


def _items(node: Node, argument: JSON) -> Iterator[Option]:
    first, rest = positional(node.keywords)
    for index, below in enumerate([*first, rest]):
        if below is not True and below != {}:
            yield (_wrong_at(node, index, below),)


def _wrong_at(node: Node, index: int, below: JSON) -> Node:
    """Return a node for arrays in which the item at ``index`` breaks a schema."""
    before: list[JSON] = [True] * index
    return _schema(node, {"type": "array", "prefixItems": [*before, {"not": below}], "minItems": index + 1})


def _unevaluated_items(node: Node, argument: JSON) -> Iterator[Option]:
    """Yield a node with one more item than ``prefixItems`` of the node and its branches have schemas."""
    if argument is not True and argument != {}:
        branches = [branch for keyword in ("allOf", "anyOf", "oneOf") for branch in listed(node.keywords, keyword)]
        nodes = [node, *map(node.below, branches)]
        yield (_wrong_at(node, max(len(positional(n.keywords)[0]) for n in nodes), argument),)


def _contains(node: Node, argument: JSON) -> Iterator[Option]:
    low, high = contains_bounds(node)
    if low:
        few: Object = {"type": "array", "contains": argument, "minContains": 0, "maxContains": low - 1}
        yield (_schema(node, {"type": "array", "items": {"not": argument}} if low == 1 else few),)
    if high is not None:
        yield (_schema(node, {"type": "array", "contains": argument, "minContains": high + 1}),)


_NEGATE: Mapping[str, Callable[[Node, JSON], Iterator[Option]]] = {
    "$ref": _ref, "$dynamicRef": _dynamic_ref, "$recursiveRef": _recursive_ref, "allOf": _all_of, "anyOf": _any_of,
    "oneOf": _one_of, "not": _not, "if": _if,
    "minimum": _bound("minimum", "maximum", "exclusiveMinimum"),
    "maximum": _bound("maximum", "minimum", "exclusiveMaximum"),
    "exclusiveMinimum": _bound("exclusiveMinimum", "maximum", "exclusiveMinimum"),
    "exclusiveMaximum": _bound("exclusiveMaximum", "minimum", "exclusiveMaximum"),
    "minLength": _count("string", "maxLength", -1), "maxLength": _count("string", "minLength", 1),
    "minItems": _count("array", "maxItems", -1), "maxItems": _count("array", "minItems", 1),
    "minProperties": _count("object", "maxProperties", -1), "maxProperties": _count("object", "minProperties", 1),
    "required": _required, "properties": _properties, "patternProperties": _pattern_properties,
    "additionalProperties": _additional, "propertyNames": _property_names, "dependentRequired": _dependencies,
    "dependentSchemas": _dependencies, "dependencies": _dependencies, "items": _items,
    "prefixItems": _items, "contains": _contains,
    "unevaluatedProperties": _additional, "unevaluatedItems": _unevaluated_items,
}  # fmt: skip
