"""The metrics page of an endpoint, in the Prometheus text format; its labels are unverified."""

from __future__ import annotations

from emulator.core.errors import ErrorKind
from emulator.core.wire import WireRequest, WireResponse
from emulator.dialects.prometheus import CONTENT_TYPE, write_histogram, write_value
from emulator.vendors.databricks.habits import DatabricksService
from emulator.vendors.databricks.headers import base_headers
from emulator.vendors.databricks.workspace.view import find_managed

_BROKEN = (ErrorKind.INTERNAL, ErrorKind.OVERLOADED, ErrorKind.NOT_READY, ErrorKind.TIMEOUT)  # answered with a 5xx
_BOUNDS = (5.0, 10.0, 50.0, 100.0, 500.0, 1000.0, 5000.0, 10_000.0, 60_000.0)  # milliseconds


def show_metrics(request: WireRequest, service: DatabricksService) -> WireResponse:
    """``GET /api/2.0/serving-endpoints/{name}/metrics``: the counts are those of all endpoints together."""
    name = find_managed(request.params["name"], request.documents, service).deployment.name
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
