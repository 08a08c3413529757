"""Validate sampling parameters and token limits of chat and text completions.

Sources: those of ``chat/models.py``.
"""

from typing import Annotated

from pydantic import Field
from pydantic_core import ErrorDetails

from emulator.core.json import JSON
from emulator.core.requests import Deployment, Sampling
from emulator.vendors.azure.decoder import Count, Fraction, Integer, WireModel
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.extra_parameters import SharedExtras
from emulator.vendors.azure.models import model_name
from emulator.vendors.azure.profile import DeploymentProfile
from emulator.vendors.azure.settings import AzureSettings

Penalty = Annotated[float, Field(ge=-2, le=2)]
Temperature = Annotated[float, Field(ge=0, le=2)]
Seed = Annotated[Integer, Field(ge=-(2**63), le=2**63 - 1)]


class SamplingFields(WireModel):
    """Fields that chat and text completions share."""

    frequency_penalty: Penalty | None = None
    max_tokens: Count | None = None
    presence_penalty: Penalty | None = None
    seed: Seed | None = None
    stop: str | Annotated[list[str], Field(min_length=1)] | None = None
    stream: bool | None = None
    temperature: Temperature | None = None
    top_p: Fraction | None = None
    model: str | None = None


def find_beyond_range(wire: SamplingFields) -> list[ErrorDetails]:
    """Return the violation of a temperature above 1, for ``strict_range``."""
    if wire.temperature is None or wire.temperature <= 1:
        return []
    return [
        {
            "type": "less_than_equal",
            "loc": ("temperature",),
            "msg": "Input should be less than or equal to 1",
            "input": wire.temperature,
            "ctx": {"le": 1.0},
        }
    ]


def validate_penalties(wire: SamplingFields, profile: DeploymentProfile) -> None:
    if profile.supports("penalties"):
        return
    for name, value in (("frequency_penalty", wire.frequency_penalty), ("presence_penalty", wire.presence_penalty)):
        if value:
            raise refusals.not_supported((name,), value)


def validate_output(requested: int | None, deployment: Deployment, profile: DeploymentProfile) -> None:
    """Raise if more tokens are requested than an OpenAI model can output; other models lower the limit.

    Source: charmbracelet/catwalk issue 41.
    """
    max_output = deployment.max_output
    if (
        requested is not None
        and max_output is not None
        and requested > max_output
        and profile.traits.get("provider") == "OpenAI"
    ):
        text = (
            f"max_tokens is too large: {requested}. This model supports at most {max_output} completion tokens, whereas"
        )
        raise refusals.contradicts(f"{text} you provided {requested}.", "max_tokens", "invalid_value")


def limit_tokens(
    requested: int | None, default: int | None, deployment: Deployment, settings: AzureSettings, prompt_tokens: int
) -> int | None:
    """Return the maximum of completion tokens: the requested one, lowered to what model and context allow.

    Args:
        default: the limit without a requested one.

    Raises:
        EmulatedError: ``CONTEXT_LENGTH``: the prompt alone is too long, or, for Azure OpenAI, with the limit.
    """
    context, most = deployment.context, deployment.max_output
    limit = default if requested is None else requested
    if limit is None or (most is not None and most < limit):
        limit = most
    if context is None:
        return limit
    reserved = requested if settings.profile == "aoai" else None
    remaining = context - prompt_tokens
    if remaining < (reserved or 0):
        raise refusals.context_exceeded(context, prompt_tokens, model_name(deployment), reserved)
    return remaining if limit is None or remaining < limit else limit


def parse_sampling(wire: SamplingFields, extras: SharedExtras, limit: int | None, logprobs: int | None) -> Sampling:
    """Return the sampling of a request; a field at its default equals an absent one."""
    parameters: list[tuple[str, JSON]] = []
    temperature = wire.temperature
    if temperature not in (None, 0, 1):
        parameters.append(("temperature", temperature))
    if wire.top_p not in (None, 1):
        parameters.append(("top_p", wire.top_p))
    if wire.frequency_penalty:
        parameters.append(("frequency_penalty", wire.frequency_penalty))
    if wire.presence_penalty:
        parameters.append(("presence_penalty", wire.presence_penalty))
    stop = () if wire.stop is None else _read_stop(wire.stop)
    greedy = temperature == 0
    if not extras.model_fields_set:
        return Sampling(max_tokens=limit, greedy=greedy, seed=wire.seed, parameters=tuple(parameters), stop=stop)
    return Sampling(
        max_tokens=limit,
        greedy=greedy or extras.top_k == 1,
        seed=wire.seed,
        parameters=(*parameters, *_read_passed_through(extras)),
        stop=stop,
        ignore_eos=bool(extras.ignore_eos),
        n=extras.n or 1,
        logprobs=logprobs,
    )


def _read_passed_through(extras: SharedExtras) -> tuple[tuple[str, JSON], ...]:
    """Return the passed-through fields that change which tokens are sampled."""
    parameters: tuple[tuple[str, JSON], ...] = (
        ("top_k", extras.top_k),
        ("min_p", extras.min_p),
        ("repetition_penalty", extras.repetition_penalty),
        ("min_tokens", extras.min_tokens),
        ("logit_bias", sorted(extras.logit_bias.items()) if extras.logit_bias else None),
    )
    return tuple([parameter for parameter in parameters if parameter[1] is not None])


def _read_stop(stop: str | list[str]) -> tuple[str, ...]:
    return tuple([text for text in ((stop,) if isinstance(stop, str) else stop) if text])
