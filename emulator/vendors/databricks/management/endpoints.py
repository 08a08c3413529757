"""Routes that list serving endpoints and foundation models, and show one endpoint.

Sources: databricks-sdk (``service/serving.py``) and a public capture of a real listing of endpoints.
"""

from __future__ import annotations

from emulator.core.http import Request, Response
from emulator.core.json import JSON
from emulator.vendors.databricks.headers import answer_json
from emulator.vendors.databricks.management.lookup import find_managed, list_visible
from emulator.vendors.databricks.management.shapes import build_endpoint
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
