"""``DeploymentProfile``: what is the same for every request to an endpoint, computed once from deployment and settings.

Parsers and renderers read fields, limits, family and render options from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON
from emulator.core.quota import Quota
from emulator.core.requests import Deployment
from emulator.core.vendor import Service
from emulator.vendors.databricks.chat.fields import FieldRules, list_fields
from emulator.vendors.databricks.decoder import Struct
from emulator.vendors.databricks.families import Family, family_of, is_agent, is_custom, traits_of
from emulator.vendors.databricks.management.limits import list_presets
from emulator.vendors.databricks.settings import DatabricksSettings

_STRICT = ("open", "gpt-oss")
_LENIENT = ("open", "gemini")  # families that accept any text and any limit within bounds
_HARMS = (
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
)


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RenderOptions:
    """Rendering options of an endpoint's responses.

    Fields:
        model: value of ``model``: the model's version, or the endpoint's name.
        usage_style: where a stream carries usage: ``every`` chunk, ``claude`` or ``last`` (the chunk with the finish
            reason), ``closing`` (one more, without choices, unless the request declines it), ``on-request``
            (the same, if requested) or ``none``.
        role_everywhere: every chunk of a stream names the role.
        reasoning: ``always``, ``on-request`` (by the request's ``thinking``), ``hidden``, or ``""``.
        lists: ``content`` may be a list of parts.
        listed: ``content`` always is a list of parts.
        encrypted: reasoning is text that only the service can decrypt.
        signed: a Gemini model that signs its reasoning.
        safety: ``extra_fields`` of each choice; ``None`` for none.
        plain: a response of one text has a string as its content and no further fields.
    """

    model: str
    family: Family
    usage_style: str
    role_everywhere: bool
    reasoning: str
    lists: bool
    listed: bool
    encrypted: bool
    signed: bool
    safety: JSON
    plain: bool


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeploymentProfile:
    """Configuration of an endpoint.

    Fields:
        family, traits: the model family and all traits.
        chats: the endpoint accepts chat requests.
        responds: the endpoint accepts Responses requests.
        entities: served entities and their shares of the traffic.
        rules: rules for unknown fields.
        chat_fields: fields of a chat request.
        plain: only its texts and its limit can make a plain chat request invalid.
        overhead: tokens that a server-side template adds to each prompt.
        quotas: quotas that every call is charged to, whatever the management API sets.
        entity_profiles: profile of each served entity, where they may differ.
    """

    deployment: Deployment
    settings: DatabricksSettings
    family: Family
    traits: Mapping[str, JSON]
    chats: bool
    responds: bool
    entities: Mapping[str, float]
    rules: FieldRules
    chat_fields: Struct
    plain: bool
    overhead: int
    style: RenderOptions
    quotas: tuple[Quota, ...] = ()
    entity_profiles: Mapping[str, DeploymentProfile] = field(default_factory=dict)


DatabricksService = Service[DatabricksSettings, DeploymentProfile]


def profile_deployment(deployment: Deployment, settings: DatabricksSettings) -> DeploymentProfile:
    family = family_of(deployment)
    traits = traits_of(deployment, family)
    rules = _find_rules(deployment, settings, family, traits)
    overhead = traits.get("template_overhead_tokens")
    return DeploymentProfile(
        deployment=deployment,
        settings=settings,
        family=family,
        traits=traits,
        chats=(
            deployment.task == "chat"
            and not traits.get("responses_only")
            and not is_agent(deployment)
            and not is_custom(deployment)
        ),
        responds=is_agent(deployment) or bool(traits.get("responses_api")),
        entities=_list_entities(deployment, traits),
        rules=rules,
        chat_fields=list_fields(rules),
        plain=family in _LENIENT and not traits.get("reasoning") and not settings.alternate_roles,
        overhead=overhead if isinstance(overhead, int) else 0,
        style=_find_style(deployment, settings, family, traits),
        quotas=list_presets(deployment, settings.rate_limits),
    )


def _find_rules(
    deployment: Deployment, settings: DatabricksSettings, family: Family, traits: Mapping[str, JSON]
) -> FieldRules:
    mode = settings.strict_unknown_fields
    foreign = deployment.mode in ("external", "custom") or is_agent(deployment)
    return FieldRules(
        family=family,
        unknown=mode,
        tolerant=mode == "off" or (mode == "by-model" and (foreign or family not in _STRICT)),
        lists=settings.content_lists == "model" and bool(traits.get("content_parts")),
    )


def _find_style(
    deployment: Deployment, settings: DatabricksSettings, family: Family, traits: Mapping[str, JSON]
) -> RenderOptions:
    style = settings.stream_usage
    reasoning = traits.get("reasoning")
    lists = settings.content_lists == "model"
    listed = lists and traits.get("content_style") == "list"
    safety = _build_safety() if family == "gemini" and deployment.mode == "external" else None
    return RenderOptions(
        model=deployment.model or deployment.name,
        family=family,
        usage_style=str(traits.get("usage_style") or "every") if style == "model" else style,
        role_everywhere=bool(traits.get("role_in_every_chunk")),
        # A scenario may set `reasoning: true` for a model that always shows its reasoning.
        reasoning="always" if reasoning is True else str(reasoning or ""),
        lists=lists,
        listed=listed,
        encrypted=traits.get("reasoning_summary") == "encrypted",
        signed=bool(traits.get("thought_signature")),
        safety=safety,
        plain=not listed and safety is None,
    )


def _build_safety() -> JSON:
    """Return ``extra_fields`` of external Gemini models, the only ones that have any; the content is unverified."""
    return {"safetyRating": [{"category": name, "probability": "NEGLIGIBLE"} for name in _HARMS]}


def _list_entities(deployment: Deployment, traits: Mapping[str, JSON]) -> Mapping[str, float]:
    """Return the served entities of an endpoint and their shares of the traffic."""
    listed = traits.get("served_entities")
    if isinstance(listed, dict) and listed:
        return {str(name): float(share) if isinstance(share, int | float) else 0.0 for name, share in listed.items()}
    if isinstance(listed, list) and listed:
        return {str(name): 1.0 for name in listed}
    return {deployment.name: 100.0}
