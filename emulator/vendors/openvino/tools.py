"""``tools``, ``tool_choice`` and ``response_format`` of the releases that know them.

Source: model_server, src/llm/apis/openai_api_handler.cpp, parseTools and parseResponseFormat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from emulator.core.call import Tool
from emulator.core.json import JSON
from emulator.dialects.openai import read_format, read_tool
from emulator.vendors.openvino.errors import refuse
from emulator.vendors.openvino.text.fields import Fields

Format = Literal["text", "json_object", "json_schema"]


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools the model may call."""

    tools: tuple[Tool, ...] = ()
    choice: Literal["none", "auto", "required"] = "none"
    name: str | None = None


NO_OFFER = Offer()


def read_tools(read: Fields) -> Offer:
    """Check ``tool_choice``, then ``tools``; one that names a tool keeps only that tool.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    body = read.body
    if read.release.tools == "ignored":
        return NO_OFFER
    choice = body.get("tool_choice", ...)
    name = _read_choice(read, choice)
    tools = body.get("tools", ...)
    if tools is ... or choice == "none":
        return NO_OFFER
    if not isinstance(tools, list):
        refuse("Tools are not an array")
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
    if choice is ...:
        return None
    if isinstance(choice, str):
        words = ("none", "auto", "required") if read.release.tool_choice_required else ("none", "auto")
        if choice not in words:
            refuse(f"tool_choice should be either {' or '.join(repr(word) for word in words)}")
        return None
    if not isinstance(choice, dict):
        refuse("tool_choice is not a valid JSON object or string")
    if read.release.flat_tools and "function" not in choice and "name" in choice:
        return _check_name(choice["name"], "tool_choice.name")
    function = choice.get("function")
    if not isinstance(function, dict):
        refuse("tool_choice.function is not a valid JSON object")
    return _check_name(function.get("name"), "tool_choice.function.name")


def _check_name(name: JSON, where: str) -> str:
    if not isinstance(name, str):
        refuse(f"{where} is not a valid string")
    return name


def _read_tool(read: Fields, tool: JSON) -> Tool:
    if not isinstance(tool, dict):
        refuse("Tool is not a JSON object")
    if not isinstance(tool.get("type"), str):
        refuse("Tool type is missing or invalid")
    if tool["type"] != "function":
        refuse("Only function tools are supported")
    flat = read.release.flat_tools and "function" not in tool
    function = tool if flat else tool.get("function")
    if not isinstance(function, dict):
        refuse("Function is not a valid JSON object")
    if not isinstance(function.get("name"), str):
        refuse("Function object does not contain a valid name field")
    if not isinstance(function.get("parameters", {}), dict):
        refuse("Function parameters are not a valid JSON object")
    return read_tool({"function": function})


def read_response_format(read: Fields) -> tuple[Format, JSON]:
    """Check ``response_format``; what the engine cannot use is not enforced.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    rule = read.release.response_format
    value = read.body.get("response_format")
    if rule == "ignored" or value is None:
        return "text", None
    if not isinstance(value, dict):
        refuse("response_format is not an object")
    schema = value.get("json_schema")
    if rule == "json_schema":
        _check_schema(value)
    elif value.get("type") == "json_schema" and not (
        isinstance(schema, dict) and isinstance(schema.get("schema"), dict)
    ):
        return "text", None
    return read_format(value)


def _check_schema(value: dict[str, JSON]) -> None:
    """2025.3 alone took nothing but a schema."""
    where = "response_format.type"
    if "type" not in value:
        refuse(f"{where} is missing")
    if not isinstance(value["type"], str):
        refuse(f"{where} is not a string")
    if value["type"] != "json_schema":
        refuse(f"{where} can be only json_schema")
    holder = value
    for name in ("json_schema", "schema"):
        where = "response_format.json_schema" + (".schema" if name == "schema" else "")
        if name not in holder:
            refuse(f"{where} is missing")
        if not isinstance(holder[name], dict):
            refuse(f"{where} is not an object")
        holder = holder[name]
