"""Routes of the AI gateway, which serves endpoints under other paths and under Unity Catalog names.

Sources: databricks-openai (``use_ai_gateway``, ``use_ai_gateway_native_api``), litellm and public notes; the
refusals' texts and the discovery of models are unverified.
"""

from collections.abc import Callable
from functools import partial

from emulator.core.calls import InferenceCall
from emulator.core.http import Request, Response
from emulator.core.json import JSON
from emulator.vendors.databricks.chat.parse import parse_chat_request, recall_chat
from emulator.vendors.databricks.decoder import error_parameter
from emulator.vendors.databricks.embeddings import parse_embedding_request
from emulator.vendors.databricks.families import Family
from emulator.vendors.databricks.headers import answer_json
from emulator.vendors.databricks.management.lookup import list_visible
from emulator.vendors.databricks.profile import DatabricksService, DeploymentProfile
from emulator.vendors.databricks.request import ParsedRequest, build_request, find_ready, parse_body, parse_model
from emulator.vendors.databricks.responses.parse import parse_response_request

Read = Callable[[ParsedRequest], InferenceCall]


def parse_gateway(
    request: Request, service: DatabricksService, *, read: Read, family: Family | None = None
) -> InferenceCall:
    """Parse a request to an endpoint, named as such or as a model of Unity Catalog.

    Args:
        family: the only family with an API that the path accepts.

    Raises:
        EmulatedError: the gateway or the endpoint rejects the request.
    """
    if call := recall_chat(request, service):
        return call
    body = parse_body(request, service.settings.payload_limit_bytes)
    name = parse_model(body)
    parsed = build_request(request, service, body, find_ready(_find_name(name, request, service), request, service))
    if family is not None and parsed.family != family:
        raise error_parameter(f"The API of {request.path} is not supported for model {name}", "model")
    return read(parsed)


def _find_name(name: str, request: Request, service: DatabricksService) -> str:
    """Return the endpoint of a model such as ``system.ai.gpt-oss-120b``, by its entity's or its own name."""
    if "." not in name or name in service.deployments or name in request.documents:
        return name
    endpoint = f"databricks-{name.removeprefix('system.ai.')}"
    if name.startswith("system.ai.") and endpoint in service.deployments:
        return endpoint
    return next(
        (endpoint for endpoint, profile in service.profiles.items() if profile.traits.get("entity") == name), name
    )


def find_native(request: Request, service: DatabricksService, family: Family) -> ParsedRequest:
    """Return a request in the API of one family's maker.

    Raises:
        EmulatedError: the endpoint is of another family, or as of :func:`parse_body` and :func:`find_ready`.
    """
    body = parse_body(request, service.settings.payload_limit_bytes)
    name = request.params.get("name") or parse_model(body)
    parsed = build_request(request, service, body, find_ready(_find_name(name, request, service), request, service))
    if parsed.family != family or parsed.deployment.task != "chat":
        raise error_parameter(f"The API of {request.path} is not supported for model {name}", "model")
    return parsed


def parse_unknown(request: Request, service: DatabricksService) -> InferenceCall:
    """Raise the gateway's error of an unknown API."""
    raise error_parameter(f"The path {request.path} does not match any known API type")


# Path → parser of its body. The paths of single families accept the API of their own clients.
INFERENCE: tuple[tuple[str, Callable[[Request, DatabricksService], InferenceCall]], ...] = (
    ("/ai-gateway/mlflow/v1/chat/completions", partial(parse_gateway, read=parse_chat_request)),
    ("/ai-gateway/mlflow/v1/embeddings", partial(parse_gateway, read=parse_embedding_request)),
    ("/ai-gateway/mlflow/v1/responses", partial(parse_gateway, read=parse_response_request)),
    ("/ai-gateway/openai/v1/chat/completions", partial(parse_gateway, read=parse_chat_request, family="gpt")),
    ("/ai-gateway/openai/v1/responses", partial(parse_gateway, read=parse_response_request, family="gpt")),
    ("/ai-gateway/codex/v1/responses", partial(parse_gateway, read=parse_response_request, family="gpt")),
    ("/ai-gateway/codex/v1/chat/completions", parse_unknown),
    ("/ai-gateway/cursor/v1/chat/completions", partial(parse_gateway, read=parse_chat_request)),
)


def list_model_services(request: Request, service: DatabricksService) -> Response:
    """``GET /api/2.1/unity-catalog/model-services?parent=schemas/system.ai``."""
    parent = request.query.get("parent", "").removeprefix("schemas/")
    named = [(f.deployment.name, _name_model(f.profile)) for f in list_visible(request, service)]
    shapes: list[JSON] = [
        {"name": model.rpartition(".")[2], "full_name": model, "endpoint_name": endpoint}
        for endpoint, model in named
        if model.startswith(f"{parent}." if parent else "")
    ]
    return answer_json({"model_services": shapes, "next_page_token": ""}, request, service.settings)


def _name_model(profile: DeploymentProfile) -> str:
    """Return the Unity Catalog name of the model behind an endpoint."""
    return str(profile.traits.get("entity") or profile.deployment.name)
