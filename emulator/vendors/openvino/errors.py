"""Every refusal in the server's words: one member, ``error``, a string.

Source: model_server, src/status.cpp, src/http_server.cpp and src/http_rest_api_handler.cpp. Kinds of refusals that
the server never makes by itself, and a scenario may, have the common status, in the usual envelope.
"""

from __future__ import annotations

import re

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import dump_json
from emulator.core.requests import Deployment
from emulator.vendors.openvino.decoder import load_body, may_stream, quote
from emulator.vendors.openvino.profile import DeploymentProfile, OvmsService, name_node
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.responses.shapes import render_failed

_LENGTH = 1024  # tokens, of a graph that does not say
MISSING_MODEL = "Model with requested name is not found"
_FAILED = "Response generation failed"
_UNSUPPORTED_METHOD = "Unsupported method"

_GET_PATHS = re.compile(r"/v2|/v2/health/(live|ready)|/v2/models/[^/]+(/versions/\d+)?(/ready|/)?|/v1/config|/metrics")
_POST_PATHS = re.compile(r"/v2/models/[^/]+(/versions/\d+)?/infer|/v1/config/reload")
_TFS_STATUS = re.compile(r"/v1/models(/[^/:]+(/versions/\d+|/labels/[^/]+)?(/metadata)?)?")
_TFS_PREDICT = re.compile(r"/v1/models/[^/:]+(/versions/\d+|/labels/[^/]+)?:(predict|classify|regress)")

