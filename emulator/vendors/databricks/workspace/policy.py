"""What the AI gateway makes of a call on its way to an endpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from emulator.core.call import Deployment
from emulator.core.json import JSON, as_object
from emulator.core.vendor import Call, Parsed
from emulator.core.wire import WireRequest
from emulator.vendors.databricks.habits import DatabricksService
from emulator.vendors.databricks.workspace.limits import list_quotas
from emulator.vendors.databricks.workspace.view import Documents

Parse = Callable[[WireRequest, DatabricksService], Parsed]


def govern(parse: Parse) -> Parse:
    """Reads requests as ``parse`` does, and holds the calls to what was said of their endpoints."""

    def parse_governed(request: WireRequest, service: DatabricksService) -> Parsed:
        parsed = parse(request, service)
        if not isinstance(parsed, Call):
            return parsed
        told = _told_of(parsed.deployment, request.documents)
        if not told:
            return parsed
        quotas = list_quotas(parsed.deployment.name, told, request.principal)
        return replace(parsed, quotas=quotas) if quotas else parsed

    return parse_governed


def _told_of(deployment: Deployment, documents: Documents) -> Mapping[str, JSON]:
    """What the management API was told of an endpoint, else what the scenario says: its trait ``ai_gateway``."""
    document = documents.get(deployment.name)
    if document is not None:
        return as_object(as_object(document)["told"])
    gateway = deployment.traits.get("ai_gateway")
    return {"ai_gateway": gateway} if gateway else {}
