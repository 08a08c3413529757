"""The parts of a workspace that clients ask before and beside inference.

Sources: databricks-sdk (``service/serving.py``, ``config.py``, ``oauth.py``) and a public capture of a real
listing of endpoints.
"""

from __future__ import annotations

from collections.abc import Mapping

from emulator.core.call import Deployment
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, Object
from emulator.core.seed import derive, draw_hex, draw_uuid
from emulator.core.wire import WireRequest, WireResponse
from emulator.vendors.databricks.catalogue import PRECONFIGURED_AT
from emulator.vendors.databricks.families import is_agent, is_custom
from emulator.vendors.databricks.habits import DatabricksService, Habits
from emulator.vendors.databricks.headers import answer_json

_CREATOR = "user@example.com"
KEY = derive("databricks", "workspace")


def list_endpoints(request: WireRequest, service: DatabricksService) -> WireResponse:
    """``GET /api/2.0/serving-endpoints``."""
    known = service.deployments.values()
    shapes = [_shape_endpoint(d, service, full=False) for d in known if d.state != "retired"]
    return answer_json({"endpoints": shapes}, request, service.settings)


def get_endpoint(request: WireRequest, service: DatabricksService) -> WireResponse:
    """``GET /api/2.0/serving-endpoints/{name}``."""
    return answer_json(_shape_endpoint(find_endpoint(request, service), service, full=True), request, service.settings)


def find_endpoint(request: WireRequest, service: DatabricksService) -> Deployment:
    """The endpoint a management path names."""
    name = request.params["name"]
    deployment = service.deployments.get(name)
    if deployment is None or deployment.state == "retired":
        text = f"Endpoint with name '{name}' does not exist."  # databricks-demos/dbdemos issue 220
        raise EmulatedError(ErrorKind.NOT_FOUND, text, details={"error_code": "RESOURCE_DOES_NOT_EXIST"})
    return deployment


def list_foundation_models(request: WireRequest, service: DatabricksService) -> WireResponse:
    """``GET /api/2.0/serving-endpoints:foundation-models``: the preconfigured endpoints; the shape is unverified."""
    known = service.deployments.values()
    found = [d for d in known if d.mode == "pay_per_token" and d.state != "retired"]
    shapes = [_shape_endpoint(d, service, full=False) for d in found]
    return answer_json({"endpoints": shapes}, request, service.settings)


def show_config(request: WireRequest, service: DatabricksService) -> WireResponse:
    """``GET /.well-known/databricks-config``: every client's first question."""
    body: Object = {
        "oidc_endpoint": f"{request.base_url}/oidc",
        "account_id": draw_uuid(KEY, "account"),
        "workspace_id": service.settings.workspace_id,
        "cloud": service.settings.cloud,
    }
    return answer_json(body, request, service.settings)


def show_oidc(request: WireRequest, service: DatabricksService) -> WireResponse:
    """``GET /oidc/.well-known/oauth-authorization-server``."""
    base = f"{request.base_url}/oidc"
    body: Object = {
        "authorization_endpoint": f"{base}/v1/authorize",
        "token_endpoint": f"{base}/v1/token",
    }
    return answer_json(body, request, service.settings)


def show_me(request: WireRequest, service: DatabricksService) -> WireResponse:
    """``GET /api/2.0/preview/scim/v2/Me``."""
    user = request.principal if "@" in request.principal else f"{request.principal}@example.com"
    body: Object = {
        "id": str(int(draw_hex(KEY, "user", request.principal, digits=13), 16)),
        "userName": user,
        "displayName": request.principal,
        "active": True,
        "emails": [{"value": user, "primary": True, "type": "work"}],
        "groups": [],
    }
    return answer_json(body, request, service.settings)


def _shape_endpoint(deployment: Deployment, service: DatabricksService, *, full: bool) -> Object:
    habits = service.habits[deployment.name]
    preconfigured = deployment.mode == "pay_per_token"
    created = PRECONFIGURED_AT * 1000 if preconfigured else int(service.started * 1000)  # milliseconds
    shape: Object = {
        "name": deployment.name,
        "creation_timestamp": created,
        "last_updated_timestamp": created,
        "state": _shape_state(deployment),
        "config": _shape_config(habits, created, full=full),
    }
    if not preconfigured:
        shape |= {"id": draw_hex(KEY, "endpoint", deployment.name), "creator": _CREATOR, "tags": []}
    shape |= {"task": _task_of(habits), "description": "", "permission_level": "CAN_MANAGE"}
    if kind := _endpoint_type(deployment):
        shape["endpoint_type"] = kind
    shape["capabilities"] = _shape_capabilities(habits)
    if full:
        shape["route_optimized"] = False
    return shape


