"""Validate custom tools of Azure OpenAI chats and Responses: the argument is a text, optionally bound by a grammar.

Source: openai-python, ``types/chat/chat_completion_custom_tool_param.py`` and
``chat_completion_message_custom_tool_call.py``. The error text of a broken grammar is ``unverified``.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import ConfigDict, model_validator

from emulator.core.json import JSON
from emulator.encoding.lark import BadGrammarError, build_input_schema
from emulator.vendors.azure.chat.models import CalledFunction, CalledTool, FunctionObject, ToolDefinition
from emulator.vendors.azure.decoder import WireModel

_FREE: dict[str, JSON] = {"type": "string"}


def find_schema(name: str, syntax: str, definition: str) -> dict[str, JSON]:
    """Return the JSON Schema of texts that a tool's grammar takes.

    Raises:
        ValueError: the grammar is invalid.
    """
    try:
        return build_input_schema(syntax, definition)
    except BadGrammarError as error:
        raise ValueError(f"the grammar of '{name}' is not valid {syntax}: {error}.") from None


class Grammar(WireModel):
    definition: str
    syntax: Literal["lark", "regex"]


class CustomFormat(WireModel):
    type: Literal["text", "grammar"]
    grammar: Grammar | None = None

    @model_validator(mode="after")
    def _validate_grammar(self) -> Self:
        if self.type == "grammar" and self.grammar is None:
            raise ValueError("expected a grammar.")
        return self


class CustomObject(FunctionObject):
    """A custom tool; the generator treats it as a function of one text."""

    model_config = ConfigDict(strict=True)
    bare: ClassVar[bool] = True

    format: CustomFormat | None = None

    @model_validator(mode="after")
    def _read_format(self) -> Self:
        grammar = self.format.grammar if self.format is not None else None
        self.parameters = _FREE if grammar is None else find_schema(self.name, grammar.syntax, grammar.definition)
        return self


class CustomTool(WireModel):
    """Custom tool in ``tools``."""

    type: Literal["custom"]
    custom: CustomObject

    @property
    def function(self) -> FunctionObject:
        return self.custom


class StrictFunction(FunctionObject):
    """Function with an optional strict schema."""

    model_config = ConfigDict(strict=True)

    strict: bool | None = None


class FunctionTool(ToolDefinition):
    """Function in ``tools``; errors about ``type`` list both kinds."""

    type: Literal["function", "custom"]  # type: ignore[assignment]
    function: StrictFunction


AnyTool = FunctionTool | CustomTool


def parse_tool_item(value: JSON) -> AnyTool:
    """Parse an item of ``tools``."""
    if isinstance(value, Mapping) and value.get("type") == "custom":
        return CustomTool.model_validate(value)
    return FunctionTool.model_validate(value, from_attributes=True)


class CalledCustom(WireModel):
    name: str
    input: str


class CalledCustomTool(WireModel):
    """Custom tool call in an assistant message's ``tool_calls``."""

    id: str
    type: Literal["custom"]
    custom: CalledCustom

    @property
    def function(self) -> CalledFunction:
        return CalledFunction(name=self.custom.name, arguments=self.custom.input)


AnyCall = CalledTool | CalledCustomTool


def parse_call(value: JSON) -> AnyCall:
    """Parse an item of an assistant message's ``tool_calls``."""
    if isinstance(value, Mapping) and value.get("type") == "custom":
        return CalledCustomTool.model_validate(value)
    return CalledTool.model_validate(value, from_attributes=True)


def name_function(choice: JSON) -> JSON:
    """Convert a ``tool_choice`` of a custom tool to one of a function."""
    if isinstance(choice, Mapping) and choice.get("type") == "custom":
        return {"type": "function", "function": choice.get("custom")}
    return choice
