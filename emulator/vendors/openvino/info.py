"""Routes that report servables: KServe metadata, configuration status and model lists.

Source: model_server, src/http_rest_api_handler.cpp, src/kfs_frontend/kfs_grpc_inference_service.cpp,
src/model_service.cpp.
"""

import json
import re
from collections.abc import Iterator

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import JSON, dump_json
from emulator.core.requests import Deployment
from emulator.core.rng import draw_hex
from emulator.vendors.openvino.decoder import quote
from emulator.vendors.openvino.errors import MISSING_MODEL, path_refusal
from emulator.vendors.openvino.profile import OpenVinoService
from emulator.vendors.openvino.settings import OpenVinoSettings
from emulator.vendors.openvino.tensors.tensor import TensorInfo, list_tensors

_RELOADS = {
    "cannot_open": "Config file not found or cannot open.",
    "failed": "Reloading config file failed. Check server logs for more info.",
    "versions_failed": "Reloading models versions failed. Check server logs for more info.",
    "statuses_failed": "Retrieving all model statuses failed. Check server logs for more info.",
    "serializing_failed": "Serializing model statuses to json failed. Check server logs for more info.",
}
_STATUS_PATH = re.compile(r"(versions/(?P<version>\d+)|labels/(?P<label>[^/]+))?/?(?P<metadata>metadata)?")
_STATUS = """{
 "model_version_status": [
  {
   "version": "1",
   "state": "%s",
   "status": {
    "error_code": "%s",
    "error_message": "%s"
   }
  }
 ]
}
"""


def list_deployments(settings: OpenVinoSettings) -> tuple[Deployment, ...]:
    """Return the text, embeddings and rerank graphs that the server has if the scenario names none."""
    return (
        Deployment(vendor="openvino", name="llama3", task="chat", kind="text", context=8192, tokenizer="llama3"),
        Deployment(
            vendor="openvino",
            name="embeddings",
            task="embeddings",
            kind="embeddings",
            context=512,
            dimensions=1024,
            tokenizer="bert",
        ),
        Deployment(vendor="openvino", name="rerank", task="rerank", kind="rerank", context=512, tokenizer="bert"),
    )


def _respond(service: OpenVinoService, body: bytes = b"", status: int = 200) -> Response:
    return Response(status, body, service.settings.json_headers)


def _find(request: Request, service: OpenVinoService) -> Deployment:
    """Find the servable of the path.

    Raises:
        EmulatedError: 404.
    """
    deployment = service.deployments.get(request.params["name"])
    if not request.params.get("version", "1").isdigit():
        raise path_refusal(request)
    if deployment is None:
        raise EmulatedError(ErrorKind.NOT_FOUND, message=MISSING_MODEL)
    return deployment


def handle_server(request: Request, service: OpenVinoService) -> Response:
    """Handle ``GET /v2``."""
    release = service.settings.release.name
    version = service.settings.server_version or f"{release}.0.{draw_hex(bytes(16), release, digits=8)}"
    return _respond(service, b'{"name":"OpenVINO Model Server","version":%b}' % quote(version))


def handle_live(request: Request, service: OpenVinoService) -> Response:
    """Handle ``GET /v2/health/live``: an empty body."""
    return _respond(service)


def handle_ready(request: Request, service: OpenVinoService) -> Response:
    """Handle ``GET /v2/health/ready``: an empty body once all servables are loaded.

    Raises:
        EmulatedError: a servable is not loaded.
    """
    if any(d.state not in ("ready", "retired") for d in service.deployments.values()):
        raise EmulatedError(ErrorKind.NOT_READY)
    return _respond(service)


def handle_model(request: Request, service: OpenVinoService) -> Response:
    """Handle ``GET /v2/models/{name}``; a graph always has version 1 and untyped tensors."""
    deployment = _find(request, service)
    body = b'{"name":%b,"versions":["1"],"platform":"OpenVINO","inputs":%b,"outputs":%b}'
    inputs, outputs = [dump_json(_build_tensors(deployment, service, name)) for name in ("input", "output")]
    return _respond(service, body % (quote(deployment.name), inputs, outputs))


def _build_tensors(deployment: Deployment, service: OpenVinoService, name: str) -> JSON:
    if service.profiles[deployment.name].kind != "classic":
        return [{"name": name, "datatype": "INVALID", "shape": []}]
    tensors = list_tensors(deployment, f"{name}s")
    return [{"name": info.name, "datatype": info.datatype, "shape": list(info.shape)} for info in tensors]


def handle_model_ready(request: Request, service: OpenVinoService) -> Response:
    """Handle ``GET /v2/models/{name}/ready``: an empty body.

    Raises:
        EmulatedError: 404, unknown or not available.
    """
    if _find(request, service).state != "ready":
        raise EmulatedError(ErrorKind.NOT_FOUND, message="Model with requested version is not loaded yet")
    return _respond(service)


