"""Validate and parse ``tools`` and ``tool_choice`` of a chat request."""

from collections.abc import Sequence

from pydantic_core import ErrorDetails

from emulator.core.requests import Tool
from emulator.protocols.openai.messages import ToolChoice
from emulator.vendors.azure.chat.models import AllowedToolsChoice, ChatBody, FunctionObject, NamedToolChoice
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.profile import DeploymentProfile


def find_wrong_choice(wire: ChatBody) -> list[ErrorDetails]:
    """Return the violation of a tool chosen by name, for ``strict_tool_choice``."""
    if not isinstance(wire.tool_choice, NamedToolChoice):
        return []
    value = wire.tool_choice.model_dump()
    return [{"type": "string_type", "loc": ("tool_choice",), "msg": "Input should be a valid string", "input": value}]


def validate_tools(wire: ChatBody, profile: DeploymentProfile) -> None:
    """Raise for tools that the model lacks or a choice of a tool that is not offered."""
    choice = wire.tool_choice
    if wire.tools and not profile.supports("tools"):
        raise refusals.not_supported(("tools",), [tool.model_dump(exclude_unset=True) for tool in wire.tools])
    if profile.openai:
        _validate_offered(wire)
        return
    if choice == "required" and not wire.tools:
        raise refusals.not_supported(("tool_choice",), choice)
    if isinstance(choice, NamedToolChoice | AllowedToolsChoice):
        names = [tool.function.name for tool in wire.tools or ()]
        if not set(list_chosen(choice)).issubset(names):
            raise refusals.not_supported(("tool_choice",), choice.model_dump())


def _validate_offered(wire: ChatBody) -> None:
    """Raise OpenAI's errors, which allow no choice without tools. Source: openai/openai-python issue threads.

    The text for a tool that is not offered is ``unverified``.
    """
    choice = wire.tool_choice
    if choice is not None and choice != "none" and not wire.tools:
        text = "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
        raise refusals.contradicts(text, "tool_choice")
    names = [tool.function.name for tool in wire.tools or ()]
    chosen = list_chosen(choice) if isinstance(choice, NamedToolChoice | AllowedToolsChoice) else []
    missing = next((name for name in chosen if name not in names), None)
    if missing is not None:
        raise refusals.contradicts(f"Tool choice '{missing}' not found in 'tools' parameter.", "tool_choice")


def list_chosen(choice: NamedToolChoice | AllowedToolsChoice) -> list[str]:
    """Return the names of the tools in a choice."""
    if isinstance(choice, NamedToolChoice):
        return [choice.function.name]
    return [tool.function.name for tool in choice.allowed_tools.tools]


def parse_tools(wire: ChatBody) -> tuple[Tool, ...]:
    """Return the offered tools, narrowed by ``allowed_tools``."""
    tools = wire.tools or ()
    if isinstance(wire.tool_choice, AllowedToolsChoice):
        allowed = list_chosen(wire.tool_choice)
        tools = [tool for tool in tools if tool.function.name in allowed]
    return tuple([build_tool(tool.function) for tool in tools])


def list_customs(tools: Sequence[Tool]) -> frozenset[str]:
    return frozenset([tool.name for tool in tools if tool.bare]) if tools else frozenset()


def build_tool(function: FunctionObject) -> Tool:
    description, parameters = function.description or "", function.parameters
    return Tool(name=function.name, description=description, parameters=parameters, bare=function.bare)


def parse_tool_choice(wire: ChatBody, tools: Sequence[Tool]) -> tuple[ToolChoice, str | None]:
    """Return ``tool_choice`` and the name of the tool if it names one."""
    choice = wire.tool_choice
    if isinstance(choice, NamedToolChoice):
        return "required", choice.function.name
    if isinstance(choice, AllowedToolsChoice):
        return choice.allowed_tools.mode, None
    return choice or ("auto" if tools else "none"), None
