"""The parts of a workspace that clients ask before and beside inference.

Sources: databricks-sdk (``service/serving.py``, ``config.py``, ``oauth.py``) and a public capture of a real
listing of endpoints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core.call import Deployment
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, dump_json
from emulator.core.seed import derive, draw_hex, draw_uuid
from emulator.core.vendor import Service
from emulator.core.wire import WireRequest, WireResponse
from emulator.vendors.databricks.catalogue import family_of, is_agent, is_custom, task_of, trait
from emulator.vendors.databricks.errors import base_headers
from emulator.vendors.databricks.request import served_entities

_PRECONFIGURED_AT = 1733875200000  # milliseconds
KEY = derive("databricks", "workspace")


def list_endpoints(request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    """``GET /api/2.0/serving-endpoints``."""
    shapes = [_shape_endpoint(d, service, full=False) for d in service.deployments.values() if d.state != "retired"]
    return _answer({"endpoints": shapes}, request, service)


def get_endpoint(request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    """``GET /api/2.0/serving-endpoints/{name}``."""
    return _answer(_shape_endpoint(find_endpoint(request, service), service, full=True), request, service)


def find_endpoint(request: WireRequest, service: Service[Any, Any]) -> Deployment:
    """The endpoint a management path names."""
    name = request.params["name"]
    deployment = service.deployments.get(name)
    if deployment is None or deployment.state == "retired":
        text = f"Endpoint with name '{name}' does not exist."  # databricks-demos/dbdemos issue 220
        raise EmulatedError(ErrorKind.NOT_FOUND, text, details={"error_code": "RESOURCE_DOES_NOT_EXIST"})
    return deployment


def list_foundation_models(request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    """``GET /api/2.0/serving-endpoints:foundation-models``: the preconfigured endpoints; the shape is unverified."""
    known = service.deployments.values()
    found = [d for d in known if d.mode == "pay_per_token" and d.state != "retired"]
    return _answer({"endpoints": [_shape_endpoint(d, service, full=False) for d in found]}, request, service)


def list_models(request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    """``GET /serving-endpoints/models``: undocumented, for OpenAI tools that ask."""
    data = [
        {"id": d.name, "object": "model", "created": _PRECONFIGURED_AT // 1000, "owned_by": "databricks"}
        for d in service.deployments.values()
        if d.state != "retired"
    ]
    return _answer({"object": "list", "data": data}, request, service)


def show_config(request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    """``GET /.well-known/databricks-config``: every client's first question."""
    body = {
        "oidc_endpoint": f"{request.base_url}/oidc",
        "account_id": draw_uuid(KEY, "account"),
        "workspace_id": service.settings.workspace_id,
        "cloud": service.settings.cloud,
    }
    return _answer(body, request, service)


