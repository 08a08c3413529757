"""Parse ``tools`` and ``tool_choice`` for the releases that have them.

Source: model_server, src/llm/apis/openai_completions.cpp (2025.2 to 2026.1) and openai_api_handler.cpp, parseTools.
"""

from typing import Literal

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object, as_object, as_text
from emulator.core.requests import Tool
from emulator.protocols.openai.messages import parse_tool
from emulator.vendors.openvino.chat.checks import find_checks
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import Fields

_KEEP_ALL = ("auto", "required")


@fast_dataclass(frozen=True, slots=True)
class OfferedTools:
    """Tools the model may call.

    Fields:
        tools: tools in the prompt.
        selected: ``tool_choice`` as the server stores it: a keyword, or the name of a tool.
        parsed: tool calls are parsed out of the text; since 2025.3 only if a tool has parameters.
    """

    tools: tuple[Tool, ...] = ()
    choice: Literal["none", "auto", "required"] = "none"
    name: str | None = None
    selected: str = "none"
    parsed: bool = False


NO_OFFER = OfferedTools()


def parse_tools(fields: Fields) -> OfferedTools:
    """Parse ``tool_choice``, then ``tools``; a choice that names a tool keeps only that tool."""
    body = fields.body
    if fields.release.tools == "ignored":
        return NO_OFFER
    selected = _parse_choice(fields, body["tool_choice"]) if body.get("tool_choice") is not None else "auto"
    if body.get("tools") is None or selected == "none":
        return NO_OFFER
    checks = find_checks(fields.release.version)
    if checks.tools == "named" and selected == "auto":
        tools = body["tools"]
        offered = [tool for tool in tools if _is_tool(tool)] if isinstance(tools, list) else []
    else:
        offered = _parse_all(fields, body["tools"], selected)
    return _build_offer(fields, [parse_tool(as_object(tool)) for tool in offered], selected)


def _build_offer(fields: Fields, tools: list[Tool], selected: str) -> OfferedTools:
    parsed = bool(tools) and (not fields.release.since(2025, 3) or any(tool.parameters is not None for tool in tools))
    if not tools:
        return OfferedTools(selected=selected)
    if selected == "auto":
        return OfferedTools(tuple(tools), "auto", None, selected, parsed)
    return OfferedTools(tuple(tools), "required", None if selected == "required" else selected, selected, parsed)


def _is_tool(tool: JSON) -> bool:
    """Return whether a template can render the tool."""
    function = tool.get("function") if isinstance(tool, dict) else None
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _parse_choice(fields: Fields, choice: JSON) -> str:
    """Parse a keyword or the name of a tool; the server does not distinguish them afterwards."""
    if isinstance(choice, str):
        keywords = ("none", "auto", "required") if fields.release.tool_choice_required else ("none", "auto")
        if choice not in keywords:
            raise refusal(f"tool_choice should be either {' or '.join(repr(keyword) for keyword in keywords)}")
        return choice
    if not isinstance(choice, dict):
        raise refusal("tool_choice is not a valid JSON object or string")
    function = choice.get("function")
    if isinstance(function, dict):
        return _validate_name(function.get("name"), "tool_choice.function.name")
    if fields.release.flat_tools and choice.get("type") == "function":
        return _validate_name(choice.get("name"), "tool_choice.name")
    raise refusal("tool_choice.function is not a valid JSON object")


def _validate_name(name: JSON, where: str) -> str:
    if not isinstance(name, str):
        raise refusal(f"{where} is not a valid string")
    return name


def _parse_all(fields: Fields, tools: JSON, selected: str) -> list[JSON]:
    """Return the tools that are kept; parameters of other tools are not validated."""
    if not isinstance(tools, list):
        raise refusal("Tools are not an array")
    kept: list[JSON] = []
    for tool in tools:
        if not isinstance(tool, dict):
            raise refusal("Tool is not a JSON object")
        function = _find_function(fields, tool)
        if selected in _KEEP_ALL or selected == function["name"]:
            if fields.release.flat_tools and not isinstance(function.get("parameters", {}), dict):
                raise refusal("Function parameters are not a valid JSON object")
            kept.append(tool)
    return kept


def _find_function(fields: Fields, tool: Object) -> Object:
    """Return the function of a tool; the type of a nested one is not validated."""
    flat = fields.release.flat_tools and "function" not in tool
    if flat and not isinstance(tool.get("type"), str):
        raise refusal("Tool type is missing or invalid")
    if flat and as_text(tool["type"]) != "function":
        raise refusal("Only function tools are supported")
    function = tool if flat else tool.get("function")
    if not isinstance(function, dict):
        raise refusal("Function is not a valid JSON object")
    if not isinstance(function.get("name"), str):
        raise refusal("Function object does not contain a valid name field")
    return function
