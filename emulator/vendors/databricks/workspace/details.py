"""What the management API says of one endpoint beside its description: who may use it, its logs, how it fares.

Source: databricks-sdk, ``service/serving.py``; labels of the metrics and texts of logs are unverified.
"""

from __future__ import annotations

from typing import Any

from emulator.core.call import Deployment
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, dump_json
from emulator.core.seed import draw_hex
from emulator.core.vendor import Service
from emulator.core.wire import WireRequest, WireResponse
from emulator.dialects.prometheus import CONTENT_TYPE, write_histogram, write_value
from emulator.vendors.databricks.decoder import refuse
from emulator.vendors.databricks.errors import base_headers
from emulator.vendors.databricks.request import served_entities
from emulator.vendors.databricks.workspace.endpoints import KEY, find_endpoint

_LEVELS = (
    ("CAN_VIEW", "Can view the serving endpoint"),
    ("CAN_QUERY", "Can query the serving endpoint"),
    ("CAN_MANAGE", "Can manage the serving endpoint"),
)
_BROKEN = (ErrorKind.INTERNAL, ErrorKind.OVERLOADED, ErrorKind.NOT_READY, ErrorKind.TIMEOUT)  # answered with a 5xx
_BOUNDS = (5.0, 10.0, 50.0, 100.0, 500.0, 1000.0, 5000.0, 10_000.0, 60_000.0)  # milliseconds


def show_metrics(request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    """``GET /api/2.0/serving-endpoints/{name}/metrics``: the counts are those of all endpoints together."""
    name = find_endpoint(request, service).name
    labels = {"endpoint_name": name, "served_model_name": name}
    metrics = service.metrics
    broken = sum(metrics.total("failed", error=kind) for kind in _BROKEN)
    gauges = {
        "cpu_usage_percentage": 0.0,
        "mem_usage_percentage": 0.0,
        "provisioned_concurrent_requests_total": float(metrics.in_flight()),
        "request_count_total": metrics.total("requests"),
        "request_4xx_count_total": metrics.total("failed") - broken,
        "request_5xx_count_total": broken,
    }
    lines = [line for key, value in gauges.items() for line in write_value(key, "gauge", value, labels)]
    samples = [1000 * seconds for seconds in metrics.samples("duration")]
    lines += write_histogram("request_latency_ms", _BOUNDS, samples, labels)
    headers = (("Content-Type", CONTENT_TYPE), *base_headers(request, service.settings))
    return WireResponse(200, "".join(f"{line}\n" for line in lines).encode(), headers)


def show_openapi(request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    """``GET /api/2.0/serving-endpoints/{name}/openapi``, of an endpoint that is ready."""
    deployment = find_endpoint(request, service)
    if deployment.state != "ready":
        raise refuse(f"Endpoint {deployment.name} is not ready.", code="INVALID_PARAMETER_VALUE")
    paths = {
        f"/served-models/{name}/invocations": {
            "post": {
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {"200": {"description": "Successful operation"}},
            }
        }
        for name in served_entities(deployment, deployment.traits)
    }
    body = {"openapi": "3.1.0", "info": {"title": deployment.name, "version": "1"}, "paths": paths}
    return _answer(body, request, service)


def show_logs(request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    """``GET /api/2.0/serving-endpoints/{name}/served-models/{served}/logs`` and ``/build-logs``."""
    deployment = find_endpoint(request, service)
    served = request.params["served"]
    if served not in served_entities(deployment, deployment.traits):
        text = f"Served entity with name '{served}' does not exist."
        raise EmulatedError(ErrorKind.NOT_FOUND, text, details={"error_code": "RESOURCE_DOES_NOT_EXIST"})
    return _answer({"logs": ""}, request, service)


def show_optimization(request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    """``GET /api/2.0/serving-endpoints/get-model-optimization-info/{model}/{version}``.

    Source: docs.databricks.com, "Provisioned throughput Foundation Model APIs".
    """
    model = request.params["model"].lower()
    families = ("llama", "gte", "bge", "deepseek", "dbrx", "mixtral", "mistral", "mpt")
    family = next((name for name in families if name in model), None)
    body: dict[str, JSON] = {"optimizable": family is not None}
    if family is not None:
        body |= {"model_type": family, "throughput_chunk_size": 980}
    return _answer(body, request, service)


def show_permissions(request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    """``GET /api/2.0/permissions/serving-endpoints/{id}``."""
    name = _find_id(request, service)
    rights = [{"permission_level": "CAN_MANAGE", "inherited": False}]
    body = {
        "object_id": f"/serving-endpoints/{name}",
        "object_type": "serving-endpoint",
        "access_control_list": [{"user_name": "user@example.com", "all_permissions": rights}],
    }
    return _answer(body, request, service)


def show_permission_levels(request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    """``GET /api/2.0/permissions/serving-endpoints/{id}/permissionLevels``."""
    _find_id(request, service)
    levels = [{"permission_level": level, "description": text} for level, text in _LEVELS]
    return _answer({"permission_levels": levels}, request, service)


def _find_id(request: WireRequest, service: Service[Any, Any]) -> str:
    """The id of an endpoint; preconfigured ones have none."""
    wanted = request.params["id"]
    if not any(_has_id(deployment, wanted) for deployment in service.deployments.values()):
        raise refuse(f"'{wanted}' is not a valid Inference Endpoint ID.", code="INVALID_PARAMETER_VALUE")
    return wanted


def _has_id(deployment: Deployment, wanted: str) -> bool:
    return deployment.mode != "pay_per_token" and draw_hex(KEY, "endpoint", deployment.name) == wanted


def _answer(body: JSON, request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    headers = (("Content-Type", "application/json"), *base_headers(request, service.settings))
    return WireResponse(200, dump_json(body), headers)