def _format_status(deployment: Deployment) -> str:
    """Format the status of one servable as protobuf does, indented by one blank per level."""
    state, code = {
        "ready": ("AVAILABLE", "OK"),
        "retired": ("END", "OK"),
        "failed": ("LOADING", "FAILED_PRECONDITION"),
    }.get(deployment.state, ("LOADING", "OK"))
    return _STATUS % (state, code, code)


def handle_config(request: Request, service: OpenVinoService) -> Response:
    """Handle ``GET /v1/config``: the status of every servable, sorted by name."""
    return _respond(service, _encode_config(service))


def _encode_config(service: OpenVinoService) -> bytes:
    if not service.deployments:
        return b"{}"
    rows = [
        b"%b : \n%b" % (quote(name), _format_status(deployment).rstrip("\n").encode())
        for name, deployment in sorted(service.deployments.items())
    ]
    return b"{\n%b\n}" % b",\n".join(rows)


def reload_config(request: Request, service: OpenVinoService) -> Response:
    """Handle ``POST /v1/config/reload``; the setting ``config_reload`` decides the result.

    Raises:
        EmulatedError: the reload failed; status unverified.
    """
    outcome = service.settings.config_reload
    if outcome in _RELOADS:
        raise EmulatedError(ErrorKind.INTERNAL, message=_RELOADS[outcome])
    return _respond(service, _encode_config(service), 201 if outcome == "reloaded" else 200)


def handle_status(request: Request, service: OpenVinoService) -> Response:
    """Handle ``GET /v1/models/{name}`` of TensorFlow Serving, up to 2026.2.

    Raises:
        EmulatedError: 404.
    """
    if not service.settings.release.tf_serving:
        raise path_refusal(request)
    rest = _STATUS_PATH.fullmatch(request.params.get("rest", ""))
    if rest is None or ":" in request.params["name"]:
        raise path_refusal(request)
    deployment = _find(request, service)
    if rest["metadata"] and service.profiles[deployment.name].kind != "classic":  # graphs have none
        raise EmulatedError(ErrorKind.NOT_FOUND, message=MISSING_MODEL)
    if rest["version"] not in (None, "1") or rest["label"]:
        raise EmulatedError(ErrorKind.NOT_FOUND, message="Model with requested version is not found")
    if rest["metadata"]:
        return _respond(service, _encode_metadata(deployment))
    return _respond(service, _format_status(deployment).encode())


def _encode_metadata(deployment: Deployment) -> bytes:
    """Encode the signature of a classic model as protobuf does, indented by one blank per level."""
    signature: JSON = {
        trait: {info.name: _build_info(info) for info in list_tensors(deployment, trait)}
        for trait in ("inputs", "outputs")
    } | {"methodName": "", "defaults": {}}
    definitions: JSON = {
        "@type": "type.googleapis.com/tensorflow.serving.SignatureDefMap",
        "signatureDef": {"serving_default": signature},
    }
    whole: JSON = {
        "modelSpec": {"name": deployment.name, "signatureName": "", "version": "1"},
        "metadata": {"signature_def": definitions},
    }
    return (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode()


def _build_info(info: TensorInfo) -> JSON:
    shape: JSON = {"dim": [{"size": str(size), "name": ""} for size in info.shape], "unknownRank": False}
    return {"dtype": info.tensorflow_type, "tensorShape": shape, "name": info.name}


def list_models(request: Request, service: OpenVinoService) -> Response:
    """Handle ``GET /v3/models``, since 2025.3, and ``GET /v1/models``, since 2026.3.

    Raises:
        EmulatedError: the release has no such list.
    """
    _validate_list(request, service)
    data = [_build_model(d.name, service) for d in _list_available(service)]
    return _respond(service, dump_json({"data": data, "object": "list"}))


def handle_listed(request: Request, service: OpenVinoService) -> Response:
    """Handle ``GET /v3/models/{id}``, since 2026.3 also under ``/v1``; an unknown id is a 500.

    Raises:
        EmulatedError: 500, or the release has no such list.
    """
    _validate_list(request, service)
    name = request.path.partition("/models/")[2]
    if name not in {d.name for d in _list_available(service)}:
        raise EmulatedError(ErrorKind.INTERNAL, message="Model not found")
    return _respond(service, dump_json(_build_model(name, service)))


def _validate_list(request: Request, service: OpenVinoService) -> None:
    if not service.settings.release.models_list:
        raise path_refusal(request)


def _list_available(service: OpenVinoService) -> Iterator[Deployment]:
    """Yield classic models, then graphs."""
    available = [d for d in service.deployments.values() if d.state == "ready"]
    yield from (d for d in available if service.profiles[d.name].kind == "classic")
    yield from (d for d in available if service.profiles[d.name].kind != "classic")


def _build_model(name: str, service: OpenVinoService) -> JSON:
    return {"id": name, "object": "model", "created": int(service.clock.now()), "owned_by": "OVMS"}
