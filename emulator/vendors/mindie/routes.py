"""Route table and vendor definition of MindIE Server, Huawei's inference server for Ascend processors.

Source: MindIE documentation, "text/stream inference", and MindIE-LLM, ``http_wrapper/http_handler.cpp``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from emulator.core.calls import InferenceCall, Parsed
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import DROPPED, FieldNames, Request, Response
from emulator.core.vendor import Endpoint, MethodLimit, Plane, Vendor
from emulator.protocols import tgi
from emulator.protocols.auth import bearer_token
from emulator.vendors.mindie import info, management
from emulator.vendors.mindie.chat.parse import parse_chat
from emulator.vendors.mindie.completions import parse_completions
from emulator.vendors.mindie.errors import render_error, render_late_error
from emulator.vendors.mindie.generate.parse import parse_generate_stream, parse_root
from emulator.vendors.mindie.headers import RelayedCodec
from emulator.vendors.mindie.infer import parse_infer
from emulator.vendors.mindie.metrics import handle_metrics, handle_metrics_json
from emulator.vendors.mindie.profile import DeploymentProfile, MindieService, profile_deployment
from emulator.vendors.mindie.request import validate_relayed
from emulator.vendors.mindie.request_ids import stop_infer
from emulator.vendors.mindie.server_state import is_idle, is_killed, validate_serving
from emulator.vendors.mindie.settings import MindieSettings
from emulator.vendors.mindie.triton import PARSE_GENERATE, PARSE_STREAM, parse_token
from emulator.vendors.mindie.vllm import parse_generate

MEGABYTE = 1024**2
Parse = Callable[[Request, MindieService], Parsed]


_WAITING = 2  # waiting requests per worker


def admit(request: Request, service: MindieService) -> str:
    """Return the principal of the bearer token, or ``default``: no credential is refused.

    Source: MindIE-LLM, ``http_wrapper/http_server.cpp`` and ``utils/threadpool_monitor.cpp``.

    Raises:
        EmulatedError: all workers are busy and the queue is full.
    """
    workers = service.settings.max_link_num
    capacity = workers * (1 + _WAITING)
    if (
        request.method == "POST"
        and not request.path.endswith(_WITHOUT_INFERENCE)
        and tgi.count_running(service) >= capacity
    ):
        raise EmulatedError(ErrorKind.OVERLOADED, details={"capacity": workers, "queue": workers * _WAITING})
    return "default" if service.keys is None else service.principal(bearer_token(request)) or "default"


_MODEL = "/v2/models/{model}"
_POSTS: Mapping[str, Parse] = {
    "/": parse_root,
    "/generate": parse_generate,
    "/generate_stream": parse_generate_stream,
    "/infer": parse_infer,
    "/infer_token": parse_infer,
    "/v1/chat/completions": parse_chat,
    "/v1/completions": parse_completions,
    "/v1/tokenizer": info.count_tokens,
    f"{_MODEL}/infer": parse_token,
    f"{_MODEL}/generate": PARSE_GENERATE,
    f"{_MODEL}/generate_stream": PARSE_STREAM,
    f"{_MODEL}/stopInfer": stop_infer,
    "/v1/engine-server/fault-handling-command": management.handle_fault,
    "/v1/load_lora_adapter": management.load_adapter,
    "/v1/unload_lora_adapter": management.unload_adapter,
    "/v1/role/{role}": management.switch_role,
    "/v2/role/{role}": management.switch_role,
}
_WITHOUT_INFERENCE = ("/tokenizer", "/stopInfer", "_lora_adapter", "/fault-handling-command")  # paths without inference
_GETS: Mapping[str, Parse] = {
    "/dresult": management.handle_results,
    "/health": info.handle_health,
    "/health/timed": info.handle_timed_health,
    "/health/timed-{seconds}": info.handle_timed_health,
    "/info": info.handle_info,
    "/metrics": handle_metrics,
    "/metrics-json": handle_metrics_json,
    "/v1/config": info.handle_config,
    "/v1/health": info.handle_probe,
    "/v1/readiness": info.handle_probe,
    "/v1/startup": info.handle_probe,
    "/v1/engine-server/running-status": info.handle_running_status,
    "/v1/models": info.list_models,
    "/v1/models/{model}": info.handle_model,
    "/stopService": management.stop_service,
    "/v1/status": info.handle_status,
    "/v2": info.handle_server,
    "/v2/health/live": info.handle_triton_health,
    "/v2/health/ready": info.handle_triton_health,
    "/v2/status": info.handle_status,
    _MODEL: info.handle_metadata,
    f"{_MODEL}/config": info.handle_model_config,
    f"{_MODEL}/getSlotCount": info.count_slots,
    f"{_MODEL}/ready": info.handle_ready,
}


_INFERENCE = re.compile(
    r"/|/generate(_stream)?|/infer(_token)?|/v1/(chat/)?completions|/v2/models/[^/]+/(infer|generate.*)"
)


def _manage(parse: Parse) -> Parse:
    """Wrap the parser of a route so that engine state and a Coordinator take effect."""

    def parse_managed(request: Request, service: MindieService) -> Parsed:
        if not request.documents and not service.settings.coordinator:
            return parse(request, service)
        if request.documents and is_killed(request.documents, service.clock.now()):
            return Response(DROPPED, b"")
        if service.settings.coordinator and _INFERENCE.fullmatch(request.path) and request.method == "POST":
            validate_serving(request, tgi.find_served(service))
            validate_relayed(request)
        parsed = parse(request, service)
        if not isinstance(parsed, InferenceCall):
            return parsed
        codec = RelayedCodec(parsed.codec) if service.settings.coordinator else parsed.codec
        return replace(parsed, codec=codec, is_stopped=is_idle(request.documents))

    return parse_managed


_ENDPOINTS = (
    *(Endpoint(method="POST", path=path, parse=_manage(parse)) for path, parse in _POSTS.items()),
    *(Endpoint(method="GET", path=path, parse=_manage(parse)) for path, parse in _GETS.items()),
)
_METRICS = re.compile("/metrics")
_MANAGEMENT = re.compile(
    r"/(health|info|metrics-json|stopService)\b.*|/v2/health/.*|/v2/models/[^/]+/(ready|getSlotCount)"
    r"|/v1/(config|health|readiness|startup|engine-server/.*|(un)?load_lora_adapter)|/v[12]/(status|role/.*)"
)


def find_planes(settings: MindieSettings) -> Mapping[str, Plane[MindieSettings, DeploymentProfile]]:
    """Return the management and metrics listeners that have a port of their own."""
    ports = {"management": (settings.management_port, _MANAGEMENT), "metrics": (settings.metrics_port, _METRICS)}
    return {
        name: Plane(port, tuple(endpoint for endpoint in _ENDPOINTS if pattern.fullmatch(endpoint.path)))
        for name, (port, pattern) in ports.items()
        if port is not None
    }


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "PRI"})


def refuse_method(request: Request, service: MindieService) -> Response:
    """Refuse a method that the HTTP library does not parse.

    Source: cpp-httplib 0.30, ``httplib.h`` (Server::parse_request_line, Server::process_request). A Coordinator has
    another library, whose refusal is unverified: it answers as to any method without a route.

    Raises:
        EmulatedError: the server is a Coordinator.
    """
    if service.settings.coordinator:
        raise EmulatedError(ErrorKind.METHOD_NOT_ALLOWED, details={"path": request.path, "allow": ""})
    return Response(400, b"", (("Connection", "close"),), close=True)


FIELDS = FieldNames(
    text=frozenset({"content", "reasoning_content", "arguments", "text", "generated_text", "text_output"}),
    usage=(("usage",), ("details", "generated_tokens"), ("details", "prompt_tokens")),
    finish=(("finish_reason",), ("stop_reason",)),
    id=(("id",),),
    generated=("completion_tokens", "generated_tokens"),
    counts=("total_tokens", "prompt_tokens"),
)

VENDOR = Vendor(
    name="mindie",
    title="Huawei Ascend MindIE",
    chat_path="/v1/chat/completions",
    chat_model="llama_65b",
    endpoints=_ENDPOINTS,
    extra_listeners=find_planes,
    settings=MindieSettings,
    catalogue=info.list_deployments,
    authenticate=admit,
    render_error=render_error,
    profile_deployment=profile_deployment,
    fields=FIELDS,
    render_late_error=render_late_error,
    body_limit=40 * MEGABYTE,
    date=False,
    method_limit=MethodLimit(methods=_METHODS, parse=refuse_method),
    relevant_headers=("req-type", "req-id", "d-target"),
    is_stateful=True,
)
