"""What keywords mean that stand together in one schema."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.core.json import JSON
from emulator.engine.budget import Budget
from emulator.engine.json_schema.equality import is_number
from emulator.engine.json_schema.resolve import Dialect, Node
from emulator.engine.regex.matching import matches


def has_type(value: JSON, name: JSON, dialect: Dialect = Dialect.DRAFT_2020) -> bool:
    """Whether a value is of one of the seven types; 1.0 is an integer from draft 6 on."""
    if name == "integer":
        whole = isinstance(value, float) and value.is_integer() and dialect > Dialect.DRAFT_4
        return (isinstance(value, int) and not isinstance(value, bool)) or whole
    if name == "number":
        return is_number(value)
    kind = _PYTHON_TYPES.get(name) if isinstance(name, str) else None
    return kind is not None and isinstance(value, kind)


_PYTHON_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "null": type(None), "boolean": bool, "string": str, "array": list, "object": dict,
}  # fmt: skip


def positional(schema: JSON) -> tuple[list[JSON], JSON]:
    """The schemas of the first items, and the one of the rest (``True`` if none is given).

    The older form (``items`` a list, then ``additionalItems``) is understood in every dialect.
    """
    items = schema.get("items", True)
    if isinstance(items, list):
        return items, schema.get("additionalItems", True)
    return schema.get("prefixItems", []), items


def contains_bounds(node: Node) -> tuple[int, int | None]:
    """How many items must match ``contains``."""
    if node.dialect < Dialect.DRAFT_2019:
        return 1, None
    high = node.schema.get("maxContains")
    return int(node.schema.get("minContains", 1)), None if high is None else int(high)


def is_additional(schema: JSON, name: str, budget: Budget) -> bool:
    """Neither ``properties`` nor ``patternProperties`` of the schema speak of ``name``."""
    return name not in schema.get("properties", ()) and not any(
        matches(pattern, name, budget) for pattern in schema.get("patternProperties", ())
    )
