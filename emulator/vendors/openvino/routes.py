"""Route table and vendor definition of OpenVINO Model Server.

Source: model_server, src/http_rest_api_handler.cpp.
"""

from collections.abc import Callable, Mapping

from emulator.core.calls import InferenceCall
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.vendor import Endpoint, MethodLimit, Vendor
from emulator.protocols.auth import bearer_token
from emulator.protocols.openai import messages
from emulator.vendors.openvino import info
from emulator.vendors.openvino.chat.parse import parse_chat, recall_chat
from emulator.vendors.openvino.completions import parse_completions
from emulator.vendors.openvino.embeddings import parse_embeddings
from emulator.vendors.openvino.errors import (
    MISSING_MODEL,
    add_call_details,
    escapes,
    path_refusal,
    refusal,
    render_error,
    render_late_error,
)
from emulator.vendors.openvino.media.images import parse_images
from emulator.vendors.openvino.media.speech import parse_speech
from emulator.vendors.openvino.media.transcription import parse_listening
from emulator.vendors.openvino.metrics import handle_metrics
from emulator.vendors.openvino.profile import REFUSED, DeploymentProfile, OpenVinoService, profile_deployment
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.request import ParsedRequest, is_generative, parse_request
from emulator.vendors.openvino.rerank import parse_rerank
from emulator.vendors.openvino.responses.parse import parse_responses
from emulator.vendors.openvino.settings import OpenVinoSettings
from emulator.vendors.openvino.tensors.kserve import parse_infer
from emulator.vendors.openvino.tensors.predict import parse_predict
from emulator.vendors.openvino.tensors.tensor import validate_tensors
from emulator.vendors.openvino.tokenize import handle_tokenize, is_tokenize_request

Parse = Callable[[Request, OpenVinoService], InferenceCall | Response]
_TEXT_PARSERS: Mapping[str, Callable[[ParsedRequest], InferenceCall]] = {
    "chat/completions": parse_chat,
    "completions": parse_completions,
    "responses": parse_responses,
}
_TEXT_PATHS = {prefix + name: (prefix, name) for prefix in ("/v3/v1/", "/v3/", "/v1/") for name in _TEXT_PARSERS}


def parse_generative(request: Request, service: OpenVinoService) -> InferenceCall | Response:
    """Parse ``POST /v3/<anything>`` by the kind of the graph named by ``model``."""
    if call := recall_chat(request, service):
        return call
    parsed = parse_request(request, service)
    try:
        return _PARSERS.get(parsed.profile.kind, _parse_text)(parsed)
    except EmulatedError as error:
        method = f"{parsed.method} {REFUSED}"
        raise add_call_details(error, parsed.deployment, method, parsed.profile.node) from None


def _parse_text(parsed: ParsedRequest) -> InferenceCall | Response:
    """Parse a request to a text graph by its exact path."""
    name = _find_endpoint(parsed.request.path, parsed.release)
    if name:
        return _TEXT_PARSERS[name](parsed)
    if is_tokenize_request(parsed):
        return handle_tokenize(parsed)
    raise refusal(_format_endpoints(parsed.release))


def _find_endpoint(path: str, release: Release) -> str:
    """Return the name of the endpoint; empty for a path the graph does not have."""
    prefix, name = _TEXT_PATHS.get(path, ("", ""))
    if prefix != "/v3/" and not (release.v3_v1_alias if prefix == "/v3/v1/" else release.v1_alias):
        return ""
    return name if name != "responses" or release.responses_endpoint else ""


def _format_endpoints(release: Release) -> str:
    root = "/v[13]/" if release.v1_alias else "/v3/"
    names = ["chat/completions", "completions"]
    if release.responses_endpoint:
        names.append("responses")
    if release.since(2026, 2):
        names.append("tokenize")
    return f"Wrong endpoint. Allowed endpoints: {', '.join(root + name for name in names)}"


_PARSERS: Mapping[str, Callable[[ParsedRequest], InferenceCall | Response]] = {
    "rerank": parse_rerank,
    "embeddings": parse_embeddings,
    "image": parse_images,
    "stt": parse_listening,
    "tts": parse_speech,
}


def handle_options(request: Request, service: OpenVinoService) -> Response:
    """Handle ``OPTIONS``: an empty response with the CORS headers; raise before 2025.3."""
    if not service.settings.release.cors:
        raise path_refusal(request)
    return Response(200, b"", service.settings.json_headers)


def handle_v1_models(request: Request, service: OpenVinoService) -> Response:
    """Handle ``GET /v1/models``: list the servables since 2026.3; raise before."""
    if service.settings.release.since(2026, 3):
        return info.list_models(request, service)
    raise EmulatedError(ErrorKind.NOT_FOUND, message=MISSING_MODEL)


def handle_v1_model(request: Request, service: OpenVinoService) -> Response:
    """Handle ``GET /v1/models/{name}``: a servable's status, or its list entry since 2026.3."""
    if service.settings.release.since(2026, 3):
        return info.handle_listed(request, service)
    return info.handle_status(request, service)


