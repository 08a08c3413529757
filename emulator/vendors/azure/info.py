"""Routes that need no inference: ``/info``, health, the API description."""

import json

from emulator.core.http import Request, Response
from emulator.core.json import JSON, dump_json
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.headers import JSON_TYPE, echo_request_id
from emulator.vendors.azure.models import build_info
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import find_any, validate_api_version, validate_ready
from emulator.vendors.azure.url_kind import INFERENCE_KINDS, classify_url


def parse_info(request: Request, service: AzureService) -> Response:
    """``GET /info``: the model of an endpoint; resources with many models have no such route."""
    url = classify_url(request)
    settings = url.settings(service.settings)
    if settings.profile in ("foundry", "aoai") or not url.has_route(request, INFERENCE_KINDS, ()):
        raise refusals.no_such_path(request.path)
    validate_api_version(request, url, settings)
    deployment = validate_ready(find_any(request, service))
    info = build_info(deployment, service.profiles[deployment.name][settings.profile].traits, settings)
    body = json.dumps(info, indent=4).encode() if settings.profile == "managed" else dump_json(info)
    return Response(200, body, (JSON_TYPE, *echo_request_id(request)))


def parse_health(request: Request, service: AzureService) -> Response:
    """``GET /`` and ``GET /health`` of a managed endpoint's container.

    Source: Azure/azureml-assets, foundation/model/serve/api_server.py; the body of ``/health`` is ``unverified``.
    """
    if _find_profile(request, service) != "managed":
        raise refusals.no_such_path(request.path)
    return Response(200, b'"healthy"', (JSON_TYPE,))


def parse_swagger(request: Request, service: AzureService) -> Response:
    """``GET /swagger.json``: the routes without their schemas."""
    if _find_profile(request, service) not in ("maas", "managed"):
        raise refusals.no_such_path(request.path)
    paths: JSON = {
        "/chat/completions": {"post": _describe("Creates a model response for the given chat conversation.")},
        "/completions": {"post": _describe("Creates a completion for the provided prompt and parameters.")},
        "/embeddings": {"post": _describe("Creates an embedding vector representing the input text.")},
        "/info": {"get": _describe("Returns information about the deployed model.")},
    }
    document: JSON = {"openapi": "3.0.1", "info": {"title": "Model Inference", "version": "1.0"}, "paths": paths}
    return Response(200, dump_json(document), (JSON_TYPE,))


def _find_profile(request: Request, service: AzureService) -> str:
    return classify_url(request).settings(service.settings).profile


def _describe(summary: str) -> JSON:
    return {"summary": summary, "responses": {"200": {"description": "OK"}}}
