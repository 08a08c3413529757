"""Every refusal in the server's words: one member, ``error``, a string.

Source: model_server, src/status.cpp, src/http_server.cpp and src/http_rest_api_handler.cpp.
"""

from __future__ import annotations

import re
from typing import NoReturn

from emulator.core.call import Deployment
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import dump_json
from emulator.core.vendor import Service
from emulator.core.wire import WireRequest, WireResponse
from emulator.vendors.openvino.decoder import load_body, may_stream, quote
from emulator.vendors.openvino.kinds import kind_of
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.settings import OpenVinoSettings
from emulator.vendors.openvino.words import FAILED, GRAPH_KINDS, STATUS, TEXT, word_field, word_probe

_LENGTH = 1024  # tokens, of a graph that does not say
INVALID_URL = "Invalid request URL"
UNSUPPORTED_METHOD = "Unsupported method"
_ESCAPE = "The provided base path is invalid or doesn't exists"

_GET_PATHS = re.compile(r"/v2|/v2/health/(live|ready)|/v2/models/[^/]+(/versions/\d+)?(/ready|/)?|/v1/config|/metrics")
_POST_PATHS = re.compile(r"/v2/models/[^/]+(/versions/\d+)?/infer|/v1/config/reload")
_STREAM_KINDS = GRAPH_KINDS | {ErrorKind.INTERNAL}
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
    kind = kind_of(deployment) if deployment is not None else "text"
    if kind in ("embeddings", "rerank"):
        return kind.capitalize() + ("Executor" if settings.release.executor_names else "Calculator")
    return "LLMExecutor"


def word_failure(reason: str, node: str, word: str = "INVALID_ARGUMENT") -> str:
    """The report of a graph whose calculator failed."""
    run = f'{word}: CalculatorGraph::Run() failed: \nCalculator::Process() for node "{node}" failed: {reason}'
    if word == "FAILED_PRECONDITION":
        return f"Mediapipe graph precondition failed - {run}"
    return f"Mediapipe execution failed. MP status - {run}"


def render_error(error: EmulatedError, request: WireRequest, service: Service[OpenVinoSettings, None]) -> WireResponse:
    """Word a refusal; a calculator's, once a stream was asked for, is a bare object in an event stream."""
    settings = service.settings
    deployment, stream = _look_at(request, service)
    if stream and error.kind in _STREAM_KINDS:
        content = _encode(error, _word_in_graph(error, deployment, settings), request)
        if not settings.release.stream_error_escaped and error.body is None:
            content = b'{"error": "%b"}' % _word_in_graph(error, deployment, settings).encode()
        status = error.status or settings.release.stream_error_status
        return WireResponse(status, content, settings.stream_headers, chunked=True)
    status, text = _word(error, request, deployment, settings)
    headers = settings.json_headers
    if error.retry_after is not None:
        headers = (*headers, ("retry-after", str(-int(-error.retry_after // 1))))
    return WireResponse(error.status or status, _encode(error, text, request), headers)


def word_late_error(error: EmulatedError, request: WireRequest, service: Service[OpenVinoSettings, None]) -> str:
    """What a graph's calculator says of a failure after the first chunk."""
    deployment, _ = _look_at(request, service)
    return _word_in_graph(error, deployment, service.settings)


def _look_at(request: WireRequest, service: Service[OpenVinoSettings, None]) -> tuple[Deployment | None, bool]:
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
        status = 412 if error.details.get("word") == "FAILED_PRECONDITION" else 400
        text = _word_in_graph(error, deployment, settings)
    elif (words := word_probe(kind, request.path, settings.release.not_ready_status)) is not None:
        status, text = words
    else:
        status = settings.unauthorized_status if kind is ErrorKind.UNAUTHENTICATED else STATUS[kind]
        text = TEXT[kind]
    return status, text if error.message is None else error.message


def _word_in_graph(error: EmulatedError, deployment: Deployment | None, settings: OpenVinoSettings) -> str:
    """The refusal as the report of the graph's calculator."""
    if error.message is not None:
        return error.message
    details = error.details
    reason = details.get("reason") or _word_reason(error, deployment)
    word = details.get("word", "INTERNAL" if error.kind is ErrorKind.INTERNAL else "INVALID_ARGUMENT")
    return word_failure(reason, details.get("node") or name_node(deployment, settings), word)


def _word_reason(error: EmulatedError, deployment: Deployment | None) -> str:
    """Why a scenario's refusal has come, where it names a kind alone."""
    if error.param:
        return word_field(error.param)
    if error.kind is not ErrorKind.CONTEXT_LENGTH:
        return TEXT[error.kind] or FAILED
    length = (deployment.context if deployment is not None else None) or _LENGTH
    if deployment is not None and kind_of(deployment) == "embeddings":
        return f"Input length {length + 1} longer than allowed {length}"
    return f"Number of prompt tokens: {length + 1} exceeds model max length: {length}"


def word_path(method: str, path: str, release: Release) -> tuple[int, str]:
    """Status and text for a path or method without a handler; 405 is never used.

    Source: model_server, src/http_rest_api_handler.cpp, parseRequestComponents.
    """
    if escapes(path):
        return 400, _ESCAPE
    if method not in ("GET", "POST"):
        return 406, UNSUPPORTED_METHOD
    known = _GET_PATHS if method == "POST" else _POST_PATHS
    if known.fullmatch(path):
        return 406, UNSUPPORTED_METHOD
    tfs = _TFS_STATUS if method == "POST" else _TFS_PREDICT
    if release.tf_serving and tfs.fullmatch(path):
        return 406, UNSUPPORTED_METHOD
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
