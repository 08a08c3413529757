"""Validate and parse ``tools`` and ``tool_choice`` of the Responses API.

Sources: openai-python, ``types/responses/tool_param.py``, ``tool_choice_allowed.py`` and ``tool_choice_custom.py``.
"""

from dataclasses import replace

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import Object
from emulator.core.requests import Tool
from emulator.protocols.openai.messages import ToolChoice, parse_tool
from emulator.vendors.azure.chat.openai_models import validate_parameters
from emulator.vendors.azure.decoder import validate
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.request import ParsedRequest
from emulator.vendors.azure.responses.file_search import TOOL_TYPE, validate_choice
from emulator.vendors.azure.responses.models import OfferedCustom, OfferedFunction, OfferedTool, ResponseRequest

_HOSTED = frozenset(
    {
        "file_search", "web_search", "web_search_preview", "code_interpreter", "image_generation", "mcp",
        "computer", "computer_use_preview", "local_shell", "shell", "apply_patch", "namespace", "tool_search",
    }
)  # fmt: skip
_CHOICES: dict[str, ToolChoice] = {"none": "none", "auto": "auto", "required": "required"}
_NAMED = ("function", "custom")


@fast_dataclass(frozen=True, slots=True, eq=False)
class OfferedTools:
    """Callable tools and the choice among them; tools that the service runs itself are left out."""

    tools: tuple[Tool, ...]
    choice: ToolChoice
    name: str | None


def parse_offer(wire: ResponseRequest, parsed: ParsedRequest) -> OfferedTools:
    """Return the tools of a request.

    Raises:
        EmulatedError: 400, an invalid tool or choice.
    """
    profile = parsed.profile
    found = [_parse_tool(tool, position) for position, tool in enumerate(wire.tools or ())]
    kinds = [tool["type"] for tool, own in zip(wire.tools or (), found, strict=True) if own is None]
    hosted = next((kind for kind in kinds if kind != TOOL_TYPE), None)
    if hosted is not None and parsed.settings.hosted_tools == "refuse":
        raise refusals.contradicts(f"Hosted tool '{hosted}' is not supported with {profile.model}.", "tools")
    tools = tuple([tool for tool in found if tool is not None])
    if tools and not profile.supports("tools"):
        raise refusals.not_supported(("tools",), [tool for tool in wire.tools or () if tool.get("type") in _NAMED])
    given = wire.tool_choice
    if isinstance(given, str):
        return _parse_mode(given, tools, offered=bool(wire.tools))
    if given is not None:
        validate_choice(given, wire.tools or ())
    if given is None or given.get("type") not in (*_NAMED, "allowed_tools"):
        return OfferedTools(tools, "auto" if tools else "none", None)
    return _parse_named(given, tools)


def _parse_mode(given: str, tools: tuple[Tool, ...], *, offered: bool) -> OfferedTools:
    if given not in _CHOICES:
        raise refusals.invalid_value("tool_choice", given, tuple(_CHOICES))
    if given == "required" and not offered:
        text = "Tool choice 'required' must be specified with 'tools' parameter."
        raise refusals.contradicts(text, "tool_choice")
    return OfferedTools(tools, _CHOICES[given] if tools else "none", None)


def _parse_named(given: Object, tools: tuple[Tool, ...]) -> OfferedTools:
    """Return the tools that a choice names."""
    names = [_name_choice(given, "tool_choice")] if given["type"] in _NAMED else _list_allowed(given)
    mode = "required" if given.get("mode") == "required" else "auto"
    missing = next((name for name in names if name not in [tool.name for tool in tools]), None)
    if missing is not None:
        raise refusals.contradicts(f"Tool choice '{missing}' not found in 'tools' parameter.", "tool_choice")
    chosen = tuple([tool for tool in tools if tool.name in names])
    if given["type"] in _NAMED:
        return OfferedTools(tools, "required", chosen[0].name)
    return OfferedTools(chosen, _CHOICES[mode], None)


def _list_allowed(given: Object) -> list[str]:
    """Return the names of ``allowed_tools``; tools that the service runs itself have none."""
    allowed = given.get("tools")
    if not isinstance(allowed, list):
        raise refusals.missing_parameter("tool_choice.tools")
    names = []
    for position, tool in enumerate(allowed):
        where = f"tool_choice.tools[{position}]"
        if not isinstance(tool, dict):
            raise refusals.invalid_type(where, tool, "an object")
        if tool.get("type", "function") in _NAMED:
            names.append(_name_choice(tool, where))
    return names


def _name_choice(choice: Object, where: str) -> str:
    name = choice.get("name")
    if isinstance(name, str):
        return name
    if name is None:
        raise refusals.missing_parameter(f"{where}.name")
    raise refusals.invalid_type(f"{where}.name", name, "a string")


def _parse_tool(tool: Object, position: int) -> Tool | None:
    """Parse a function or a custom tool; ``None`` for one that the service runs itself."""
    kind = validate(OfferedTool, tool, ("tools", position)).type
    if kind == "function":
        function = validate(OfferedFunction, tool, ("tools", position))
        where = f"tools[{position}].parameters"
        validate_parameters(function.name, function.parameters, where, strict=function.strict is True)
        return parse_tool(tool)
    if kind == "custom":
        custom = validate(OfferedCustom, tool, ("tools", position))
        return replace(parse_tool(tool), parameters=custom.schema_of_text, bare=True)
    if kind in _HOSTED:
        return None
    known = ", ".join(map(repr, ("function", "custom", *sorted(_HOSTED))))
    text = f"Invalid value: '{kind}'. Supported values are: {known}."
    raise refusals.contradicts(text, f"tools[{position}].type", "invalid_value")
