"""The front door: which graph a generative request is for, before any graph looks at it.

Source: model_server, src/http_rest_api_handler.cpp, processV3.
"""

from __future__ import annotations

from dataclasses import dataclass
from email import message_from_bytes

from emulator.core.call import Deployment
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.vendor import Service
from emulator.core.wire import WireRequest
from emulator.vendors.openvino.decoder import is_too_deep, load_body, may_stream
from emulator.vendors.openvino.errors import name_node, refuse, refuse_body, refuse_path
from emulator.vendors.openvino.kinds import kind_of
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.settings import OpenVinoSettings

ADD_PACKET = (
    "Failed to add packet to mediapipe graph input stream - INVALID_ARGUMENT: "
    'Packet type mismatch on a calculator receiving from stream "input"'  # the detail is unverified
)

_PARTICULAR = frozenset(("classic", "embeddings", "rerank", "other"))
_CALCULATORS = {"embeddings": "embeddings", "rerank": "rerank"}


@dataclass(slots=True, eq=False)
class Accepted:
    """A request at its graph, which is of a kind :func:`kind_of` names."""

    request: WireRequest
    service: Service[OpenVinoSettings, None]
    deployment: Deployment
    kind: str
    body: dict[str, JSON]
    stream: bool
    settings: OpenVinoSettings
    release: Release


def accept(request: WireRequest, service: Service[OpenVinoSettings, None]) -> Accepted:
    """Find the graph of a generative request.

    Raises:
        EmulatedError: 412 for a bad body, 404 or 500 for a graph that is not there or not ready.
    """
    settings = service.settings
    release = settings.release
    path = request.path
    if not is_generative(path, release):
        refuse_path(request)
    streams = may_stream(path, release)
    body: dict[str, JSON] | None
    if release.content_type_routing and "application/json" not in (found := request.headers.get("Content-Type", "")):
        name, body = _read_form(request, found), None
    else:
        body = _read_body(request, release, streams)
        name = body["model"]
    if not name:
        name = _name_by_path(path, release)
    deployment = service.deployments.get(name)
    if deployment is None:
        raise EmulatedError(ErrorKind.NOT_FOUND)
    kind = kind_of(deployment)
    if deployment.state != "ready" or kind in _PARTICULAR:
        _check_graph(deployment, kind, release)
    if body is None:
        what = _CALCULATORS.get(kind, "text generation")
        refuse(f"Non-json request received in {what} calculator", node=name_node(deployment, settings))
    return Accepted(request, service, deployment, kind, body, streams and body.get("stream") is True, settings, release)


def is_generative(path: str, release: Release) -> bool:
    return path.startswith("/v3/") or (release.v1_alias and path.startswith("/v1/"))


def _name_by_path(path: str, release: Release) -> str:
    """The graph of a request that names none: since 2025.2 the rest of the path does."""
    if not release.content_type_routing:
        raise EmulatedError(ErrorKind.NOT_FOUND)
    if len(path) <= len("/v3/"):
        raise EmulatedError(ErrorKind.INTERNAL, message="Failed to deduce model name from all possible ways")
    return path[len("/v3/") :]


def _read_body(request: WireRequest, release: Release, streams: bool) -> dict[str, JSON]:
    body = load_body(request)
    if release.nesting_limit and is_too_deep(body, request.body, release.nesting_limit):
        refuse_body("JSON body exceeds maximum nesting depth")
    if not isinstance(body, dict):
        refuse_body("JSON body must be an object")
    if "model" not in body:
        quoted = '"model" field' if release.name == "2024.2" else "model field"
        refuse_body(f"{quoted} is missing in JSON body")
    if not isinstance(body["model"], str):
        refuse_body("model field is not a string")
    if streams and "stream" in body:
        _check_stream(body["stream"], release)
    return body


def _check_stream(stream: JSON, release: Release) -> None:
    if not isinstance(stream, bool) and not (stream is None and release.null_is_absent):
        refuse_body("stream field is not a boolean")


def _read_form(request: WireRequest, content_type: str) -> str:
    """The form field ``model``; nothing where the content is no form."""
    if "multipart/form-data" not in content_type:
        return ""
    head = b"Content-Type: " + content_type.encode("latin-1", "replace") + b"\r\n\r\n"
    form = message_from_bytes(head + request.body)
    if not form.is_multipart():
        raise EmulatedError(ErrorKind.INTERNAL, message="Request of multipart type but failed to parse")
    for part in form.walk():
        if part.get_param("name", header="content-disposition") == "model":
            value = part.get_payload(decode=True)
            return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
    return ""


def _check_graph(deployment: Deployment, kind: str, release: Release) -> None:
    """Refuse a servable that generates nothing, or not now.

    Raises:
        EmulatedError: 404 a classic model or retired; 500 not loaded yet; 412 not generative.
    """
    if kind == "classic" or (kind in ("embeddings", "rerank") and not release.embeddings):
        raise EmulatedError(ErrorKind.NOT_FOUND)
    if deployment.state == "retired":
        raise EmulatedError(ErrorKind.NOT_FOUND, message="Mediapipe is retired")
    if deployment.state != "ready":
        raise EmulatedError(ErrorKind.NOT_READY)
    if kind == "other":
        raise EmulatedError(ErrorKind.INVALID_REQUEST, message=ADD_PACKET)
