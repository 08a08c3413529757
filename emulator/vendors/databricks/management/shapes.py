"""Build the JSON by which the management API describes an endpoint, its config and its served entities.

Sources: databricks-sdk (``service/serving.py``), a public capture of a real listing of endpoints, and the fake server
of databricks-cli.
"""

import re
from collections.abc import Mapping

from emulator.core.http import Request
from emulator.core.json import JSON, Object, as_array, as_object, dump_text
from emulator.core.requests import Deployment
from emulator.core.rng import draw_hex
from emulator.vendors.databricks.families import is_agent, is_custom
from emulator.vendors.databricks.management.discovery import KEY
from emulator.vendors.databricks.management.lookup import FoundEndpoint
from emulator.vendors.databricks.management.permission_levels import level_of
from emulator.vendors.databricks.management.stored_endpoint import FOUNDATION, StoredEndpoint, find_foundation
from emulator.vendors.databricks.models import PRECONFIGURED_AT
from emulator.vendors.databricks.profile import DatabricksService, DeploymentProfile

_CREATOR = "user@example.com"
_SUMMARY = ("name", "entity_name", "entity_version", "external_model", "type", "foundation_model")
_LIST_FIELDS = ("description", "tags", "ai_gateway", "budget_policy_id", "telemetry_config")
_VERSION = re.compile(r"(?<=\d) (?=\d( |$))|(?<=\b0) (?=\d)")  # between the numbers of a version
_DOCS = "https://docs.databricks.com/machine-learning/foundation-model-apis/supported-models.html"


def build_endpoint(found: FoundEndpoint, request: Request, service: DatabricksService, *, full: bool) -> Object:
    """Return an endpoint, in full or as a list item."""
    stored, profile, deployment = load_stored(found, service), found.profile, found.deployment
    shape: Object = {
        "name": stored.name,
        "creation_timestamp": _milliseconds(stored.created),
        "last_updated_timestamp": _milliseconds(stored.updated),
        "state": _build_state(stored, deployment),
    }
    if stored.config or not stored.pending:
        shape["config"] = _build_config(stored, profile, full=full)
    if stored.pending is not None and full:
        shape["pending_config"] = _build_pending(stored, deployment)
    if stored.id:
        shape |= {"id": stored.id, "creator": stored.creator, "tags": []}
    options = {name: value for name, value in stored.options.items() if full or name in _LIST_FIELDS}
    shape |= {
        **({} if is_custom(deployment) else {"task": task_of(profile)}),
        "description": "",
        "permission_level": level_of(found.stored, request.principal),
        **options,
    }
    if kind := _endpoint_type(deployment):
        shape["endpoint_type"] = kind
    if stored.id:
        shape |= {"creator_display_name": stored.creator.partition("@")[0], "creator_kind": "User"}
    shape["capabilities"] = _build_capabilities(profile)
    if full:
        shape["route_optimized"] = bool(options.get("route_optimized"))
        if options.get("route_optimized"):
            shape |= _build_data_plane(stored, f"{request.base_url}/{service.settings.workspace_id}")
    return shape


def load_stored(found: FoundEndpoint, service: DatabricksService) -> StoredEndpoint:
    """Return the stored form of an endpoint, built for an unchanged one."""
    if found.stored is not None:
        return found.stored
    deployment = found.deployment
    preconfigured = deployment.mode == "pay_per_token"
    created = PRECONFIGURED_AT if preconfigured else service.started
    entities: list[JSON] = [_build_initial_entity(found.profile, name) for name in found.profile.entities]
    gateway = deployment.traits.get("ai_gateway")
    return StoredEndpoint(
        name=deployment.name,
        id="" if preconfigured else draw_hex(KEY, "endpoint", deployment.name),
        creator="" if preconfigured else _CREATOR,
        created=created,
        updated=created,
        version=1,
        config={"served_entities": entities, "traffic_config": {"routes": _build_routes(found.profile.entities)}},
        up=deployment.state != "stopped",
        stopped=deployment.state == "stopped",
        based=True,
        options={"ai_gateway": gateway} if gateway else {},
    )


