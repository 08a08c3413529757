"""Scenario settings of OpenVINO Model Server: the release, switches that override it, and the server's options.

Some are defaults for what stands in a deployment's graph file.
"""

from dataclasses import fields, replace
from functools import cached_property
from typing import Literal

from pydantic import Field, field_validator

from emulator.core.http import Headers
from emulator.core.json import JSON
from emulator.core.units import HeaderValue
from emulator.core.vendor import VendorSettings
from emulator.vendors.openvino.release import (
    RELEASES,
    ChunkSplit,
    MessageRule,
    Release,
    ResponseFormat,
    Speculative,
    Tokenize,
    Tools,
)

Profile = Literal[
    "2024.2", "2025.0", "seed", "2025.1", "2025.2", "2025.3", "2025.4", "2026.0", "2026.1", "2026.2", "2026.3", "latest"
]
Reload = Literal[
    "not_needed", "reloaded", "cannot_open", "failed", "versions_failed", "statuses_failed", "serializing_failed"
]


class OpenVinoSettings(VendorSettings):
    """The section ``vendors.openvino`` of a scenario."""

    profile: Profile = Field(
        default="2025.0", description="The release that is emulated; seed is 2025.0 and latest is 2026.3."
    )

    v1_alias: bool | None = Field(default=None, description="Generative paths are also served under /v1/.")
    v3_v1_alias: bool | None = Field(default=None, description="Generative paths are also served under /v3/v1/.")
    embeddings: bool | None = Field(default=None, description="Graphs for embeddings and reranking can be served.")
    models_list: bool | None = Field(default=None, description="GET /v3/models lists the servables.")
    content_type_routing: bool | None = Field(
        default=None, description="A body that is not JSON by its content type is routed by the path."
    )
    api_keys: bool | None = Field(default=None, description="The scenario's keys are asked for on generative routes.")
    cors: bool | None = Field(
        default=None, description="Answers carry Access-Control headers, and OPTIONS is answered."
    )
    tf_serving: bool | None = Field(
        default=None, description="GET /v1/models/{name} gives the TensorFlow Serving status."
    )
    nesting_limit: int | None = Field(
        default=None, ge=0, description="Maximum number of levels of JSON nesting; 0: any number."
    )
    stream_error_status: int | None = Field(
        default=None, ge=200, le=599, description="HTTP status of an error found once a stream was asked for."
    )
    stream_error_escaped: bool | None = Field(
        default=None, description="The text of an error in a stream is escaped as JSON asks."
    )
    unary_usage: bool | None = Field(default=None, description="An answer in one piece carries usage.")
    length_reason: bool | None = Field(default=None, description="The finish reason length is used.")
    stop_limit: int | None = Field(default=None, ge=0, description="Maximum number of strings in stop; 0: any number.")
    max_tokens_limit: int | None = Field(default=None, ge=0, description="max_tokens must be below it; 0: no limit.")
    max_tokens_limit_is_default: bool | None = Field(
        default=None, description="The limit is also the default of max_tokens."
    )
    ignore_eos_limit: int | None = Field(
        default=None, ge=0, description="Maximum of max_tokens with ignore_eos, and its default then; 0: no limit."
    )
    integer_floats: bool | None = Field(
        default=None, description="A whole number is accepted where a float is expected."
    )
    null_is_absent: bool | None = Field(default=None, description="A field that is null counts as left out.")
    temperature: float | None = Field(default=None, description="Default temperature.")
    max_completion_tokens: bool | None = Field(default=None, description="max_completion_tokens is read.")
    speculative: Speculative | None = Field(
        default=None, description="How the fields of speculative decoding are checked."
    )
    diversity_penalty: bool | None = Field(default=None, description="diversity_penalty is read.")
    message_rule: MessageRule | None = Field(
        default=None, description="What a message must have: strings only, parts, both fields, a role."
    )
    empty_content: bool | None = Field(default=None, description="An empty content array is accepted.")
    model_length: bool | None = Field(
        default=None, description="Prompt and max_tokens are checked against the model's length."
    )
    tools: Tools | None = Field(
        default=None, description="Tools are ignored, or called in unary answers, or also in streams."
    )
    tool_choice_required: bool | None = Field(default=None, description="tool_choice may be required.")
    flat_tools: bool | None = Field(default=None, description="A tool may be given without the nested function object.")
    tool_calls_reason: bool | None = Field(default=None, description="The finish reason tool_calls is used.")
    response_format: ResponseFormat | None = Field(
        default=None, description="response_format is ignored, only json_schema, or any."
    )
    chat_template_kwargs: bool | None = Field(default=None, description="chat_template_kwargs is read.")
    modalities: bool | None = Field(default=None, description="modalities, audio and chunk_frames are checked.")
    random_seed: bool | None = Field(
        default=None, description="Without a seed the sampling has none; otherwise it is 0."
    )
    full_checks: bool | None = Field(
        default=None, description="Ranges of seed, top_k and min_p, and skip_special_tokens, are checked."
    )
    finish_reason_last: bool | None = Field(default=None, description="finish_reason comes last in a streamed choice.")
    handshake: bool | None = Field(default=None, description="A stream opens with a chunk that has the role alone.")
    chunk_split: ChunkSplit | None = Field(
        default=None, description="Chunks end after a blank, or lag three tokens behind."
    )
    closing_chunk: bool | None = Field(default=None, description="A stream ends with a chunk of empty text of its own.")
    empty_delta: bool | None = Field(default=None, description="The last delta is empty if no text is left.")
    logprobs_content: bool | None = Field(
        default=None, description="Log-probabilities of a chat answer are returned; otherwise null."
    )
    not_ready_status: int | None = Field(
        default=None, ge=200, le=599, description="Status of GET /v2/health/ready while a servable is not loaded."
    )
    metrics_text: bool | None = Field(default=None, description="The metrics page says it is text; otherwise JSON.")
    executor_names: bool | None = Field(
        default=None, description="Nodes of embeddings and rerank graphs have names of their own."
    )
    responses_endpoint: bool | None = Field(default=None, description="/v3/responses is served.")
    tokenize: Tokenize | None = Field(
        default=None, description="Paths that end in tokenize give ids: of no graph, of embeddings, of all."
    )
    empty_input_checks: bool | None = Field(
        default=None, description="Embeddings judge an inner array by its first value, and refuse empty ones by name."
    )

    node_name: str | None = Field(default=None, description="Name of the graph's node, as error texts show it.")
    best_of_limit: int = Field(default=20, ge=1, description="best_of must be below it.")
    max_allowed_chunks: int = Field(default=10000, ge=1, description="Maximum number of documents of a rerank request.")
    metrics_enable: bool = Field(default=False, description="GET /metrics is served.")
    unauthorized_status: int = Field(default=500, ge=400, le=599, description="HTTP status for a wrong API key.")
    allow_credentials: bool = Field(default=False, description="Send Access-Control-Allow-Credentials: true.")
    allowed_origins: HeaderValue = Field(default="*", description="Value of Access-Control-Allow-Origin.")
    allowed_methods: HeaderValue = Field(default="*", description="Value of Access-Control-Allow-Methods.")
    allowed_headers: HeaderValue = Field(default="*", description="Value of Access-Control-Allow-Headers.")
    allowed_media_domains: tuple[str, ...] = Field(default=(), description="Hosts that pictures may come from.")
    allowed_local_media_path: str | None = Field(default=None, description="Folder that pictures may come from.")
    verbose_response: bool = Field(default=False, description="2026.3: add __verbose to answers in one piece.")
    config_reload: Reload = Field(default="not_needed", description="The result of POST /v1/config/reload.")
    server_version: str | None = Field(default=None, description="Version in GET /v2.")

    @field_validator("profile", mode="before")
    @classmethod
    def _parse_profile(cls, value: JSON) -> JSON:
        """Convert an unquoted 2025.0, which YAML parses as a number."""
        return str(value) if isinstance(value, float) else value

    def ignores_tools(self) -> bool:
        return self.release.tools == "ignored"

    @cached_property
    def release(self) -> Release:
        """Return the profile's release with the scenario's switches applied."""
        release = RELEASES[self.profile]
        names = [field.name for field in fields(Release) if field.name != "version"]
        chosen = {name: getattr(self, name) for name in names}
        return replace(release, **{name: value for name, value in chosen.items() if value is not None})

    @cached_property
    def cors_headers(self) -> Headers:
        """Return the CORS headers of every response; empty if the release has none."""
        if not self.release.cors:
            return ()
        headers = (
            ("access-control-allow-origin", self.allowed_origins),
            ("access-control-allow-methods", self.allowed_methods),
            ("access-control-allow-headers", self.allowed_headers),
        )
        return (*headers, ("access-control-allow-credentials", "true")) if self.allow_credentials else headers

    @cached_property
    def json_headers(self) -> Headers:
        """Return the headers of a non-streaming response."""
        return (("content-type", "application/json; charset=utf-8"), *self.cors_headers)

    @cached_property
    def stream_headers(self) -> Headers:
        return (
            ("content-type", "text/event-stream"),
            ("cache-control", "no-cache"),
            ("connection", "keep-alive"),
            *self.cors_headers,
        )
