"""The front door: which graph a generative request is for, and its members for that graph's checks.

Source: model_server, src/http_rest_api_handler.cpp, processV3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import Object, as_text
from emulator.core.requests import Deployment
from emulator.vendors.openvino.decoder import body_refusal, load_body, may_stream
from emulator.vendors.openvino.errors import name_asked, path_refusal, refusal
from emulator.vendors.openvino.media.multipart import Form, read_form
from emulator.vendors.openvino.profile import REJECTED, DeploymentProfile, OvmsService
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.settings import OpenVinoSettings

ADD_PACKET = (
    "Failed to add packet to mediapipe graph input stream - INVALID_ARGUMENT: "
    'Packet type mismatch on a calculator receiving from stream "input"'  # the detail is unverified
)

_PARTICULAR = frozenset(("classic", "embeddings", "rerank", "other", "image", "stt", "tts"))
_MEDIA: Mapping[str, tuple[int, int]] = {"image": (2025, 2), "stt": (2025, 4), "tts": (2025, 4)}  # and since when
_CALCULATORS = {"embeddings": "embeddings", "rerank": "rerank"}


@dataclass(slots=True, eq=False)
class ParsedRequest:
    """A request at its graph; ``form``: it came as one, and then its body has no members."""

    request: Request
    service: OvmsService
    deployment: Deployment
    servable: DeploymentProfile
    body: Object
    form: Form | None
    stream: bool
    settings: OpenVinoSettings
    release: Release

    @property
    def method(self) -> str:
        """How the server counts it."""
        return "Stream" if self.stream else "Unary"


@dataclass(slots=True, eq=False)
class Fields:
    """What a request to a text graph says, as far as it has been checked.

    Fields:
        body: the request's members, without those that are null where that means absent.
        numbers: the float fields that were given.
        max_tokens: ``None``: until the end of the sequence.
        plain: special tokens are shown, so nothing is read out of the text.
        pictures: addresses of those that came with the messages.
        sounds: those that came with the messages.
        speaks: a sound is asked for; ``writes``: a text is. ``pcm``: the sound without a head.
        chunk_frames: of the codec, in one piece of a streamed sound.
    """

    accepted: ParsedRequest
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


def accept(request: Request, service: OvmsService) -> ParsedRequest:
    """Find the graph of a generative request.

    Raises:
        EmulatedError: 412 for a bad body, 404 or 500 for a graph that is not there or not ready.
    """
    settings = service.settings
    release = settings.release
    path = request.path
    if not is_generative(path, release):
        raise path_refusal(request)
    streams = may_stream(path, release)
    body: Object | None = None
    form: Form | None = None
    if release.content_type_routing and "application/json" not in (found := request.headers.get("Content-Type", "")):
        form = read_form(found, request.body) if "multipart/form-data" in found else None
        name = (form.text("model") if form is not None else "") or _name_by_path(path)
    else:
        body = _read_body(request, release, streams)
        name = as_text(body["model"]).partition("\0")[0]  # the server goes on with it as C does
        if not name and release.since(2025, 2):
            name = _name_by_path(path)
    deployment = service.deployments.get(name)
    if deployment is None:
        raise EmulatedError(ErrorKind.NOT_FOUND)
    servable = service.profiles[name]
    if deployment.state != "ready" or servable.kind in _PARTICULAR:
        _check_graph(deployment, servable.kind, release)
    stream = streams and body is not None and body.get("stream") is True
    if body is None and servable.kind not in _MEDIA:
        what = _CALCULATORS.get(servable.kind, "text generation")
        raise refusal(f"Non-json request received in {what} calculator", node=servable.node)
    if form is not None and release.since(2026, 2):
        stream = form.text("stream") == "true"
    return ParsedRequest(request, service, deployment, servable, body or {}, form, stream, settings, release)


def is_generative(path: str, release: Release) -> bool:
    """Whatever is posted there is for a graph."""
    return path.startswith("/v3/") or (release.v1_alias and path.startswith("/v1/"))


def _name_by_path(path: str) -> str:
    """The graph of a request that names none: the rest of the path does."""
    if len(path) <= len("/v3/"):
        raise EmulatedError(ErrorKind.INTERNAL, message="Failed to deduce model name from all possible ways")
    return path[len("/v3/") :]


def _read_body(request: Request, release: Release, streams: bool) -> Object:
    body = load_body(request, release.nesting_limit)
    if not isinstance(body, dict):
        raise body_refusal("JSON body must be an object")
    if "model" not in body:
        raise body_refusal(f"{_quote('model', release)} field is missing in JSON body")
    if not isinstance(body["model"], str):
        raise body_refusal(f"{_quote('model', release)} field is not a string")
    if streams and not isinstance(body.get("stream", False), bool):
        raise body_refusal(f"{_quote('stream', release)} field is not a boolean")
    return body


def _quote(name: str, release: Release) -> str:
    return name if release.since(2025, 0) else f'"{name}"'


def _check_graph(deployment: Deployment, kind: str, release: Release) -> None:
    """Refuse a servable that generates nothing, or not now.

    Raises:
        EmulatedError: 404 a classic model or retired; 500 not loaded yet; 412 not generative.
    """
    unknown = kind in ("embeddings", "rerank") and not release.embeddings
    if kind == "classic" or unknown or (kind in _MEDIA and not release.since(*_MEDIA[kind])):
        raise EmulatedError(ErrorKind.NOT_FOUND)
    if deployment.state == "retired":
        raise EmulatedError(ErrorKind.NOT_FOUND, message="Mediapipe is retired")
    if deployment.state != "ready":
        raise EmulatedError(ErrorKind.NOT_READY)
    if kind == "other":
        status = 412 if release.since(2025, 0) else 500
        error = EmulatedError(ErrorKind.INVALID_REQUEST, ADD_PACKET, status=status)
        raise name_asked(error, deployment, f"Unary {REJECTED}")


def read_flag(read: Fields, name: str) -> bool:
    """A boolean, false if absent."""
    value = read.body.get(name, False)
    if not isinstance(value, bool):
        raise refusal(f"{name} accepts values true or false")
    return value
