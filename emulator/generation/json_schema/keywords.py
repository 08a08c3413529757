"""Read keywords of a schema, some of which depend on sibling keywords, for the checker and the generator of values."""

from collections.abc import Mapping

from emulator.core.json import JSON, Object, as_array, as_number, as_object, as_text
from emulator.generation.json_schema.equality import is_number
from emulator.generation.json_schema.resolve import Dialect, Node
from emulator.generation.regex.match import matches
from emulator.generation.step_budget import StepBudget


def listed(schema: Object, keyword: str) -> list[JSON]:
    """Return the list of a keyword; empty if it is absent."""
    return as_array(schema.get(keyword, []))


def named(schema: Object, keyword: str) -> Object:
    """Return the object of a keyword; empty if it is absent."""
    return as_object(schema.get(keyword, {}))


def required_names(schema: Object) -> list[str]:
    """Return the names in ``required``; none for the boolean of draft 3."""
    names = schema.get("required", False)
    return [] if isinstance(names, bool) else [as_text(name) for name in as_array(names)]


def listed_values(schema: Object) -> list[JSON]:
    """Return the values of ``const`` or ``enum``."""
    return [schema["const"]] if "const" in schema else listed(schema, "enum")


def has_type(value: JSON, name: JSON, dialect: Dialect) -> bool:
    """Return whether a value is of one of the seven types; 1.0 is an integer from draft 6 on."""
    if name == "integer":
        whole = isinstance(value, float) and value.is_integer() and dialect > Dialect.DRAFT_4
        return (isinstance(value, int) and not isinstance(value, bool)) or whole
    if name == "number":
        return is_number(value)
    kind = _PYTHON_TYPES.get(name) if isinstance(name, str) else None
    return kind is not None and isinstance(value, kind)


_PYTHON_TYPES: Mapping[str, type] = {
    "null": type(None), "boolean": bool, "string": str, "array": list, "object": dict,
}  # fmt: skip


def positional(schema: Object) -> tuple[list[JSON], JSON]:
    """Return the schemas of the first items, and that of the rest (``True`` if absent).

    The older form (``items`` a list, then ``additionalItems``) is understood in every dialect.
    """
    items = schema.get("items", True)
    if isinstance(items, list):
        return items, schema.get("additionalItems", True)
    return listed(schema, "prefixItems"), items


def constrains_rest(schema: Object) -> bool:
    """Return whether a schema applies to the items after the first as well."""
    return ("additionalItems" if isinstance(schema.get("items"), list) else "items") in schema


def contains_bounds(node: Node) -> tuple[int, int | None]:
    """Return the minimum and maximum number of items that match ``contains``."""
    if node.dialect < Dialect.DRAFT_2019:
        return 1, None
    low, high = node.keywords.get("minContains", 1), node.keywords.get("maxContains")
    return int(as_number(low)), None if high is None else int(as_number(high))


def is_additional(schema: Object, name: str, budget: StepBudget) -> bool:
    """Return whether neither ``properties`` nor ``patternProperties`` apply to ``name``."""
    return name not in named(schema, "properties") and not any(
        matches(pattern, name, budget) for pattern in named(schema, "patternProperties")
    )
