"""Scenario settings of TGI: its release, and the limits of the launcher."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from emulator.core.json import JSON
from emulator.core.units import HeaderValue
from emulator.core.vendor import Service, VendorSettings

MODEL = "mistralai/Mistral-7B-Instruct-v0.2"

PROFILES: Mapping[str, Mapping[str, JSON]] = {
    "3": {},
    "0.9.4": {
        "version": "0.9.4",
        "sha": "9f18f4c00627e1a0ad696b6774e5ad7ca8f4261c",
        "docker_label": "sha-9f18f4c",
        "max_input_tokens": 1024,
        "max_total_tokens": 2048,
        "enable_prefill_logprobs": True,
    },
}


class TgiSettings(VendorSettings):
    """``vendors.tgi``: a release, and switches that win over it; names and defaults are the launcher's."""

    profile: Literal["3", "0.9.4"] = Field(default="3", description="the release whose wire is spoken: 3 or 0.9.4")
    version: str = Field(
        default="3.3.6-dev0",
        description="version in /info and system_fingerprint; 3.3.7 calls itself 3.3.6-dev0",
    )
    sha: str | None = Field(
        default="dfb3fbe78e0d1d69251bd33065591c61bafdfaa8", description="commit of the image in /info"
    )
    model_id: str = Field(default=MODEL, description="name of the served model")
    model_sha: str | None = Field(default=None, description="revision of the model in /info")
    pipeline_tag: str | None = Field(
        default="text-generation", description="the model's tag on the hub; decides whether POST / repeats the prompt"
    )
    docker_label: str | None = Field(
        default="sha-dfb3fbe", description="label of the image in /info and system_fingerprint; null: native"
    )
    compute_type: HeaderValue = Field(default="gpu+optimized", description="the x-compute-type header")
    max_concurrent_requests: int = Field(
        default=128, ge=1, description="requests taken at once; more are refused: Model is overloaded"
    )
    max_best_of: int = Field(default=2, ge=1, description="maximum of best_of")
    max_stop_sequences: int = Field(default=4, ge=0, description="maximum number of stop strings")
    max_top_n_tokens: int = Field(default=5, ge=0, description="maximum of top_n_tokens")
    max_input_tokens: int = Field(default=4095, ge=1, description="maximum number of tokens of a prompt")
    max_total_tokens: int = Field(
        default=4096, ge=2, description="maximum number of tokens of prompt and answer together"
    )
    max_client_batch_size: int = Field(
        default=4, ge=1, description="maximum number of prompts of one completions request"
    )
    validation_workers: int = Field(default=2, ge=1, description="tokenizer workers, in /info")
    enable_prefill_logprobs: bool = Field(default=False, description="decoder_input_details fills the prefill list")
    disable_grammar_support: bool = Field(default=False, description="grammars are refused")

    @model_validator(mode="before")
    @classmethod
    def _resolve(cls, values: JSON) -> JSON:
        """Fill in the release's values for absent switches."""
        if not isinstance(values, dict):
            return values
        profile = values.get("profile", "3")
        return {**(PROFILES.get(profile, {}) if isinstance(profile, str) else {}), **values}

    @property
    def old(self) -> bool:
        """Return whether responses follow 0.9.4."""
        return self.profile == "0.9.4"

    @property
    def echoes(self) -> bool:
        """Return the default of ``return_full_text`` of ``POST /``.

        An unknown tag counts as text generation from 1.0 on, and did not before.
        """
        if self.pipeline_tag is None:
            return not self.old
        return self.pipeline_tag == "text-generation"

    @property
    def fingerprint(self) -> str:
        return f"{self.version}-{self.docker_label or 'native'}"


TgiService = Service[TgiSettings, None]