def task_of(profile: DeploymentProfile) -> str:
    """Return the management API's ``task``."""
    if is_agent(profile.deployment):
        return "agent/v1/responses"
    if profile.traits.get("responses_only"):
        return "llm/v1/responses"  # unverified
    return f"llm/v1/{profile.deployment.task}"


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)


def _endpoint_type(deployment: Deployment) -> str | None:
    if deployment.mode == "external":
        return "EXTERNAL_MODEL"
    if is_custom(deployment) or is_agent(deployment):
        return None  # the wire has no such field for them
    return "FOUNDATION_MODEL_API"


def _build_state(stored: StoredEndpoint, deployment: Deployment) -> JSON:
    updating = stored.updating or deployment.state == "loading"
    update = "UPDATE_FAILED" if stored.failed else "IN_PROGRESS" if updating else "NOT_UPDATING"
    state: Object = {"ready": "READY" if deployment.state == "ready" else "NOT_READY", "config_update": update}
    if deployment.mode == "pay_per_token":
        return state
    return {**state, "suspend": "STOPPED" if deployment.state == "stopped" else "NOT_SUSPENDED"}


def _build_config(stored: StoredEndpoint, profile: DeploymentProfile, *, full: bool) -> JSON:
    deployment = profile.deployment
    ready = deployment.state == "ready"
    entities = [as_object(entity) for entity in as_array(stored.config["served_entities"])]
    if deployment.mode == "pay_per_token":
        return {"served_entities": entities}
    if full:
        shapes = [_build_entity(entity, stored, "READY" if ready else "CREATING") for entity in entities]
    else:
        shapes = [{name: entity[name] for name in _SUMMARY if name in entity} for entity in entities]
    config: Object = {"served_entities": shapes, **_build_served_models(deployment, entities)}
    if full:
        rest = {
            name: value for name, value in stored.config.items() if name not in ("served_entities", "traffic_config")
        }
        config |= {"config_version": stored.version, "traffic_config": stored.config["traffic_config"], **rest}
    return config


def _build_pending(stored: StoredEndpoint, deployment: Deployment) -> JSON:
    pending = stored.pending
    assert pending is not None
    state = "FAILED" if stored.failed else "CREATING"
    entities = [as_object(entity) for entity in as_array(pending.config["served_entities"])]
    return {
        "start_time": _milliseconds(pending.since),
        "config_version": stored.version + 1,
        **pending.config,
        "served_entities": [_build_entity(entity, stored, state) for entity in entities],
        **_build_served_models(deployment, entities),
    }


def _build_entity(entity: Mapping[str, JSON], stored: StoredEndpoint, state: str) -> Object:
    text = "The model could not be deployed." if state == "FAILED" else ""  # unverified
    shape: Object = {**entity, "state": {"deployment": f"DEPLOYMENT_{state}", "deployment_state_message": text}}
    return {"creator": stored.creator, "creation_timestamp": _milliseconds(stored.created), **shape}


def _build_served_models(deployment: Deployment, entities: list[Object]) -> Object:
    """Return ``served_models`` of custom models, the older form of ``served_entities``."""
    if not is_custom(deployment):
        return {}
    names = [(entity["name"], entity["entity_name"], entity.get("entity_version", "1")) for entity in entities]
    return {"served_models": [{"name": n, "model_name": m, "model_version": v} for n, m, v in names]}


def _build_routes(shares: Mapping[str, float]) -> JSON:
    return [
        {"served_model_name": name, "served_entity_name": name, "traffic_percentage": percentage}
        for name, percentage in _split(shares).items()
    ]


def _split(shares: Mapping[str, float]) -> dict[str, int]:
    """Return whole percentages that sum to 100; the last takes the rounding difference."""
    total = sum(shares.values()) or 1.0
    result = {name: round(100 * share / total) for name, share in shares.items()}
    last = next(reversed(result))
    return {**result, last: 100 - sum(result.values()) + result[last]}


