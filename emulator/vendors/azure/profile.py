"""``DeploymentProfile``: what is the same for every request to a deployment, computed once from settings and traits."""

from collections.abc import Mapping

from emulator import __version__
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Headers
from emulator.core.json import JSON
from emulator.core.requests import Deployment
from emulator.core.rng import derive_key, draw_hex, draw_uuid
from emulator.core.vendor import Service
from emulator.vendors.azure.models import is_openai, model_name, parse_parameters, parse_traits
from emulator.vendors.azure.settings import AzureSettings, Profile

# Requests and tokens a minute. Source: learn.microsoft.com, "Foundry Models quotas and limits".
_QUOTA = (1000, 400_000)
_QUOTAS = {"DeepSeek": (5000, 5_000_000)}


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeploymentProfile:
    """Configuration of a deployment in one profile.

    Fields:
        model: the ``model`` of its responses.
        dialect: the profile of the settings that it is for.
        fingerprint: ``system_fingerprint``; changes with the emulator's version, as the real one does with its backend.
        identity: headers of a serverless endpoint: model group, session, request context.
        default_tokens: maximum of a chat answer to a request without a limit.
        openai: responses have Azure OpenAI's form.
        reasoning: the model reasons.
        inline: reasoning is in the content, between tags.
        hidden: reasoning is not shown.
        mistral: tool call ids have Mistral's form.
        filtered: responses include the results of the content filter.
        quota: requests and tokens a minute that responses report, though not enforced.
        caches: a repeated long prompt is read from a cache, and the response reports it.
        blocking: a filtered answer is an error.
        hsts: the setting of that name.
        api: the only API of the model; empty: those of its task.
        traits: all traits of the model.
        parameters: rules of fields that the model does not simply take, from ``models.json``.
    """

    model: str
    fingerprint: str
    dialect: Profile
    identity: Headers
    default_tokens: int | None
    openai: bool
    reasoning: bool
    inline: bool
    hidden: bool
    mistral: bool
    filtered: bool
    quota: tuple[int, int] | None
    caches: bool
    blocking: bool
    hsts: bool | None
    api: str
    traits: Mapping[str, JSON]
    parameters: Mapping[str, JSON]

    def supports(self, feature: str) -> bool:
        """Return whether the model supports a feature."""
        return self.traits.get(feature) is not False


ByProfile = Mapping[Profile, DeploymentProfile]
AzureService = Service[AzureSettings, ByProfile]


def profile_deployment(deployment: Deployment, settings: AzureSettings) -> ByProfile:
    """Return the profiles of a deployment in every dialect that a path can have."""
    dialects = (settings, settings.openai, settings.inference, settings.foundry, settings.endpoint)
    return {
        each.profile: _build_profile(deployment, each) for each in {each.profile: each for each in dialects}.values()
    }


def is_own(traits: Mapping[str, JSON]) -> bool:
    """Return whether a model is OpenAI's own, or has no maker."""
    return traits.get("provider") in ("OpenAI", None)


def _build_profile(deployment: Deployment, settings: AzureSettings) -> DeploymentProfile:
    traits = parse_traits(deployment)
    openai = is_openai(traits, settings)
    name = model_name(deployment)
    default = deployment.default_max_tokens
    return DeploymentProfile(
        model=name,
        fingerprint=f"fp_{draw_hex(derive_key('fingerprint', __version__, name), digits=10)}",
        dialect=settings.profile,
        identity=_build_identity(name),
        default_tokens=settings.default_max_tokens if default is None else default,
        openai=openai,
        reasoning=bool(traits.get("reasoning") or traits.get("thinks")),
        inline=traits.get("reasoning") == "inline",
        hidden=not traits.get("reasoning") and (bool(traits.get("thinks")) or (openai and is_own(traits))),
        mistral=not openai and traits.get("provider") == "Mistral",
        filtered=openai and settings.content_filter_results,
        quota=_QUOTAS.get(str(traits.get("provider")), _QUOTA) if settings.rate_limit_headers else None,
        caches=openai and traits.get("caches") is True,
        blocking=settings.filtered_output == "error",
        hsts=settings.hsts,
        api=str(traits.get("api") or ""),
        traits=traits,
        parameters=parse_parameters(traits),
    )


def _build_identity(model: str) -> Headers:
    key = derive_key("deployment", model)
    return (
        ("azureml-model-group", model),
        ("azureml-model-session", f"dep-{draw_hex(key, digits=8)}"),
        ("Request-Context", f"appId=cid-v1:{draw_uuid(key, 'app')}"),
    )