def post_v1(request: Request, service: OpenVinoService) -> InferenceCall | Response:
    """Parse ``POST /v1/…``: TensorFlow Serving predictions, or generation since 2026.3."""
    release = service.settings.release
    if request.path == "/v1/config":
        raise path_refusal(request)
    if release.tf_serving and request.path.endswith(":predict"):
        return parse_predict(request, service)
    return parse_generative(request, service)


def authenticate(request: Request, service: OpenVinoService) -> str:
    """Return the principal; with keys in the scenario, releases since 2025.4 require a bearer token.

    Raises:
        EmulatedError: ``UNAUTHENTICATED``, which has status 500; on generative routes only.
    """
    if service.keys is None:
        return service.principal(bearer_token(request)) or "default"
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    principal = service.principal(token) if scheme == "Bearer" else None
    if principal is None and _is_guarded(request, service.settings.release):
        raise EmulatedError(ErrorKind.UNAUTHENTICATED)
    return principal or "default"


def _is_guarded(request: Request, release: Release) -> bool:
    """Return whether the route requires a key: generative routes do, once the path is valid."""
    if not release.api_keys or request.method != "POST" or not is_generative(request.path, release):
        return False
    return request.path not in ("/v1/config", "/v1/config/reload") and not escapes(request.path)


def _guard(parse: Parse) -> Parse:
    """Wrap a parser to refuse paths that lead out of their directory."""

    def parse_guarded(request: Request, service: OpenVinoService) -> InferenceCall | Response:
        if escapes(request.path):
            raise path_refusal(request)
        return parse(request, service)

    return parse_guarded


def _list_endpoints() -> tuple[Endpoint[OpenVinoSettings, DeploymentProfile], ...]:
    rows: tuple[tuple[str, str, Parse], ...] = (
        ("GET", "/v2", info.handle_server),
        ("GET", "/v2/health/live", info.handle_live),
        ("GET", "/v2/health/ready", info.handle_ready),
        ("GET", "/v2/models/{name}", info.handle_model),
        ("GET", "/v2/models/{name}/", info.handle_model),
        ("GET", "/v2/models/{name}/versions/{version}", info.handle_model),
        ("GET", "/v2/models/{name}/versions/{version}/", info.handle_model),
        ("GET", "/v2/models/{name}/ready", info.handle_model_ready),
        ("GET", "/v2/models/{name}/versions/{version}/ready", info.handle_model_ready),
        ("POST", "/v2/models/{name}/infer", parse_infer),
        ("POST", "/v2/models/{name}/versions/{version}/infer", parse_infer),
        ("GET", "/v1/config", info.handle_config),
        ("POST", "/v1/config/reload", info.reload_config),
        ("GET", "/v1/models", handle_v1_models),
        ("GET", "/v1/models/{name}", handle_v1_model),
        ("GET", "/v1/models/{name}/{rest:path}", handle_v1_model),
        ("GET", "/v3/models", info.list_models),
        ("GET", "/v3/v1/models", info.list_models),
        ("GET", "/v3/v1/models/{id:path}", info.handle_listed),
        ("GET", "/v3/models/{id:path}", info.handle_listed),
        ("GET", "/metrics", handle_metrics),
        ("POST", "/v3/chat/completions", parse_generative),
        ("POST", "/v3/completions", parse_generative),
        ("POST", "/v3/embeddings", parse_generative),
        ("POST", "/v3/rerank", parse_generative),
        ("POST", "/v3/", parse_generative),
        ("POST", "/v3/{rest:path}", parse_generative),
        ("POST", "/v1/{rest:path}", post_v1),
        ("OPTIONS", "/", handle_options),
        ("OPTIONS", "/{rest:path}", handle_options),
    )
    guarded = [(method, path, _guard(parse)) for method, path, parse in rows]
    return tuple(Endpoint(method=method, path=path, parse=parse) for method, path, parse in guarded)


_METHODS = frozenset({"GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"})


def refuse_method(request: Request, service: OpenVinoService) -> Response:
    """Refuse a method that the HTTP library does not parse; releases before 2025.0 have another library.

    Source: drogon, ``lib/src/HttpRequestParser.cc`` (parseRequest) and ``lib/src/HttpRequestImpl.cc`` (setMethod).

    Raises:
        EmulatedError: the release is older; its refusal is unverified.
    """
    if not service.settings.release.since(2025, 0):
        raise EmulatedError(ErrorKind.METHOD_NOT_ALLOWED, details={"path": request.path, "allow": ""})
    return Response(405, b"", (("connection", "close"),), close=True)


VENDOR = Vendor(
    name="openvino",
    title="OpenVINO Model Server",
    chat_path="/v3/chat/completions",
    chat_model="llama3",
    endpoints=_list_endpoints(),
    settings=OpenVinoSettings,
    catalogue=info.list_deployments,
    authenticate=authenticate,
    has_lasting_credential=lambda request: True,
    render_error=render_error,
    profile_deployment=profile_deployment,
    check_traits=validate_tensors,
    fields=messages.FIELDS,
    body_limit=1024**3,
    date=False,
    lower_case=True,
    method_limit=MethodLimit(methods=_METHODS, parse=refuse_method),
    relevant_headers=("Content-Type", "Inference-Header-Content-Length"),
    render_late_error=render_late_error,
)
