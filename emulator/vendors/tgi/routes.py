"""Vendor definition of Hugging Face text-generation-inference: routes, credentials and admission.

Source: text-generation-inference, ``router/src/server.rs``, release 3.3.7; release 0.9.4 at its tag.
"""

from collections.abc import Callable, Mapping

from emulator.core.calls import InferenceCall, Parsed
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.redaction.credentials import matches_folded
from emulator.core.vendor import Endpoint, Vendor, no_profile
from emulator.protocols import tgi
from emulator.protocols.auth import bearer_token
from emulator.protocols.openai import messages
from emulator.protocols.tgi import find_served_deployment
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.chat.fields import CHAT_REQUEST, ChatBody
from emulator.vendors.tgi.chat.parse import build_request, parse_chat, parse_chat_body
from emulator.vendors.tgi.completions import (
    COMPLETION_REQUEST,
    CompletionBody,
    parse_completions,
    parse_completions_body,
)
from emulator.vendors.tgi.errors import MAX_BODY, PAYLOAD_LIMIT, precedes_admission, render_error, render_late_error
from emulator.vendors.tgi.generate.fields import COMPAT, GenerateRequest
from emulator.vendors.tgi.generate.parse import parse_compat, parse_generate, parse_generate_stream, parse_root
from emulator.vendors.tgi.info import handle_health, handle_info, handle_models, list_deployments
from emulator.vendors.tgi.metrics import handle_metrics
from emulator.vendors.tgi.openapi import handle_docs, handle_document, redirect_to_docs
from emulator.vendors.tgi.settings import TgiService, TgiSettings
from emulator.vendors.tgi.tokenize import handle_chat_tokenize, handle_tokenize
from emulator.vendors.tgi.vertex import parse_vertex

Parse = Callable[[Request, TgiService], Parsed]
_ANY_REQUEST: serde.Type[GenerateRequest | ChatBody | CompletionBody] = serde.untagged(
    "SagemakerRequest", COMPAT, CHAT_REQUEST, COMPLETION_REQUEST
)


def admit(request: Request, service: TgiService) -> str:
    """Return the principal if the server has capacity.

    Errors of the body, ``best_of``, tools and template come before a place is taken, all others after it. Each prompt,
    instance and choice takes a place.

    Source: text-generation-inference, ``router/src/infer/mod.rs:112-141`` (generate_stream) and
    ``router/src/infer/mod.rs:319-332`` (generate_best_of).

    Raises:
        EmulatedError: the credential is unknown, the body is too long, or ``max_concurrent_requests`` are running.
    """
    principal = authenticate(request, service)
    if request.method != "POST" or request.path not in _GUARDED:
        return principal
    validate_size(request, service)
    settings = service.settings
    free = settings.max_concurrent_requests - tgi.count_answers(service)
    is_batch = request.path == "/vertex"
    if (free < max(1, settings.max_best_of, settings.max_client_batch_size) or is_batch) and request.path in _INFERENCE:
        _take_places(request, service, free)
    return principal


def _take_places(request: Request, service: TgiService, free: int) -> None:
    """Raise if the request needs more places than are free."""
    places = 1
    try:
        parsed = _POSTS[request.path](request, service)
        places = parsed.choices if isinstance(parsed, InferenceCall) else 0
    except EmulatedError as error:
        if precedes_admission(error) or not free:
            error.clear_traceback()
            if precedes_admission(error) or "texts" in error.details:
                raise
    if places > free:
        capacity = service.settings.max_concurrent_requests
        raise EmulatedError(ErrorKind.OVERLOADED, details={"capacity": capacity, "queue": 0})


def validate_size(request: Request, service: TgiService) -> None:
    """Raise if the body is too long: 3.3.7 takes 2 MB, 0.9.4 the 2 MiB of its framework."""
    limit = MAX_BODY if service.settings.old else PAYLOAD_LIMIT
    if len(request.body) > limit:
        raise EmulatedError(ErrorKind.PAYLOAD_TOO_LARGE, details={"limit": limit})


def authenticate(request: Request, service: TgiService) -> str:
    """Return the principal; with configured keys, ``Authorization`` must be ``Bearer`` and one of them.

    The comparison ignores case. 0.9.4 refuses no key. Preflights need none, and ``/`` has other methods without.
    """
    is_open = request.path not in _GUARDED or request.method == "OPTIONS"
    if service.keys is None or is_open or (request.path == "/" and request.method != "POST"):
        return "default"
    if service.settings.old:
        return service.principal(bearer_token(request)) or "default"
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        for key, principal in service.keys.items():
            if matches_folded(key, token):
                return principal
    raise EmulatedError(ErrorKind.UNAUTHENTICATED)


def render(error: EmulatedError, request: Request, service: TgiService) -> Response:
    """Render an error; a body that is too long is refused only where it would be read.

    Source: axum 0.7.9: path and method, then keys, then the content type come before the body.
    """
    if error.kind is ErrorKind.PAYLOAD_TOO_LARGE and error.status is None:
        error = _find_earlier(request, service) or error
    return render_error(error, request, service, measure_prompts)


