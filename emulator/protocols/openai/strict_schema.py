"""Validate the JSON Schemas of functions and strict output as OpenAI's models do, for Azure and Databricks.

Sources: platform.openai.com, "Structured model outputs" (supported schemas); texts as issue threads of
openai-python and litellm quote them, their order unverified.
"""

from collections.abc import Iterator, Mapping

from emulator.core.json import JSON, Object, dump_text, format_value

_FORBIDDEN = ("allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas")
_NAMED = ("properties", "$defs", "definitions")
_INSIDE = ("items", "additionalProperties")
Context = tuple[str, ...]


def find_problem(schema: Mapping[str, JSON], *, strict: bool) -> str | None:
    """Return the service's message about the first invalid part of a schema; ``None`` if it is valid."""
    kind = schema.get("type")
    if kind != "object" and (strict or kind is not None):
        named = "None" if kind is None else format_value(kind)  # the service's own word
        return f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{named}\"'."
    for context, one in _walk(schema):
        problem = _find_gap(one) or (_find_strict_gap(one) if strict else None)
        if problem is not None:
            return f"In context={context!r}, {problem}"
    return None


def _find_gap(schema: Mapping[str, JSON]) -> str | None:
    if schema.get("type") == "array" and "items" not in schema and "prefixItems" not in schema:
        return "array schema missing items."
    return None


def _find_strict_gap(schema: Mapping[str, JSON]) -> str | None:
    """Return why a schema does not qualify as strict."""
    forbidden = next((name for name in _FORBIDDEN if name in schema), None)
    if forbidden is not None:
        return f"'{forbidden}' is not permitted."
    properties = schema.get("properties")
    if schema.get("type") != "object" and not isinstance(properties, dict):
        return None
    if schema.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false."
    names = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    listed = required if isinstance(required, list) else []
    head = "'required' is required to be supplied and to be an array including every key in properties."
    missing = next((name for name in names if name not in listed), None)
    if missing is not None:
        return f"{head} Missing '{missing}'."
    odd = next((name for name in listed if not isinstance(name, str)), None)
    if odd is not None:
        return f"{dump_text(odd)} is not of type 'string'."
    extra = next((name for name in listed if name not in names), None)
    return None if extra is None else f"{head} Extra required key '{extra}' supplied."


def _walk(schema: Mapping[str, JSON]) -> Iterator[tuple[Context, Mapping[str, JSON]]]:
    """Yield a schema and all subschemas in document order, each with its path; iterative, so depth is unlimited."""
    waiting: list[tuple[Context, JSON]] = [((), dict(schema))]
    while waiting:
        context, current = waiting.pop()
        if isinstance(current, dict):
            yield context, current
            waiting.extend(reversed([*_list_inner(context, current)]))


def _list_inner(context: Context, schema: Object) -> Iterator[tuple[Context, JSON]]:
    for name, value in schema.items():
        if name in _INSIDE:
            yield (*context, name), value
        elif name == "anyOf" and isinstance(value, list):
            yield from (((*context, name, str(position)), one) for position, one in enumerate(value))
        elif name in _NAMED and isinstance(value, dict):
            yield from (((*context, name, inner), one) for inner, one in value.items())
