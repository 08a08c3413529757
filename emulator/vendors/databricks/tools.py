"""Tools, the choice among them, and structured outputs: rules of the fields that Chat and Responses share."""

from __future__ import annotations

from emulator.core.json import JSON
from emulator.vendors.databricks.decoder import BOOLEAN, OBJECT, STRING, Many, Struct, either, refuse
from emulator.vendors.databricks.request import Query
from emulator.vendors.databricks.schemas import check_strict, count_keys

FUNCTION = Struct({"name": STRING, "description": STRING, "parameters": OBJECT, "strict": BOOLEAN})
CACHE_CONTROL = either(OBJECT, STRING)
TOOLS = Many(Struct({"type": STRING, "function": FUNCTION}))
CACHED_TOOLS = Many(Struct({"type": STRING, "function": FUNCTION, "cache_control": CACHE_CONTROL}))
TOOL_CHOICE = either(STRING, Struct({"type": STRING, "function": Struct({"name": STRING})}))
JSON_SCHEMA = Struct({"name": STRING, "description": STRING, "schema": OBJECT, "strict": BOOLEAN})
RESPONSE_FORMAT = Struct({"type": STRING, "json_schema": JSON_SCHEMA})
EFFORTS = ("low", "medium", "high")
_WIDE_EFFORTS = ("none", "minimal", *EFFORTS, "xhigh", "max")


def check_tools(query: Query, tools: list[JSON]) -> None:
    """The rules of ``tools``: number, type, names, and each function's own."""
    if len(tools) > query.settings.max_tools:
        most = query.settings.max_tools
        raise refuse(f"Bad request: at most {most} tools are supported, but got {len(tools)}", "tools")
    names = set()
    for position, tool in enumerate(tools):
        if not isinstance(tool, dict) or tool.get("type") != "function":
            raise refuse('Bad request: the only supported tool type is "function"', "tools")
        function = tool.get("function")
        if not isinstance(function, dict):
            raise required("function", "tool")
        check_function(query, function, position)
        if function["name"] in names:
            raise refuse(f"Bad request: tool names must be unique: {function['name']}", "tools")
        names.add(function["name"])


def required(name: str, of: str, where: str = "tools") -> Exception:
    """Source: tidyverse/ellmer issue 1084, of a missing ``parameters``."""
    return refuse(f'Bad request: "{name}" is a required property for "{of}" object in parameter "{where}"', where)


def check_function(query: Query, function: dict[str, JSON], position: int = 0) -> None:
    """One function on offer."""
    settings = query.settings
    if not function.get("name"):
        raise required("name", "function")
    if query.family == "claude" and function.get("strict") is not None:
        # Source: tidyverse/ellmer issue 548.
        raise refuse(f"tools.{position}.custom.strict: Extra inputs are not permitted", "tools")
    if settings.require_description and not function.get("description"):
        raise required("description", "function")
    parameters = function.get("parameters")
    if parameters is None:
        if settings.require_parameters:
            raise required("parameters", "function")
        return
    properties = parameters.get("properties")
    if properties is not None and not isinstance(properties, dict):
        raise refuse(f'Bad request: the "parameters" of function "{function["name"]}" are not a JSON schema', "tools")
    _check_keys(query, function["name"], len(properties or ()), parameters)
    if function.get("strict") and settings.strict_schemas:
        check_strict(parameters, query.family, f"function '{function['name']}'")


def _check_keys(query: Query, name: str, keys: int, parameters: JSON) -> None:
    most = query.settings.max_properties
    if keys > most:
        text = f'Bad request: function "{name}" has {keys} properties, but at most {most} are supported'
        raise refuse(text, "tools")
    whole = query.settings.max_schema_keys
    if whole is not None and (keys := count_keys(parameters)) > whole:
        raise refuse(f'Bad request: the schema of function "{name}" has {keys} keys, but at most {whole} are supported')


def check_tool_choice(choice: JSON, names: list[str]) -> None:
    """``tool_choice`` goes with ``tools`` and names one of them."""
    if choice is None:
        return
    if isinstance(choice, str):
        if choice not in ("auto", "none", "required"):
            text = f'Bad request: tool_choice must be "auto", "required", "none" or an object, but got "{choice}"'
            raise refuse(text, "tool_choice")
    else:
        name = choose_name(choice)
        if names and name not in names:
            raise refuse(f'Bad request: tool_choice names the function "{name}", which is not in tools', "tool_choice")
    if not names and choice != "none":
        raise refuse("Bad request: tool_choice is only allowed when tools are specified", "tool_choice")


def choose_name(choice: JSON) -> str:
    """The function a ``tool_choice`` object names, nested or flat."""
    if choice.get("type") != "function":
        raise refuse('Bad request: the only supported tool_choice type is "function"', "tool_choice")
    inner = choice.get("function")
    name = (inner if isinstance(inner, dict) else choice).get("name")
    if not isinstance(name, str) or not name:
        raise refuse('Bad request: tool_choice needs the "name" of a function', "tool_choice")
    return name


def check_format(query: Query, value: JSON, where: str = "response_format", inner: str = "") -> None:
    """``response_format``, or the same as Responses has it; ``inner`` names where the schema really stands."""
    kind = value.get("type")
    if kind not in ("text", "json_object", "json_schema"):
        raise refuse(f'Bad request: {where}.type must be "text", "json_object" or "json_schema"', where)
    if kind != "json_schema":
        return
    wanted = value.get("json_schema")
    if not isinstance(wanted, dict):
        raise missing(f"{where}.json_schema")
    for name in ("name", "schema"):
        if not wanted.get(name) and wanted.get(name) != {}:
            raise missing(f"{inner or where + '.json_schema'}.{name}")
    schema = wanted["schema"]
    most = query.settings.max_format_keys
    if (keys := count_keys(schema)) > most:
        raise refuse(f"Invalid JSON schema - the schema has {keys} keys, but at most {most} are supported\n", where)
    if wanted.get("strict") and query.settings.strict_schemas:
        check_strict(schema, query.family, f"response_format '{wanted['name']}'")


def missing(name: str) -> Exception:
    """Source: databricks-ai-bridge issue 350, of ``response_format.json_schema.name``."""
    return refuse(f"Missing required parameter: '{name}'.", name)


def check_effort(query: Query, effort: JSON, name: str) -> None:
    """How hard to think; how many words there are for it depends on the family."""
    wide = query.settings.reasoning_efforts == "model" and query.family in ("gpt", "gemini", "claude")
    efforts = _WIDE_EFFORTS if wide else EFFORTS
    if effort is not None and effort not in efforts:
        raise refuse(f"Bad request: {name} must be one of {', '.join(efforts)}, but got {effort!r}", name)
