"""The AI gateway: the same endpoints under other paths, and under the names of Unity Catalog.

Sources: databricks-openai (``use_ai_gateway``, ``use_ai_gateway_native_api``), litellm and public notes; the
refusals' texts and what discovery shows of each model are unverified.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from emulator.core.call import Deployment
from emulator.core.json import JSON, dump_json
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest, WireResponse
from emulator.vendors.databricks.catalogue import Family, trait
from emulator.vendors.databricks.chat.parse import read_chat
from emulator.vendors.databricks.decoder import refuse
from emulator.vendors.databricks.embeddings import read_embeddings
from emulator.vendors.databricks.errors import base_headers
from emulator.vendors.databricks.request import Query, find_deployment, make_query, read_body, read_model
from emulator.vendors.databricks.responses.parse import read_responses

Read = Callable[[Query], Call]


def parse_gateway(
    request: WireRequest, service: Service[Any, Any], *, read: Read, family: Family | None = None
) -> Call:
    """A request to an endpoint, named as such or as a model of Unity Catalog.

    Args:
        family: the only one whose own API the path speaks.

    Raises:
        EmulatedError: what the gateway or the endpoint refuses.
    """
    body = read_body(request, service.settings.payload_limit_bytes)
    name = read_model(body)
    query = make_query(request, service, body, find_deployment(_find_name(name, service), service))
    if family is not None and query.family != family:
        raise refuse(f"The API of {request.path} is not supported for model {name}", "model")
    return read(query)


def _find_name(name: str, service: Service[Any, Any]) -> str:
    """The endpoint that serves a model such as ``system.ai.gpt-oss-120b``."""
    if "." not in name or name in service.deployments:
        return name
    return next((d.name for d in service.deployments.values() if trait(d, "entity") == name), name)


def refuse_path(request: WireRequest, service: Service[Any, Any]) -> Call:
    """What the gateway says of an API it does not know."""
    raise refuse(f"The path {request.path} does not match any known API type")


# Path → how its body is read. The paths of single families speak the API of their own clients.
INFERENCE: tuple[tuple[str, Callable[[WireRequest, Service[Any, Any]], Call]], ...] = (
    ("/ai-gateway/mlflow/v1/chat/completions", partial(parse_gateway, read=read_chat)),
    ("/ai-gateway/mlflow/v1/embeddings", partial(parse_gateway, read=read_embeddings)),
    ("/ai-gateway/mlflow/v1/responses", partial(parse_gateway, read=read_responses)),
    ("/ai-gateway/openai/v1/chat/completions", partial(parse_gateway, read=read_chat, family="gpt")),
    ("/ai-gateway/openai/v1/responses", partial(parse_gateway, read=read_responses, family="gpt")),
    ("/ai-gateway/codex/v1/responses", partial(parse_gateway, read=read_responses, family="gpt")),
    ("/ai-gateway/codex/v1/chat/completions", refuse_path),
    ("/ai-gateway/cursor/v1/chat/completions", partial(parse_gateway, read=read_chat)),
)


def list_model_services(request: WireRequest, service: Service[Any, Any]) -> WireResponse:
    """``GET /api/2.1/unity-catalog/model-services?parent=schemas/system.ai``."""
    parent = request.query.get("parent", "").removeprefix("schemas/")
    found = [_shape_model(d) for d in service.deployments.values() if d.state != "retired"]
    shapes = [shape for shape in found if shape["full_name"].startswith(f"{parent}." if parent else "")]
    body = {"model_services": shapes, "next_page_token": ""}
    headers = (("Content-Type", "application/json"), *base_headers(request, service.settings))
    return WireResponse(200, dump_json(body), headers)


def _shape_model(deployment: Deployment) -> dict[str, JSON]:
    name = str(trait(deployment, "entity") or deployment.name)
    return {"name": name.rpartition(".")[2], "full_name": name, "endpoint_name": deployment.name}
