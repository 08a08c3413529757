"""Settings of the ``azure`` vendor: which service to emulate, and its switches.

The profile ``seed``, the default, is the Model Inference API as it is documented, with every switch at its default. The
other profiles are kinds of deployed services.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, PrivateAttr, model_validator

from emulator.core.json import JSON
from emulator.core.vendor import VendorSettings

Profile = Literal["seed", "maas", "managed", "foundry", "aoai"]
ExtraParameters = Literal["error", "drop", "pass-through"]

_WIRE: Mapping[str, JSON] = {
    "error_shape": "wire",
    "api_version_required": False,
    "strict_types": False,
    "ignore_allowed": False,
    "lenient_allow": False,
    "require_tool_call_id": True,
}
_GATEWAY: Mapping[str, JSON] = {
    **_WIRE,
    "api_version_required": True,
    "content_filter_results": True,
    "rate_limit_headers": True,
}

PROFILES: Mapping[str, Mapping[str, JSON]] = {
    "seed": {},
    "maas": _WIRE,
    "managed": {**_WIRE, "default_max_tokens": 256},
    "foundry": {**_GATEWAY, "require_model": True},
    "aoai": {**_GATEWAY, "extra_parameters_default": "pass-through", "strict_types": True},
}
ENGINE_PREFIXES: Mapping[str, tuple[str, ...]] = {
    "seed": ("v1",),
    "maas": ("v1",),
    "managed": ("v1",),
    "foundry": (),
    "aoai": (),
}
"""Prefixes of inference routes at the root and of an endpoint, by profile: those of the engine behind them.

