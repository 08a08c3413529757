"""Endpoints that scale to zero: who comes first after a long while waits until one is up again.

Source: docs.databricks.com, "Create custom model serving endpoints": after 30 minutes, and usually 10 to 20 seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, as_array, as_object
from emulator.core.vendor import InferenceCall
from emulator.vendors.databricks.management.stored_endpoint import StoredEndpoint
from emulator.vendors.databricks.profile import DatabricksService

_NAME = "scale_to_zero_enabled"
_LIMIT = 597.0  # seconds that the service runs a request


def wake_endpoint(call: InferenceCall, request: Request, service: DatabricksService) -> InferenceCall:
    """The call, late by what it takes to wake its endpoint.

    Raises:
        EmulatedError: 504; that takes longer than a request may.
    """
    used = _find_use(call, request, service)
    if used is None:
        return call
    settings, now = service.settings, service.clock.now()
    call = replace(call, repeatable=False)
    if now - used < settings.scale_to_zero_after_s:
        return call
    last = service.metrics.last(call.deployment.name, request.session)
    if now - (used if last is None else last) < settings.scale_to_zero_after_s:
        return call
    if settings.wake_s > _LIMIT:
        raise EmulatedError(ErrorKind.TIMEOUT)
    return replace(call, delay=settings.wake_s)


def _find_use(call: InferenceCall, request: Request, service: DatabricksService) -> float | None:
    """Since when an endpoint that scales to zero was up without being asked; ``None``: it never sleeps."""
    document = request.documents.get(call.deployment.name)
    if document is None:
        return service.started if call.deployment.traits.get(_NAME) is True else None
    kept = StoredEndpoint.model_validate(document).settle(service.clock.now())
    entities = [as_object(entity) for entity in as_array(kept.config.get("served_entities", []))]
    return kept.updated if any(_sleeps(entity, call.served) for entity in entities) else None


def _sleeps(entity: Mapping[str, JSON], served: str) -> bool:
    return entity["name"] == served and entity.get(_NAME) is True