def _build_initial_entity(profile: DeploymentProfile, name: str) -> Object:
    """Return a served entity of the scenario or the catalogue."""
    deployment = profile.deployment
    entity = str(profile.traits.get("entity") or profile.style.model)
    if deployment.mode == "external":
        provider = str(profile.traits.get("provider") or "openai")
        return {
            "name": name,
            "external_model": {"name": profile.style.model, "provider": provider, "task": task_of(profile)},
        }
    shape: Object = {"name": name, "entity_name": entity}
    if deployment.mode == "pay_per_token":
        return {**shape, "type": "FOUNDATION_MODEL", "foundation_model": _build_foundation(profile, entity)}
    return {**shape, "entity_version": "1"}


def build_foundation(entity: str) -> JSON:
    """Return ``foundation_model`` of a provisioned entity; ``None`` for a model that is not Databricks' own."""
    if find_foundation(entity) is None:
        return None
    known = FOUNDATION.get(entity.lower())
    title = entity.rpartition(".")[2].replace("_", "-") if known is None else known.name
    return {"name": entity, "display_name": _format_title(title), "docs": _DOCS, "description": ""}


def _build_foundation(profile: DeploymentProfile, entity: str) -> JSON:
    return {
        "name": entity,
        "display_name": _format_title(profile.deployment.name),
        "docs": _DOCS,
        "description": "",
        "pricing_model": "Pay-per-token",
        "api_types": _list_api_types(profile),
        "ai_gateway_v2_supported": True,
    }


def _format_title(name: str) -> str:
    """Return a model's title: words, with the dot of its version, as in "Meta Llama 3.3 70B Instruct"."""
    return _VERSION.sub(".", name.removeprefix("databricks-").replace("-", " ").title())


def _list_api_types(profile: DeploymentProfile) -> list[str]:
    """Return the APIs that answer for an endpoint; models of the Responses API alone have no chat."""
    task = profile.deployment.task
    if task != "chat":
        return [f"mlflow/v1/{task}"]
    own = {
        "claude": ["anthropic/v1/messages", "cursor/v1/chat/completions"],
        "gpt": ["openai/v1/responses", "codex/v1/responses"],
        "gemini": ["gemini/v1/generateContent"],
    }
    chat = ["mlflow/v1/chat/completions"] if profile.chats else []
    return [*chat, *own.get(profile.family, [])]


def _build_capabilities(profile: DeploymentProfile) -> JSON:
    if profile.deployment.task != "chat" or is_custom(profile.deployment):
        return {}
    functions, reasons = profile.traits.get("functions"), bool(profile.traits.get("reasoning"))
    shape: Object = {
        "function_calling": functions is None or bool(functions),
        "openai_reasoning": reasons and profile.family in ("gpt", "gpt-oss"),
        "anthropic_reasoning": reasons and profile.family == "claude",
        "image_input": bool(profile.traits.get("vision")),
        "long_context": (profile.deployment.context or 0) >= 1_000_000,
    }
    if profile.family == "gemini":
        shape |= {"video_input_translation": True, "audio_input_translation": True}
    return shape


def _build_data_plane(stored: StoredEndpoint, prefix: str) -> Object:
    """Return the address of a route-optimized endpoint and the authorization details of its token.

    Source: docs.databricks.com, "Route optimization on serving endpoints"; databricks-sdk, ``data_plane.py``.
    """
    url = f"{prefix}/serving-endpoints/{stored.name}/invocations"
    details = {
        "type": "workspace_permission",
        "object_type": "serving-endpoints",
        "object_path": f"/serving-endpoints/{stored.id}",
        "actions": ["query_inference_endpoint"],
    }
    query: Object = {"endpoint_url": url, "authorization_details": dump_text([details])}
    return {"endpoint_url": url, "data_plane_info": {"query_info": query}}
