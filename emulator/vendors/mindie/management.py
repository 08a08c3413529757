"""Management routes: stop the service, load adapters, handle faults, switch a node's role.

Source: MindIE-LLM, ``http_wrapper/http_handler.cpp``, ``http_wrapper/dmi_role.cpp``, ``src/engine/lora_manager.cpp``
and ``single_req_infer_interface/parse_protocol.cpp``.
"""

import ipaddress
import re
from collections.abc import Mapping

from emulator.core.calls import Change, Write
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, dump_json
from emulator.protocols.tgi import find_served
from emulator.vendors.mindie.decoder import is_unsigned, refusal
from emulator.vendors.mindie.headers import closing_headers
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.request import NO_JSON, parse_exactly
from emulator.vendors.mindie.server_state import (
    ENGINE,
    NORMAL,
    PAUSED,
    READY,
    ROLE,
    STOPPED,
    Documents,
    adapter_key,
    parse_adapters,
    parse_engine,
    parse_role,
)
from emulator.vendors.mindie.settings import MindieSettings

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,256}")
_PATH = re.compile(r"(?:/(?:[\w\-.]+/)*[\w\-.]*/?)?|(?:[\w\-.]+/)*[\w\-.]*/?", re.ASCII)
_GRACE = 5.0  # seconds until a server that is forced to stop is killed
_DEVICES = 4  # devices of the shipped configuration
_APART = "Multi Lora does not support PD separation!"
_BAD_COMMAND = (
    '{"Error": "cmd_type must be necessary and data type must be integer.",\n'
    '            "error_type": "validation"}'  # the source has the line break in its text
)
_PAUSES = (0, 3)
# Status of the engine after a command, by the command and the status before.
_COMMANDS: Mapping[tuple[int, int], int] = {
    (0, NORMAL): PAUSED,
    (3, NORMAL): PAUSED,
    (1, PAUSED): READY,
    (2, READY): NORMAL,
    (2, PAUSED): NORMAL,
}


def _respond(request: Request, text: str, status: int = 200) -> Response:
    """Return a bare text under a JSON content type."""
    return Response(status, text.encode(), closing_headers(request.key), close=True)


def stop_service(request: Request, service: MindieService) -> Change:
    """Handle ``GET /stopService``: respond once all running requests have completed.

    With ``mode=Force`` the response is immediate, and the server's processes are killed five seconds later.
    """
    force = request.query.get("mode") == "Force"
    killed = service.clock.now() + _GRACE

    def make(documents: Documents) -> Write | Response:
        headers = closing_headers(request.key, "")
        if STOPPED in documents:
            return Response(500, b"", headers, close=True)
        return Write(Response(200, b"", headers, close=True), STOPPED, killed if force else True)

    async def kill(session: str) -> None:
        service.clock.call_at(killed, lambda: service.running.cut_all(session))

    return Change(make, then=kill if force else service.running.wait_idle)


def load_adapter(request: Request, service: MindieService) -> Change | Response:
    """Handle ``POST /v1/load_lora_adapter``; most errors have status 200, too."""
    adapter = _parse_adapter(request)
    if isinstance(adapter, Response):
        return adapter
    name, path, parent = adapter
    if ".." in path or not _PATH.fullmatch(path):
        return _respond(request, "Input invalid lora path", 503)
    if service.settings.disaggregated:
        return _respond(request, _APART)

    def make(documents: Documents) -> Write | Response:
        problem = _find_problem(name, path, documents, service)
        if problem:
            return _respond(request, problem)
        done = _respond(request, f"Success: LoRA adapter '{name}' added successfully.")
        return Write(done, adapter_key(name), parent or find_served(service).name)

    return Change(make)


def _find_problem(name: str, path: str, documents: Documents, service: MindieService) -> str:
    """Return why an adapter cannot be loaded; empty if it can."""
    found = _list_adapters(documents, service)
    if name not in found and service.metrics.working(name):
        return f"The LoRA adapter '{name}' is waiting to unload."
    if name in found:
        return f"The LoRA adapter '{name}' has already been added."
    if len(found) >= service.settings.max_loras:
        return (
            "Call to load LoRA method failed:"
            "The number of LoRA adapters exceeds 'max_loras', and none are currently unloading."
        )
    if not path:
        return f"Call to load LoRA method failed: Loading LoRA '{name}' failed: No adapter found for '{path}'."
    return ""


def unload_adapter(request: Request, service: MindieService) -> Change | Response:
    """Handle ``POST /v1/unload_lora_adapter``."""
    adapter = _parse_adapter(request)
    if isinstance(adapter, Response):
        return adapter
    name = adapter[0]
    if service.settings.disaggregated:
        return _respond(request, _APART)

    def make(documents: Documents) -> Write | Response:
        if name not in _list_adapters(documents, service):
            return _respond(request, f"The LoRA adapter '{name}' cannot be found.")
        done = _respond(request, f"Success: LoRA adapter '{name}' removed successfully.")
        return Write(done, adapter_key(name), False)

    return Change(make)