def _endpoint_type(deployment: Deployment) -> str | None:
    if deployment.mode == "external":
        return "EXTERNAL_MODEL"
    if is_custom(deployment) or is_agent(deployment):
        return None  # the wire leaves it out
    return "FOUNDATION_MODEL_API"


def _shape_state(deployment: Deployment) -> JSON:
    ready = "READY" if deployment.state == "ready" else "NOT_READY"
    updating = "IN_PROGRESS" if deployment.state == "loading" else "NOT_UPDATING"
    state: Object = {"ready": ready, "config_update": updating}
    if deployment.mode == "pay_per_token":
        return state
    return {**state, "suspend": "STOPPED" if deployment.state == "stopped" else "NOT_SUSPENDED"}


def _shape_config(habits: Habits, created: int, *, full: bool) -> JSON:
    deployment, entities = habits.deployment, habits.entities
    shapes = [_shape_entity(habits, name, created, full=full) for name in entities]
    if deployment.mode == "pay_per_token":
        return {"served_entities": shapes}
    config: Object = {"served_entities": shapes}
    if is_custom(deployment):  # both the new and the old list
        models = [(shape["name"], shape["entity_name"], shape["entity_version"]) for shape in shapes]
        config["served_models"] = [{"name": n, "model_name": m, "model_version": v} for n, m, v in models]
    if full:
        config["config_version"] = 1
        config["traffic_config"] = {
            "routes": [
                {"served_model_name": name, "served_entity_name": name, "traffic_percentage": percentage}
                for name, percentage in _split(entities).items()
            ]
        }
    return config


def _split(shares: Mapping[str, float]) -> dict[str, int]:
    """Whole percentages that sum to 100; the last takes what rounding leaves."""
    total = sum(shares.values()) or 1.0
    result = {name: round(100 * share / total) for name, share in shares.items()}
    last = next(reversed(result))
    return {**result, last: 100 - sum(result.values()) + result[last]}


def _shape_entity(habits: Habits, name: str, created: int, *, full: bool) -> Object:
    deployment = habits.deployment
    entity = str(habits.traits.get("entity") or habits.style.model)
    shape: Object = {"name": name, "entity_name": entity}
    if deployment.mode == "external":
        provider = str(habits.traits.get("provider") or "openai")
        model = {"name": habits.style.model, "provider": provider, "task": _task_of(habits)}
        shape = {"name": name, "external_model": model}
    elif deployment.mode == "pay_per_token":
        shape |= {"type": "FOUNDATION_MODEL", "foundation_model": _shape_foundation(habits, entity)}
    else:
        shape["entity_version"] = "1"
    if full and deployment.mode != "pay_per_token":
        state = "DEPLOYMENT_READY" if deployment.state == "ready" else "DEPLOYMENT_CREATING"
        shape["state"] = {"deployment": state, "deployment_state_message": ""}
        shape |= {"creator": _CREATOR, "creation_timestamp": created}
    return shape


def _shape_foundation(habits: Habits, entity: str) -> JSON:
    return {
        "name": entity,
        "display_name": habits.deployment.name.removeprefix("databricks-").replace("-", " ").title(),
        "docs": "https://docs.databricks.com/machine-learning/foundation-model-apis/supported-models.html",
        "description": "",
        "pricing_model": "Pay-per-token",
        "api_types": _list_api_types(habits),
        "ai_gateway_v2_supported": True,
    }


def _list_api_types(habits: Habits) -> list[str]:
    task = habits.deployment.task
    if task != "chat":
        return [f"mlflow/v1/{task}"]
    own = {
        "claude": ["anthropic/v1/messages", "cursor/v1/chat/completions"],
        "gpt": ["openai/v1/responses", "codex/v1/responses"],
    }
    return ["mlflow/v1/chat/completions", *own.get(habits.family, [])]


def _shape_capabilities(habits: Habits) -> JSON:
    if habits.deployment.task != "chat":
        return {}
    functions = habits.traits.get("functions")
    shape: Object = {
        "function_calling": functions is None or bool(functions),
        "openai_reasoning": habits.family in ("gpt", "gpt-oss"),
        "anthropic_reasoning": habits.family == "claude",
        "image_input": bool(habits.traits.get("vision")),
        "long_context": (habits.deployment.context or 0) >= 1_000_000,
    }
    if habits.family == "gemini":
        shape |= {"video_input_translation": True, "audio_input_translation": True}
    return shape


def _task_of(habits: Habits) -> str:
    """``task`` as the management API names it."""
    if is_agent(habits.deployment):
        return "agent/v1/responses"
    if habits.traits.get("responses_only"):
        return "llm/v1/responses"  # unverified
    return f"llm/v1/{habits.deployment.task}"
