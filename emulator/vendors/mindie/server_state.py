"""What requests to the management plane have changed of a server since it started: documents, a fact each.

Source: MindIE-LLM, ``http_wrapper/http_handler.cpp`` and ``src/engine/lora_manager.cpp``.
"""

from collections.abc import Mapping
from dataclasses import replace

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, as_array, as_number, as_text
from emulator.core.requests import Deployment
from emulator.protocols.tgi import check_ready, find_served
from emulator.vendors.mindie.settings import DeploymentProfile, MindieService

Documents = Mapping[str, JSON]
STOPPED, ENGINE, ROLE = "stopped", "engine", "role"  # keys of documents
READY, NORMAL, PAUSED = 0, 1, 3  # of an engine, as its running status has them
_ADAPTER = "lora:"


def read_engine(documents: Documents) -> int:
    """Status of the engine, as faults are handled."""
    return int(as_number(documents.get(ENGINE, NORMAL)))


def is_idle(documents: Documents) -> bool:
    """The engine is paused, or set up anew and not yet started: it ends every request before its first token."""
    return read_engine(documents) in (PAUSED, READY)


def is_killed(documents: Documents, now: float) -> bool:
    """Nobody is there any more, since a forced stop; ``now``: Unix seconds."""
    killed = documents.get(STOPPED)
    return isinstance(killed, float) and killed <= now


def read_role(documents: Documents, service: MindieService) -> tuple[str, int]:
    """Role of a node where prefill and decode are apart, and the percentage of prefill in a flex node's work.

    ``none`` where they are not.
    """
    if ROLE not in documents:
        return "prefill" if service.settings.disaggregated else "none", 0
    role, share = as_array(documents[ROLE])
    return as_text(role), int(as_number(share))


def adapter_key(name: str) -> str:
    """Key of the document about an adapter: its model if it was loaded, ``False`` if a configured one is gone."""
    return _ADAPTER + name


def list_served(request: Request, service: MindieService) -> Mapping[str, Deployment]:
    """Models and adapters as they are now."""
    found = read_adapters(request.documents)
    if not found:
        return service.deployments
    base = find_served(service)
    kept = {name: deployment for name, deployment in service.deployments.items() if name not in found}
    return {**kept, **{name: replace(base, name=name, kind="lora") for name, parent in found.items() if parent}}


def read_adapters(documents: Documents) -> Mapping[str, str]:
    """The model of each adapter that was loaded; empty for one that was removed."""
    rows = {key.removeprefix(_ADAPTER): value for key, value in documents.items() if key.startswith(_ADAPTER)}
    return {name: value if isinstance(value, str) else "" for name, value in rows.items()}


def check_serving(request: Request, deployment: Deployment) -> Deployment:
    """The deployment, if it can answer and nobody has stopped the service.

    Raises:
        EmulatedError: it cannot, or somebody has.
    """
    if STOPPED in request.documents:
        raise EmulatedError(ErrorKind.NOT_READY, details={"state": "stopped"})
    return check_ready(deployment)


def find_bounds(service: MindieService, deployment: Deployment) -> DeploymentProfile:
    """What it has room for; an adapter that was loaded has its model's."""
    found = service.profiles.get(deployment.name)
    return service.profiles[find_served(service).name] if found is None else found
