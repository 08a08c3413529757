"""Every refusal in the server's words: one member, ``error``, a string.

Source: model_server, src/status.cpp, src/http_server.cpp and src/http_rest_api_handler.cpp.
"""

from __future__ import annotations

import re
from typing import NoReturn

from emulator.core.call import Deployment
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import dump_json
from emulator.core.vendor import Service, WireRequest, WireResponse
from emulator.vendors.openvino.body import load_body, may_stream, quote
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.settings import OpenVinoSettings

INVALID_URL = "Invalid request URL"
_ESCAPE = "The provided base path is invalid or doesn't exists"
_MISSING_GRAPH = "Mediapipe graph definition with requested name is not found"
_UNAUTHORIZED = "Unauthorized request due to invalid or missing api-key"

# Kinds that a graph's calculator refuses; inside an open stream they are part of it.
GRAPH_KINDS = frozenset((ErrorKind.INVALID_PARAMETER, ErrorKind.CONTEXT_LENGTH, ErrorKind.CONTENT_FILTER))

# Statuses marked so are common usage: the server never refuses for that reason itself.
_STATUS: dict[ErrorKind, int] = {
    ErrorKind.INVALID_REQUEST: 412,
    ErrorKind.INVALID_PARAMETER: 400,
    ErrorKind.UNAUTHENTICATED: 500,
    ErrorKind.FORBIDDEN: 403,  # so
    ErrorKind.NOT_FOUND: 404,
    ErrorKind.METHOD_NOT_ALLOWED: 406,
    ErrorKind.PAYLOAD_TOO_LARGE: 413,  # unverified
    ErrorKind.CONTEXT_LENGTH: 400,
    ErrorKind.CONTENT_FILTER: 400,
    ErrorKind.RATE_LIMITED: 429,  # so
    ErrorKind.OVERLOADED: 503,  # so
    ErrorKind.NOT_READY: 500,
    ErrorKind.TIMEOUT: 504,  # so
    ErrorKind.INTERNAL: 500,
}
_TEXT: dict[ErrorKind, str] = {
    ErrorKind.INVALID_REQUEST: "The file is not valid json - Cannot parse JSON body",
    ErrorKind.UNAUTHENTICATED: _UNAUTHORIZED,
    ErrorKind.FORBIDDEN: "Forbidden",
    ErrorKind.NOT_FOUND: _MISSING_GRAPH,
    ErrorKind.METHOD_NOT_ALLOWED: "Unsupported method",
    ErrorKind.PAYLOAD_TOO_LARGE: "Request body is too large",
    ErrorKind.RATE_LIMITED: "Too many requests",
    ErrorKind.OVERLOADED: "Server is overloaded",
    ErrorKind.NOT_READY: "Mediapipe is not loaded yet",
    ErrorKind.TIMEOUT: "Request timed out",
    ErrorKind.INTERNAL: "",  # an unexpected exception: the body is empty
}
_REASON = {
    ErrorKind.INVALID_PARAMETER: "Response generation failed",
    ErrorKind.CONTENT_FILTER: "Response generation failed",
    ErrorKind.CONTEXT_LENGTH: "Number of prompt tokens exceeds model max length",
}

_GET_PATHS = re.compile(r"/v2|/v2/health/(live|ready)|/v2/models/[^/]+(/versions/\d+)?(/ready|/)?|/v1/config|/metrics")
_POST_PATHS = re.compile(r"/v2/models/[^/]+(/versions/\d+)?/infer|/v1/config/reload")
_TFS_STATUS = re.compile(r"/v1/models(/[^/:]+(/versions/\d+|/labels/[^/]+)?(/metadata)?)?")
_TFS_PREDICT = re.compile(r"/v1/models/[^/:]+(/versions/\d+|/labels/[^/]+)?:(predict|classify|regress)")


def refuse(reason: str, *, word: str = "INVALID_ARGUMENT", node: str = "") -> NoReturn:
    """A graph's calculator refuses the request; ``word`` is the status word of its report.

    ``node`` is named where the request's ``model`` does not tell.
    """
    raise EmulatedError(ErrorKind.INVALID_PARAMETER, details={"reason": reason, "word": word, "node": node})


def refuse_body(reason: str) -> NoReturn:
    """The front door cannot read the body."""
    raise EmulatedError(ErrorKind.INVALID_REQUEST, message=f"The file is not valid json - {reason}")


def refuse_path(request: WireRequest) -> NoReturn:
    """The release does not know this path, or not with this method."""
    raise EmulatedError(ErrorKind.NOT_FOUND, details={"path": request.path})


