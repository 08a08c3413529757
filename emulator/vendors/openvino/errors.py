"""Render OpenVINO Model Server's error responses: an object with one string, ``error``.

Source: model_server, src/status.cpp, src/http_server.cpp and src/http_rest_api_handler.cpp. Error kinds that only a
scenario causes use the common status in the usual envelope.
"""

import re

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import as_integer, dump_json
from emulator.core.requests import Deployment
from emulator.vendors.openvino.decoder import load_body, may_stream, quote
from emulator.vendors.openvino.profile import DeploymentProfile, OpenVinoService, find_node
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.responses.render import render_failed

_LENGTH = 1024  # tokens; context length of a graph that sets none
MISSING_MODEL = "Model with requested name is not found"
_FAILED = "Response generation failed"
_UNSUPPORTED_METHOD = "Unsupported method"

_GET_PATHS = re.compile(r"/v2|/v2/health/(live|ready)|/v2/models/[^/]+(/versions/\d+)?(/ready|/)?|/v1/config|/metrics")
_POST_PATHS = re.compile(r"/v2/models/[^/]+(/versions/\d+)?/infer|/v1/config/reload")
_TFS_STATUS = re.compile(r"/v1/models(/[^/:]+(/versions/\d+|/labels/[^/]+)?(/metadata)?)?")
_TFS_PREDICT = re.compile(r"/v1/models/[^/:]+(/versions/\d+|/labels/[^/]+)?:(predict|classify|regress)")

_GRAPH_KINDS = frozenset((ErrorKind.INVALID_PARAMETER, ErrorKind.CONTEXT_LENGTH, ErrorKind.CONTENT_FILTER))
_STREAM_KINDS = _GRAPH_KINDS | {ErrorKind.INTERNAL}  # kinds that are part of a stream once it is open
_ERRORS: dict[ErrorKind, tuple[int, str]] = {
    ErrorKind.INVALID_REQUEST: (412, "The file is not valid json - Cannot parse JSON body"),
    ErrorKind.INVALID_PARAMETER: (400, _FAILED),
    ErrorKind.UNAUTHENTICATED: (500, "Unauthorized request due to invalid or missing api-key"),
    ErrorKind.FORBIDDEN: (403, "Forbidden"),
    ErrorKind.NOT_FOUND: (404, "Mediapipe graph definition with requested name is not found"),
    ErrorKind.METHOD_NOT_ALLOWED: (406, _UNSUPPORTED_METHOD),
    ErrorKind.PAYLOAD_TOO_LARGE: (413, "Request body is too large"),  # unverified
    ErrorKind.CONTEXT_LENGTH: (400, _FAILED),  # with numbers where they are available
    ErrorKind.CONTENT_FILTER: (400, _FAILED),
    ErrorKind.RATE_LIMITED: (429, "Too many requests"),
    ErrorKind.OVERLOADED: (503, "Server is overloaded"),
    ErrorKind.NOT_READY: (500, "Mediapipe is not loaded yet"),
    ErrorKind.TIMEOUT: (504, "Request timed out"),
    ErrorKind.INTERNAL: (500, ""),  # an unexpected exception: the body is empty
}
_WRONG_TYPE = {
    "is not a valid number": """frequency_penalty presence_penalty repetition_penalty diversity_penalty length_penalty
        temperature top_p min_p""",
    "is not an unsigned integer": "max_tokens max_completion_tokens best_of n seed",
    "is not an integer": "top_k",
    "accepts values true or false": "ignore_eos include_stop_str_in_output echo logprobs",
    "is not a string or array of strings": "stop",
    "is not an object": "stream_options response_format",
    "is not a string": "prompt query",
    "is not an array": "documents",
}
_FIELDS = {name: f"{name} {text}" for text, names in _WRONG_TYPE.items() for name in names.split()} | {
    "messages": "Messages are not an array",
    "tools": "Tools are not an array",
    "input": "input should be string, array of strings or array of integers",
    "encoding_format": "encoding_format should either base64 or float",
}


