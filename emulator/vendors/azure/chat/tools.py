"""Tools on offer, and which of them is to be called."""

from collections.abc import Sequence

from pydantic_core import ErrorDetails

from emulator.core.requests import Tool
from emulator.protocols.openai.messages import ToolChoice
from emulator.vendors.azure.chat.models import AllowedToolsChoice, ChatBody, FunctionObject, NamedToolChoice
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.profile import DeploymentProfile


def find_wrong_choice(wire: ChatBody) -> list[ErrorDetails]:
    """The violation of a tool chosen by name, for those to whom ``tool_choice`` is a string only."""
    if not isinstance(wire.tool_choice, NamedToolChoice):
        return []
    value = wire.tool_choice.model_dump()
    return [{"type": "string_type", "loc": ("tool_choice",), "msg": "Input should be a valid string", "input": value}]


def check_tools(wire: ChatBody, habits: DeploymentProfile) -> None:
    """Refuse tools to a model that has none, and a choice of what is not on offer.

    Raises:
        EmulatedError: ``INVALID_PARAMETER``, code ``parameter_not_supported``.
    """
    choice = wire.tool_choice
    if wire.tools and not habits.supports("tools"):
        raise refusals.not_supported(("tools",), [tool.model_dump(exclude_unset=True) for tool in wire.tools])
    if habits.openai:
        _check_offered(wire)
        return
    if choice == "required" and not wire.tools:
        raise refusals.not_supported(("tool_choice",), choice)
    if isinstance(choice, NamedToolChoice | AllowedToolsChoice):
        names = [tool.function.name for tool in wire.tools or ()]
        if not set(list_chosen(choice)).issubset(names):
            raise refusals.not_supported(("tool_choice",), choice.model_dump())


def _check_offered(wire: ChatBody) -> None:
    """The same in the words of OpenAI, which takes no choice without tools. Source: openai/openai-python issue threads.

    The words for a tool that is not on offer are ``unverified``.
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
    """The tools that a choice names."""
    if isinstance(choice, NamedToolChoice):
        return [choice.function.name]
    return [tool.function.name for tool in choice.allowed_tools.tools]


def read_tools(wire: ChatBody) -> tuple[Tool, ...]:
    """The tools on offer."""
    tools = wire.tools or ()
    if isinstance(wire.tool_choice, AllowedToolsChoice):
        allowed = list_chosen(wire.tool_choice)
        tools = [tool for tool in tools if tool.function.name in allowed]
    return tuple([read_tool(tool.function) for tool in tools])


def list_customs(tools: Sequence[Tool]) -> frozenset[str]:
    """The names of the tools whose argument is a text."""
    return frozenset([tool.name for tool in tools if tool.bare]) if tools else frozenset()


def read_tool(function: FunctionObject) -> Tool:
    description, parameters = function.description or "", function.parameters
    return Tool(name=function.name, description=description, parameters=parameters, bare=function.bare)


def read_choice(wire: ChatBody, tools: Sequence[Tool]) -> tuple[ToolChoice, str | None]:
    """``tool_choice`` and the one tool it names."""
    choice = wire.tool_choice
    if isinstance(choice, NamedToolChoice):
        return "required", choice.function.name
    if isinstance(choice, AllowedToolsChoice):
        return choice.allowed_tools.mode, None
    return choice or ("auto" if tools else "none"), None