def escapes(path: str) -> bool:
    """The path climbs upward."""
    return "/.." in path and (path.endswith("/..") or "/../" in path)


def name_node(deployment: Deployment | None, settings: OpenVinoSettings) -> str:
    """The graph's node as error texts show it: stock names of the export tool, or the calculator's class."""
    if deployment is not None and isinstance(name := deployment.traits.get("node_name"), str):
        return name
    if settings.node_name is not None:
        return settings.node_name
    kind = deployment.kind or deployment.task if deployment is not None else "text"
    if kind in ("embeddings", "rerank"):
        return kind.capitalize() + ("Executor" if settings.release.executor_names else "Calculator")
    return "LLMExecutor"


def word_failure(reason: str, node: str, word: str = "INVALID_ARGUMENT") -> str:
    """The report of a graph whose calculator failed."""
    run = f'{word}: CalculatorGraph::Run() failed: \nCalculator::Process() for node "{node}" failed: {reason}'
    if word == "FAILED_PRECONDITION":
        return f"Mediapipe graph precondition failed - {run}"
    return f"Mediapipe execution failed. MP status - {run}"


def render_error(error: EmulatedError, request: WireRequest, service: Service[OpenVinoSettings]) -> WireResponse:
    """Word a refusal; a calculator's, once a stream was asked for, is a bare object in an event stream."""
    settings = service.settings
    deployment, stream = _look_at(request, service)
    status, text = _word(error, request, deployment, settings)
    content = _encode(error, text, request)
    if stream and error.kind in GRAPH_KINDS:
        if not settings.release.stream_error_escaped and error.body is None:
            content = b'{"error": "%b"}' % text.encode()
        status = error.status or settings.release.stream_error_status
        return WireResponse(status, content, settings.stream_headers, chunked=True)
    headers = settings.json_headers
    if error.retry_after is not None:
        headers = (*headers, ("retry-after", str(-int(-error.retry_after // 1))))
    return WireResponse(status, content, headers)


def _look_at(request: WireRequest, service: Service[OpenVinoSettings]) -> tuple[Deployment | None, bool]:
    """Graph and whether a stream was asked for, as far as they can be made out."""
    try:
        body = load_body(request)
    except EmulatedError:
        return None, False
    if not isinstance(body, dict):
        return None, False
    model = body.get("model")
    deployment = service.deployments.get(model) if isinstance(model, str) else None
    return deployment, may_stream(request.path, service.settings.release) and body.get("stream") is True


def _word(
    error: EmulatedError, request: WireRequest, deployment: Deployment | None, settings: OpenVinoSettings
) -> tuple[int, str]:
    kind = error.kind
    if "path" in error.details:
        status, text = word_path(request.method, request.path, settings.release)
    elif kind in GRAPH_KINDS:
        reason = error.details.get("reason") or (f"{error.param} is not valid" if error.param else _REASON[kind])
        word = error.details.get("word", "INVALID_ARGUMENT")
        status = 412 if word == "FAILED_PRECONDITION" else 400
        text = word_failure(reason, error.details.get("node") or name_node(deployment, settings), word)
    else:
        status = settings.unauthorized_status if kind is ErrorKind.UNAUTHENTICATED else _STATUS[kind]
        text = _TEXT[kind]
    return error.status or status, text if error.message is None else error.message


def word_path(method: str, path: str, release: Release) -> tuple[int, str]:
    """Status and text for a path or method without a handler; 405 is never used.

    Source: model_server, src/http_rest_api_handler.cpp, parseRequestComponents.
    """
    if escapes(path):
        return 400, _ESCAPE
    if method not in ("GET", "POST"):
        return 406, "Unsupported method"
    known = _GET_PATHS if method == "POST" else _POST_PATHS
    if known.fullmatch(path):
        return 406, "Unsupported method"
    tfs = _TFS_STATUS if method == "POST" else _TFS_PREDICT
    if release.tf_serving and tfs.fullmatch(path):
        return 406, "Unsupported method"
    return 400, INVALID_URL


def _encode(error: EmulatedError, text: str, request: WireRequest) -> bytes:
    if isinstance(error.body, str):
        return error.body.encode("utf-8", "surrogatepass")
    if error.body is not None:
        return dump_json(error.body)
    if not text:
        return b""
    if request.path == "/v1/config/reload":
        return b'{\n\t"error": %b\n}' % quote(text)
    return b'{"error":%b}' % quote(text)
