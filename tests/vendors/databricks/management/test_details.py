"""Test OpenAPI documents, logs and model optimization of endpoints."""

import pytest

from emulator.core.requests import Deployment
from tests.vendors.databricks.harness import LLAMA, Exchange, send

OWN = Deployment(vendor="databricks", name="mine", mode="provisioned")
STOPPED = Deployment(vendor="databricks", name="still", mode="custom", state="stopped")


def look(path: str) -> Exchange:
    return send(f"/api/2.0/{path}", deployments=(OWN, STOPPED))


@pytest.mark.covers(
    "databricks/management routes",
    "export_metrics",
    "get_open_api",
    "build_logs",
    "logs",
    "get-model-optimization-info",
)
def test_endpoint_details() -> None:
    metrics = look("serving-endpoints/mine/metrics")
    assert metrics.headers["Content-Type"].startswith("text/plain")
    assert b'request_count_total{endpoint_name="mine",served_model_name="mine"} 0' in metrics.text
    assert b"# TYPE request_latency_ms histogram" in metrics.text
    openapi = look("serving-endpoints/mine/openapi").body
    assert list(openapi["paths"]) == ["/served-models/mine/invocations"]
    for kind in ("logs", "build-logs"):
        assert (
            look(f"serving-endpoints/mine/served-models/mine/{kind}").body["logs"].startswith("[2026-01-01 00:00:00] ")
        )
    llama = look("serving-endpoints/get-model-optimization-info/system.ai.meta_llama_v3_1_8b_instruct/2").body
    assert llama == {"optimizable": True, "model_type": "llama", "throughput_chunk_size": 980}
    assert look("serving-endpoints/get-model-optimization-info/gpt-oss/1").body == {"optimizable": False}


@pytest.mark.covers("databricks/management routes", "get_permissions", "get_permission_levels")
def test_permissions_are_addressed_by_id() -> None:
    name = look("serving-endpoints/mine").body["id"]
    shown = look(f"permissions/serving-endpoints/{name}").body
    assert (shown["object_id"], shown["object_type"]) == (f"/serving-endpoints/{name}", "serving-endpoint")
    levels = look(f"permissions/serving-endpoints/{name}/permissionLevels").body["permission_levels"]
    assert [level["permission_level"] for level in levels] == ["CAN_VIEW", "CAN_QUERY", "CAN_MANAGE"]


@pytest.mark.covers("databricks/lifecycle", "OpenAPI of what is ready")
@pytest.mark.covers("databricks/lifecycle", "permissions of a preconfigured endpoint", case="a preconfigured endpoint")
@pytest.mark.covers("databricks/traps", "23 no id", case="a preconfigured endpoint")
@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        pytest.param("serving-endpoints/nope/metrics", 404, "RESOURCE_DOES_NOT_EXIST", id="metrics of nothing"),
        pytest.param(
            "serving-endpoints/mine/served-models/x/logs", 404, "RESOURCE_DOES_NOT_EXIST", id="logs of nothing"
        ),
        pytest.param("serving-endpoints/still/openapi", 400, "INVALID_PARAMETER_VALUE", id="OpenAPI of what is down"),
        pytest.param(
            f"permissions/serving-endpoints/{LLAMA}", 400, "INVALID_PARAMETER_VALUE", id="a preconfigured endpoint"
        ),
    ],
)
def test_invalid_details_requests_are_refused(path: str, status: int, code: str) -> None:
    answer = look(path)
    assert (answer.status, answer.body["error_code"]) == (status, code)
