"""Delay the first request to an endpoint after an idle time, as endpoints that scale to zero do.

Source: docs.databricks.com, "Create custom model serving endpoints": after 30 minutes, and usually 10 to 20 seconds.
"""

from collections.abc import Mapping
from dataclasses import replace

from emulator.core.calls import InferenceCall
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, as_array, as_object
from emulator.vendors.databricks.management.stored_endpoint import StoredEndpoint
from emulator.vendors.databricks.profile import DatabricksService

_NAME = "scale_to_zero_enabled"
_MAX_DELAY = 597.0  # maximum duration of a request, in seconds


def wake_endpoint(call: InferenceCall, request: Request, service: DatabricksService) -> InferenceCall:
    """Return the call, delayed by the time to wake its endpoint.

    Raises:
        EmulatedError: 504, if waking takes longer than a request may.
    """
    started = _find_start(call, request, service)
    if started is None:
        return call
    settings, now = service.settings, service.clock.now()
    call = replace(call, repeatable=False)
    if now - started < settings.scale_to_zero_after_s:
        return call
    last = service.metrics.last(call.deployment.name, request.session)
    if now - (started if last is None else last) < settings.scale_to_zero_after_s:
        return call
    if settings.wake_s > _MAX_DELAY:
        raise EmulatedError(ErrorKind.TIMEOUT)
    return replace(call, delay=settings.wake_s)


def _find_start(call: InferenceCall, request: Request, service: DatabricksService) -> float | None:
    """Return when a scaling endpoint was last updated; ``None``: it never scales to zero."""
    document = request.documents.get(call.deployment.name)
    if document is None:
        return service.started if call.deployment.traits.get(_NAME) is True else None
    stored = StoredEndpoint.model_validate(document).settle(service.clock.now())
    entities = [as_object(entity) for entity in as_array(stored.config.get("served_entities", []))]
    return stored.updated if any(_can_scale_to_zero(entity, call.served) for entity in entities) else None


def _can_scale_to_zero(entity: Mapping[str, JSON], served: str) -> bool:
    return entity["name"] == served and entity.get(_NAME) is True