def refusal(reason: str, *, word: str = "INVALID_ARGUMENT", node: str = "") -> EmulatedError:
    """Return the error of a graph's calculator; ``word``: its status word.

    ``node``: name of the graph's node, if the request's ``model`` does not determine it.
    """
    return EmulatedError(ErrorKind.INVALID_PARAMETER, details={"reason": reason, "word": word, "node": node})


def add_call_details(error: EmulatedError, deployment: Deployment, method: str, node: str = "") -> EmulatedError:
    """Return ``error`` with deployment, method and node in its details, for metrics and rendering."""
    node = str(error.details.get("node") or node)
    error.details = {**error.details, "deployment": deployment.name, "served": method, "node": node}
    return error


def path_refusal(request: Request) -> EmulatedError:
    """Return the error of a path or method that the release does not have."""
    return EmulatedError(ErrorKind.NOT_FOUND, details={"path": request.path})


def escapes(path: str) -> bool:
    """Return whether the path leads out of its directory."""
    return "/.." in path and (path.endswith("/..") or "/../" in path)


@fast_dataclass(frozen=True, slots=True)
class ErrorFields:
    """Status and text of an error response; ``streamed``: it is part of an event stream."""

    status: int
    text: str
    streamed: bool = False


@fast_dataclass(frozen=True, slots=True)
class _RequestSummary:
    """Properties of a refused request, as far as they can be parsed."""

    model: str | None = None
    deployment: Deployment | None = None
    stream: bool = False


def render_error(error: EmulatedError, request: Request, service: OpenVinoService) -> Response:
    """Render an error; a calculator's error of a streaming request is a bare object in an event stream."""
    summary = _parse_summary(request, service)
    streams = summary.stream or str(error.details.get("served", "")).startswith("Stream")
    if streams and error.kind in _STREAM_KINDS:
        fields = _build_graph_error(error, summary, service)
    else:
        fields = _build_error(error, request, summary, service)
    settings = service.settings
    headers = (
        settings.stream_headers if fields.streamed else (*settings.json_headers, *error.retry_header("retry-after"))
    )
    status = error.status or fields.status
    return Response(status, _encode(error, fields, request, settings.release), headers, chunked=fields.streamed)


def render_late_error(error: EmulatedError, request: Request, service: OpenVinoService) -> bytes:
    """Encode an error after the first chunk: a bare object without ``data:`` or end; Responses have an event.

    Source: model_server, src/llm/http_llm_calculator.cc and src/http_rest_api_handler.cpp.
    """
    summary = _parse_summary(request, service)
    text = _build_graph_error(error, summary, service).text
    if request.path.endswith("/responses"):
        number = as_integer(error.details.get("events", 0)) + 1  # OpenVINO counts events from 1
        return render_failed(text, summary.model, int(service.clock.now()), number)
    return _wrap(text)


def _parse_summary(request: Request, service: OpenVinoService) -> _RequestSummary:
    try:
        body = load_body(request)
    except EmulatedError:
        return _RequestSummary()
    if not isinstance(body, dict):
        return _RequestSummary()
    model = body.get("model")
    stream = may_stream(request.path, service.settings.release) and body.get("stream") is True
    if not isinstance(model, str):
        return _RequestSummary(stream=stream)
    return _RequestSummary(model, service.deployments.get(model), stream)


def _build_error(
    error: EmulatedError, request: Request, summary: _RequestSummary, service: OpenVinoService
) -> ErrorFields:
    """Build the error of a request without an event stream."""
    kind, settings = error.kind, service.settings
    if "path" in error.details:
        fields = build_path_error(request.method, request.path, settings.release)
    elif kind in _GRAPH_KINDS:
        status = 412 if error.details.get("word") == "FAILED_PRECONDITION" else 400
        fields = ErrorFields(status, _build_graph_error(error, summary, service).text)
    elif kind is ErrorKind.NOT_FOUND and not settings.release.since(2025, 0):
        fields = ErrorFields(404, MISSING_MODEL)
    else:
        status, text = _ERRORS[kind]
        status = settings.unauthorized_status if kind is ErrorKind.UNAUTHENTICATED else status
        fields = _find_probe_error(kind, request.path, settings.release) or ErrorFields(status, text)
    return fields if error.message is None else ErrorFields(fields.status, error.message)