def show_oidc(request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    """``GET /oidc/.well-known/oauth-authorization-server``."""
    base = f"{request.base_url}/oidc"
    body = {
        "authorization_endpoint": f"{base}/v1/authorize",
        "token_endpoint": f"{base}/v1/token",
    }
    return _answer(body, request, service)


def show_me(request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    """``GET /api/2.0/preview/scim/v2/Me``."""
    user = request.principal if "@" in request.principal else f"{request.principal}@example.com"
    body = {
        "id": str(int(draw_hex(KEY, "user", request.principal, digits=13), 16)),
        "userName": user,
        "displayName": request.principal,
        "active": True,
        "emails": [{"value": user, "primary": True, "type": "work"}],
        "groups": [],
    }
    return _answer(body, request, service)


def _answer(body: JSON, request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    headers = (("Content-Type", "application/json"), *base_headers(request, service.settings))
    return WireResponse(200, dump_json(body), headers)


def _shape_endpoint(deployment: Deployment, service: Service[Any, Any], *, full: bool) -> JSON:
    preconfigured = deployment.mode == "pay_per_token"
    created = _PRECONFIGURED_AT if preconfigured else int(service.started * 1000)
    shape: dict[str, JSON] = {
        "name": deployment.name,
        "creation_timestamp": created,
        "last_updated_timestamp": created,
        "state": _shape_state(deployment),
        "config": _shape_config(deployment, created, full=full),
    }
    if not preconfigured:
        shape |= {"id": draw_hex(KEY, "endpoint", deployment.name), "creator": _CREATOR, "tags": []}
    shape |= {"task": task_of(deployment), "description": "", "permission_level": "CAN_MANAGE"}
    if kind := _endpoint_type(deployment):
        shape["endpoint_type"] = kind
    shape["capabilities"] = _shape_capabilities(deployment)
    if full:
        shape["route_optimized"] = False
    return shape


_CREATOR = "user@example.com"


def _endpoint_type(deployment: Deployment) -> str | None:
    if deployment.mode == "external":
        return "EXTERNAL_MODEL"
    if is_custom(deployment) or is_agent(deployment):
        return None  # the wire leaves it out
    return "FOUNDATION_MODEL_API"


def _shape_state(deployment: Deployment) -> JSON:
    ready = "READY" if deployment.state == "ready" else "NOT_READY"
    updating = "IN_PROGRESS" if deployment.state == "loading" else "NOT_UPDATING"
    state = {"ready": ready, "config_update": updating}
    if deployment.mode == "pay_per_token":
        return state
    return {**state, "suspend": "STOPPED" if deployment.state == "stopped" else "NOT_SUSPENDED"}


def _shape_config(deployment: Deployment, created: int, *, full: bool) -> JSON:
    entities = served_entities(deployment, deployment.traits)
    shapes = [_shape_entity(deployment, name, created, full=full) for name in entities]
    if deployment.mode == "pay_per_token":
        return {"served_entities": shapes}
    config: dict[str, JSON] = {"served_entities": shapes}
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


def _shape_entity(deployment: Deployment, name: str, created: int, *, full: bool) -> dict[str, JSON]:
    entity = str(trait(deployment, "entity") or deployment.model or deployment.name)
    shape: dict[str, JSON] = {"name": name, "entity_name": entity}
    if deployment.mode == "external":
        provider = str(trait(deployment, "provider") or "openai")
        model = {"name": deployment.model or deployment.name, "provider": provider, "task": task_of(deployment)}
        shape = {"name": name, "external_model": model}
    elif deployment.mode == "pay_per_token":
        shape |= {"type": "FOUNDATION_MODEL", "foundation_model": _shape_foundation(deployment, entity)}
    else:
        shape["entity_version"] = "1"
    if full and deployment.mode != "pay_per_token":
        state = "DEPLOYMENT_READY" if deployment.state == "ready" else "DEPLOYMENT_CREATING"
        shape["state"] = {"deployment": state, "deployment_state_message": ""}
        shape |= {"creator": _CREATOR, "creation_timestamp": created}
    return shape


def _shape_foundation(deployment: Deployment, entity: str) -> JSON:
    return {
        "name": entity,
        "display_name": deployment.name.removeprefix("databricks-").replace("-", " ").title(),
        "docs": "https://docs.databricks.com/machine-learning/foundation-model-apis/supported-models.html",
        "description": "",
        "pricing_model": "Pay-per-token",
        "api_types": _list_api_types(deployment),
        "ai_gateway_v2_supported": True,
    }


def _list_api_types(deployment: Deployment) -> list[str]:
    if deployment.task != "chat":
        return [f"mlflow/v1/{deployment.task}"]
    family = family_of(deployment)
    own = {
        "claude": ["anthropic/v1/messages", "cursor/v1/chat/completions"],
        "gpt": ["openai/v1/responses", "codex/v1/responses"],
    }
    return ["mlflow/v1/chat/completions", *own.get(family, [])]


def _shape_capabilities(deployment: Deployment) -> JSON:
    if deployment.task != "chat":
        return {}
    family = family_of(deployment)
    functions = trait(deployment, "functions")
    shape = {
        "function_calling": functions is None or bool(functions),
        "openai_reasoning": family in ("gpt", "gpt-oss"),
        "anthropic_reasoning": family == "claude",
        "image_input": bool(trait(deployment, "vision")),
        "long_context": (deployment.context or 0) >= 1_000_000,
    }
    if family == "gemini":
        shape |= {"video_input_translation": True, "audio_input_translation": True}
    return shape
