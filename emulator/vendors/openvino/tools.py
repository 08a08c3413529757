"""``tools``, ``tool_choice`` and ``response_format`` of the releases that know them.

Source: model_server, src/llm/apis/openai_api_handler.cpp, parseTools and parseResponseFormat.
"""

from __future__ import annotations

from typing import Literal

from emulator.core.call import Tool
from emulator.core.json import JSON, Object
from emulator.core.record import record
from emulator.dialects.openai import Format, read_format, read_tool
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import Fields


@record(frozen=True, slots=True)
class Offer:
    """The tools the model may call."""

    tools: tuple[Tool, ...] = ()
    choice: Literal["none", "auto", "required"] = "none"
    name: str | None = None


NO_OFFER = Offer()
PLAIN_TEXT: tuple[Format, JSON] = ("text", None)


def read_tools(read: Fields) -> Offer:
    """Check ``tool_choice``, then ``tools``; one that names a tool keeps only that tool.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    body = read.body
    if read.release.tools == "ignored":
        return NO_OFFER
    choice = body.get("tool_choice")
    name = _read_choice(read, choice) if "tool_choice" in body else None
    if "tools" not in body or choice == "none":
        return NO_OFFER
    tools = body["tools"]
    if not isinstance(tools, list):
        raise refusal("Tools are not an array")
    offered = [_read_tool(read, tool) for tool in tools]
    if name is not None:
        offered = [tool for tool in offered if tool.name == name]
    if not offered:
        return NO_OFFER
    if name is not None or choice == "required":
        return Offer(tuple(offered), "required", name)
    return Offer(tuple(offered), "auto")


def _read_choice(read: Fields, choice: JSON) -> str | None:
    """The tool it names."""
    if isinstance(choice, str):
        words = ("none", "auto", "required") if read.release.tool_choice_required else ("none", "auto")
        if choice not in words:
            raise refusal(f"tool_choice should be either {' or '.join(repr(word) for word in words)}")
        return None
    if not isinstance(choice, dict):
        raise refusal("tool_choice is not a valid JSON object or string")
    if read.release.flat_tools and "function" not in choice and "name" in choice:
        return _check_name(choice["name"], "tool_choice.name")
    function = choice.get("function")
    if not isinstance(function, dict):
        raise refusal("tool_choice.function is not a valid JSON object")
    return _check_name(function.get("name"), "tool_choice.function.name")


def _check_name(name: JSON, where: str) -> str:
    if not isinstance(name, str):
        raise refusal(f"{where} is not a valid string")
    return name


def _read_tool(read: Fields, tool: JSON) -> Tool:
    if not isinstance(tool, dict):
        raise refusal("Tool is not a JSON object")
    if not isinstance(tool.get("type"), str):
        raise refusal("Tool type is missing or invalid")
    if tool["type"] != "function":
        raise refusal("Only function tools are supported")
    flat = read.release.flat_tools and "function" not in tool
    function = tool if flat else tool.get("function")
    if not isinstance(function, dict):
        raise refusal("Function is not a valid JSON object")
    if not isinstance(function.get("name"), str):
        raise refusal("Function object does not contain a valid name field")
    if not isinstance(function.get("parameters", {}), dict):
        raise refusal("Function parameters are not a valid JSON object")
    return read_tool({"function": function})


def read_response_format(read: Fields) -> tuple[Format, JSON]:
    """Check ``response_format``; what the engine cannot use is not enforced.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    rule = read.release.response_format
    value = read.body.get("response_format")
    if rule == "ignored" or value is None:
        return PLAIN_TEXT
    if not isinstance(value, dict):
        raise refusal("response_format is not an object")
    schema = value.get("json_schema")
    if rule == "json_schema":
        _check_schema(value)
    elif value.get("type") == "json_schema" and not (
        isinstance(schema, dict) and isinstance(schema.get("schema"), dict)
    ):
        return PLAIN_TEXT
    return read_format(value)


def _check_schema(value: Object) -> None:
    """2025.3 alone took nothing but a schema."""
    where = "response_format.type"
    if "type" not in value:
        raise refusal(f"{where} is missing")
    if not isinstance(value["type"], str):
        raise refusal(f"{where} is not a string")
    if value["type"] != "json_schema":
        raise refusal(f"{where} can be only json_schema")
    where = "response_format"
    for name in ("json_schema", "schema"):
        where = f"{where}.{name}"
        if name not in value:
            raise refusal(f"{where} is missing")
        inner = value[name]
        if not isinstance(inner, dict):
            raise refusal(f"{where} is not an object")
        value = inner
