"""Render MindIE's error responses, and those of the Coordinator in front of its nodes.

Source: MindIE-LLM, ``utils/http_rest_resource.cpp``, ``http_wrapper/http_server.cpp`` and
``http_wrapper/http_handler.cpp``; MindIE-Motor, ``RequestListener.cpp``. Error kinds the server does not
have use its envelope under the common status; their wording is unverified.
"""

import re
from collections.abc import Mapping

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import DROPPED, Request, Response
from emulator.core.json import JSON, dump_json
from emulator.core.text import reason_phrase
from emulator.protocols.tgi import ERROR_TYPES
from emulator.vendors.mindie.headers import JSON_TYPE, closing_headers, coordinator_headers, relay_response
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.settings import MindieSettings

CLASSES: Mapping[int, str] = {
    400: "Bad Request",
    404: "NotFoundError",
    422: "Input Validation Error",
    424: "Generation Error",
    500: "Incomplete Generation",
    503: "Service Unavailable",
}

TOO_LONG = (
    "Failed to enqueue inferRequest. This model's maximum input ids length cannot be greater than {most},"
    "the input ids length is {count}"
)
BUSY = "Service is alive but busy"
ERRORS: Mapping[ErrorKind, tuple[int, str]] = {
    ErrorKind.INVALID_REQUEST: (422, "Failed to parse context to json body"),
    ErrorKind.INVALID_PARAMETER: (422, "Check tgi req parameter error"),
    ErrorKind.UNAUTHENTICATED: (401, "Unauthorized"),
    ErrorKind.FORBIDDEN: (403, "Forbidden"),
    ErrorKind.NOT_FOUND: (404, "Model not found."),
    ErrorKind.METHOD_NOT_ALLOWED: (404, ""),
    ErrorKind.PAYLOAD_TOO_LARGE: (413, "Request body too large. Maximum allowed size is {limit}MB."),
    ErrorKind.CONTEXT_LENGTH: (424, TOO_LONG),
    ErrorKind.CONTENT_FILTER: (424, "Failed to generate infer request"),
    ErrorKind.RATE_LIMITED: (429, "Too many requests"),
    ErrorKind.OVERLOADED: (DROPPED, BUSY),
    ErrorKind.NOT_READY: (503, "The service has been stopped"),
    ErrorKind.TIMEOUT: (500, "Engine callback timeout: server tokenTimeout"),
    ErrorKind.INTERNAL: (500, "Server internal error"),
}

# Errors of the Coordinator itself: plain text that ends in CRLF.
COORDINATOR_ERRORS: Mapping[ErrorKind, tuple[int, str]] = {
    ErrorKind.INVALID_REQUEST: (400, "Request format is invalid"),
    ErrorKind.RATE_LIMITED: (429, "Too many requests"),
    ErrorKind.NOT_READY: (503, "MindIE-MS Coordinator is not ready"),
    ErrorKind.TIMEOUT: (408, "Request inference timeout"),
    ErrorKind.INTERNAL: (500, "Scheduler proc req failed"),
}


# Status of the Coordinator's probes, which have no body; a busy Coordinator is healthy.
_HEALTH_STATUS: Mapping[ErrorKind, int] = {ErrorKind.NOT_READY: 503, ErrorKind.OVERLOADED: 200}
HEALTH = ("/health", "/v2/health/live", "/v2/health/ready")
_PROBE = re.compile(
    r"/health/timed.*|/v2/models/[^/]+/(ready|getSlotCount)|/info|/metrics-json|/v[12]/status"
)  # these report only that the server is not ready or stopped
STOPPED = "The service has been stopped."
ABNORMAL = "Service is abnormal"
# Status and message by kind, and by path where the paths differ.
_HEALTH_ERRORS: Mapping[tuple[ErrorKind, str], tuple[int, str]] = {
    (ErrorKind.NOT_READY, ""): (503, ""),
    (ErrorKind.OVERLOADED, "/health"): (200, ""),
    (ErrorKind.OVERLOADED, "/v2/health/live"): (200, BUSY),
    (ErrorKind.OVERLOADED, "/v2/health/ready"): (503, f"{BUSY}. Consider reducing request frequency"),
}


def render_error(error: EmulatedError, request: Request, service: MindieService) -> Response:
    """Render an error; status, message and body of the scenario override the server's."""
    settings = service.settings
    if error.body is not None:
        return _respond(error, request, error.status or ERRORS[error.kind][0] or 503, *_encode_given(error.body))
    response = _render_coordinator(error, request, settings) if settings.coordinator else None
    if response is not None:
        return response
    if _is_route_miss(error):
        return Response(error.status or 404, b"", closing_headers(request.key, ""), close=True)
    if error.status is None and error.message is None and _is_probe(error, request):
        return _render_health(error, request)
    if error.kind is ErrorKind.OVERLOADED and error.status is None and error.message is None:
        return _render_overload(error, request, settings)
    status, text = _find_error(error, settings)
    answer = _respond(error, request, status, *_encode_body(error, status, text, settings))
    return relay_response(answer) if settings.coordinator and request.method == "POST" else answer


def _is_probe(error: EmulatedError, request: Request) -> bool:
    if request.path in HEALTH:
        return True
    return error.kind is ErrorKind.NOT_READY and _PROBE.fullmatch(request.path) is not None


def _render_health(error: EmulatedError, request: Request) -> Response:
    """Render errors of health routes, which tell busy, abnormal, stopped and unready servers apart."""
    if error.kind is ErrorKind.NOT_READY and error.details.get("state") == "stopped":
        body = dump_json({"error": STOPPED, "error_type": CLASSES[503]})
        return Response(503, body, closing_headers(request.key, JSON_TYPE), close=True)
    status, text = _HEALTH_ERRORS.get((error.kind, request.path)) or _HEALTH_ERRORS.get(
        (error.kind, ""), (500, ABNORMAL)
    )
    body = dump_json({"message": text}) if text else b""
    return Response(status, body, closing_headers(request.key, JSON_TYPE if text else ""), close=True)


