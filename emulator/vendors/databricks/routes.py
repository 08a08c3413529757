"""Route table and vendor definition of Databricks.

Source: docs.databricks.com, "Query serving endpoints" and "Foundation model REST API reference"; databricks-sdk,
``service/serving.py``, for discovery and management.
"""

from collections.abc import Iterable

from emulator.core.calls import InferenceCall
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import FieldNames, Request
from emulator.core.vendor import Endpoint, Vendor
from emulator.vendors.databricks import gateway_routes
from emulator.vendors.databricks.chat.parse import parse_chat, parse_chat_request, recall_chat
from emulator.vendors.databricks.completions import parse_completion_request, parse_completions
from emulator.vendors.databricks.embeddings import parse_embedding_request, parse_embeddings
from emulator.vendors.databricks.errors import NO_ENDPOINT, render_error, render_late_error
from emulator.vendors.databricks.families import is_agent, is_custom
from emulator.vendors.databricks.management import auth, changes, discovery, endpoints, permissions, updates
from emulator.vendors.databricks.management.gateway_policy import Parse, apply_gateway_policy
from emulator.vendors.databricks.management.shapes import load_stored
from emulator.vendors.databricks.metrics import show_metrics
from emulator.vendors.databricks.models import list_deployments
from emulator.vendors.databricks.passthrough import anthropic, gemini
from emulator.vendors.databricks.predictions import parse_predictions
from emulator.vendors.databricks.profile import DatabricksService, DeploymentProfile, profile_deployment
from emulator.vendors.databricks.request import find_named, find_ready
from emulator.vendors.databricks.responses.parse import parse_response_request, parse_responses
from emulator.vendors.databricks.settings import DatabricksSettings

DatabricksEndpoint = Endpoint[DatabricksSettings, DeploymentProfile]

_READERS = {"chat": parse_chat_request, "completions": parse_completion_request, "embeddings": parse_embedding_request}


def parse_invocations(request: Request, service: DatabricksService) -> InferenceCall:
    """``POST /serving-endpoints/{name}/invocations``: the endpoint's task decides the body's format."""
    if call := recall_chat(request, service):
        return call
    parsed = find_named(request, service)
    deployment = parsed.deployment
    if is_custom(deployment):
        return parse_predictions(parsed)
    responds = parsed.profile.responds and "input" in parsed.body and parsed.get("messages") is None
    if responds or is_agent(deployment):
        return parse_response_request(parsed)
    reader = _READERS.get(deployment.task)
    if reader is None:
        raise EmulatedError(ErrorKind.NOT_FOUND)
    return reader(parsed)


def parse_direct(request: Request, service: DatabricksService) -> InferenceCall:
    """``POST /{workspace}/serving-endpoints/{name}/invocations``: the route-optimized address of custom models.

    Raises:
        EmulatedError: there is no such model, or as :func:`parse_invocations`.
    """
    found = find_ready(request.params["name"], request, service)
    if not is_custom(found.deployment):
        raise EmulatedError(ErrorKind.NOT_FOUND, NO_ENDPOINT)
    auth.validate_direct(request, load_stored(found, service).id)
    return parse_invocations(request, service)


def _list_routes(method: str, path: str, parse: Parse, *, open: bool = False) -> Iterable[DatabricksEndpoint]:
    """Return a route with and without a trailing slash."""
    return (Endpoint(method=method, path=p, parse=parse, is_public=open) for p in (path, path + "/"))


_INFERENCE: tuple[tuple[str, Parse], ...] = (
    ("/chat/completions", parse_chat),
    ("/completions", parse_completions),
    ("/embeddings", parse_embeddings),
    ("/responses", parse_responses),
    ("/{name}/invocations", parse_invocations),
    ("/{name}/served-models/{served}/invocations", parse_invocations),
)
_NATIVE: tuple[tuple[str, Parse], ...] = (
    ("/anthropic/v1/messages", apply_gateway_policy(anthropic.parse_messages)),
    ("/anthropic/v1/messages/count_tokens", anthropic.count_tokens),
    *((f"/gemini{path}", apply_gateway_policy(gemini.parse_generate)) for path in gemini.GENERATE_PATHS),
    *((f"/gemini{path}", apply_gateway_policy(gemini.parse_stream)) for path in gemini.STREAM_PATHS),
    *((f"/gemini{path}", gemini.count_tokens) for path in gemini.COUNT_PATHS),
)
_PUBLIC: tuple[tuple[str, str, Parse], ...] = (
    ("GET", "/.well-known/databricks-config", discovery.show_config),
    ("GET", "/oidc/.well-known/oauth-authorization-server", discovery.show_oidc),
    ("GET", "/oidc/.well-known/openid-configuration", discovery.show_oidc),
    ("GET", "/oidc/v1/authorize", auth.serve_authorize),
    ("POST", "/oidc/v1/token", auth.serve_token),
    ("GET", "/oidc/oauth2/v2.0/authorize", auth.show_tenant),
    ("GET", "/aad/auth", auth.show_tenant),
)
"""Routes without a credential."""
_API = "/api/2.0/serving-endpoints"
_NAMED = f"{_API}/{{name}}"
_SERVED = f"{_NAMED}/served-models/{{served}}"
_ACCESS = "/api/2.0/permissions/serving-endpoints/{id}"

