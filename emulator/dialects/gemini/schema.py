"""Gemini's own schemas, a part of OpenAPI's with names of types in capitals, as JSON Schema.

Source: ai.google.dev, "Schema".
"""

from __future__ import annotations

from emulator.core.json import JSON, Object

_MACHINE = ("enum", "float", "double", "int32", "int64")  # formats that say how a number is kept, not what it is
_DROPPED = ("nullable", "propertyOrdering", "property_ordering", "example", "title", "default")
_COUNTS = ("minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength")
_NAMES: dict[str, str] = {
    "any_of": "anyOf", "min_items": "minItems", "max_items": "maxItems", "min_length": "minLength",
    "max_length": "maxLength", "min_properties": "minProperties", "max_properties": "maxProperties",
    "additional_properties": "additionalProperties",
}  # fmt: skip


def to_json_schema(schema: JSON) -> JSON:
    """The JSON Schema that says the same; whatever is no object is left as it is."""
    if not isinstance(schema, dict):
        return schema
    found: Object = {}
    for given, value in schema.items():
        name = _NAMES.get(given) or given
        if name in _DROPPED or value is None or (name == "format" and value in _MACHINE):
            continue
        found[name] = _convert(name, value)
    kind = found.get("type")
    if schema.get("nullable") is True and isinstance(kind, str):
        found["type"] = [kind, "null"]
        if isinstance(values := found.get("enum"), list):
            found["enum"] = [*values, None]
    return found


def _convert(name: str, value: JSON) -> JSON:
    if name == "type":
        return value.lower() if isinstance(value, str) else value
    if name == "properties" and isinstance(value, dict):
        return {key: to_json_schema(inner) for key, inner in value.items()}
    if name == "anyOf" and isinstance(value, list):
        return [to_json_schema(inner) for inner in value]
    if name in ("items", "additionalProperties"):
        return to_json_schema(value)
    if name in _COUNTS and isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:9])  # an int64 is a string
    return value
