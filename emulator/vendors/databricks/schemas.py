"""JSON Schemas of tools and structured outputs: what the service cannot follow is refused.

Sources: docs.databricks.com, "Function calling" and "Structured outputs on Databricks"; the texts on number
types and ``additionalProperties`` are observed, the others are made after them and unverified.
"""

from __future__ import annotations

from collections.abc import Iterator

from emulator.core.json import JSON
from emulator.vendors.databricks.catalogue import Family
from emulator.vendors.databricks.decoder import refuse

_COMPOSED = ("pattern", "anyOf", "oneOf", "allOf", "prefixItems", "$ref")
_OF_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_OF_ARRAYS = ("minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains")
_INSIDE = ("items", "not", "if", "then", "else", "contains", "additionalProperties", "propertyNames")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


def walk_schemas(schema: JSON) -> Iterator[dict[str, JSON]]:
    """A schema and all inside it, in document order; without recursion, for any depth."""
    waiting: list[JSON] = [schema]
    while waiting:
        current = waiting.pop()
        if not isinstance(current, dict):
            continue
        yield current
        inner: list[JSON] = []
        for name, value in current.items():
            if name in _INSIDE:
                inner.append(value)
            elif name in _LISTS and isinstance(value, list):
                inner.extend(value)
            elif name in _NAMED and isinstance(value, dict):
                inner.extend(value.values())
        waiting.extend(reversed(inner))


def count_keys(schema: JSON) -> int:
    """How many properties a schema names, at all levels."""
    found = (one.get("properties") for one in walk_schemas(schema))
    return sum(len(properties) for properties in found if isinstance(properties, dict))


def check_strict(schema: JSON, family: Family, of: str) -> None:
    """A schema that is to be followed strictly uses only what the service supports.

    Args:
        of: whose schema it is, as OpenAI's models name it.

    Raises:
        EmulatedError: the first keyword that it does not.
    """
    for one in walk_schemas(schema):
        if family == "gpt":
            _check_closed(one, of)
            continue
        if problem := _find_unsupported(one):
            raise refuse(f"Invalid JSON schema - {problem}\n")


def _check_closed(schema: dict[str, JSON], of: str) -> None:
    """Source: databricks-ai-bridge issue 350; the text behind ``of`` is OpenAI's."""
    if (schema.get("type") == "object" or "properties" in schema) and schema.get("additionalProperties") is not False:
        reason = "In context=(), 'additionalProperties' is required to be supplied and to be false."
        raise refuse(f"Invalid schema for {of}: {reason}")


def _find_unsupported(schema: dict[str, JSON]) -> str | None:
    for name in schema:
        if name in _COMPOSED:
            return f'the "{name}" keyword is not supported'
    kind = schema.get("type")
    types = kind if isinstance(kind, list) else [kind]
    if isinstance(kind, list) and not (len(kind) == 2 and "null" in kind):
        return "type lists other than a type and null are not supported"
    if "additionalProperties" in schema and schema["additionalProperties"] is not False:
        return 'the "additionalProperties" keyword must be False or not specified'
    for names, of in ((_OF_NUMBERS, ("number", "integer")), (_OF_ARRAYS, ("array",))):
        typed = next((str(t) for t in types if t in of), None)
        found = next((name for name in schema if name in names), None)
        if typed is not None and found is not None:
            return f"{typed} types do not support {found}"
    return None
