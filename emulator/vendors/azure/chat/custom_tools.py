"""Custom tools of Azure OpenAI: their argument is a text, free or as a grammar wants it, and no JSON.

Source: openai-python, ``types/chat/chat_completion_custom_tool_param.py`` and
``chat_completion_message_custom_tool_call.py``. The words for a broken grammar are ``unverified``.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import ConfigDict, model_validator

from emulator.core.json import JSON
from emulator.encoding.lark import BadGrammarError, input_schema
from emulator.vendors.azure.chat.models import CalledFunction, CalledTool, FunctionObject, ToolDefinition
from emulator.vendors.azure.decoder import WireModel

_FREE: dict[str, JSON] = {"type": "string"}


def find_schema(name: str, syntax: str, definition: str) -> dict[str, JSON]:
    """The JSON Schema of texts that a tool's grammar takes.

    Raises:
        ValueError: it is no grammar.
    """
    try:
        return input_schema(syntax, definition)
    except BadGrammarError as error:
        raise ValueError(f"the grammar of '{name}' is not valid {syntax}: {error}.") from None


class Grammar(WireModel):
    definition: str
    syntax: Literal["lark", "regex"]


class CustomFormat(WireModel):
    type: Literal["text", "grammar"]
    grammar: Grammar | None = None

    @model_validator(mode="after")
    def _check_grammar(self) -> Self:
        if self.type == "grammar" and self.grammar is None:
            raise ValueError("expected a grammar.")
        return self


class CustomObject(FunctionObject):
    """What a custom tool is; to the model it is a function of one text."""

    model_config = ConfigDict(strict=True)
    bare: ClassVar[bool] = True

    format: CustomFormat | None = None

    @model_validator(mode="after")
    def _read_format(self) -> Self:
        grammar = self.format.grammar if self.format is not None else None
        self.parameters = _FREE if grammar is None else find_schema(self.name, grammar.syntax, grammar.definition)
        return self


class CustomTool(WireModel):
    """An entry of ``tools``."""

    type: Literal["custom"]
    custom: CustomObject

    @property
    def function(self) -> FunctionObject:
        return self.custom


class StrictFunction(FunctionObject):
    """A function whose schema may have to be followed strictly."""

    model_config = ConfigDict(strict=True)

    strict: bool | None = None


class FunctionTool(ToolDefinition):
    """The other kind, which errors list beside it."""

    type: Literal["function", "custom"]  # type: ignore[assignment]
    function: StrictFunction


AnyTool = FunctionTool | CustomTool


def read_tool(value: JSON) -> AnyTool:
    """One entry of ``tools``."""
    if isinstance(value, Mapping) and value.get("type") == "custom":
        return CustomTool.model_validate(value)
    return FunctionTool.model_validate(value, from_attributes=True)


class CalledCustom(WireModel):
    name: str
    input: str


class CalledCustomTool(WireModel):
    """An entry of an assistant message's ``tool_calls``."""

    id: str
    type: Literal["custom"]
    custom: CalledCustom

    @property
    def function(self) -> CalledFunction:
        return CalledFunction(name=self.custom.name, arguments=self.custom.input)


AnyCall = CalledTool | CalledCustomTool


def read_call(value: JSON) -> AnyCall:
    """One entry of an assistant message's ``tool_calls``."""
    if isinstance(value, Mapping) and value.get("type") == "custom":
        return CalledCustomTool.model_validate(value)
    return CalledTool.model_validate(value, from_attributes=True)


def name_function(choice: JSON) -> JSON:
    """A choice of a custom tool as one of a function."""
    if isinstance(choice, Mapping) and choice.get("type") == "custom":
        return {"type": "function", "function": choice.get("custom")}
    return choice
