"""Validate tools, tool choice, structured outputs and reasoning effort for Databricks' Chat and Responses.

Sources: docs.databricks.com, "Function calling" and "Structured outputs on Databricks"; the texts on number
types and ``additionalProperties`` are observed, the others are modelled on them and unverified.
"""

from collections.abc import Iterator

from emulator.core.errors import EmulatedError
from emulator.core.json import JSON, Object, as_object, as_text, quote_value
from emulator.protocols.openai.strict_schema import find_problem
from emulator.vendors.databricks.decoder import error_parameter
from emulator.vendors.databricks.families import Family
from emulator.vendors.databricks.request import ParsedRequest

_EFFORTS = ("low", "medium", "high")
_WIDE_EFFORTS = ("none", "minimal", *_EFFORTS, "xhigh", "max")
_COMPOSED = ("pattern", "anyOf", "oneOf", "allOf", "prefixItems", "$ref")
_OF_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_OF_ARRAYS = ("minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains")
_INSIDE = ("items", "not", "if", "then", "else", "contains", "additionalProperties", "propertyNames")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


def validate_tools(parsed: ParsedRequest, tools: list[JSON]) -> list[str]:
    """Validate ``tools`` (number, type, unique names, each function) and return their names."""
    if len(tools) > parsed.settings.max_tools:
        limit = parsed.settings.max_tools
        raise error_parameter(f"Bad request: at most {limit} tools are supported, but got {len(tools)}", "tools")
    names: list[str] = []
    for position, tool in enumerate(tools):
        if not isinstance(tool, dict) or tool.get("type") != "function":
            raise error_parameter('Bad request: the only supported tool type is "function"', "tools")
        function = tool.get("function")
        if not isinstance(function, dict):
            raise error_required("function", "tool")
        validate_function(parsed, function, position)
        name = as_text(function["name"])
        if name in names:
            raise error_parameter(f"Bad request: tool names must be unique: {name}", "tools")
        names.append(name)
    return names


def error_required(name: str, of: str, where: str = "tools") -> EmulatedError:
    """Return the error of a missing property. Source: tidyverse/ellmer issue 1084, of a missing ``parameters``."""
    return error_parameter(
        f'Bad request: "{name}" is a required property for "{of}" object in parameter "{where}"', where
    )


def validate_function(parsed: ParsedRequest, function: Object, position: int = 0) -> None:
    settings = parsed.settings
    name = function.get("name")
    if not name:
        raise error_required("name", "function")
    if parsed.family == "claude" and function.get("strict") is not None:
        # Source: tidyverse/ellmer issue 548.
        raise error_parameter(f"tools.{position}.custom.strict: Extra inputs are not permitted", "tools")
    if settings.require_description and not function.get("description"):
        raise error_required("description", "function")
    parameters = function.get("parameters")
    if parameters is not None:
        _validate_parameters(parsed, function, as_text(name), as_object(parameters))
    elif settings.require_parameters:
        raise error_required("parameters", "function")


def _validate_parameters(parsed: ParsedRequest, function: Object, name: str, parameters: Object) -> None:
    properties = parameters.get("properties")
    if properties is not None and not isinstance(properties, dict):
        raise error_parameter(f'Bad request: the "parameters" of function "{name}" are not a JSON schema', "tools")
    _validate_keys(parsed, name, len(properties or ()), parameters)
    if function.get("strict") and parsed.settings.strict_schemas:
        _validate_strict(parameters, parsed.family, f"function '{name}'")


def _validate_keys(parsed: ParsedRequest, name: str, keys: int, parameters: JSON) -> None:
    limit = parsed.settings.max_properties
    if keys > limit:
        text = f'Bad request: function "{name}" has {keys} properties, but at most {limit} are supported'
        raise error_parameter(text, "tools")
    schema_limit = parsed.settings.max_schema_keys
    if schema_limit is not None and (keys := _count_keys(parameters)) > schema_limit:
        text = f'Bad request: the schema of function "{name}" has {keys} keys, but at most {schema_limit} are supported'
        raise error_parameter(text)


