"""Metrics page of an endpoint in the Prometheus text format; its labels are unverified.

Source: docs.databricks.com, "Track and export serving endpoint health metrics".
"""

from collections.abc import Iterator, Mapping, Sequence

from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, as_array, as_object
from emulator.encoding.prometheus import CONTENT_TYPE, encode_page, format_histogram, format_values
from emulator.vendors.databricks.headers import base_headers
from emulator.vendors.databricks.management.lookup import find_managed
from emulator.vendors.databricks.management.shapes import load_stored
from emulator.vendors.databricks.profile import DatabricksService

_BOUNDS = (5.0, 10.0, 50.0, 100.0, 500.0, 1000.0, 5000.0, 10_000.0, 60_000.0)  # milliseconds
_CONCURRENCY: Mapping[JSON, int] = {"Small": 4, "Medium": 16, "Large": 64}  # concurrent requests, by workload size


def show_metrics(request: Request, service: DatabricksService) -> Response:
    """``GET /api/2.0/serving-endpoints/{name}/metrics``: inference requests of each served entity."""
    found = find_managed(request, service)
    config = load_stored(found, service).config
    entities = [as_object(entity) for entity in as_array(config.get("served_entities", []))]
    lines = _format_families(found.deployment.name, entities, service) if entities else ()
    headers = (("Content-Type", CONTENT_TYPE), *base_headers(request, service.settings))
    return Response(200, encode_page(lines), headers)


def _format_families(name: str, entities: Sequence[Object], service: DatabricksService) -> Iterator[str]:
    """Yield each metric, with one series per served entity."""
    total, samples = service.metrics.total, service.metrics.samples
    served = [str(entity["name"]) for entity in entities]
    labels = [{"endpoint_name": name, "served_model_name": each} for each in served]
    for gauge, values in {
        "cpu_usage_percentage": [0.0 for _ in entities],
        "mem_usage_percentage": [0.0 for _ in entities],
        "provisioned_concurrent_requests_total": [_find_slots(entity) for entity in entities],
        "request_count_total": [total("requests", deployment=name, served=each) for each in served],
        "request_4xx_count_total": [total("4xx", deployment=name, served=each) for each in served],
        "request_5xx_count_total": [total("5xx", deployment=name, served=each) for each in served],
    }.items():
        yield from format_values("gauge", gauge, zip(labels, values, strict=True))
    durations = [[1000 * s for s in samples("duration", deployment=name, served=each)] for each in served]
    yield from format_histogram("request_latency_ms", _BOUNDS, zip(labels, durations, strict=True))


def _find_slots(entity: Object) -> float:
    max_concurrency = entity.get("max_provisioned_concurrency")
    return max_concurrency if isinstance(max_concurrency, int) else _CONCURRENCY.get(entity.get("workload_size"), 0)
