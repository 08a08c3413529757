"""Declare the fields ``tools`` and ``tool_choice`` and earlier tool calls, and build the schema of a call.

Source: text-generation-inference, ``router/src/lib.rs`` and ``router/src/infer/tool_grammar.rs``.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.json import JSON, Object, as_text
from emulator.core.requests import Tool
from emulator.protocols.openai.messages import ToolChoice
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.decoder import Field
from emulator.vendors.tgi.errors import early_refusal
from emulator.vendors.tgi.rust_text import format_json

T = TypeVar("T")


@fast_dataclass(frozen=True, slots=True)
class NamedTool:
    """``tool_choice`` object with the name of a tool."""

    name: str


@fast_dataclass(frozen=True, slots=True)
class OfferedTool:
    """Tool of a request; ``text``: as the prompt shows it."""

    tool: Tool
    text: str


def _take_function(function: T, **others: object) -> T:
    return function


def _build_tool(type: str, function: Mapping[str, JSON]) -> OfferedTool:
    name, description, arguments = as_text(function["name"]), function.get("description"), function["arguments"]
    parameters = arguments if isinstance(arguments, dict) else None
    tool = Tool(name=name, description=as_text(description or ""), parameters=parameters)
    return OfferedTool(tool, format_json(show_call(type, function)))


def show_call(type: str, function: Mapping[str, JSON]) -> Object:
    """Build the form in which the prompt shows a tool or a call of one: the arguments are JSON in a text.

    Source: text-generation-inference, ``router/src/lib.rs:1178-1202`` (FunctionDefinition, Tool).
    """
    arguments = format_json(function.get("arguments", function.get("parameters")))
    shown: Object = {"description": function.get("description"), "name": function["name"], "arguments": arguments}
    return {"type": type, "function": shown}


_FUNCTION = serde.struct(
    "FunctionDefinition",
    (
        Field("description", serde.option(serde.string)),
        Field("name", serde.string, required=True),
        Field("arguments", serde.anything, required=True),
    ),
)


def _parse_function(value: JSON) -> serde.Members:
    """Parse ``FunctionDefinition``; ``parameters`` is an alias of ``arguments``."""
    if not isinstance(value, dict) or "parameters" not in value:
        return _FUNCTION(value)
    if "arguments" in value:
        raise serde.Mismatch("duplicate field `arguments`", repeated=("arguments", "parameters"))
    try:
        return _FUNCTION({("arguments" if key == "parameters" else key): inner for key, inner in value.items()})
    except serde.Mismatch as fault:
        if fault.path[:1] == ("arguments",):
            fault.path = ("parameters", *fault.path[1:])
        raise


def _parse_type(value: JSON) -> str:
    """Parse the tag of ``TypedChoice``, which has one variant."""
    if value != "function":
        raise serde.Mismatch("unknown variant, expected `function`")
    return "function"


_NAME = serde.build(NamedTool, serde.struct("FunctionName", (Field("name", serde.string, required=True),)))
TOOL: serde.Type[OfferedTool] = serde.build(
    _build_tool,
    serde.struct(
        "Tool", (Field("type", serde.string, required=True), Field("function", _parse_function, required=True))
    ),
)
TOOL_CALL = serde.struct(
    "ToolCall",
    (
        Field("id", serde.string, required=True),
        Field("type", serde.string, required=True),
        Field("function", _parse_function, required=True),
    ),
)
_TYPED: serde.Type[NamedTool] = serde.build(
    _take_function,
    serde.struct("TypedChoice", (Field("type", _parse_type, required=True), Field("function", _NAME, required=True))),
)
TOOL_CHOICE: serde.Type[str | NamedTool | None] = serde.untagged(
    "ToolTypeDeserializer", serde.option(serde.string), _TYPED
)


def parse_tool_choice(
    choice: str | NamedTool | None, tools: Sequence[OfferedTool] | None
) -> tuple[ToolChoice, tuple[OfferedTool, ...], str | None]:
    """Return the tool choice, the tools to choose from and the one chosen.

    A string that is no keyword is the name of a tool. ``auto`` of no tools is a choice nevertheless: of none.

    Source: text-generation-inference, ``router/src/infer/tool_grammar.rs:12-60``.

    Raises:
        EmulatedError: there is no tool of that name.
    """
    if tools is None or choice == "none":
        return "none", (), None
    if choice is None or choice == "auto":
        return "auto", tuple(tools), None
    if choice == "required":
        return ("required" if tools else "none"), tuple(tools), None
    name = choice if isinstance(choice, str) else choice.name
    found = next((offered for offered in tools if offered.tool.name == name), None)
    if found is None:
        raise tool_refusal(f"Tool with name {name} not found")
    return "required", (found,), name


def build_tools_schema(tools: Sequence[Tool], *, optional: bool) -> Object:
    """Build the schema of a call of one of the tools, as the router compiles it; ``optional``: or of none.

    Only ``properties`` and ``required`` of a tool's parameters are in it.

    Source: text-generation-inference, ``router/src/infer/tool_grammar.rs:68-121``.
    """
    offered = (*tools, NO_TOOL.tool) if optional else tools
    functions = {tool.name: _build_function(tool) for tool in offered}
    names = [tool.name for tool in offered]
    choices: list[JSON] = [{"$ref": f"#/$functions/{name}"} for name in names]
    return {"$functions": functions, "properties": {"function": {"anyOf": choices}}}


def _build_function(tool: Tool) -> JSON:
    given = tool.parameters if isinstance(tool.parameters, dict) else {}
    properties: Object = {"_name": {"type": "string", "const": tool.name}}
    required: list[JSON] = ["_name"]
    own, names = given.get("properties"), given.get("required")
    is_open = given.get("additionalProperties") == "true"  # the router reads a string here
    rest: Object = {} if tool.parameters is None else {"additionalProperties": is_open}
    return {
        "description": tool.description,
        **rest,
        "properties": {**properties, **(own if isinstance(own, dict) else {})},
        "required": [*required, *(names if isinstance(names, list) else [])],
    }


NO_TOOL = TOOL(
    {
        "type": "function",
        "function": {
            "name": "no_tool",
            "description": "Open ended response with no specific tool selected",
            "arguments": {"type": "object"},
        },
    }
)


def tool_refusal(text: str) -> EmulatedError:
    return early_refusal(f"Tool error: {text}", "tools", "tool_error")
