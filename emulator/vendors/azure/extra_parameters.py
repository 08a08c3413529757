"""Request models of the parameters outside the Model Inference API that pass to a model, and their validation."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from emulator.core.json import Object
from emulator.vendors.azure.decoder import Count, Fraction, Integer, WireModel
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.profile import DeploymentProfile

Number = Annotated[Integer, Field(ge=1, le=128)]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Verbosity = Literal["low", "medium", "high"]


class StreamOptions(WireModel):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


ENGINE_PARAMETERS = frozenset({"ignore_eos", "top_k", "min_p", "repetition_penalty", "min_tokens", "safe_prompt"})
"""Parameters of models that run in an inference engine of their own; Azure OpenAI rejects them as unknown."""


class SharedExtras(WireModel):
    """Extra parameters of both chat and text completions."""

    n: Number | None = None
    best_of: Annotated[Integer, Field(ge=1, le=20)] | None = None
    user: str | None = None
    logit_bias: dict[str, Annotated[float, Field(ge=-100, le=100)]] | None = None
    stream_options: StreamOptions | None = None
    ignore_eos: bool | None = None
    top_k: Annotated[Integer, Field(ge=-1)] | None = None
    min_p: Fraction | None = None
    repetition_penalty: Annotated[float, Field(gt=0)] | None = None
    min_tokens: Count | None = None
    safe_prompt: bool | None = None

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with token counts."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)


class ChatExtras(SharedExtras):
    logprobs: bool | None = None
    top_logprobs: Annotated[Integer, Field(ge=0, le=20)] | None = None
    parallel_tool_calls: bool | None = None
    max_completion_tokens: Count | None = None
    reasoning_effort: Effort | None = None


class CompletionExtras(SharedExtras):
    logprobs: Annotated[Integer, Field(ge=0, le=5)] | None = None
    echo: bool | None = None
    suffix: str | None = None


class StrictChatExtras(ChatExtras):
    model_config = ConfigDict(strict=True)


class StrictCompletionExtras(CompletionExtras):
    model_config = ConfigDict(strict=True)


NO_EXTRAS = ChatExtras()


def validate_parameters(
    fields: Object, profile: DeploymentProfile, places: Mapping[str, str] | None = None
) -> list[str]:
    """Raise for a parameter that the model does not take.

    Args:
        fields: under chat's names.
        places: paths of fields that have another name: ``reasoning.effort``.

    Returns:
        Names of the fields that have no effect.
    """
    without_effect: list[str] = []
    for name, rule in profile.parameters.items():
        value = fields.get(name)
        if value is None or value is False or rule == "taken":
            continue
        if rule == "ignored":
            without_effect.append(name)
            continue
        place = (places or {}).get(name, name)
        if isinstance(rule, list):
            if value not in rule:
                raise refusals.unsupported_value(place.split("."), value, rule)
        elif rule == "unknown" and profile.openai and place == name:
            raise refusals.unrecognized([name])
        else:
            advice = "" if rule in ("unsupported", "unknown") else str(rule)
            raise refusals.not_supported(place.split("."), value, advice=advice)
    return without_effect