Source: Azure/azureml-assets, foundation/model/serve/api_server.py (``managed``); Azure Machine Learning, "How to deploy
Mistral models" (serverless endpoints).
"""
# Switches of the bare root's dialect; paths with a dialect of their own ignore them.
_ROOT_SWITCHES = frozenset(
    {"profile", "error_shape", "extra_parameters_default", "ignore_allowed", "lenient_allow", "require_model"}
)


class AzureSettings(VendorSettings):
    """Settings of the ``azure`` vendor; a switch that is not set takes its profile's value."""

    _given: frozenset[str] = PrivateAttr(frozenset())

    profile: Profile = Field(
        default="seed",
        description="What the root serves. seed: the documented API; maas: serverless endpoint; managed: managed "
        "online endpoint; foundry: Azure AI Foundry resource; aoai: Azure OpenAI deployment. Paths under /openai/ "
        "speak Azure OpenAI whatever it is.",
    )
    error_shape: Literal["seed", "docs", "wire"] = Field(
        default="seed",
        description="seed: flat, as documented first; docs: flat without `error`, which clients can read; "
        "wire: as the profile's real service (of a serverless endpoint for the profile seed).",
    )
    api_version_required: bool = Field(
        default=True, description="A missing or malformed `api-version` is refused; never on paths under /openai/v1/."
    )
    api_versions: tuple[str, ...] | None = Field(
        default=None, description="The versions that exist; absent: any date, with or without -preview."
    )
    extra_parameters_default: ExtraParameters = Field(
        default="error", description="What an absent `extra-parameters` header means."
    )
    ignore_allowed: bool = Field(default=True, description="`extra-parameters: ignore` drops; else it is refused.")
    lenient_allow: bool = Field(
        default=True, description="`extra-parameters: allow` passes through; else it is refused."
    )
    strict_types: bool = Field(
        default=True, description="A number or boolean in a string is refused; else it is read as the container does."
    )
    strict_members: bool = Field(
        default=True,
        description="Azure OpenAI refuses members that it does not have, at any depth of chat and Responses, and those "
        "of a wrong type or value; else it ignores the unknown ones below the top level.",
    )
    strict_range: bool = Field(default=False, description="`temperature` ends at 1 and not at 2.")
    strict_tool_choice: bool = Field(default=False, description="`tool_choice` is a string only.")
    require_tool_call_id: bool = Field(default=False, description="A tool message must carry `tool_call_id`.")
    require_model: bool = Field(
        default=False, description="Without a deployment in path or header, `model` must name one."
    )
    default_max_tokens: int | None = Field(
        default=None, ge=0, description="Tokens of a chat answer without `max_tokens`; absent: what the context leaves."
    )
    content_filter_results: bool = Field(
        default=False, description="Answers of OpenAI models carry what the content filter saw."
    )
    prompts: dict[str, str] = Field(
        default={},
        description="Responses: instructions of the prompts that requests name by id, under `id` or `id@version`; "
        "`{{name}}` is a variable. Without a version a request takes the last.",
    )
    batch_seconds: float = Field(
        default=60.0,
        ge=0,
        le=86_400,
        description="Seconds by the scenario's clock from making a batch to its completion.",
    )
    vector_stores: dict[Annotated[str, Field(pattern="^vs_")], dict[str, str]] = Field(
        default={},
        description="Vector stores for `file_search` and searches, by id, which begins with `vs_`: the text of each "
        "file by its name.",
    )
    file_attributes: dict[str, dict[str, str | int | float | bool]] = Field(
        default={}, description="Attributes, which filters compare, of the files of `vector_stores` by name."
    )
    file_texts: dict[str, str] = Field(
        default={},
        description="Text of uploaded files by name, for those whose text is not read: PDF and office documents.",
    )
    indexing_seconds: float = Field(
        default=0.0,
        ge=0,
        le=86_400,
        description="Seconds by the scenario's clock until a file of a vector store can be searched.",
    )
    hosted_tools: Literal["refuse", "ignore"] = Field(
        default="refuse",
        description="Responses: tools that the service would run itself (web search, code interpreter, MCP) are "
        "refused, or accepted and never run.",
    )
    rate_limit_headers: bool = Field(
        default=False, description="Answers say what is left of the usual quotas, where a scenario sets no limits."
    )
    hsts: bool | None = Field(
        default=None,
        description="Responses of gateways carry `Strict-Transport-Security`, with which browsers use TLS for every "
        "port of the host; absent: unless the host is this machine.",
    )
    filtered_output: Literal["answer", "error"] = Field(
        default="answer",
        description="A filtered answer comes as 200 with its finish reason, or as 400, as Foundry sends it.",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _apply_profile(cls, given: JSON, make: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(given, dict):
            return make(given)
        profile = given.get("profile", "seed")
        defaults = PROFILES.get(profile, {}) if isinstance(profile, str) else {}
        own = {name: value for name, value in given.items() if value is not None}
        made = make({**defaults, **own})
        made._given = frozenset(own)
        return made

    def with_profile(self, profile: Profile) -> "AzureSettings":
        """Return the settings in another profile; the scenario's own switches stay, those of the bare root excepted."""
        if profile == self.profile:
            return self
        own = {name: getattr(self, name) for name in self._given - _ROOT_SWITCHES}
        return AzureSettings.model_validate({**own, "profile": profile})

    @cached_property
    def openai(self) -> "AzureSettings":
        """Settings of paths that speak Azure OpenAI."""
        return self.with_profile("aoai")

    @cached_property
    def inference(self) -> "AzureSettings":
        """Settings of paths that speak Model Inference for many models."""
        return self.with_profile("foundry") if self.profile == "aoai" else self

    @cached_property
    def foundry(self) -> "AzureSettings":
        """Settings of a project's own paths."""
        return self.with_profile("foundry")

    @cached_property
    def endpoint(self) -> "AzureSettings":
        """Settings of serverless and managed endpoints, where one deployment is an endpoint of its own."""
        return self.with_profile("maas") if self.profile in ("foundry", "aoai") else self

    @property
    def shape(self) -> Literal["seed", "docs", "maas", "managed", "foundry", "aoai"]:
        """Name of the error format."""
        if self.error_shape != "wire":
            return self.error_shape
        return "maas" if self.profile == "seed" else self.profile