def _parse_adapter(request: Request) -> tuple[str, str, str] | Response:
    """Parse name, path and model of an adapter, or return the response to an invalid request."""
    try:
        body = parse_exactly(request)
    except ValueError:
        return _respond(request, NO_JSON)
    fields = body if isinstance(body, dict) else {"lora_name": None}
    name, path, parent = (fields.get(key, "") for key in ("lora_name", "lora_path", "master_model"))
    if not (isinstance(name, str) and isinstance(path, str) and isinstance(parent, str)):
        raise EmulatedError(ErrorKind.INTERNAL)  # the exception of the server's parser is uncaught
    if not _NAME.fullmatch(name):
        return _respond(request, "Input invalid lora name", 503)
    return name, path, parent


def _list_adapters(documents: Documents, service: MindieService) -> set[str]:
    configured = {name: name for name, found in service.deployments.items() if found.kind == "lora"}
    return {name for name, parent in {**configured, **parse_adapters(documents)}.items() if parent}


def handle_fault(request: Request, service: MindieService) -> Change:
    """Handle ``POST /v1/engine-server/fault-handling-command``: pause (0, 3), reinitialise (1), resume (2).

    An engine that pauses aborts running requests, as ``stopInfer`` does.
    Source: MindIE-LLM, ``src/engine/llm_engine.cpp``.
    """
    command = _parse_command(request)

    def make(documents: Documents) -> Write:
        after = _COMMANDS.get((command, parse_engine(documents)))
        if after is None:
            text = "Command is not consistent with current status."
            raise EmulatedError(ErrorKind.INVALID_REQUEST, message=text, status=400)
        rows: list[JSON] = [{"device_id": number, "result": True, "message": ""} for number in range(_DEVICES)]
        body = dump_json({"status": True, "message": "Success", "reason": rows})
        return Write(Response(200, body, closing_headers(request.key), close=True), ENGINE, after)

    async def abort(session: str) -> None:
        if command in _PAUSES:
            service.running.stop_all(session)

    return Change(make, then=abort)


def _parse_command(request: Request) -> int:
    command = _parse_members(request).get("cmd")
    if not isinstance(command, int | float):
        raise refusal(_BAD_COMMAND)
    return int(command)


def switch_role(request: Request, service: MindieService) -> Change:
    """Handle ``POST /v1/role/{role}`` and ``/v2/role/{role}``: change the role of this node."""
    role = request.params["role"]
    first = request.path.startswith("/v1/")
    if role not in ("prefill", "decode", *(("flex",) if first else ())):
        raise EmulatedError(ErrorKind.NOT_FOUND, details={"path": request.path})
    body = _parse_members(request)
    local = body.get("local")
    nodes = [local, *_list_peers(body)] if first else []
    share = local.get("p_percentage", 0) if isinstance(local, dict) else 0
    if not (all(map(_is_node, nodes)) if first else isinstance(local, list) and local):
        raise _role_refusal(service.settings)

    def make(documents: Documents) -> Write:
        body = dump_json({"result": "ok"})
        return Write(Response(200, body, closing_headers(request.key), close=True), ROLE, [role, share])

    return Change(make)


def _role_refusal(settings: MindieSettings) -> EmulatedError:
    """Return the error of the role routes, with lower-case letters in ``error_type`` unlike the other routes."""
    text = f"{NO_JSON} Reset to previous node status."
    body: JSON = {"error": text, "error_type": "Input validation error"}
    return EmulatedError(ErrorKind.INVALID_PARAMETER, message=text, status=422, body=body)


def _list_peers(body: Object) -> list[JSON]:
    peers = body.get("peers")
    return list(peers) if isinstance(peers, list) else []


def _is_node(node: JSON) -> bool:
    """Return whether ``node`` has an address, an id together with a host address or neither, and devices."""
    if not isinstance(node, dict) or not _is_address(node.get("server_ip")):
        return False
    share = node.get("p_percentage", 0)
    if not is_unsigned(share) or share > 100 or ("id" in node) != ("host_ip" in node):
        return False
    if "id" in node and not (is_unsigned(node["id"]) and _is_address(node["host_ip"])):
        return False
    devices = node.get("device")
    return isinstance(devices, list) and all(map(_is_device, devices))


def _is_device(device: JSON) -> bool:
    if not isinstance(device, dict) or not _is_address(device.get("device_ip")):
        return False
    numbers = [device.get("device_logical_id"), device.get("device_id"), device.get("rank_id", "0")]
    return all(isinstance(number, str) and number.isascii() and number.isdigit() for number in numbers)


def _parse_members(request: Request) -> Object:
    """Return the members of a body that is an object; any other body has none."""
    try:
        body = parse_exactly(request)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _is_address(value: JSON) -> bool:
    try:
        return isinstance(value, str) and ipaddress.IPv4Address(value) is not None
    except ValueError:
        return False


def handle_results(request: Request, service: MindieService) -> Response:
    """Handle ``GET /dresult``, where a Coordinator reads a decode node's results; there are only heartbeats."""
    role, _ = parse_role(request.documents, service)
    if service.settings.infer_mode != "dmi":
        raise EmulatedError(ErrorKind.INVALID_REQUEST, message="Non DMI does not support dresult request", status=400)
    if role not in ("decode", "flex"):
        text = f"Only the Decode node supports dresult but you send to {role}"
        raise EmulatedError(ErrorKind.INVALID_REQUEST, message=text, status=400)
    return Response(200, b"ka:heartbeat\0", closing_headers(request.key, "text/event-stream"), chunked=True)
