"""Read-only routes of endpoints: lists, one endpoint, its OpenAPI document, logs, model optimization.

Sources: databricks-sdk (``service/serving.py``) and a public capture of a real listing of endpoints; texts of logs are
unverified.
"""

from collections.abc import Iterator

from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, as_array, as_object
from emulator.core.units import date_of
from emulator.vendors.databricks.decoder import error_parameter
from emulator.vendors.databricks.headers import answer_json
from emulator.vendors.databricks.management.config import THROUGHPUT_CHUNK, sized_family
from emulator.vendors.databricks.management.lookup import error_missing, find_managed, list_visible
from emulator.vendors.databricks.management.shapes import build_endpoint, load_stored
from emulator.vendors.databricks.management.stored_endpoint import StoredEndpoint
from emulator.vendors.databricks.models import PRECONFIGURED_AT
from emulator.vendors.databricks.profile import DatabricksService


def list_endpoints(request: Request, service: DatabricksService) -> Response:
    """``GET /api/2.0/serving-endpoints``."""
    visible = list_visible(request, service)
    shapes = [build_endpoint(found, request, service, full=False) for found in visible]
    return answer_json({"endpoints": shapes}, request, service.settings)


def get_endpoint(request: Request, service: DatabricksService) -> Response:
    """``GET /api/2.0/serving-endpoints/{name}``."""
    found = find_managed(request, service)
    return answer_json(build_endpoint(found, request, service, full=True), request, service.settings)


def list_foundation_models(request: Request, service: DatabricksService) -> Response:
    """``GET /api/2.0/serving-endpoints:foundation-models``: the preconfigured endpoints; the shape is unverified."""
    visible = [found for found in list_visible(request, service) if found.deployment.mode == "pay_per_token"]
    shapes = [build_endpoint(found, request, service, full=False) for found in visible]
    return answer_json({"endpoints": shapes}, request, service.settings)


def list_models(request: Request, service: DatabricksService) -> Response:
    """``GET /serving-endpoints/models``: undocumented, for OpenAI tools."""
    data: list[JSON] = [
        {"id": found.deployment.name, "object": "model", "created": PRECONFIGURED_AT, "owned_by": "databricks"}
        for found in list_visible(request, service)
    ]
    return answer_json({"object": "list", "data": data}, request, service.settings)


def show_openapi(request: Request, service: DatabricksService) -> Response:
    """``GET /api/2.0/serving-endpoints/{name}/openapi``, for a ready endpoint."""
    found = find_managed(request, service)
    deployment = found.deployment
    if deployment.state != "ready":
        raise error_parameter(f"Endpoint {deployment.name} is not ready.", code="INVALID_PARAMETER_VALUE")
    paths: Object = {
        f"/served-models/{name}/invocations": {
            "post": {
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {"200": {"description": "Successful operation"}},
            }
        }
        for name in found.profile.entities
    }
    body: Object = {"openapi": "3.1.0", "info": {"title": deployment.name, "version": "1"}, "paths": paths}
    return answer_json(body, request, service.settings)


def show_logs(request: Request, service: DatabricksService) -> Response:
    """``GET /api/2.0/serving-endpoints/{name}/served-models/{served}/logs``."""
    stored = _find_stored(request, service)
    server = [
        "[INFO] Starting gunicorn 21.2.0",
        "[INFO] Listening at: http://0.0.0.0:8080 (1)",
        "[INFO] Application startup complete.",
    ]
    return answer_json({"logs": _format_log(stored.updated, server if stored.up else [])}, request, service.settings)


def show_build_logs(request: Request, service: DatabricksService) -> Response:
    """``GET /api/2.0/serving-endpoints/{name}/served-models/{served}/build-logs``."""
    stored = _find_stored(request, service)
    lines = [*_list_build_lines(stored, request.params["served"])]
    return answer_json({"logs": _format_log(stored.created, lines)}, request, service.settings)


def _list_build_lines(stored: StoredEndpoint, served: str) -> Iterator[str]:
    yield f"Building the environment of {served}"
    yield "Step 1/3: Collecting the model's dependencies"
    yield "Step 2/3: Installing packages"
    if stored.failed:
        yield "ERROR: The model could not be deployed."
    elif not stored.updating:
        yield "Step 3/3: Pushing the image"
        yield "The environment is ready."


def _find_stored(request: Request, service: DatabricksService) -> StoredEndpoint:
    """Return the endpoint of a served entity in its current or pending config."""
    stored = load_stored(find_managed(request, service), service)
    served = request.params["served"]
    configs = [stored.config, stored.pending.config if stored.pending else {}]
    entities = [as_object(entity) for config in configs for entity in as_array(config.get("served_entities", []))]
    if served not in [entity["name"] for entity in entities]:
        raise error_missing(f"Served entity with name '{served}' does not exist.")
    return stored


def _format_log(since: float, lines: list[str]) -> str:
    """Format one line a second."""
    times = (date_of(since + number).strftime("%Y-%m-%d %H:%M:%S") for number in range(len(lines)))
    return "".join(f"[{time}] {line}\n" for time, line in zip(times, lines, strict=True))


def show_optimization(request: Request, service: DatabricksService) -> Response:
    """``GET /api/2.0/serving-endpoints/get-model-optimization-info/{model}/{version}``.

    Source: docs.databricks.com, "Provisioned throughput Foundation Model APIs".
    """
    family = sized_family(request.params["model"])
    body: Object = {"optimizable": family is not None}
    if family is not None:
        body |= {"model_type": family, "throughput_chunk_size": THROUGHPUT_CHUNK}
    return answer_json(body, request, service.settings)