_GRAPH_KINDS = frozenset((ErrorKind.INVALID_PARAMETER, ErrorKind.CONTEXT_LENGTH, ErrorKind.CONTENT_FILTER))
_STREAM_KINDS = _GRAPH_KINDS | {ErrorKind.INTERNAL}  # inside an open stream they are part of it
_WORDS: dict[ErrorKind, tuple[int, str]] = {
    ErrorKind.INVALID_REQUEST: (412, "The file is not valid json - Cannot parse JSON body"),
    ErrorKind.INVALID_PARAMETER: (400, _FAILED),
    ErrorKind.UNAUTHENTICATED: (500, "Unauthorized request due to invalid or missing api-key"),
    ErrorKind.FORBIDDEN: (403, "Forbidden"),
    ErrorKind.NOT_FOUND: (404, "Mediapipe graph definition with requested name is not found"),
    ErrorKind.METHOD_NOT_ALLOWED: (406, _UNSUPPORTED_METHOD),
    ErrorKind.PAYLOAD_TOO_LARGE: (413, "Request body is too large"),  # unverified
    ErrorKind.CONTEXT_LENGTH: (400, _FAILED),  # with numbers, where they are known
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
    """A graph's calculator refuses the request; ``word`` is the status word of its report.

    ``node`` is named where the request's ``model`` does not tell.
    """
    return EmulatedError(ErrorKind.INVALID_PARAMETER, details={"reason": reason, "word": word, "node": node})


def name_asked(error: EmulatedError, deployment: Deployment, method: str, node: str = "") -> EmulatedError:
    """The same refusal, which also says who makes it and how it was asked, for whoever counts or words it."""
    node = str(error.details.get("node") or node)
    error.details = {**error.details, "deployment": deployment.name, "served": method, "node": node}
    return error


def path_refusal(request: Request) -> EmulatedError:
    """The release does not know this path, or not with this method."""
    return EmulatedError(ErrorKind.NOT_FOUND, details={"path": request.path})


def escapes(path: str) -> bool:
    """The path climbs upward."""
    return "/.." in path and (path.endswith("/..") or "/../" in path)


@fast_dataclass(frozen=True, slots=True)
class ErrorFields:
    """A refusal in words; ``streamed``: it is part of an event stream."""

    status: int
    text: str
    streamed: bool = False


@fast_dataclass(frozen=True, slots=True)
class _Asked:
    """What can be made out of a request that is refused."""

    model: str | None = None
    deployment: Deployment | None = None
    stream: bool = False


def render_error(error: EmulatedError, request: Request, service: OvmsService) -> Response:
    """Word a refusal; a calculator's, once a stream was asked for, is a bare object in an event stream."""
    asked = _look_at(request, service)
    streams = asked.stream or str(error.details.get("served", "")).startswith("Stream")
    if streams and error.kind in _STREAM_KINDS:
        envelope = _word_in_graph(error, asked, service)
    else:
        envelope = _word(error, request, asked, service)
    settings = service.settings
    headers = settings.stream_headers if envelope.streamed else settings.json_headers
    if error.retry_after is not None and not envelope.streamed:
        headers = (*headers, ("retry-after", str(-int(-error.retry_after // 1))))
    status = error.status or envelope.status
    return Response(status, _encode(error, envelope, request, settings.release), headers, chunked=envelope.streamed)


def render_late_error(error: EmulatedError, request: Request, service: OvmsService) -> bytes:
    """A failure after the first chunk: a bare object, without ``data:`` and without an end; Responses have an event.

    Source: model_server, src/llm/http_llm_calculator.cc and src/http_rest_api_handler.cpp.
    """
    asked = _look_at(request, service)
    text = _word_in_graph(error, asked, service).text
    if request.path.endswith("/responses"):
        return render_failed(text, asked.model, int(service.clock.now()))
    return _wrap(text)


def _look_at(request: Request, service: OvmsService) -> _Asked:
    try:
        body = load_body(request)
    except EmulatedError:
        return _Asked()
    if not isinstance(body, dict):
        return _Asked()
    model = body.get("model")
    stream = may_stream(request.path, service.settings.release) and body.get("stream") is True
    if not isinstance(model, str):
        return _Asked(stream=stream)
    return _Asked(model, service.deployments.get(model), stream)


def _word(error: EmulatedError, request: Request, asked: _Asked, service: OvmsService) -> ErrorFields:
    """The refusal of a request that is no stream."""
    kind, settings = error.kind, service.settings
    if "path" in error.details:
        envelope = word_path(request.method, request.path, settings.release)
    elif kind in _GRAPH_KINDS:
        status = 412 if error.details.get("word") == "FAILED_PRECONDITION" else 400
        envelope = ErrorFields(status, _word_in_graph(error, asked, service).text)
    elif kind is ErrorKind.NOT_FOUND and not settings.release.since(2025, 0):
        envelope = ErrorFields(404, MISSING_MODEL)
    else:
        status, text = _WORDS[kind]
        status = settings.unauthorized_status if kind is ErrorKind.UNAUTHENTICATED else status
        envelope = _word_probe(kind, request.path, settings.release) or ErrorFields(status, text)
    return envelope if error.message is None else ErrorFields(envelope.status, error.message)


def _word_probe(kind: ErrorKind, path: str, release: Release) -> ErrorFields | None:
    """A refusal on routes that no graph answers, where its words differ."""
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


def _word_in_graph(error: EmulatedError, asked: _Asked, service: OvmsService) -> ErrorFields:
    """The refusal as the report of the graph's calculator, as part of a stream."""
    status = service.settings.release.stream_error_status
    if error.message is not None:
        return ErrorFields(status, error.message, streamed=True)
    details = error.details
    servable = service.profiles[asked.deployment.name] if asked.deployment is not None else None
    reason = details.get("reason") or _word_reason(error, asked.deployment, servable)
    word = details.get("word", "INTERNAL" if error.kind is ErrorKind.INTERNAL else "INVALID_ARGUMENT")
    node = details.get("node") or (servable.node if servable is not None else name_node("text", service.settings))
    run = f'{word}: CalculatorGraph::Run() failed: \nCalculator::Process() for node "{node}" failed: {reason}'
    if word == "FAILED_PRECONDITION":
        return ErrorFields(status, f"Mediapipe graph precondition failed - {run}", streamed=True)
    return ErrorFields(status, f"Mediapipe execution failed. MP status - {run}", streamed=True)


def _word_reason(error: EmulatedError, deployment: Deployment | None, servable: DeploymentProfile | None) -> str:
    """Why a scenario's refusal has come, where it names a kind alone."""
    if error.param:
        return _FIELDS.get(error.param, f"{error.param} is not valid")
    if error.kind is not ErrorKind.CONTEXT_LENGTH:
        return _WORDS[error.kind][1] or _FAILED
    length = (deployment.context if deployment is not None else None) or _LENGTH
    if servable is not None and servable.kind == "embeddings":
        return f"Input length {length + 1} longer than allowed {length}"
    return f"Number of prompt tokens: {length + 1} exceeds model max length: {length}"


def word_path(method: str, path: str, release: Release) -> ErrorFields:
    """A path or method without a handler; 405 is never used.

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


def _encode(error: EmulatedError, envelope: ErrorFields, request: Request, release: Release) -> bytes:
    if isinstance(error.body, str):
        return error.body.encode("utf-8", "surrogatepass")
    if error.body is not None:
        return dump_json(error.body)
    if envelope.streamed and not release.stream_error_escaped:
        return b'{"error": "%b"}' % envelope.text.encode()
    if not envelope.text:
        return b""
    if request.path == "/v1/config/reload":
        return b'{\n\t"error": %b\n}' % quote(envelope.text)
    return _wrap(envelope.text)


def _wrap(text: str) -> bytes:
    return b'{"error":%b}' % quote(text)
