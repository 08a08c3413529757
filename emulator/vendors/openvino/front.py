"""The front door: which graph a generative request is for, before any graph looks at it.

Source: model_server, src/http_rest_api_handler.cpp, processV3.
"""

from __future__ import annotations

from dataclasses import dataclass
from email import message_from_bytes
from typing import NoReturn

from emulator.core.call import Deployment
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.vendor import Service, WireRequest
from emulator.vendors.openvino.body import is_too_deep, load_body, may_stream
from emulator.vendors.openvino.errors import escapes, name_node, refuse, refuse_body, refuse_path
from emulator.vendors.openvino.kinds import kind_of
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.settings import OpenVinoSettings

ADD_PACKET = (
    "Failed to add packet to mediapipe graph input stream - INVALID_ARGUMENT: "
    'Packet type mismatch on a calculator receiving from stream "input"'  # the detail is unverified
)

_CALCULATORS = {"embeddings": "embeddings", "rerank": "rerank"}


@dataclass(slots=True, eq=False)
class Accepted:
    """A request at its graph, which is of a kind :func:`kind_of` names."""

    request: WireRequest
    service: Service[OpenVinoSettings]
    deployment: Deployment
    kind: str
    body: dict[str, JSON]
    stream: bool
    settings: OpenVinoSettings
    release: Release


def accept(request: WireRequest, service: Service[OpenVinoSettings]) -> Accepted:
    """Find the graph of a generative request.

    Raises:
        EmulatedError: 412 for a bad body, 404 or 500 for a graph that is not there or not ready.
    """
    release = service.settings.release
    if escapes(request.path) or not is_generative(request.path, release):
        refuse_path(request)
    name, body = _route(request, release)
    if not name:
        name = request.path[4:]
        if not name:
            raise EmulatedError(ErrorKind.INTERNAL, message="Failed to deduce model name from all possible ways")
    deployment = find_graph(name, service)
    kind = kind_of(deployment)
    if body is None:
        what = _CALCULATORS.get(kind, "text generation")
        node = name_node(deployment, service.settings)
        refuse(f"Non-json request received in {what} calculator", node=node)
    stream = may_stream(request.path, release) and body.get("stream") is True
    return Accepted(request, service, deployment, kind, body, stream, service.settings, release)


def is_generative(path: str, release: Release) -> bool:
    return path.startswith("/v3/") or (release.v1_alias and path.startswith("/v1/"))


def _route(request: WireRequest, release: Release) -> tuple[str, dict[str, JSON] | None]:
    """The graph's name, empty if the path has to name it, and the body if it is JSON."""
    if not release.content_type_routing:
        return _read_body(request, release)
    content_type = request.headers.get("Content-Type", "")
    if "multipart/form-data" in content_type:
        return _read_form(request, content_type), None
    if "application/json" in content_type:
        return _read_body(request, release)
    return "", None


def _read_body(request: WireRequest, release: Release) -> tuple[str, dict[str, JSON]]:
    body = load_body(request)
    if is_too_deep(body, request.body, release.nesting_limit):
        refuse_body("JSON body exceeds maximum nesting depth")
    if not isinstance(body, dict):
        refuse_body("JSON body must be an object")
    if "model" not in body:
        quoted = '"model" field' if release.name == "2024.2" else "model field"
        refuse_body(f"{quoted} is missing in JSON body")
    model = body["model"]
    if not isinstance(model, str):
        refuse_body("model field is not a string")
    if may_stream(request.path, release):
        _check_stream(body.get("stream", False), release)
    if not model and not release.content_type_routing:
        _refuse_missing()
    return model, body


def _check_stream(stream: JSON, release: Release) -> None:
    if not isinstance(stream, bool) and not (stream is None and release.null_is_absent):
        refuse_body("stream field is not a boolean")


def _read_form(request: WireRequest, content_type: str) -> str:
    """The form field ``model``."""
    head = b"Content-Type: " + content_type.encode("latin-1", "replace") + b"\r\n\r\n"
    form = message_from_bytes(head + request.body)
    if not form.is_multipart():
        raise EmulatedError(ErrorKind.INTERNAL, message="Request of multipart type but failed to parse")
    for part in form.walk():
        if part.get_param("name", header="content-disposition") == "model":
            value = part.get_payload(decode=True)
            return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
    return ""


def find_graph(name: str, service: Service[OpenVinoSettings]) -> Deployment:
    """The served graph of that name.

    Raises:
        EmulatedError: 404 unknown, a classic model or retired; 500 not loaded yet; 412 not generative.
    """
    deployment = service.deployments.get(name)
    kind = "" if deployment is None else kind_of(deployment)
    if deployment is None or kind == "classic":
        _refuse_missing()
    if deployment.task in ("embeddings", "rerank") and not service.settings.release.embeddings:
        _refuse_missing()
    if deployment.state == "retired":
        raise EmulatedError(ErrorKind.NOT_FOUND, message="Mediapipe is retired")
    if deployment.state != "ready":
        raise EmulatedError(ErrorKind.NOT_READY)
    if kind == "other":
        raise EmulatedError(ErrorKind.INVALID_REQUEST, message=ADD_PACKET)
    return deployment


def _refuse_missing() -> NoReturn:
    raise EmulatedError(ErrorKind.NOT_FOUND)
