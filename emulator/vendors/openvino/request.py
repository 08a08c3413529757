"""Find the graph that a generative request addresses, and parse the body; each route parses its own fields after.

A graph is a served MediaPipe pipeline, such as one that generates text.

Source: model_server, src/http_rest_api_handler.cpp, processV3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import Object, as_text
from emulator.core.requests import Deployment
from emulator.encoding.multipart import Form, parse_form
from emulator.vendors.openvino.decoder import body_refusal, load_body, may_stream
from emulator.vendors.openvino.errors import add_call_details, path_refusal, refusal
from emulator.vendors.openvino.profile import REJECTED, DeploymentProfile, OpenVinoService
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.settings import OpenVinoSettings

ADD_PACKET = (
    "Failed to add packet to mediapipe graph input stream - INVALID_ARGUMENT: "
    'Packet type mismatch on a calculator receiving from stream "input"'  # the detail is unverified
)

_CHECKED_KINDS = frozenset(("classic", "embeddings", "rerank", "other", "image", "stt", "tts"))
_MEDIA_SINCE: Mapping[str, tuple[int, int]] = {"image": (2025, 2), "stt": (2025, 4), "tts": (2025, 4)}  # first release
_CALCULATORS = {"embeddings": "embeddings", "rerank": "rerank"}


@fast_dataclass(slots=True, eq=False)
class ParsedRequest:
    """Generative request with its graph; a multipart ``form`` has no JSON members."""

    request: Request
    service: OpenVinoService
    deployment: Deployment
    profile: DeploymentProfile
    body: Object
    form: Form | None
    stream: bool
    settings: OpenVinoSettings
    release: Release

    @property
    def method(self) -> str:
        """Return the method in the server's metrics."""
        return "Stream" if self.stream else "Unary"


@fast_dataclass(slots=True, eq=False)
class Fields:
    """Fields of a request to a text graph that have been validated so far.

    Fields:
        body: members of the request, without those that null makes absent.
        numbers: float fields in the request.
        max_tokens: ``None``: until the end of the sequence.
        plain: special tokens are shown, so nothing is parsed out of the text.
        pictures: URLs of images in the messages.
        sounds: ``input_audio`` objects in the messages.
        speaks: audio is requested.
        writes: text is requested.
        pcm: the audio has no header.
        chunk_frames: codec frames per piece of streamed audio.
    """

    parsed: ParsedRequest
    release: Release
    body: Object
    numbers: dict[str, float] = field(default_factory=dict)
    include_usage: bool = False
    ignore_eos: bool = False
    max_tokens: int | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    keep_stop: bool = False
    best_of: int = 1
    n: int = 1
    logprobs: bool = False
    echo: bool = False
    plain: bool = False
    pictures: list[str] = field(default_factory=list)
    sounds: list[Object] = field(default_factory=list)
    speaks: bool = False
    writes: bool = True
    pcm: bool = False
    chunk_frames: int = 1


def parse_request(request: Request, service: OpenVinoService) -> ParsedRequest:
    """Find the graph of a generative request.

    Raises:
        EmulatedError: 412 for an invalid body, 404 or 500 for a graph that is unknown or not ready.
    """
    settings = service.settings
    release = settings.release
    path = request.path
    if not is_generative(path, release):
        raise path_refusal(request)
    streams = may_stream(path, release)
    body: Object | None = None
    form: Form | None = None
    if release.content_type_routing and "application/json" not in (kind := request.headers.get("Content-Type", "")):
        form = _parse_form(kind, request.body) if "multipart/form-data" in kind else None
        name = (form.text("model") if form is not None else "") or _find_name(path)
    else:
        body = _parse_body(request, release, streams)
        name = as_text(body["model"]).partition("\0")[0]  # the server uses it as a C string
        if not name and release.since(2025, 2):
            name = _find_name(path)
    deployment = service.deployments.get(name)
    if deployment is None:
        raise EmulatedError(ErrorKind.NOT_FOUND)
    profile = service.profiles[name]
    if deployment.state != "ready" or profile.kind in _CHECKED_KINDS:
        _validate_graph(deployment, profile.kind, release)
    stream = streams and body is not None and body.get("stream") is True
    if body is None and profile.kind not in _MEDIA_SINCE:
        calculator = _CALCULATORS.get(profile.kind, "text generation")
        raise refusal(f"Non-json request received in {calculator} calculator", node=profile.node)
    if form is not None and release.since(2026, 2):
        stream = form.text("stream") == "true"
    return ParsedRequest(request, service, deployment, profile, body or {}, form, stream, settings, release)


def is_generative(path: str, release: Release) -> bool:
    """Return whether a POST to this path is for a graph."""
    return path.startswith("/v3/") or (release.v1_alias and path.startswith("/v1/"))


def _parse_form(content_type: str, body: bytes) -> Form:
    try:
        return parse_form(content_type, body)
    except ValueError:
        raise EmulatedError(ErrorKind.INTERNAL, message="Request of multipart type but failed to parse") from None


def _find_name(path: str) -> str:
    """Return the graph's name from the path, for a request without one."""
    if len(path) <= len("/v3/"):
        raise EmulatedError(ErrorKind.INTERNAL, message="Failed to deduce model name from all possible ways")
    return path[len("/v3/") :]


def _parse_body(request: Request, release: Release, streams: bool) -> Object:
    body = load_body(request, release.nesting_limit)
    if not isinstance(body, dict):
        raise body_refusal("JSON body must be an object")
    if "model" not in body:
        raise body_refusal(f"{_format_field('model', release)} field is missing in JSON body")
    if not isinstance(body["model"], str):
        raise body_refusal(f"{_format_field('model', release)} field is not a string")
    if streams and not isinstance(body.get("stream", False), bool):
        raise body_refusal(f"{_format_field('stream', release)} field is not a boolean")
    return body


def _format_field(name: str, release: Release) -> str:
    return name if release.since(2025, 0) else f'"{name}"'


def _validate_graph(deployment: Deployment, kind: str, release: Release) -> None:
    """Raise unless the servable is a generative graph that is ready.

    Raises:
        EmulatedError: 404 for a classic or retired model; 500 if not loaded yet; 412 if not generative.
    """
    unknown = kind in ("embeddings", "rerank") and not release.embeddings
    if kind == "classic" or unknown or (kind in _MEDIA_SINCE and not release.since(*_MEDIA_SINCE[kind])):
        raise EmulatedError(ErrorKind.NOT_FOUND)
    if deployment.state == "retired":
        raise EmulatedError(ErrorKind.NOT_FOUND, message="Mediapipe is retired")
    if deployment.state != "ready":
        raise EmulatedError(ErrorKind.NOT_READY)
    if kind == "other":
        status = 412 if release.since(2025, 0) else 500
        error = EmulatedError(ErrorKind.INVALID_REQUEST, ADD_PACKET, status=status)
        raise add_call_details(error, deployment, f"Unary {REJECTED}")


def parse_flag(fields: Fields, name: str) -> bool:
    """Parse a boolean; false if absent."""
    value = fields.body.get(name, False)
    if not isinstance(value, bool):
        raise refusal(f"{name} accepts values true or false")
    return value