def validate_tool_choice(choice: JSON, names: list[str]) -> None:
    """Validate that ``tool_choice`` comes with ``tools`` and names one of them."""
    if choice is None:
        return
    if isinstance(choice, str):
        if choice not in ("auto", "none", "required"):
            text = f'Bad request: tool_choice must be "auto", "required", "none" or an object, but got "{choice}"'
            raise error_parameter(text, "tool_choice")
    else:
        name = _find_choice(as_object(choice))
        if names and name not in names:
            raise error_parameter(
                f'Bad request: tool_choice names the function "{name}", which is not in tools', "tool_choice"
            )
    if not names and choice != "none":
        raise error_parameter("Bad request: tool_choice is only allowed when tools are specified", "tool_choice")


def _find_choice(choice: Object) -> str:
    """Return the name of the function in a ``tool_choice`` object, nested or flat."""
    if choice.get("type") != "function":
        raise error_parameter('Bad request: the only supported tool_choice type is "function"', "tool_choice")
    inner = choice.get("function")
    name = (inner if isinstance(inner, dict) else choice).get("name")
    if not isinstance(name, str) or not name:
        raise error_parameter('Bad request: tool_choice needs the "name" of a function', "tool_choice")
    return name


def validate_format(parsed: ParsedRequest, value: Object, where: str = "response_format", inner: str = "") -> None:
    """Validate ``response_format`` or ``text.format``; ``inner``: path of the schema in the request."""
    kind = value.get("type")
    if kind not in ("text", "json_object", "json_schema"):
        raise error_parameter(f'Bad request: {where}.type must be "text", "json_object" or "json_schema"', where)
    if kind != "json_schema":
        return
    wanted = value.get("json_schema")
    if not isinstance(wanted, dict):
        raise error_missing(f"{where}.json_schema")
    for name in ("name", "schema"):
        if not wanted.get(name) and wanted.get(name) != {}:
            raise error_missing(f"{inner or where + '.json_schema'}.{name}")
    schema = wanted["schema"]
    limit = parsed.settings.max_format_keys
    if (keys := _count_keys(schema)) > limit:
        raise error_parameter(
            f"Invalid JSON schema - the schema has {keys} keys, but at most {limit} are supported\n", where
        )
    if wanted.get("strict") and parsed.settings.strict_schemas:
        _validate_strict(schema, parsed.family, f"response_format '{wanted['name']}'")


def error_missing(name: str) -> EmulatedError:
    """Return the error of a missing parameter.

    Source: databricks-ai-bridge issue 350, of ``response_format.json_schema.name``.
    """
    return error_parameter(f"Missing required parameter: '{name}'.", name)


def takes_parallel(parsed: ParsedRequest) -> bool:
    """Return whether an answer may have several calls: endpoint or setting and the request allow it."""
    allowed = parsed.settings.parallel_tool_calls or bool(parsed.traits.get("parallel_tool_calls"))
    return allowed and bool(parsed.get("parallel_tool_calls", True))


def validate_effort(parsed: ParsedRequest, effort: JSON, name: str) -> None:
    """Validate the reasoning effort; the accepted values depend on the family."""
    wide = parsed.settings.reasoning_efforts == "model" and parsed.family in ("gpt", "gemini", "claude")
    efforts = _WIDE_EFFORTS if wide else _EFFORTS
    if effort is not None and effort not in efforts:
        raise error_parameter(
            f"Bad request: {name} must be one of {', '.join(efforts)}, but got {quote_value(effort)}", name
        )


def _walk_schemas(schema: JSON) -> Iterator[Object]:
    """Yield a schema and all subschemas in document order; iterative, so depth is unlimited."""
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


def _count_keys(schema: JSON) -> int:
    """Return the number of properties in a schema, at all levels."""
    found = (one.get("properties") for one in _walk_schemas(schema))
    return sum(len(properties) for properties in found if isinstance(properties, dict))


def _validate_strict(schema: JSON, family: Family, of: str) -> None:
    """Raise for a keyword that strict schemas do not support.

    Args:
        of: name of the schema in OpenAI's messages.
    """
    if family == "gpt":
        problem = find_problem(schema, strict=True) if isinstance(schema, dict) else None
        if problem is not None:
            raise error_parameter(f"Invalid schema for {of}: {problem}")  # source: databricks-ai-bridge issue 350
        return
    for one in _walk_schemas(schema):
        if problem := _find_unsupported(one):
            raise error_parameter(f"Invalid JSON schema - {problem}\n")


def _find_unsupported(schema: Object) -> str | None:
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
