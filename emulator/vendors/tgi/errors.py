"""Render TGI's error responses: status, ``error_type`` and text of each kind of error.

Source: text-generation-inference, ``router/src/infer/mod.rs``, ``router/src/server.rs``; axum,
``src/extract/rejection.rs``. Error kinds the router does not have use its envelope under the common status;
their wording is unverified.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Headers, Request, Response
from emulator.core.json import JSON, Object, dump_json
from emulator.encoding.sse import DONE
from emulator.protocols.tgi import ERROR_TYPES
from emulator.vendors.tgi.headers import CORS, JSON_HEADERS, TEXT_HEADERS, stream_headers
from emulator.vendors.tgi.settings import TgiService, TgiSettings

Measure = Callable[[Request, TgiService], int]

VALIDATION = "Input validation error: "
PAYLOAD_LIMIT = 2_000_000
MAX_BODY = 2 * 1024**2
_CHAT_PATHS = ("/v1/chat/completions", "/v1/completions")
_STREAMING_PATHS = (*_CHAT_PATHS, "/", "/invocations")
_GONE = (
    424,
    "generation",
    "Request failed during generation: Server error: error trying to connect: Connection refused (os error 111)",
)
_METHODS = ("POST", "GET", "HEAD")
_FAILED = "Incomplete generation"  # both members of any error of /vertex
# Paths added after 0.9.4.
_NEW_PATHS = frozenset((*_CHAT_PATHS, "/vertex", "/tokenize", "/chat_tokenize", "/v1/models"))

# Status, error_type and text of each kind.
ERRORS: Mapping[ErrorKind, tuple[int, str, str]] = {
    ErrorKind.INVALID_REQUEST: (422, "validation", f"{VALIDATION}`inputs` cannot be empty"),
    ErrorKind.INVALID_PARAMETER: (422, "validation", f"{VALIDATION}`inputs` cannot be empty"),
    ErrorKind.UNAUTHENTICATED: (401, "", ""),
    ErrorKind.FORBIDDEN: (403, "forbidden", "Forbidden"),
    ErrorKind.NOT_FOUND: (404, "", ""),
    ErrorKind.METHOD_NOT_ALLOWED: (405, "", ""),
    ErrorKind.PAYLOAD_TOO_LARGE: (413, "", "Failed to buffer the request body: length limit exceeded"),
    ErrorKind.CONTEXT_LENGTH: (
        422,
        "validation",
        f"{VALIDATION}`inputs` must have less than {{most}} tokens. Given: {{count}}",
    ),
    ErrorKind.CONTENT_FILTER: (424, "generation", "Request failed during generation: content filtered"),
    ErrorKind.RATE_LIMITED: (429, "overloaded", "Model is overloaded"),
    ErrorKind.OVERLOADED: (429, "overloaded", "Model is overloaded"),
    ErrorKind.NOT_READY: (503, "healthcheck", "unhealthy"),
    ErrorKind.TIMEOUT: (424, "generation", "Request failed during generation: Server error: timeout"),
    ErrorKind.INTERNAL: (500, "incomplete_generation", "Incomplete generation"),
}


@fast_dataclass(frozen=True, slots=True)
class ErrorFields:
    """Body of an error (``ErrorResponse``)."""

    text: str
    error_type: str

    def body(self) -> bytes:
        return dump_json({"error": self.text, "error_type": self.error_type})

    def event(self, settings: TgiSettings, *, chat: bool) -> bytes:
        """Encode the error as an event; OpenAI-style streams have an envelope of their own."""
        data = dump_json({"error": {"message": self.text, "http_status_code": 422}}) if chat else self.body()
        return (b"data:%b\n\n" if settings.old else b"data: %b\n\n") % data


def refusal(text: str, param: str | None = None, *, streamed: bool = False, early: bool = False) -> EmulatedError:
    """Return the error of a request that fails validation.

    Args:
        streamed: the error is an event of a stream, whatever the path.
        early: the request is refused before it takes a place among the concurrent ones.
    """
    details: Object = {"streamed": True} if streamed else {}
    if early:
        details["early"] = True
        details["reason"] = "" if streamed else param
    return EmulatedError(ErrorKind.INVALID_PARAMETER, message=VALIDATION + text, param=param, details=details)


def precedes_admission(error: EmulatedError) -> bool:
    """Return whether the router finds an error before it looks for a free place: in the body, tools or template."""
    return any(error.details.get(name) for name in ("early", "rejected", "error_type"))


def join_refusals(errors: Sequence[EmulatedError]) -> EmulatedError:
    """Return the error of a stream all of whose prompts are refused: an event for each."""
    first, texts = errors[0], [error.message or _find_words(error)[2] for error in errors]
    return replace(first, details={**first.details, "texts": texts})


def encode_refusal(error: EmulatedError, settings: TgiSettings) -> bytes:
    """Encode the error of one of several prompts of an OpenAI-style stream."""
    return _build_fields(error, settings).event(settings, chat=True)


def early_refusal(text: str, param: str, error_type: str) -> EmulatedError:
    """Return an error raised before the response begins, which has a status even if the request streams."""
    details: Object = {"streamed": False, "error_type": error_type, "reason": error_type}
    return EmulatedError(ErrorKind.INVALID_PARAMETER, message=text, param=param, details=details)


def render_error(error: EmulatedError, request: Request, service: TgiService, measure: Measure) -> Response:
    """Render an error: plain text before a handler is reached, JSON after it, an event if the response streams.

    Args:
        measure: returns the number of characters of a request's prompts, which the head of a stream has.
    """
    status = error.status or _find_words(error)[0]
    retry = error.retry_header("retry-after")
    if error.body is not None:
        return _respond(error.body, status, retry)
    if error.details.get("rejected") or error.kind is ErrorKind.PAYLOAD_TOO_LARGE:
        text = error.message or ERRORS[error.kind][2]
        return Response(status, text.encode(), (*TEXT_HEADERS, *retry))
    if error.message is None and not ERRORS[error.kind][2]:
        if service.settings.old and request.path in _NEW_PATHS and error.kind is ErrorKind.METHOD_NOT_ALLOWED:
            error, status = EmulatedError(ErrorKind.NOT_FOUND), 404
        return _render_bare(error, request, status, retry)
    fields = _build_fields(error, service.settings)
    if request.path == "/vertex" and error.status is None and error.message is None:
        status, fields = 500, ErrorFields(_FAILED, _FAILED)
    if error.status is None and _is_streamed(error, request):
        return _render_events(fields, error, request, service, measure)
    return Response(status, fields.body(), (*JSON_HEADERS, *retry))


def render_late_error(error: EmulatedError, request: Request, service: TgiService) -> bytes:
    """Encode an error after the stream has begun; an OpenAI-style stream then ends with ``[DONE]``."""
    chat = has_openai_form(request, service.settings)
    event = _build_fields(error, service.settings).event(service.settings, chat=chat)
    return event + DONE if chat else event


def _find_words(error: EmulatedError) -> tuple[int, str, str]:
    """Return status, ``error_type`` and text; a model server that is gone fails in the generation."""
    return _GONE if error.details.get("gone") else ERRORS[error.kind]


def _build_fields(error: EmulatedError, settings: TgiSettings) -> ErrorFields:
    status, kind, text = _find_words(error)
    if error.kind is ErrorKind.CONTEXT_LENGTH:
        text = text.format(most=settings.max_input_tokens, count=settings.max_input_tokens + 1)
    elif error.param is not None and kind == "validation":
        text = f"{VALIDATION}`{error.param}` is invalid"
    named = error.details.get("error_type")
    if error.status not in (None, status):
        kind = ERROR_TYPES.get(error.status or 0, kind)
    return ErrorFields(error.message or text, named if isinstance(named, str) else kind or "validation")


def _respond(body: JSON, status: int, retry: Headers) -> Response:
    if isinstance(body, str):
        return Response(status, body.encode(), (*TEXT_HEADERS, *retry))
    return Response(status, dump_json(body), (*JSON_HEADERS, *retry))


def _render_bare(error: EmulatedError, request: Request, status: int, retry: Headers) -> Response:
    """Return a response without body; preflight requests succeed on any path, with or without a key.

    Source: tower-http 0.5.2, ``src/cors/mod.rs``; axum 0.7.9, ``src/routing/method_routing.rs`` (allow_header).
    """
    allow = _list_allowed(error, request)
    if request.method == "OPTIONS" and error.kind in (ErrorKind.NOT_FOUND, ErrorKind.METHOD_NOT_ALLOWED):
        allowed = (("access-control-allow-methods", "GET,POST"), ("access-control-allow-headers", "content-type"))
        return Response(200, b"", (*reversed(CORS), *allowed, *allow))
    return Response(status, b"", (*CORS, *allow, *retry))


def _list_allowed(error: EmulatedError, request: Request) -> Headers:
    """Return the methods of a path that does not have the request's, in the order of the router's routes."""
    if error.kind is ErrorKind.UNAUTHENTICATED and request.method != "POST":
        return (("allow", "POST"),)
    if error.kind is not ErrorKind.METHOD_NOT_ALLOWED:
        return ()
    methods = str(error.details.get("allow", "POST")).replace(" ", "").split(",")
    listed = [method for method in _METHODS if method in methods]
    return (("allow", ",".join(listed or methods)),)


def _is_streamed(error: EmulatedError, request: Request) -> bool:
    """Return whether the event stream had begun before the error."""
    if "streamed" in error.details:
        return bool(error.details["streamed"])
    if request.path == "/generate_stream":
        return True
    return request.path in _STREAMING_PATHS and request.json_members().get("stream") is True


def _render_events(
    fields: ErrorFields, error: EmulatedError, request: Request, service: TgiService, measure: Measure
) -> Response:
    """Return HTTP 200 with an error event: the router responds before it validates."""
    settings = service.settings
    chat = has_openai_form(request, settings)
    texts = error.details.get("texts")
    several = texts if isinstance(texts, list) else [fields.text]
    body = b"".join([ErrorFields(str(text), fields.error_type).event(settings, chat=chat) for text in several])
    if chat:
        body += DONE
    return Response(200, body, stream_headers(settings, measure(request, service)), chunked=True)


def has_openai_form(request: Request, settings: TgiSettings) -> bool:
    """Return whether the events of a stream have OpenAI's form; ``/invocations`` takes either by its body.

    Source: text-generation-inference, ``router/src/sagemaker.rs:16-22``: text requests are tried first.
    """
    if request.path != "/invocations" or settings.old:
        return request.path in _CHAT_PATHS
    return not isinstance(request.json_members().get("inputs"), str)
