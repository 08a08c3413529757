"""Routes of an Azure AI Foundry project: its deployments, and its connection to this resource.

Source: learn.microsoft.com, "Azure AI Foundry Project REST reference" (deployments, connections); azure-ai-projects.
"""

from emulator.core.http import Request, Response
from emulator.core.json import Object
from emulator.core.requests import Deployment
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.headers import answer_json
from emulator.vendors.azure.models import model_name
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import look_up

_CONNECTION = "azure-openai"
_KIND = "AzureOpenAI"
_CAPABILITIES = {"chat": "chat_completion", "embeddings": "embeddings", "images": "image_generation"}


def list_deployments(request: Request, service: AzureService) -> Response:
    """``GET /api/projects/{project}/deployments``; the query filters by publisher, model or kind."""
    query = request.query
    shapes = [_build_deployment(found, service) for found in service.deployments.values() if found.state != "retired"]
    for name, field in (("modelPublisher", "modelPublisher"), ("modelName", "modelName"), ("deploymentType", "type")):
        if name in query:
            shapes = [shape for shape in shapes if shape[field] == query[name]]
    return answer_json({"value": shapes}, request, service)


def get_deployment(request: Request, service: AzureService) -> Response:
    """``GET /api/projects/{project}/deployments/{name}``."""
    found = look_up(service, request.params["name"])
    if found is None:
        raise refusals.not_found(f"Deployment {request.params['name']} not found.")
    return answer_json(_build_deployment(found, service), request, service)


def _build_deployment(deployment: Deployment, service: AzureService) -> Object:
    traits = service.profiles[deployment.name][service.settings.profile].traits
    capability = _CAPABILITIES.get(deployment.task)
    return {
        "name": deployment.name,
        "type": "ModelDeployment",
        "modelName": model_name(deployment),
        "modelVersion": "1",
        "modelPublisher": traits.get("provider") or "",
        "capabilities": {capability: "true"} if capability else {},
        "sku": {"name": "GlobalStandard", "capacity": 100},
    }


def list_connections(request: Request, service: AzureService) -> Response:
    """``GET /api/projects/{project}/connections``; the query filters by kind."""
    wanted = request.query.get("connectionType")
    return answer_json({"value": [_build_connection(request)] if wanted in (None, _KIND) else []}, request, service)


def get_connection(request: Request, service: AzureService) -> Response:
    """``GET /api/projects/{project}/connections/{name}``: without credentials."""
    _validate_connection(request)
    return answer_json(_build_connection(request), request, service)


def open_connection(request: Request, service: AzureService) -> Response:
    """``POST …/connections/{name}/getConnectionWithCredentials``: the key is the client's own."""
    _validate_connection(request)
    headers = request.all_headers
    key = headers.get("api-key") or headers.get("Authorization", "").partition(" ")[2]
    return answer_json({**_build_connection(request), "credentials": {"type": "ApiKey", "key": key}}, request, service)


def _build_connection(request: Request) -> Object:
    project = request.params["project"]
    account = "/subscriptions/0/resourceGroups/emulator/providers/Microsoft.CognitiveServices/accounts/emulator"
    return {
        "name": _CONNECTION,
        "id": f"{account}/projects/{project}/connections/{_CONNECTION}",
        "type": _KIND,
        "target": f"{request.base_url}/",
        "isDefault": True,
        "credentials": {"type": "ApiKey"},
        "metadata": {"ApiType": "Azure"},
    }


def _validate_connection(request: Request) -> None:
    name = request.params["name"]
    if name != _CONNECTION:
        raise refusals.not_found(f"Connection {name} can't be found in this workspace")
