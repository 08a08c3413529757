"""Read the state of the server: one document per fact, which ``management.py`` writes.

Source: MindIE-LLM, ``http_wrapper/http_handler.cpp`` and ``src/engine/lora_manager.cpp``.
"""

from collections.abc import Mapping
from dataclasses import replace

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, as_array, as_number, as_text
from emulator.core.requests import Deployment
from emulator.protocols.tgi import find_served, validate_ready
from emulator.vendors.mindie.profile import DeploymentProfile, MindieService

Documents = Mapping[str, JSON]
STOPPED, ENGINE, ROLE = "stopped", "engine", "role"  # document keys
READY, NORMAL, PAUSED = 0, 1, 3  # engine status, as in running-status; READY: reinitialised
_ADAPTER = "lora:"


def parse_engine(documents: Documents) -> int:
    """Return the status of the engine; fault handling changes it."""
    return int(as_number(documents.get(ENGINE, NORMAL)))


def is_idle(documents: Documents) -> bool:
    """Return whether the engine is paused, or reinitialised and not resumed; requests end before their first token."""
    return parse_engine(documents) in (PAUSED, READY)


def is_killed(documents: Documents, now: float) -> bool:
    """Return whether a forced stop has killed the server; ``now``: Unix seconds."""
    killed = documents.get(STOPPED)
    return isinstance(killed, float) and killed <= now


def parse_role(documents: Documents, service: MindieService) -> tuple[str, int]:
    """Return the role of a node and the prefill percentage of a flex node.

    ``none`` if the service is not disaggregated.
    """
    if ROLE not in documents:
        return "prefill" if service.settings.disaggregated else "none", 0
    role, share = as_array(documents[ROLE])
    return as_text(role), int(as_number(share))


def adapter_key(name: str) -> str:
    """Return the document key of an adapter; the document is its model, or ``False`` if it was unloaded."""
    return _ADAPTER + name


def list_served(request: Request, service: MindieService) -> Mapping[str, Deployment]:
    """Return models and adapters by name, including changes since the start."""
    found = parse_adapters(request.documents)
    if not found:
        return service.deployments
    base = find_served(service)
    kept = {name: deployment for name, deployment in service.deployments.items() if name not in found}
    return {**kept, **{name: replace(base, name=name, kind="lora") for name, parent in found.items() if parent}}


def parse_adapters(documents: Documents) -> Mapping[str, str]:
    """Return the model of each adapter that was loaded; empty if it was unloaded."""
    rows = {key.removeprefix(_ADAPTER): value for key, value in documents.items() if key.startswith(_ADAPTER)}
    return {name: value if isinstance(value, str) else "" for name, value in rows.items()}


def validate_serving(request: Request, deployment: Deployment) -> Deployment:
    """Return ``deployment`` if it is ready and the service is not stopped.

    Raises:
        EmulatedError: the deployment is not ready or the service is stopped.
    """
    if STOPPED in request.documents:
        raise EmulatedError(ErrorKind.NOT_READY, details={"state": "stopped"})
    return validate_ready(deployment)


def find_profile(service: MindieService, deployment: Deployment) -> DeploymentProfile:
    """Return the token limits of ``deployment``; a loaded adapter has its model's."""
    found = service.profiles.get(deployment.name)
    return service.profiles[find_served(service).name] if found is None else found
