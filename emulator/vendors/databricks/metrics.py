"""Metrics page of an endpoint in the Prometheus text format; its labels are unverified.

Source: docs.databricks.com, "Track and export serving endpoint health metrics".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from emulator.core.http import Request, Response
from emulator.core.json import JSON, as_array, as_object
from emulator.encoding.prometheus import CONTENT_TYPE, format_histogram, format_value
from emulator.vendors.databricks.headers import base_headers
from emulator.vendors.databricks.management.lookup import find_managed
from emulator.vendors.databricks.management.shapes import load_stored
from emulator.vendors.databricks.profile import DatabricksService

_BOUNDS = (5.0, 10.0, 50.0, 100.0, 500.0, 1000.0, 5000.0, 10_000.0, 60_000.0)  # milliseconds
_CONCURRENCY: Mapping[JSON, int] = {"Small": 4, "Medium": 16, "Large": 64}  # concurrent requests, by workload size
_GAUGES = (
    "cpu_usage_percentage", "mem_usage_percentage", "provisioned_concurrent_requests_total", "request_count_total",
    "request_4xx_count_total", "request_5xx_count_total",
)  # fmt: skip


def show_metrics(request: Request, service: DatabricksService) -> Response:
    """``GET /api/2.0/serving-endpoints/{name}/metrics``: inference requests of each served entity."""
    found = find_managed(request, service)
    config = load_stored(found, service).config
    entities = [as_object(entity) for entity in as_array(config.get("served_entities", []))]
    lines = _format_lines(found.deployment.name, entities, service)
    headers = (("Content-Type", CONTENT_TYPE), *base_headers(request, service.settings))
    return Response(200, "".join(f"{line}\n" for line in lines).encode(), headers)


def _format_lines(name: str, entities: list[dict[str, JSON]], service: DatabricksService) -> Iterator[str]:
    """Yield the lines of each metric, with one series per served entity."""
    labels = [{"endpoint_name": name, "served_model_name": str(entity["name"])} for entity in entities]
    values = [_count(name, entity, service) for entity in entities]
    for gauge in _GAUGES:
        for position, (label, value) in enumerate(zip(labels, values, strict=True)):
            lines = [*format_value(gauge, "gauge", value[gauge], label)]
            yield from lines[-1:] if position else lines
    for position, label in enumerate(labels):
        durations = service.metrics.samples("duration", deployment=name, served=label["served_model_name"])
        lines = [*format_histogram("request_latency_ms", _BOUNDS, [1000 * seconds for seconds in durations], label)]
        yield from [line for line in lines if not (position and line.startswith("#"))]


def _count(name: str, entity: Mapping[str, JSON], service: DatabricksService) -> Mapping[str, float]:
    labels = {"deployment": name, "served": str(entity["name"])}
    max_concurrency = entity.get("max_provisioned_concurrency")
    slots = max_concurrency if isinstance(max_concurrency, int) else _CONCURRENCY.get(entity.get("workload_size"), 0)
    total = service.metrics.total
    counts = (total("requests", **labels), total("4xx", **labels), total("5xx", **labels))
    return dict(zip(_GAUGES, (0.0, 0.0, float(slots), *counts), strict=True))