def measure_prompts(request: Request, service: TgiService) -> int:
    """Return the number of characters of the prompts of a valid body, of a conversation those of the rendered one.

    Source: text-generation-inference, ``router/src/server.rs:522`` (generate_stream_internal).
    """
    try:
        body = serde.read(request, _ANY_REQUEST)
        if isinstance(body, ChatBody):
            deployment = find_served_deployment(tuple(service.deployments.values()), body.model or "")
            return len(build_request(body, deployment, service).text)
    except EmulatedError:
        return 0
    return len(body.inputs) if isinstance(body, GenerateRequest) else sum(map(len, body.prompt))


def _find_earlier(request: Request, service: TgiService) -> EmulatedError | None:
    methods = [endpoint.method for endpoint in VENDOR.endpoints if endpoint.path == request.path]
    try:
        authenticate(request, service)
        if not methods:
            return EmulatedError(ErrorKind.NOT_FOUND)
        if request.method not in methods:
            return EmulatedError(ErrorKind.METHOD_NOT_ALLOWED, details={"allow": ", ".join(methods)})
        serde.validate_type(request)
    except EmulatedError as error:
        return error
    return None


def parse_invocations(request: Request, service: TgiService) -> InferenceCall:
    """Parse ``POST /invocations`` of SageMaker in the first of three forms that fits; in 0.9.4 as ``POST /``.

    Source: text-generation-inference, ``router/src/sagemaker.rs``.
    """
    if service.settings.old:
        return parse_root(request, service)
    body = serde.read(request, _ANY_REQUEST)
    if isinstance(body, GenerateRequest):
        return parse_compat(service, body)
    if isinstance(body, ChatBody):
        return parse_chat_body(service, body)
    return parse_completions_body(service, body)


def _since_1(parse: Parse) -> Parse:
    """Wrap the parser of a route that 0.9.4 does not have."""

    def parse_new(request: Request, service: TgiService) -> Parsed:
        if service.settings.old:
            raise EmulatedError(ErrorKind.NOT_FOUND, details={"path": request.path})
        return parse(request, service)

    return parse_new


def _tokenize_chat(request: Request, service: TgiService) -> Response:
    """Handle ``POST /chat_tokenize``, which needs no key: the size of its body is validated here."""
    validate_size(request, service)
    return handle_chat_tokenize(request, service)


def _get(path: str, parse: Parse) -> tuple[Endpoint[TgiSettings, None], ...]:
    """Return the endpoints of a GET route, which also answers HEAD."""
    return tuple(Endpoint(method=method, path=path, parse=parse, is_public=True) for method in ("GET", "HEAD"))


def announces_close(settings: TgiSettings) -> bool:
    """Return whether the release's framework says that it closes a connection as the client asked.

    Source: hyper 1.6.0, ``src/proto/h1/conn.rs:690-694`` (enforce_version); hyper 0.14.27 lacks these lines.
    """
    return not settings.old


_POSTS: Mapping[str, Parse] = {
    "/": parse_root,
    "/generate": parse_generate,
    "/generate_stream": parse_generate_stream,
    "/v1/chat/completions": _since_1(parse_chat),
    "/v1/completions": _since_1(parse_completions),
    "/vertex": _since_1(parse_vertex),
    "/invocations": parse_invocations,
    "/tokenize": _since_1(handle_tokenize),
}
_GUARDED = frozenset(_POSTS)  # paths that want a key
_INFERENCE = _GUARDED - {"/tokenize"}

VENDOR = Vendor(
    name="tgi",
    title="Hugging Face text-generation-inference",
    chat_path="/v1/chat/completions",
    chat_model="tgi",
    endpoints=(
        *(Endpoint(method="POST", path=path, parse=parse) for path, parse in _POSTS.items()),
        Endpoint(method="POST", path="/chat_tokenize", parse=_since_1(_tokenize_chat), is_public=True),
        *_get("/", handle_health),
        *_get("/health", handle_health),
        *_get("/ping", handle_health),
        *_get("/info", handle_info),
        *_get("/v1/models", _since_1(handle_models)),
        *_get("/metrics", handle_metrics),
        *_get("/docs", redirect_to_docs),
        *_get("/docs/", handle_docs),
        *_get("/api-doc/openapi.json", handle_document),
    ),
    settings=TgiSettings,
    catalogue=list_deployments,
    profile_deployment=no_profile,
    authenticate=admit,
    render_error=render,
    render_late_error=render_late_error,
    fields=messages.FIELDS | tgi.FIELDS,
    body_limit=MAX_BODY,
    literal_paths=True,
    announces_close=announces_close,
    phrases={413: "Payload Too Large"},
    relevant_headers=("Content-Type",),
)
