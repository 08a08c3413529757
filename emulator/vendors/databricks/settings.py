"""What a scenario may set of Databricks: where the published reference and the running service differ."""

from typing import Literal

from pydantic import Field, model_validator

from emulator.core.json import JSON
from emulator.core.vendor import VendorSettings

Shape = Literal["both", "nested", "flat"]
StreamUsage = Literal["model", "every", "claude", "last", "on-request", "none"]

# What the REST reference says to the letter, wherever the running service does otherwise; the service's own
# ways are the defaults below. Source: Databricks, "Foundation model REST API reference", two editions.
_SEED: dict[str, JSON] = {
    "stream_default": True,
    "chat_object": "chat.completions",
    "stream_usage": "none",
    "require_description": True,
    "responses_tools": "nested",
    "responses_format": "nested",
    "refuse_previous_response_id": False,
    "responses_tool_types": "function",
    "responses_system_roles": False,
    "responses_usage": "both",
    "responses_always_usage": False,
    "require_function_call_id": True,
    "strict_tool_call_content": True,
    "cache_control": "string",
    "reasoning_efforts": "seed",
    "content_lists": "never",
    "embeddings_extras": False,
    "model_max_tokens": False,
    "max_streamed_prompts": 16,
}
PROFILES: dict[str, dict[str, JSON]] = {"real": {}, "seed": _SEED, "seed-S0": {**_SEED, "top_p_zero": True}}


class DatabricksSettings(VendorSettings):
    """``vendors.databricks``; a switch left out takes the value of its profile.

    ``real`` does what clients meet on the running service, ``seed`` what the REST reference says to the
    letter, ``seed-S0`` what its older edition says. The defaults shown are those of ``real``.
    """

    profile: Literal["real", "seed", "seed-S0"] = Field("real", description="whose word counts where two differ")
    stream_default: bool = Field(False, description="chat and completions stream when `stream` is left out")
    chat_object: Literal["chat.completion", "chat.completions"] = Field(
        "chat.completion", description="`object` of a chat answer in one piece"
    )
    stream_usage: StreamUsage = Field(
        "model", description="`usage` in stream chunks; `model`: as each endpoint's `usage_style` says"
    )
    max_properties: int = Field(15, ge=1, description="most keys of a function's `parameters.properties`")
    max_schema_keys: int | None = Field(
        None, ge=1, description="most keys in a function's whole schema; none: no bound beside `max_properties`"
    )
    top_p_zero: bool = Field(False, description="`top_p` may be 0")
    require_description: bool = Field(False, description="a function needs a `description`")
    require_parameters: bool = Field(False, description="a function needs `parameters`")
    responses_tools: Shape = Field("both", description="Responses: which shape of a function tool is accepted")
    responses_format: Shape = Field("both", description="Responses: which shape of `text.format` is accepted")
    refuse_previous_response_id: bool = Field(True, description="Responses: `previous_response_id` is refused")
    responses_tool_types: Literal["function", "known"] = Field(
        "known", description="Responses: `known` accepts and ignores the built-in tools beside functions"
    )
    responses_system_roles: bool = Field(True, description="Responses: roles `system` and `developer` pass")
    responses_usage: Literal["openai", "both"] = Field(
        "openai", description="Responses: `both` adds the chat names to `usage`"
    )
    responses_always_usage: bool = Field(
        True, description="Responses: a stream ends with `usage` even without `stream_options.include_usage`"
    )
    responses_events: Literal["by-route", "always", "never"] = Field(
        "by-route", description="Responses: `event:` lines in a stream; `by-route`: not on `/invocations`"
    )
    responses_done: Literal["by-route", "always", "never"] = Field(
        "by-route", description="Responses: a closing `[DONE]`; `by-route`: on `/invocations`"
    )
    require_function_call_id: bool = Field(False, description="Responses: a `function_call` item needs an `id`")
    strict_tool_call_content: bool = Field(False, description="a message with `tool_calls` has no `content`")
    cache_control: Literal["both", "string", "object"] = Field("both", description="type of `cache_control`")
    reasoning_efforts: Literal["model", "seed"] = Field(
        "model", description="efforts accepted: each family's own, or low, medium and high only"
    )
    content_lists: Literal["model", "never"] = Field(
        "model", description="`content` as a list of parts, both ways: as the endpoint does, or never"
    )
    embeddings_extras: bool = Field(True, description="embeddings accept `encoding_format` and `dimensions`")
    model_max_tokens: bool = Field(True, description="an endpoint's own limit applies without `max_tokens`")
    strict_unknown_fields: Literal["by-model", "on", "off"] = Field(
        "by-model", description="unknown request fields: refused by Databricks-hosted open models, everywhere, nowhere"
    )
    strict_schemas: bool = Field(True, description="a `strict` schema may use only the supported keywords")
    max_tools: int = Field(32, ge=1, description="most functions of a request")
    max_format_keys: int = Field(64, ge=1, description="most keys in the schema of a structured output")
    max_n: int = Field(128, ge=1, description="most answers of a request")
    max_prompts: int = Field(16, ge=1, description="most prompts of a completions request")
    max_streamed_prompts: int = Field(1, ge=1, description="the same, streamed")
    max_inputs: int = Field(150, ge=1, description="most inputs of an embeddings request")
    embeddings_overflow: Literal["cut", "refuse"] = Field("cut", description="an input longer than the model reads")
    json_word: Literal["gpt", "all", "off"] = Field("gpt", description="who wants the word JSON in a JSON-mode chat")
    one_tool_result: bool = Field(True, description="open models accept no second tool result in a row")
    alternate_roles: bool = Field(False, description="chat roles must alternate and end with `user`")
    gpt_refuses_temperature: bool = Field(False, description="GPT endpoints refuse `temperature`")
    gpt_refuses_max_tokens: bool = Field(False, description="GPT endpoints refuse `max_tokens`")
    parallel_tool_calls: bool = Field(False, description="an answer may hold several tool calls")
    retry_after: bool | int = Field(
        True, description="`Retry-After` of refusals that can be retried: the true wait, never, or these seconds"
    )
    rate_limit_body: Literal["real", "docs"] = Field("real", description="the 429 body: as observed, or as documented")
    payload_limit_bytes: int = Field(4 * 1024**2, ge=1, description="of a request; custom models take four times it")
    workspace_id: str = Field("1234567890123456", description="in discovery and `X-Databricks-Org-Id`")
    cloud: Literal["AWS", "Azure", "GCP"] = Field("AWS", description="in discovery")

    @model_validator(mode="before")
    @classmethod
    def _take_profile(cls, given: JSON) -> JSON:
        """What is not set is as the profile says."""
        if not isinstance(given, dict):
            return given
        profile = given.get("profile")
        chosen = PROFILES.get(profile, {}) if isinstance(profile, str) else {}
        return {**chosen, **{name: value for name, value in given.items() if value is not None}}
