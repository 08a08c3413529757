"""Routes that report models, health, configuration and status.

Source: MindIE-LLM, ``http_wrapper/http_handler.cpp`` and ``single_req_infer_interface/parse_protocol.cpp``.
"""

import json
import re
from collections.abc import Mapping

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, dump_json
from emulator.core.requests import Deployment
from emulator.protocols.tgi import count_running, count_waiting, decode_each, find_served, validate_ready
from emulator.vendors.mindie.decoder import count_units, refusal
from emulator.vendors.mindie.headers import closing_headers, coordinator_headers
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.request import NO_JSON, find_model, parse_body
from emulator.vendors.mindie.server_state import (
    NORMAL,
    STOPPED,
    list_served,
    parse_adapters,
    parse_engine,
    parse_role,
    validate_serving,
)
from emulator.vendors.mindie.settings import BLOCK_SIZE, MindieSettings

OWNER = "MindIE Server"
VERSION = "1.0.0"
NODE_ADDRESS = "127.0.0.2:1026"
_MAX_WAIT = 600
CACHE_BLOCKS = 1024


def list_deployments(settings: MindieSettings) -> tuple[Deployment, ...]:
    """Return the single model a server has if the scenario names none."""
    return (
        Deployment(
            vendor="mindie",
            name=settings.model_name,
            context=settings.max_seq_len,
            max_output=settings.max_iter_times,
            tokenizer="qwen2",
        ),
    )


def respond(request: Request, value: JSON) -> Response:
    return Response(200, dump_json(value), closing_headers(request.key), close=True)


def respond_empty(request: Request, service: MindieService) -> Response:
    """Return 200 without a body."""
    return Response(200, b"", closing_headers(request.key, ""), close=True)


def handle_health(request: Request, service: MindieService) -> Response:
    validate_serving(request, find_served(service))
    return respond_empty(request, service)


def handle_triton_health(request: Request, service: MindieService) -> Response:
    """Handle ``GET /v2/health/live`` and ``/ready``; raise if the engine is busy or handles faults."""
    validate_serving(request, find_served(service))
    if parse_engine(request.documents) != NORMAL:
        raise EmulatedError(ErrorKind.INTERNAL)
    if count_running(service) >= service.settings.max_batch_size:
        raise EmulatedError(ErrorKind.OVERLOADED)
    return respond_empty(request, service)


def handle_ready(request: Request, service: MindieService) -> Response:
    validate_serving(request, find_model(request, service))
    return respond_empty(request, service)


def handle_probe(request: Request, service: MindieService) -> Response:
    """Handle a Coordinator's ``/v1/startup``, ``/v1/health`` and ``/v1/readiness``; only the last needs a model.

    Source: MindIE-Motor, ``controller_listener/ControllerListener.cpp``.
    """
    if not service.settings.coordinator:
        raise EmulatedError(ErrorKind.NOT_FOUND, details={"path": request.path})
    lacking = request.path == "/v1/readiness" and find_served(service).state != "ready"
    return Response(503 if lacking else 200, b"", coordinator_headers())


def handle_timed_health(request: Request, service: MindieService) -> Response:
    """Handle ``/health/timed`` and ``/health/timed-{seconds}``, 1 to 600 s; a stopped server reports healthy."""
    seconds = request.params.get("seconds", "10")
    if not re.fullmatch(r"[0-9]+", seconds):
        raise EmulatedError(ErrorKind.NOT_FOUND, details={"path": request.path})  # no route
    if STOPPED in request.documents or find_served(service).state == "stopped":
        return respond(request, {"status": "healthy"})
    if len(seconds) > 3:
        raise _absence_refusal(f"Max wait time is {_MAX_WAIT}, input is invalid or too long")
    if not 1 <= int(seconds) <= _MAX_WAIT:
        raise _absence_refusal(f"Wait time should be in range of [1, {_MAX_WAIT}], input is not valid")
    validate_ready(find_served(service))
    return respond(request, {"status": "healthy"})


def _absence_refusal(text: str) -> EmulatedError:
    return EmulatedError(ErrorKind.NOT_FOUND, message=text)


def list_models(request: Request, service: MindieService) -> Response:
    """Handle ``GET /v1/models``: keys sorted, indented; ``parent`` of a base model is the string ``null``."""
    base = validate_ready(find_served(service)).name
    loaded = parse_adapters(request.documents)
    rows = [
        {
            "id": d.name,
            "object": "model",
            "owned_by": OWNER,
            "parent": _parent(d, loaded.get(d.name) or base) or "null",
            "root": d.name,
        }
        for d in list_served(request, service).values()
    ]
    text = json.dumps({"data": rows, "object": "list"}, indent=4, sort_keys=True, ensure_ascii=False)
    return Response(200, text.encode(), closing_headers(request.key), close=True)


def handle_model(request: Request, service: MindieService) -> Response:
    deployment = validate_ready(find_model(request, service, adapters=True))
    parent = _parent(deployment, find_served(service).name)
    body: Object = {"id": deployment.name, "object": "model", "created": int(service.started), "owned_by": OWNER}
    return respond(request, {**body, "parent": parent} if parent else body)


def _parent(deployment: Deployment, base: str) -> str | None:
    return base if deployment.kind == "lora" else None


def handle_info(request: Request, service: MindieService) -> Response:
    settings = service.settings
    deployment = validate_serving(request, find_served(service))
    model = {
        "model_device_type": "npu",
        "model_dtype": "float16",
        "model_id": deployment.name,
        "model_pipeline_tag": "text-generation",
        "model_sha": None,
        "max_total_tokens": service.profiles[deployment.name].sequence,
    }
    body: Object = {
        "docker_label": None,
        "max_batch_total_tokens": settings.max_prefill_tokens,
        "max_best_of": 1,
        "max_concurrent_requests": settings.max_batch_size,
        "max_stop_sequences": None,
        "max_waiting_tokens": None,
        "sha": None,
        "validation_workers": None,
        "version": VERSION,
        "waiting_served_ratio": None,
        "models": [model],
        "max_input_length": settings.max_input_token_len,
    }
    return respond(request, body)


