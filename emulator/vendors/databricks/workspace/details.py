"""What the management API says of one endpoint beside its description: who may use it, its logs.

Source: databricks-sdk, ``service/serving.py``; texts of logs are unverified.
"""

from __future__ import annotations

from emulator.core.call import Deployment
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, Object
from emulator.core.seed import draw_hex
from emulator.core.wire import WireRequest, WireResponse
from emulator.vendors.databricks.decoder import refusal
from emulator.vendors.databricks.habits import DatabricksService
from emulator.vendors.databricks.headers import answer_json
from emulator.vendors.databricks.workspace.endpoints import KEY, find_endpoint

_LEVELS = (
    ("CAN_VIEW", "Can view the serving endpoint"),
    ("CAN_QUERY", "Can query the serving endpoint"),
    ("CAN_MANAGE", "Can manage the serving endpoint"),
)


def show_openapi(request: WireRequest, service: DatabricksService) -> WireResponse:
    """``GET /api/2.0/serving-endpoints/{name}/openapi``, of an endpoint that is ready."""
    deployment = find_endpoint(request, service)
    if deployment.state != "ready":
        raise refusal(f"Endpoint {deployment.name} is not ready.", code="INVALID_PARAMETER_VALUE")
    paths: Object = {
        f"/served-models/{name}/invocations": {
            "post": {
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {"200": {"description": "Successful operation"}},
            }
        }
        for name in service.habits[deployment.name].entities
    }
    body: Object = {"openapi": "3.1.0", "info": {"title": deployment.name, "version": "1"}, "paths": paths}
    return answer_json(body, request, service.settings)


def show_logs(request: WireRequest, service: DatabricksService) -> WireResponse:
    """``GET /api/2.0/serving-endpoints/{name}/served-models/{served}/logs`` and ``/build-logs``."""
    deployment = find_endpoint(request, service)
    served = request.params["served"]
    if served not in service.habits[deployment.name].entities:
        text = f"Served entity with name '{served}' does not exist."
        raise EmulatedError(ErrorKind.NOT_FOUND, text, details={"error_code": "RESOURCE_DOES_NOT_EXIST"})
    return answer_json({"logs": ""}, request, service.settings)


def show_optimization(request: WireRequest, service: DatabricksService) -> WireResponse:
    """``GET /api/2.0/serving-endpoints/get-model-optimization-info/{model}/{version}``.

    Source: docs.databricks.com, "Provisioned throughput Foundation Model APIs".
    """
    model = request.params["model"].lower()
    families = ("llama", "gte", "bge", "deepseek", "dbrx", "mixtral", "mistral", "mpt")
    family = next((name for name in families if name in model), None)
    body: Object = {"optimizable": family is not None}
    if family is not None:
        body |= {"model_type": family, "throughput_chunk_size": 980}
    return answer_json(body, request, service.settings)


def show_permissions(request: WireRequest, service: DatabricksService) -> WireResponse:
    """``GET /api/2.0/permissions/serving-endpoints/{id}``."""
    name = _find_id(request, service)
    rights: JSON = [{"permission_level": "CAN_MANAGE", "inherited": False}]
    body: Object = {
        "object_id": f"/serving-endpoints/{name}",
        "object_type": "serving-endpoint",
        "access_control_list": [{"user_name": "user@example.com", "all_permissions": rights}],
    }
    return answer_json(body, request, service.settings)


def show_permission_levels(request: WireRequest, service: DatabricksService) -> WireResponse:
    """``GET /api/2.0/permissions/serving-endpoints/{id}/permissionLevels``."""
    _find_id(request, service)
    levels: list[JSON] = [{"permission_level": level, "description": text} for level, text in _LEVELS]
    return answer_json({"permission_levels": levels}, request, service.settings)


def _find_id(request: WireRequest, service: DatabricksService) -> str:
    """The id of an endpoint; preconfigured ones have none."""
    wanted = request.params["id"]
    if not any(_has_id(deployment, wanted) for deployment in service.deployments.values()):
        raise refusal(f"'{wanted}' is not a valid Inference Endpoint ID.", code="INVALID_PARAMETER_VALUE")
    return wanted


def _has_id(deployment: Deployment, wanted: str) -> bool:
    return deployment.mode != "pay_per_token" and draw_hex(KEY, "endpoint", deployment.name) == wanted