def _find_probe_error(kind: ErrorKind, path: str, release: Release) -> ErrorFields | None:
    """Return the error of routes without a graph, where it differs."""
    if kind is ErrorKind.NOT_READY and path == "/v2/health/ready":
        text = "Server is not ready" if release.since(2026, 2) else "Error while loading a model"
        return ErrorFields(release.not_ready_status, text)
    if kind is ErrorKind.NOT_READY and path.startswith("/v2/models/"):
        return ErrorFields(404, "Model with requested version is not loaded yet")
    if kind is ErrorKind.NOT_FOUND and path.startswith(("/v2/models/", "/v1/models/")):
        return ErrorFields(404, MISSING_MODEL)
    if kind is ErrorKind.INTERNAL and path == "/v1/config/reload":
        return ErrorFields(500, "Reloading config file failed. Check server logs for more info.")
    return None


def _build_graph_error(error: EmulatedError, summary: _RequestSummary, service: OpenVinoService) -> ErrorFields:
    """Build the error as the graph's calculator reports it, for event streams."""
    status = service.settings.release.stream_error_status
    if error.message is not None:
        return ErrorFields(status, error.message, streamed=True)
    details = error.details
    profile = service.profiles[summary.deployment.name] if summary.deployment is not None else None
    reason = details.get("reason") or _find_reason(error, summary.deployment, profile)
    word = details.get("word", "INTERNAL" if error.kind is ErrorKind.INTERNAL else "INVALID_ARGUMENT")
    node = details.get("node") or (profile.node if profile is not None else find_node("text", service.settings))
    run = f'{word}: CalculatorGraph::Run() failed: \nCalculator::Process() for node "{node}" failed: {reason}'
    if word == "FAILED_PRECONDITION":
        return ErrorFields(status, f"Mediapipe graph precondition failed - {run}", streamed=True)
    return ErrorFields(status, f"Mediapipe execution failed. MP status - {run}", streamed=True)


def _find_reason(error: EmulatedError, deployment: Deployment | None, profile: DeploymentProfile | None) -> str:
    """Return the calculator's text of an error for which the scenario names only a kind."""
    if error.param:
        return _FIELDS.get(error.param, f"{error.param} is not valid")
    if error.kind is not ErrorKind.CONTEXT_LENGTH:
        return _ERRORS[error.kind][1] or _FAILED
    length = (deployment.context if deployment is not None else None) or _LENGTH
    if profile is not None and profile.kind == "embeddings":
        return f"Input length {length + 1} longer than allowed {length}"
    return f"Number of prompt tokens: {length + 1} exceeds model max length: {length}"


def build_path_error(method: str, path: str, release: Release) -> ErrorFields:
    """Build the error of a path or method without a handler; 405 is never used.

    Source: model_server, src/http_rest_api_handler.cpp, parseRequestComponents.
    """
    if escapes(path):
        return ErrorFields(400, "The provided base path is invalid or doesn't exists")
    if method not in ("GET", "POST"):
        return ErrorFields(406, _UNSUPPORTED_METHOD)
    known, tfs = (_GET_PATHS, _TFS_STATUS) if method == "POST" else (_POST_PATHS, _TFS_PREDICT)
    if known.fullmatch(path) or (release.tf_serving and tfs.fullmatch(path)):
        return ErrorFields(406, _UNSUPPORTED_METHOD)
    return ErrorFields(400, "Invalid request URL")


def _encode(error: EmulatedError, fields: ErrorFields, request: Request, release: Release) -> bytes:
    if isinstance(error.body, str):
        return error.body.encode("utf-8", "surrogatepass")
    if error.body is not None:
        return dump_json(error.body)
    if fields.streamed and not release.stream_error_escaped:
        return b'{"error": "%b"}' % fields.text.encode()
    if not fields.text:
        return b""
    if request.path == "/v1/config/reload" and request.method == "POST":  # else it never reaches the route
        return b'{\n\t"error": %b\n}' % quote(fields.text)
    return _wrap(fields.text)


def _wrap(text: str) -> bytes:
    return b'{"error":%b}' % quote(text)