def handle_server(request: Request, service: MindieService) -> Response:
    """Handle ``GET /v2``."""
    settings = service.settings
    extensions = {
        "max_iter_times": settings.max_iter_times,
        "prefill_policy_type": 0,
        "decode_policy_type": 0,
        "max_prefill_batch_size": settings.max_prefill_batch_size,
        "max_prefill_tokens": settings.max_prefill_tokens,
    }
    return respond(request, {"name": OWNER, "version": VERSION, "extensions": extensions})


def handle_metadata(request: Request, service: MindieService) -> Response:
    """Handle ``GET /v2/models/{model}``."""
    deployment = validate_ready(find_model(request, service))
    body: Object = {
        "name": deployment.name,
        "platform": OWNER,
        "inputs": [_build_tensor("input0")],
        "outputs": [_build_tensor("output0")],
    }
    return respond(request, body)


def _build_tensor(name: str) -> Object:
    return {"name": name, "shape": [-1], "datatype": "UINT32"}


def handle_model_config(request: Request, service: MindieService) -> Response:
    """Handle ``GET /v2/models/{model}/config``; data types are those of the model's metadata, unverified."""
    deployment = validate_ready(find_model(request, service))
    body: Object = {
        "model_name": deployment.name,
        "input_datatype": "UINT32",
        "output_datatype": "UINT32",
        "max_seq_len": service.profiles[deployment.name].sequence,
        "npu_mem_size": -1,
        "cpu_mem_size": 0,
        "world_size": 4,
        "model_weight_path": deployment.name,
        "model_instance_type": "Standard",
    }
    return respond(request, body)


def count_slots(request: Request, service: MindieService) -> Response:
    """Handle ``GET /v2/models/{model}/getSlotCount``."""
    validate_serving(request, find_model(request, service))
    total = service.settings.max_batch_size
    free = max(0, total - count_running(service))
    tokens = CACHE_BLOCKS * BLOCK_SIZE
    return respond(request, {"total_slots": total, "free_slots": free, "available_tokens_length": tokens})


def handle_config(request: Request, service: MindieService) -> Response:
    """Handle ``GET /v1/config``."""
    deployment = validate_ready(find_served(service))
    bounds = service.profiles[deployment.name]
    body: Object = {
        "modelName": deployment.name,
        "maxSeqLen": bounds.sequence,
        "npuMemSize": -1,
        "cpuMemSize": 0,
        "worldSize": 4,
        "maxOutputLen": bounds.answer,
        "cacheBlockSize": BLOCK_SIZE,
    }
    return respond(request, body)


def handle_status(request: Request, service: MindieService) -> Response:
    """Handle ``GET /v1/status`` and ``/v2/status``; the latter reports more block counts."""
    validate_serving(request, find_served(service))
    running = count_running(service)
    slots = max(0, service.settings.max_batch_size - running)
    resource: Mapping[str, JSON] = {
        "availSlotsNum": slots,
        "availBlockNum": CACHE_BLOCKS,
        "waitingRequestNum": count_waiting(service),
        "runningRequestNum": running,
        "swappedRequestNum": 0,
        "freeNpuBlockNums": CACHE_BLOCKS,
        "freeCpuBlockNums": 0,
        "totalNpuBlockNums": CACHE_BLOCKS,
        "totalCpuBlockNums": 0,
    }
    role, share = parse_role(request.documents, service)
    state: Object = {"roleStatus": "RoleReady", "currentRole": role}
    if request.path.startswith("/v2/"):
        more = {"totalAvailNpuSlotsNum": slots, "totalAvailNpuBlockNum": CACHE_BLOCKS}
        resource = {**resource, **more, "dpInstMap": [[0, CACHE_BLOCKS]], "maxAvailNpuBlockNum": CACHE_BLOCKS}
    elif role == "flex":
        state["p_percentage"] = share
    return respond(request, {"service": state, "resource": resource, "linkStatus": {"peers": []}})


def handle_running_status(request: Request, service: MindieService) -> Response:
    """Handle ``GET /v1/engine-server/running-status``: 0 ready, 1 normal, 2 abnormal, 3 pause, 4 init, 5 busy."""
    status = 4 if find_served(service).state == "loading" else parse_engine(request.documents)
    if status == NORMAL and count_running(service) >= service.settings.max_batch_size:
        status = 5
    return respond(request, {"status": status, "errors": []})


def count_tokens(request: Request, service: MindieService) -> Response:
    """Handle ``POST /v1/tokenizer``: count and return the tokens of a text."""
    fields = parse_body(request, service.settings, NO_JSON)
    text = fields.get("inputs")
    if not isinstance(text, str):
        raise refusal("Inputs in request body is invalid.", "inputs")
    length, limit = count_units(text), service.settings.max_input_chars
    if not 0 < length <= limit:
        raise refusal(f"Inputs data length in [0, {limit}], but the length of inputs is {length}", "inputs")
    tokenizer = service.tokenizer(validate_ready(find_served(service)))
    special = [] if tokenizer.bos is None else decode_each(tokenizer, [tokenizer.bos])
    tokens = [] if fields.get("do_decode") is False else [*special, *tokenizer.pieces(text)]
    return respond(request, {"token_number": len(tokenizer.encode(text)) + len(special), "tokens": tokens})