_MANAGEMENT: tuple[tuple[str, str, Parse], ...] = (
    ("GET", "/api/2.0/preview/scim/v2/Me", discovery.show_me),
    ("GET", "/serving-endpoints/models", endpoints.list_models),
    ("GET", "/serving-endpoints/v1/models", endpoints.list_models),
    ("GET", "/api/ai-gateway/v2/endpoints", endpoints.list_foundation_models),
    ("GET", "/api/2.1/unity-catalog/model-services", gateway_routes.list_model_services),
    ("GET", _API, endpoints.list_endpoints),
    ("POST", _API, changes.create_endpoint),
    ("POST", f"{_API}/pt", changes.create_endpoint),
    ("PUT", f"{_API}/pt/{{name}}/config", changes.update_provisioned),
    ("GET", f"{_API}:foundation-models", endpoints.list_foundation_models),
    ("GET", f"{_API}/get-model-optimization-info/{{model}}/{{version}}", endpoints.show_optimization),
    ("GET", _NAMED, endpoints.get_endpoint),
    ("DELETE", _NAMED, changes.delete_endpoint),
    ("PUT", f"{_NAMED}/config", changes.update_config),
    ("POST", f"{_NAMED}/config:stop", changes.stop_endpoint),
    ("POST", f"{_NAMED}/config:start", changes.start_endpoint),
    ("PUT", f"{_NAMED}/ai-gateway", updates.put_gateway),
    ("PUT", f"{_NAMED}/rate-limits", updates.put_rate_limits),
    ("PATCH", f"{_NAMED}/tags", updates.patch_tags),
    ("PATCH", f"{_NAMED}/notifications", updates.patch_notifications),
    ("PATCH", f"{_NAMED}/telemetry-config", updates.patch_telemetry),
    ("GET", f"{_NAMED}/metrics", show_metrics),
    ("GET", f"{_NAMED}/openapi", endpoints.show_openapi),
    ("GET", f"{_SERVED}/build-logs", endpoints.show_build_logs),
    ("GET", f"{_SERVED}/logs", endpoints.show_logs),
    ("GET", _ACCESS, permissions.show_permissions),
    ("PUT", _ACCESS, permissions.set_permissions),
    ("PATCH", _ACCESS, permissions.update_permissions),
    ("GET", f"{_ACCESS}/permissionLevels", permissions.show_permission_levels),
)


def _list_endpoints() -> Iterable[DatabricksEndpoint]:
    for path, parse in _INFERENCE:
        governed = apply_gateway_policy(parse)
        yield from _list_routes("POST", f"/serving-endpoints{path}", governed)
        if "{" not in path:
            yield from _list_routes("POST", f"/serving-endpoints/v1{path}", governed)
    for path, parse in gateway_routes.INFERENCE:
        yield from _list_routes("POST", path, apply_gateway_policy(parse))
    for prefix in ("/serving-endpoints", "/ai-gateway"):
        for path, parse in _NATIVE:
            yield from _list_routes("POST", f"{prefix}{path}", parse)
        yield from _list_routes("GET", f"{prefix}/anthropic/v1/models", anthropic.list_models)
        yield from _list_routes("GET", f"{prefix}/anthropic/v1/models/{{name}}", anthropic.retrieve_model)
    yield from _list_routes(
        "POST", "/{workspace}/serving-endpoints/{name}/invocations", apply_gateway_policy(parse_direct)
    )
    for method, path, parse in _PUBLIC:
        yield from _list_routes(method, path, parse, open=True)
    for method, path, parse in _MANAGEMENT:
        yield from _list_routes(method, path, parse)


_ANSWER_FIELDS = FieldNames(
    text=frozenset({"content", "refusal", "text", "arguments", "thinking", "partial_json"}),
    usage=(("usage",), ("usageMetadata",)),
    finish=(("finish_reason",), ("stop_reason",), ("finishReason",)),
    id=(("id",), ("response", "id"), ("message", "id"), ("responseId",)),
    generated=("completion_tokens", "output_tokens", "candidatesTokenCount"),
    counts=("total_tokens", "prompt_tokens", "input_tokens", "totalTokenCount", "promptTokenCount"),
)
VENDOR = Vendor(
    name="databricks",
    title="Databricks Foundation Model APIs",
    chat_path="/serving-endpoints/chat/completions",
    chat_model="databricks-meta-llama-3-3-70b-instruct",
    endpoints=tuple(_list_endpoints()),
    settings=DatabricksSettings,
    catalogue=list_deployments,
    authenticate=auth.authenticate,
    has_lasting_credential=auth.is_lasting,
    render_error=render_error,
    render_late_error=render_late_error,
    profile_deployment=profile_deployment,
    fields=_ANSWER_FIELDS,
    relevant_headers=("Authorization",),  # of clients that request a token
    is_stateful=True,
)
