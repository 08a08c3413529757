"""Request models of chat completions; pydantic's violations appear in the service's errors.

Sources: Azure Machine Learning reference, Chat Completions (2024-04-01-preview); Azure/azure-rest-api-specs,
specification/ai/ModelInference; Azure/azureml-assets, foundation/model/serve/api_server_setup/protocol.py.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    AliasChoices,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema, InitErrorDetails, core_schema

from emulator.core.json import JSON
from emulator.protocols.openai.messages import Format
from emulator.vendors.azure.decoder import WireModel
from emulator.vendors.azure.errors.types import NO_SCHEMA
from emulator.vendors.azure.sampling import SamplingFields

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_FORMATS: Mapping[str, Format] = {"text": "text", "json_object": "json_object", "json_schema": "json_schema"}


def validate_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, "
            "with a maximum length of 64."
        )
    return name


def validate_messages(messages: list[JSON]) -> list[JSON]:
    if not messages:
        raise ValueError("messages can not be an empty list")
    return messages


class Detail(StrEnum):
    auto = "auto"
    low = "low"
    high = "high"


class PartType(StrEnum):
    text = "text"
    image = "image"
    image_url = "image_url"
    input_audio = "input_audio"
    audio_url = "audio_url"


class ImageUrl(WireModel):
    url: str
    detail: Detail | None = None


class ImageData(WireModel):
    data: str
    detail: Detail | None = None


class InputAudio(WireModel):
    data: str
    format: Literal["wav", "mp3"]


class AudioUrl(WireModel):
    url: str


class Part(WireModel):
    """Part of a message; its payload is under the name of its type or under ``content``."""

    type: StrEnum
    content: str | None = None
    detail: Detail | None = None
    text: str | None = None
    image: ImageData | None = None
    image_url: ImageUrl | None = None
    input_audio: InputAudio | None = None
    audio_url: AudioUrl | None = None

    @model_validator(mode="after")
    def _validate_payload(self) -> Self:
        kind = self.type.value
        if self.content is None and getattr(self, kind, None) is None:
            raise ValueError(f"Content part type is {kind} but {kind} is not provided.")
        return self

    @property
    def written(self) -> str:
        return (self.content if self.text is None else self.text) or ""


class ContentPart(Part):
    """Part of a message to the container."""

    type: PartType


class CalledFunction(WireModel):
    name: str
    arguments: str


class CalledTool(WireModel):
    """``tool_calls[]`` of an assistant message; the documentation also spells ``ID``."""

    id: str | None = Field(None, validation_alias=AliasChoices("id", "ID"))
    type: Literal["function"] = "function"
    function: CalledFunction


_ROLES = "'system', 'user', 'assistant' or 'tool'"  # ``developer`` came later and is accepted as well


class _RoleSchema:
    """Role of a message; the error is that of the container's enumeration."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        roles = core_schema.literal_schema(["system", "user", "assistant", "tool", "developer"])
        return core_schema.custom_error_schema(roles, "enum", custom_error_context={"expected": _ROLES})


_MAX_PARTS = 1000  # parts of one message that are validated once there are more
P = TypeVar("P", bound=Part)
_PARTS = TypeAdapter(list[ContentPart])
Content = str | Sequence[Part] | None


def _parse_content(value: JSON) -> Content:
    return parse_content(value, _PARTS)


def parse_content(value: JSON, parts: TypeAdapter[list[P]]) -> str | list[P] | None:
    """Return a text or validated parts; raise the violations of both types for any other value."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        if len(value) > _MAX_PARTS:
            parts.validate_python(value[:_MAX_PARTS], from_attributes=True)
        return parts.validate_python(value, from_attributes=True)
    violations: list[InitErrorDetails] = [
        {"type": "string_type", "loc": ("str",), "input": value},
        {"type": "list_type", "loc": ("list[ContentPart]",), "input": value},
    ]
    raise ValidationError.from_exception_data("content", violations)


class ChatMessage(WireModel):
    null_is_absent: ClassVar[bool] = True  # a null content is refused like an absent one

    role: Annotated[str, _RoleSchema]
    content: Annotated[Content, PlainValidator(_parse_content)] = None
    tool_calls: list[CalledTool] | None = None
    tool_call_id: str | None = None
    name: str | None = None


class FunctionObject(WireModel):
    bare: ClassVar[bool] = False

    name: Annotated[str, AfterValidator(validate_name)]
    description: str | None = None
    parameters: dict[str, JSON] | None = None


class ToolDefinition(WireModel):
    type: Literal["function"]
    function: FunctionObject


class ChosenFunction(WireModel):
    name: str


class NamedToolChoice(WireModel):
    type: Literal["function"]
    function: ChosenFunction


ToolMode = Literal["none", "auto", "required"]


class AllowedTools(WireModel):
    mode: Literal["auto", "required"]
    tools: list[NamedToolChoice]


class AllowedToolsChoice(WireModel):
    """``tool_choice`` that narrows the offered tools; only Azure OpenAI has it."""

    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools


ToolChoice = ToolMode | NamedToolChoice | AllowedToolsChoice | None
_TOOL_MODE: TypeAdapter[ToolMode | None] = TypeAdapter(ToolMode | None)


def _parse_tool_choice(value: JSON) -> ToolChoice:
    return NamedToolChoice.model_validate(value) if isinstance(value, dict) else _TOOL_MODE.validate_python(value)


class JsonSchemaFormat(WireModel):
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    schema_: dict[str, JSON] = Field(alias="schema")
    description: str | None = None
    strict: bool | None = None


def _validate_format(kind: str) -> str:
    if kind not in _FORMATS:
        raise ValueError(f"Response format was {kind} but must be either 'text' or 'json_object'.")
    return kind


class ResponseFormat(WireModel):
    type: Annotated[str, AfterValidator(_validate_format)]
    json_schema: JsonSchemaFormat | None = None

    @model_validator(mode="after")
    def _validate_schema(self) -> Self:
        if self.type == "json_schema" and self.json_schema is None:
            raise ValueError(NO_SCHEMA)
        return self

    @property
    def kind(self) -> Format:
        return _FORMATS[self.type]

    @property
    def wanted_schema(self) -> JSON:
        """Schema of ``json_schema``; ``None`` for other formats."""
        return self.json_schema.schema_ if self.type == "json_schema" and self.json_schema is not None else None


class Conversation(WireModel):
    """Base of chat bodies; pydantic lists the violations of ``messages`` first."""

    messages: Annotated[list[ChatMessage], AfterValidator(validate_messages)]


class ChatBody(SamplingFields, Conversation):
    """``POST /chat/completions``."""

    response_format: ResponseFormat | None = None
    tool_choice: Annotated[ToolChoice, PlainValidator(_parse_tool_choice)] = None
    tools: Annotated[list[ToolDefinition], Field(min_length=1)] | None = None
    modalities: list[Literal["text", "audio"]] | None = None


class StrictChatRequest(ChatBody):
    """Chat body that accepts no number or boolean in a string."""

    model_config = ConfigDict(strict=True)
