"""Model lists of an Azure resource, which OpenAI's clients request: ``/openai/v1/models`` and ``/openai/models``.

Sources: openai-python, ``types/model.py`` (``/openai/v1/models``); learn.microsoft.com, "Azure OpenAI Models - List"
(``/openai/models``).
"""

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object
from emulator.core.requests import Deployment
from emulator.vendors.azure.headers import answer_json
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import look_up, validate_place
from emulator.vendors.azure.url_kind import UrlKind

_CREATED = 1715367049  # Unix seconds; no source has the release dates


def list_models(request: Request, service: AzureService) -> Response:
    """``GET /openai/v1/models`` and ``GET /openai/models``."""
    url, _ = validate_place(request, service)
    models = [_build_model(found, url, service) for found in service.deployments.values() if found.state != "retired"]
    return answer_json({"data": models, "object": "list"}, request, service)


def retrieve_model(request: Request, service: AzureService) -> Response:
    """``GET /openai/v1/models/{model}`` and ``GET /openai/models/{model}``."""
    url, _ = validate_place(request, service)
    name = request.params["model"]
    found = look_up(service, name)
    if found is None or found.state == "retired":
        text = f"The model '{name}' does not exist"
        raise EmulatedError(
            ErrorKind.INVALID_REQUEST, text, param="model", status=404, details={"openai_code": "model_not_found"}
        )
    return answer_json(_build_model(found, url, service), request, service)


def _build_model(deployment: Deployment, url: UrlKind, service: AzureService) -> Object:
    traits = service.profiles[deployment.name][service.settings.profile].traits
    capabilities: JSON = {
        "fine_tune": False,
        "inference": True,
        "completion": deployment.task == "completions",
        "chat_completion": deployment.task == "chat",
        "embeddings": deployment.task == "embeddings",
    }
    if url.kind == "v1":
        owner = str(traits.get("provider", ""))
        return {"id": deployment.name, "object": "model", "created": _CREATED, "owned_by": owner}
    return {
        "capabilities": capabilities,
        "lifecycle_status": "generally-available",
        "deprecation": {},
        "id": deployment.name,
        "status": "succeeded",
        "created_at": _CREATED,
        "object": "model",
    }
