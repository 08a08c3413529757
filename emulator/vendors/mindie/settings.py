"""Scenario settings of MindIE: server configuration, and response shapes that differ between releases."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, field_validator, model_validator

from emulator.core.json import JSON
from emulator.core.vendor import VendorSettings

BLOCK_SIZE = 128  # tokens of a cache block (cacheBlockSize)
PROFILES: Mapping[str, Mapping[str, JSON]] = {
    "strict": {},
    "tgi": {"token_fields": "filled", "stream_token_id": "scalar", "error_shape": "tgi"},
    "motor": {"coordinator": True},
}


class MindieSettings(VendorSettings):
    """``vendors.mindie``: a profile, and switches that win over it.

    Names and defaults of the configuration keys are those of the server's ``config.json``, in snake case.
    """

    profile: Literal["strict", "tgi", "motor"] = Field(
        default="strict",
        description="strict: as documented; tgi: shapes that clients made for TGI read; motor: Coordinator",
    )
    full_text: bool = Field(default=False, description="streamed token.text is all text so far (fullTextEnabled)")
    token_fields: Literal["null", "filled"] = Field(
        default="null",
        description="logprob, special and text of tokens: null as documented, or filled as TGI fills them",
    )
    stream_token_id: Literal["list", "scalar"] = Field(default="list", description="token.id in a stream: [id] or id")
    error_shape: Literal["class", "bare", "typed", "tgi"] = Field(
        default="class",
        description="class: {error, error_type}; bare: {error}; typed: {type, error}; tgi: TGI's error types",
    )
    coordinator: bool = Field(
        default=False, description="a Coordinator in front of the server refuses some requests in its own words"
    )
    model_name: str = Field(default="llama_65b", description="name of the served model (modelName)")
    max_seq_len: int = Field(default=2560, ge=2, description="tokens of prompt and answer together (maxSeqLen)")
    max_input_token_len: int = Field(
        default=2048, ge=1, description="maximum number of tokens of a prompt (maxInputTokenLen)"
    )
    max_iter_times: int = Field(default=512, ge=1, description="maximum number of tokens of an answer (maxIterTimes)")
    max_position_embeddings: int | None = Field(
        default=None, ge=2, description="maximum number of tokens of prompt and answer that the model itself allows"
    )
    truncation: Literal[-1, 0, 1] | bool = Field(
        default=0, description="a prompt that is too long: 0 refuse, -1 or true cut on the right, 1 cut on the left"
    )
    max_input_chars: int = Field(
        default=4194304, ge=1, description="maximum number of characters of inputs, in UTF-16 code units"
    )
    max_json_depth: int = Field(default=10, ge=10, le=100, description="nesting of a request body (maxJsonDepth)")
    max_request_length: int = Field(
        default=40, ge=1, le=100, description="megabytes of a request body (maxRequestLength)"
    )
    max_batch_size: int = Field(default=200, ge=1, description="requests decoded together (maxBatchSize)")
    max_link_num: int = Field(
        default=1000,
        ge=1,
        description="requests worked on at once; twice as many may wait, more lose their connection (maxLinkNum)",
    )
    management_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="health, info, status, stopService, … on a port of their own, 0 a free one (managementPort)",
    )
    metrics_port: int | None = Field(
        default=None, ge=0, le=65535, description="/metrics on a port of its own, 0 a free one (metricsPort)"
    )
    max_prefill_batch_size: int = Field(
        default=50, ge=1, description="requests prefilled together (maxPrefillBatchSize)"
    )
    max_prefill_tokens: int = Field(default=8192, ge=1, description="tokens prefilled together (maxPrefillTokens)")
    max_loras: int = Field(default=4, ge=0, description="adapters that may be loaded at once (maxLoras)")
    max_n: int = Field(default=128, ge=1, description="maximum number of answers to one request (maxN)")
    prefix_cache: bool = Field(
        default=False, description="usage counts the blocks of a prompt that the same request brought before"
    )
    pd_mode: bool = Field(
        default=False, description="prefill and decode run on separate servers: no stop, no adapter_id, one token more"
    )
    infer_mode: Literal["standard", "dmi"] = Field(
        default="standard", description="dmi: a node behind a Coordinator, which asks for its headers (inferMode)"
    )
    enable_reasoning: bool = Field(
        default=False, description="thoughts go to reasoning_content; else they stay in content, in <think> tags"
    )
    invalid_finish_reason: Literal["invalid flag", "invalid finishReason"] = Field(
        default="invalid flag", description="the invalid marker, sent where a reply's finish_reason is content_filter"
    )
    service_monitor: bool = Field(default=True, description="MIES_SERVICE_MONITOR_MODE is set: /metrics answers")

    @model_validator(mode="before")
    @classmethod
    def _resolve(cls, values: JSON) -> JSON:
        """Fill in the profile's values for absent switches; null counts as absent."""
        if not isinstance(values, dict):
            return values
        given = {key: value for key, value in values.items() if value is not None or key == "token_fields"}
        profile = given.get("profile", "strict")
        return {**(PROFILES.get(profile, {}) if isinstance(profile, str) else {}), **given}

    @field_validator("token_fields", mode="before")
    @classmethod
    def _parse_token_fields(cls, value: JSON) -> JSON:
        return "null" if value is None else value

    @field_validator("truncation", mode="before")
    @classmethod
    def _parse_truncation(cls, value: JSON) -> JSON:
        return -int(value) if isinstance(value, bool) else value

    @property
    def disaggregated(self) -> bool:
        """Return whether prefill and decode run on different nodes."""
        return self.pd_mode or self.infer_mode == "dmi"
