"""Settings of the ``databricks`` vendor: switches where the published reference and the running service differ."""

from typing import Literal

from pydantic import Field, model_validator

from emulator.core.json import JSON
from emulator.core.units import HeaderValue
from emulator.core.vendor import VendorSettings

Shapes = Literal["both", "nested", "flat"]
UnknownFields = Literal["by-model", "on", "off"]
StreamUsage = Literal["model", "every", "claude", "last", "closing", "on-request", "none"]

# The REST reference's rules, wherever the running service differs; the service's behaviour is the default
# below. Source: Databricks, "Foundation model REST API reference", two editions.
_SEED: dict[str, JSON] = {
    "stream_default": True,
    "chat_object": "chat.completions",
    "stream_usage": "none",
    "pay_per_token_n": False,
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

    profile: Literal["real", "seed", "seed-S0"] = Field(
        default="real", description="real: as the service; seed, seed-S0: as the documentation, where the two differ"
    )
    stream_default: bool = Field(default=False, description="chat and completions stream when `stream` is left out")
    chat_object: Literal["chat.completion", "chat.completions"] = Field(
        default="chat.completion", description="`object` of a chat answer in one piece"
    )
    stream_usage: StreamUsage = Field(
        default="model", description="`usage` in stream chunks; `model`: as each endpoint's `usage_style` says"
    )
    max_properties: int = Field(
        default=15, ge=1, description="maximum number of keys of a function's `parameters.properties`"
    )
    max_schema_keys: int | None = Field(
        default=None,
        ge=1,
        description="maximum number of keys in a function's whole schema; without it only `max_properties` limits them",
    )
    top_p_zero: bool = Field(default=False, description="`top_p` may be 0")
    require_description: bool = Field(default=False, description="a function needs a `description`")
    require_parameters: bool = Field(default=False, description="a function needs `parameters`")
    responses_tools: Shapes = Field(default="both", description="Responses: which shape of a function tool is accepted")
    responses_format: Shapes = Field(default="both", description="Responses: which shape of `text.format` is accepted")
    refuse_previous_response_id: bool = Field(default=True, description="Responses: `previous_response_id` is refused")
    responses_tool_types: Literal["function", "known"] = Field(
        default="known", description="Responses: `known` accepts and ignores the built-in tools beside functions"
    )
    responses_strict_members: bool = Field(
        default=True, description="Responses of GPT models: unknown members of body, items and tools are refused"
    )
    responses_system_roles: bool = Field(default=True, description="Responses: roles `system` and `developer` pass")
    responses_usage: Literal["openai", "both"] = Field(
        default="openai", description="Responses: `both` adds the chat names to `usage`"
    )
    responses_always_usage: bool = Field(
        default=True, description="Responses: a stream ends with `usage` even without `stream_options.include_usage`"
    )
    responses_events: Literal["by-route", "always", "never"] = Field(
        default="by-route", description="Responses: `event:` lines in a stream; `by-route`: not on `/invocations`"
    )
    responses_done: Literal["by-route", "always", "never"] = Field(
        default="by-route", description="Responses: a closing `[DONE]`; `by-route`: on `/invocations`"
    )
    require_function_call_id: bool = Field(default=False, description="Responses: a `function_call` item needs an `id`")
    strict_tool_call_content: bool = Field(default=False, description="a message with `tool_calls` has no `content`")
    cache_control: Literal["both", "string", "object"] = Field(default="both", description="type of `cache_control`")
    reasoning_efforts: Literal["model", "seed"] = Field(
        default="model", description="efforts accepted: each family's own, or low, medium and high only"
    )
    content_lists: Literal["model", "never"] = Field(
        default="model", description="`content` as a list of parts, both ways: as the endpoint does, or never"
    )
    embeddings_extras: bool = Field(default=True, description="embeddings accept `encoding_format` and `dimensions`")
    model_max_tokens: bool = Field(default=True, description="an endpoint's own limit applies without `max_tokens`")
    strict_unknown_fields: UnknownFields = Field(
        default="by-model",
        description="unknown request fields: refused by Databricks-hosted open models, everywhere, nowhere",
    )
    strict_schemas: bool = Field(default=True, description="a `strict` schema may use only the supported keywords")
    max_tools: int = Field(default=32, ge=1, description="maximum number of functions of a request")
    max_format_keys: int = Field(
        default=64, ge=1, description="maximum number of keys in the schema of a structured output"
    )
    pay_per_token_n: bool = Field(
        default=True, description="pay-per-token endpoints also give several answers (`n`) to a chat"
    )
    max_n: int = Field(default=128, ge=1, description="maximum number of answers of a request")
    max_prompts: int = Field(default=16, ge=1, description="maximum number of prompts of a completions request")
    max_streamed_prompts: int = Field(
        default=1, ge=1, description="maximum number of prompts of a streamed completions request"
    )
    max_inputs: int = Field(default=150, ge=1, description="maximum number of inputs of an embeddings request")
    embeddings_overflow: Literal["cut", "refuse"] = Field(
        default="cut", description="what happens to an input that is longer than the model's context"
    )
    json_word: Literal["gpt", "all", "off"] = Field(
        default="gpt", description="which models refuse a JSON-mode chat without the word JSON"
    )
    one_tool_result: bool = Field(default=True, description="open models accept no second tool result in a row")
    alternate_roles: bool = Field(default=False, description="chat roles must alternate and end with `user`")
    gpt_refuses_temperature: bool = Field(default=False, description="GPT endpoints refuse `temperature`")
    gpt_refuses_max_tokens: bool = Field(default=False, description="GPT endpoints refuse `max_tokens`")
    parallel_tool_calls: bool = Field(default=False, description="an answer may hold several tool calls")
    retry_after: bool | int = Field(
        default=True,
        description="`Retry-After` of refusals that can be retried: the true wait, never, or these seconds",
    )
    rate_limits: Literal["none", "enterprise", "raised"] = Field(
        default="none",
        description="limits of pay-per-token endpoints and of all: none, the Enterprise tier's of mid-2026, the raise",
    )
    rate_limit_body: Literal["real", "docs"] = Field(
        default="real", description="the 429 body: as observed, or as documented"
    )
    external_errors: Literal["plain", "wrapped"] = Field(
        default="plain", description="how an external model's error is reported: as it is, or as text in `message`"
    )
    late_error: Literal["openai", "databricks"] = Field(
        default="openai", description="a failure inside a stream: an `error` object, or `error_code` and `message`"
    )
    payload_limit_bytes: int = Field(
        default=4 * 1024**2, ge=1, description="maximum size of a request; four times as much for custom models"
    )
    cold_start_s: float = Field(
        default=0, ge=0, description="seconds until a new or changed endpoint serves; none where waits cost nothing"
    )
    scale_to_zero_after_s: float = Field(
        default=1800,
        ge=0,
        description="seconds without requests after which an endpoint sleeps, if it may scale to zero",
    )
    wake_s: float = Field(
        default=15, ge=0, description="seconds that a sleeping endpoint takes to wake up for its next request"
    )
    failing_models: tuple[str, ...] = Field(
        default=(), description="entities whose deployment fails: `entity_name` as the management API gets it"
    )
    token_lifetime_s: int = Field(default=3600, ge=1, description="seconds for which an OAuth token is valid")
    workspace_id: HeaderValue = Field(
        default="1234567890123456", description="the workspace id in discovery and `X-Databricks-Org-Id`"
    )
    cloud: Literal["AWS", "Azure", "GCP"] = Field(default="AWS", description="the cloud in discovery")

    @model_validator(mode="before")
    @classmethod
    def _apply_profile(cls, given: JSON) -> JSON:
        """Apply the profile's values to switches that are not set."""
        if not isinstance(given, dict):
            return given
        profile = given.get("profile")
        chosen = PROFILES.get(profile, {}) if isinstance(profile, str) else {}
        return {**chosen, **{name: value for name, value in given.items() if value is not None}}
