"""Pydantic models of Azure OpenAI's chat requests, and the checks across their fields.

``models.py`` has those of Model Inference, on which they build.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainValidator,
    TypeAdapter,
)
from pydantic_core import CoreSchema, core_schema

from emulator.core.json import JSON, dump_text
from emulator.protocols.openai.strict_schema import find_problem
from emulator.vendors.azure.chat import models
from emulator.vendors.azure.chat.custom_tools import (
    AnyCall,
    AnyTool,
    StrictFunction,
    name_function,
    parse_call,
    parse_tool_item,
)
from emulator.vendors.azure.decoder import Integer, WireModel
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.extra_parameters import ENGINE_PARAMETERS, StrictChatExtras, Verbosity

_ROLES = "'system', 'assistant', 'user', 'function', 'tool', and 'developer'"
_MAX_STOPS = 4
_MAX_TOOLS = 128


class OpenAIPartType(StrEnum):
    text = "text"
    image_url = "image_url"
    input_audio = "input_audio"
    refusal = "refusal"
    file = "file"


class OpenAIPart(models.Part):
    """Part of a message to Azure OpenAI."""

    type: OpenAIPartType
    refusal: str | None = None
    file: dict[str, JSON] | None = None

    @property
    def written(self) -> str:
        return super().written or self.refusal or ""


class _RoleSchema:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        roles = core_schema.literal_schema(["system", "assistant", "user", "function", "tool", "developer"])
        return core_schema.custom_error_schema(roles, "enum", custom_error_context={"expected": _ROLES})


_PARTS = TypeAdapter(Annotated[list[OpenAIPart], Field(min_length=1)])


def _parse_content(value: JSON) -> models.Content:
    return models.parse_content(value, _PARTS)


class OpenAIMessage(models.ChatMessage):
    null_is_absent: ClassVar[bool] = False

    role: Annotated[str, _RoleSchema]
    name: Annotated[str, Field(pattern=r"^[^\s<|\\/>]+$")] | None = None
    tool_calls: list[Annotated[AnyCall, PlainValidator(parse_call)]] | None = None  # type: ignore[assignment]
    content: Annotated[models.Content, PlainValidator(_parse_content)] = None
    function_call: models.CalledFunction | None = None
    refusal: str | None = None
    audio: dict[str, JSON] | None = None


class _AllowedTools(models.AllowedTools):
    tools: list[Annotated[models.NamedToolChoice, BeforeValidator(name_function)]]


class OpenAIAllowedTools(models.AllowedToolsChoice):
    allowed_tools: _AllowedTools


_MODE: TypeAdapter[models.ToolMode | None] = TypeAdapter(models.ToolMode | None)


def _parse_choice(value: JSON) -> models.ToolChoice:
    if not isinstance(value, dict):
        return _MODE.validate_python(value)
    if value.get("type") == "allowed_tools":
        return OpenAIAllowedTools.model_validate(value)
    return models.NamedToolChoice.model_validate(name_function(value))


_Tools = Annotated[
    list[Annotated[AnyTool, PlainValidator(parse_tool_item)]], Field(min_length=1, max_length=_MAX_TOOLS)
]


class OpenAIChatBody(models.StrictChatRequest):
    """Chat body of Azure OpenAI: the fields shared with Model Inference."""

    max_tokens: Annotated[Integer, Field(ge=1)] | None = None
    tools: _Tools | None = None  # type: ignore[assignment]
    messages: Annotated[list[OpenAIMessage], AfterValidator(models.validate_messages)]  # type: ignore[assignment]
    tool_choice: Annotated[models.ToolChoice, PlainValidator(_parse_choice)] = None


class Voice(WireModel):
    """``audio``: voice and format of an audio answer."""

    voice: str | dict[str, JSON]
    format: Literal["wav", "aac", "mp3", "flac", "opus", "pcm16"]


class Prediction(WireModel):
    type: Literal["content"]
    content: str | list[dict[str, JSON]]


Metadata = Annotated[
    dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)]], Field(max_length=16)
]


class OpenAIChatExtras(StrictChatExtras):
    """Fields of Azure OpenAI that Model Inference lacks."""

    model_config = ConfigDict(strict=True)

    audio: Voice | None = None
    function_call: Literal["none", "auto"] | models.ChosenFunction | None = None
    functions: Annotated[list[models.FunctionObject], Field(min_length=1, max_length=_MAX_TOOLS)] | None = None
    max_completion_tokens: Annotated[Integer, Field(ge=1)] | None = None
    metadata: Metadata | None = None
    moderation: dict[str, JSON] | None = None
    prediction: Prediction | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: dict[str, JSON] | None = None
    prompt_cache_retention: Literal["in_memory", "24h"] | None = None
    safety_identifier: str | None = None
    service_tier: Literal["auto", "default", "flex", "scale", "priority", "fast"] | None = None
    store: bool | None = None
    verbosity: Verbosity | None = None
    web_search_options: dict[str, JSON] | None = None
    data_sources: list[dict[str, JSON]] | None = None
    user_security_context: dict[str, JSON] | None = None


NO_OPENAI_EXTRAS = OpenAIChatExtras()
NATIVE = frozenset(OpenAIChatExtras.model_fields) - ENGINE_PARAMETERS - {"best_of"}
"""Fields beyond Model Inference that Azure OpenAI accepts."""


def validate_combinations(wire: models.ChatBody, extras: OpenAIChatExtras) -> None:
    """Raise for contradicting fields."""
    if wire.max_tokens is not None and extras.max_completion_tokens is not None:
        text = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        raise refusals.contradicts(text, None, "invalid_parameter_combination")
    if extras.stream_options is not None and not wire.stream:
        text = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        raise refusals.contradicts(text, "stream_options")
    if extras.top_logprobs and not extras.logprobs:
        text = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."
        raise refusals.contradicts(text, "top_logprobs")
    if isinstance(wire.stop, list) and len(wire.stop) > _MAX_STOPS:
        raise refusals.too_long("stop", [*wire.stop], _MAX_STOPS)
    if extras.parallel_tool_calls is not None and not wire.tools:
        text = "'parallel_tool_calls' is only allowed when 'tools' are specified."
        text = f"Invalid value for 'parallel_tool_calls': {text}"
        raise refusals.contradicts(text, "parallel_tool_calls")
    _validate_functions(extras)
    _validate_json_mode(wire)
    _validate_contents(wire.messages)
    _validate_answers(wire.messages)


def _validate_functions(extras: OpenAIChatExtras) -> None:
    choice = extras.function_call
    if choice is not None and not extras.functions:
        text = "Invalid value for 'function_call': 'function_call' is only allowed when 'functions' are specified."
        raise refusals.contradicts(text, "function_call")
    names = [function.name for function in extras.functions or ()]
    if choice is not None and not isinstance(choice, str) and choice.name not in names:
        text = f"no function named '{choice.name}' was specified in the 'functions' parameter."
        raise refusals.contradicts(f"Invalid value for 'function_call': {text}", "function_call")


def _validate_contents(messages: Sequence[models.ChatMessage]) -> None:
    """Validate contents: only an assistant message with calls may lack one; image URLs have a known scheme."""
    for position, message in enumerate(messages):
        assert isinstance(message, OpenAIMessage)
        calls = message.tool_calls or message.function_call or message.refusal or message.audio
        if message.content is None and (message.role != "assistant" or not calls):
            text = "Invalid value for 'content': expected a string, got null."
            raise refusals.contradicts(text, f"messages.[{position}].content")
        parts = message.content if isinstance(message.content, list) else ()
        for number, part in enumerate(parts):
            url = part.image_url.url if part.image_url is not None else "data:"
            if not url.startswith(("http://", "https://", "data:")):
                path = f"messages[{position}].content[{number}].image_url.url"
                text = f"Invalid '{path}'. Expected a valid URL, but got a value with an invalid format."
                raise refusals.contradicts(text, path, "invalid_value")


def _validate_json_mode(wire: models.ChatBody) -> None:
    wanted = wire.response_format
    if wanted is None or wanted.type != "json_object":
        return
    contents = dump_text([message.model_dump(mode="json", include={"content"}) for message in wire.messages])
    if "json" not in contents.lower():
        text = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
        raise refusals.contradicts(text, "messages")


def _validate_answers(messages: Sequence[models.ChatMessage]) -> None:
    """Validate that every tool call is answered directly after it, and every tool message answers a call."""
    waiting: list[str] = []
    for position, message in enumerate(messages):
        if message.role == "tool":
            if message.tool_call_id not in waiting:
                text = (
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'."
                )
                raise refusals.contradicts(text, f"messages.[{position}].role")
            waiting.remove(str(message.tool_call_id))
            continue
        _validate_answered(waiting, position)
        waiting = [str(call.id) for call in message.tool_calls or ()]
    _validate_answered(waiting, len(messages))


def _validate_answered(waiting: Sequence[str], position: int) -> None:
    if waiting:
        text = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}"
        )
        raise refusals.contradicts(text, f"messages.[{position}].role")


def validate_schemas(wire: models.ChatBody) -> None:
    """Raise for a schema that the service does not support."""
    for position, tool in enumerate(wire.tools or ()):
        function = tool.function
        if isinstance(function, StrictFunction):
            where = f"tools[{position}].function.parameters"
            validate_parameters(function.name, function.parameters, where, strict=function.strict is True)
    wanted = wire.response_format
    if wanted is not None and wanted.json_schema is not None and wanted.json_schema.strict:
        form = wanted.json_schema
        validate_structure(form.name, form.schema_, "response_format")


def validate_parameters(name: str, parameters: Mapping[str, JSON] | None, where: str, *, strict: bool) -> None:
    """Raise for an invalid schema of a function."""
    problem = find_problem(parameters, strict=strict) if parameters else None
    if problem is not None:
        text = f"Invalid schema for function '{name}': {problem}"
        raise refusals.contradicts(text, where, "invalid_function_parameters")


def validate_structure(name: str, schema: Mapping[str, JSON], where: str, code: str | None = None) -> None:
    """Raise for an invalid strict schema of a structured answer."""
    problem = find_problem(schema, strict=True)
    if problem is not None:
        raise refusals.contradicts(f"Invalid schema for response_format '{name}': {problem}", where, code)
