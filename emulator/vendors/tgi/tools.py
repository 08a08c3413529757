"""Declare the fields ``tools`` and ``tool_choice``, and the tool calls of earlier turns.

Source: text-generation-inference, ``router/src/lib.rs`` and ``router/src/infer/tool_grammar.rs``.
"""

from typing import TypeVar

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.json import JSON
from emulator.core.requests import Tool
from emulator.protocols.openai.messages import ToolChoice
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.decoder import Field
from emulator.vendors.tgi.errors import early_refusal

T = TypeVar("T")


@fast_dataclass(frozen=True, slots=True)
class NamedTool:
    """``tool_choice`` object with the name of a tool."""

    name: str


def _take_function(function: T, **others: object) -> T:
    return function


def _build_tool(name: str, arguments: JSON, description: str | None = None) -> Tool:
    parameters = arguments if isinstance(arguments, dict) else None
    return Tool(name=name, description=description or "", parameters=parameters)


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
    if isinstance(value, dict) and "parameters" in value:
        if "arguments" in value:
            raise serde.Mismatch("duplicate field `arguments`", repeated=("arguments", "parameters"))
        value = {("arguments" if key == "parameters" else key): inner for key, inner in value.items()}
    return _FUNCTION(value)


_TOOL = serde.build(_build_tool, _parse_function)
_NAME = serde.build(NamedTool, serde.struct("FunctionName", (Field("name", serde.string, required=True),)))
TOOL: serde.Type[Tool] = serde.build(
    _take_function,
    serde.struct("Tool", (Field("type", serde.string, required=True), Field("function", _TOOL, required=True))),
)
TOOL_CALL = serde.struct(
    "ToolCall",
    (
        Field("id", serde.string, required=True),
        Field("type", serde.string, required=True),
        Field("function", _parse_function, required=True),
    ),
)
_TYPED_CHOICE: serde.Type[NamedTool] = serde.build(
    _take_function, serde.struct("TypedChoice", (Field("function", _NAME, required=True),))
)
TOOL_CHOICE: serde.Type[str | NamedTool | None] = serde.untagged(
    "ToolTypeDeserializer", serde.option(serde.string), _TYPED_CHOICE
)


def parse_tool_choice(choice: str | NamedTool | None, *, offered: bool) -> tuple[ToolChoice, str | None]:
    """Return the tool choice and the chosen tool; a string that is no keyword is the name of a tool."""
    if not offered or choice == "none":
        return "none", None
    if choice is None or choice == "auto":
        return "auto", None
    if choice == "required":
        return "required", None
    return "required", choice if isinstance(choice, str) else choice.name


def tool_refusal(text: str) -> EmulatedError:
    return early_refusal(f"Tool error: {text}", "tools", "tool_error")