def _render_overload(error: EmulatedError, request: Request, settings: MindieSettings) -> Response:
    """Drop the connection; the shape ``tgi`` answers 429 instead."""
    if settings.error_shape == "tgi":
        body = encode_envelope(ERRORS[ErrorKind.RATE_LIMITED][1], 429, settings)
        return _respond(error, request, 429, body, JSON_TYPE)
    return Response(DROPPED, b"", (), close=True)


def _render_coordinator(error: EmulatedError, request: Request, settings: MindieSettings) -> Response | None:
    """Return the Coordinator's own plain-text response, or ``None`` if the node behind it answers.

    Source: MindIE-Motor, ``common/http_server/ServerConnection.cpp`` and ``common/communication/Communication.cpp``.
    """
    if _is_route_miss(error):
        headers = (*coordinator_headers("text/plain"), ("Connection", "close"))
        return Response(error.status or 400, b"Invalid request\r\n", headers, close=True)
    if request.path in HEALTH and error.status is None and error.message is None:
        return Response(_HEALTH_STATUS.get(error.kind, 500), b"", coordinator_headers())
    headers = (*coordinator_headers("text/plain"), *error.retry_header())
    if error.kind is ErrorKind.OVERLOADED and error.status is None and error.message is None:
        return Response(429, _encode_memory_limit(request), headers)
    if error.kind in COORDINATOR_ERRORS and (error.message is None or error.kind is ErrorKind.INVALID_REQUEST):
        status, text = _find_error(error, settings)
        return Response(status, f"{text}\r\n".encode(), headers)
    return None


def _encode_memory_limit(request: Request) -> bytes:
    """Encode the Coordinator's memory limit error, in the style of the route.

    Source: MindIE-Motor, ``request_listener/RequestListener.cpp``, SendMemoryLimitError.
    """
    if request.path.startswith("/v1/"):
        text = '{"error": {"message": "Memory limit exceeded", "type": "server_error", "code": 429}}'
    elif request.path.startswith(("/v2/", "/infer")):
        text = '{"error": "Memory limit exceeded", "code": 429}'
    else:
        text = '{"error": "Memory limit exceeded", "error_type": "overloaded"}'
    return text.encode()


def render_late_error(error: EmulatedError, request: Request, service: MindieService) -> bytes:
    """Encode an error after the stream has begun: bare text without SSE framing.

    Source: MindIE-LLM, ``single_llm_pnd_req_handler.cpp``.
    """
    if error.message is not None:
        return error.message.encode()
    if error.kind is ErrorKind.TIMEOUT:
        return ERRORS[ErrorKind.TIMEOUT][1].encode()
    return b"Failed to get engine response"


def _is_route_miss(error: EmulatedError) -> bool:
    """Return whether no route has this path and method: the response is an empty 404 for any method."""
    missing = error.kind is ErrorKind.NOT_FOUND and "path" in error.details
    return (missing or error.kind is ErrorKind.METHOD_NOT_ALLOWED) and error.message is None


def _find_error(error: EmulatedError, settings: MindieSettings) -> tuple[int, str]:
    status, text = ERRORS[error.kind]
    if settings.coordinator and error.kind in COORDINATOR_ERRORS:
        status, text = COORDINATOR_ERRORS[error.kind]
    if error.kind is ErrorKind.PAYLOAD_TOO_LARGE:
        text = text.format(limit=settings.max_request_length)
    elif error.kind is ErrorKind.CONTEXT_LENGTH:
        limit = min(settings.max_input_token_len, settings.max_seq_len - 1)
        text = text.format(most=limit, count=limit + 1)
    elif error.kind is ErrorKind.INVALID_PARAMETER and error.param is not None:
        text = f"Input validation error: param {error.param} is invalid"
    return error.status or status or 503, text if error.message is None else error.message


def _encode_body(error: EmulatedError, status: int, text: str, settings: MindieSettings) -> tuple[bytes, str]:
    """Return body and content type; texts outside the envelope would break clients made for TGI."""
    if error.kind is ErrorKind.PAYLOAD_TOO_LARGE:
        return dump_json({"message": text}), JSON_TYPE
    if settings.error_shape != "tgi":
        if error.kind is ErrorKind.RATE_LIMITED:
            return f"{text}\r\n".encode(), "text/plain"
        if error.kind is ErrorKind.INTERNAL and error.message is None:
            return text.encode(), JSON_TYPE  # the text itself under a JSON content type
    return encode_envelope(text, status, settings), JSON_TYPE


def encode_envelope(text: str, status: int, settings: MindieSettings) -> bytes:
    """Encode a message in the envelope of the release."""
    name = CLASSES.get(status) or reason_phrase(status)
    envelopes: dict[str, JSON] = {
        "class": {"error": text, "error_type": name},
        "bare": {"error": text},
        "typed": {"type": name, "error": text},
        "tgi": {"error": text, "error_type": ERROR_TYPES.get(status, name)},
    }
    return dump_json(envelopes[settings.error_shape])


def _encode_given(body: JSON) -> tuple[bytes, str]:
    return (body.encode(), "text/plain") if isinstance(body, str) else (dump_json(body), JSON_TYPE)


def _respond(error: EmulatedError, request: Request, status: int, body: bytes, content_type: str) -> Response:
    return Response(status, body, (*closing_headers(request.key, content_type), *error.retry_header()), close=True)
