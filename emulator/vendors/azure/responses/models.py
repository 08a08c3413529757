"""Pydantic models of ``POST /responses``. Source: openai-python, ``types/responses/response_create_params.py``."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, PlainValidator, PrivateAttr, TypeAdapter, model_validator

from emulator.core.json import JSON, Object
from emulator.vendors.azure.chat.custom_tools import find_schema
from emulator.vendors.azure.chat.models import validate_name
from emulator.vendors.azure.chat.openai_models import Metadata
from emulator.vendors.azure.decoder import Fraction, Integer, WireModel
from emulator.vendors.azure.extra_parameters import Effort, Verbosity
from emulator.vendors.azure.sampling import Temperature

MIN_TOKENS = 16
_STRICT = ConfigDict(strict=True)
_ITEMS = TypeAdapter(Annotated[list[dict[str, JSON]], Field(min_length=1)])


def _parse_input(value: JSON) -> str | list[Object]:
    return value if isinstance(value, str) else _ITEMS.validate_python(value)


Includable = Literal[
    "file_search_call.results", "web_search_call.results", "web_search_call.action.sources",
    "message.input_image.image_url", "computer_call_output.output.image_url", "code_interpreter_call.outputs",
    "reasoning.encrypted_content", "message.output_text.logprobs",
]  # fmt: skip


class Thinking(WireModel):
    """``reasoning``."""

    model_config = _STRICT

    effort: Effort | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None
    generate_summary: Literal["auto", "concise", "detailed"] | None = None


class TextFormat(WireModel):
    """``text.format``; includes the schema."""

    model_config = _STRICT

    type: Literal["text", "json_object", "json_schema"]
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")] | None = None
    schema_: dict[str, JSON] | None = Field(None, alias="schema")
    description: str | None = None
    strict: bool | None = None


class TextOptions(WireModel):
    model_config = _STRICT

    format: TextFormat | None = None
    verbosity: Verbosity | None = None


class OfferedTool(WireModel):
    """Item of ``tools`` of any kind."""

    type: str


class OfferedFunction(WireModel):
    """Function in ``tools``."""

    model_config = _STRICT

    type: Literal["function"]
    name: Annotated[str, AfterValidator(validate_name)]
    description: str | None = None
    parameters: dict[str, JSON] | None = None
    strict: bool | None = None


class CustomFormat(WireModel):
    """``format`` of a custom tool; includes the grammar."""

    model_config = _STRICT

    type: Literal["text", "grammar"]
    definition: str | None = None
    syntax: Literal["lark", "regex"] | None = None

    @model_validator(mode="after")
    def _validate_grammar(self) -> Self:
        if self.type == "grammar" and (self.definition is None or self.syntax is None):
            raise ValueError("a grammar needs 'definition' and 'syntax'.")
        return self


class OfferedCustom(WireModel):
    """Custom tool in ``tools``."""

    model_config = _STRICT

    type: Literal["custom"]
    name: Annotated[str, AfterValidator(validate_name)]
    description: str | None = None
    format: CustomFormat | None = None
    _schema: dict[str, JSON] = PrivateAttr({"type": "string"})

    @model_validator(mode="after")
    def _parse_format(self) -> Self:
        form = self.format
        if form is not None and form.definition is not None and form.syntax is not None:
            self._schema = find_schema(self.name, form.syntax, form.definition)
        return self

    @property
    def schema_of_text(self) -> dict[str, JSON]:
        """JSON Schema of the tool's text."""
        return self._schema


class ResponseRequest(WireModel):
    """``POST /responses``."""

    model_config = _STRICT

    input: Annotated[str | list[Object], PlainValidator(_parse_input)]
    model: str | None = None
    instructions: str | None = None
    background: bool | None = None
    context_management: list[dict[str, JSON]] | None = None
    conversation: str | dict[str, JSON] | None = None
    include: list[Includable] | None = None
    max_output_tokens: Annotated[Integer, Field(ge=MIN_TOKENS)] | None = None
    max_tool_calls: Annotated[Integer, Field(ge=1)] | None = None
    metadata: Metadata | None = None
    moderation: dict[str, JSON] | None = None
    parallel_tool_calls: bool | None = None
    previous_response_id: str | None = None
    prompt: dict[str, JSON] | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: dict[str, JSON] | None = None
    prompt_cache_retention: Literal["in_memory", "24h"] | None = None
    reasoning: Thinking | None = None
    safety_identifier: str | None = None
    service_tier: Literal["auto", "default", "flex", "scale", "priority", "fast"] | None = None
    store: bool | None = None
    stream: bool | None = None
    stream_options: dict[str, JSON] | None = None
    temperature: Temperature | None = None
    text: TextOptions | None = None
    tool_choice: str | dict[str, JSON] | None = None
    tools: list[dict[str, JSON]] | None = None
    top_logprobs: Annotated[Integer, Field(ge=0, le=20)] | None = None
    top_p: Fraction | None = None
    truncation: Literal["auto", "disabled"] | None = None
    user: str | None = None
