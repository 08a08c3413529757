"""Routes that create, update, start, stop and delete endpoints.

Sources: databricks-sdk (``service/serving.py``), docs.databricks.com ("Manage model serving endpoints"), and the
fake server of databricks-cli for codes and texts.
"""

from collections.abc import Callable

from emulator.core.calls import Change, Write
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, Object
from emulator.core.rng import draw_hex
from emulator.vendors.databricks.decoder import error_parameter
from emulator.vendors.databricks.families import is_custom
from emulator.vendors.databricks.headers import answer_json
from emulator.vendors.databricks.management.config import invalid, is_external, parse_config, validate_name
from emulator.vendors.databricks.management.discovery import user_of
from emulator.vendors.databricks.management.gateway_settings import validate_gateway, validate_tokens
from emulator.vendors.databricks.management.lookup import Documents, FoundEndpoint, error_missing, find, open_stored
from emulator.vendors.databricks.management.permission_levels import validate_access
from emulator.vendors.databricks.management.shapes import build_endpoint, load_stored
from emulator.vendors.databricks.management.stored_endpoint import StoredEndpoint, Update, deploy
from emulator.vendors.databricks.profile import DatabricksService
from emulator.vendors.databricks.request import parse_body

_SETTINGS = (
    "ai_gateway", "budget_policy_id", "description", "email_notifications", "rate_limits", "route_optimized", "tags",
    "telemetry_config",
)  # fmt: skip
_MAX_ENDPOINTS = 1000  # of a workspace, without the preconfigured ones; "Model Serving limits and regions"
Alter = Callable[[StoredEndpoint, FoundEndpoint], StoredEndpoint]


def create_endpoint(request: Request, service: DatabricksService) -> Change:
    """``POST /api/2.0/serving-endpoints``, and ``/pt`` for provisioned throughput."""
    body = parse_body(request, service.settings.payload_limit_bytes)
    name = validate_name(body.get("name"))
    config = parse_config(body.get("config"))
    options: Object = {key: body[key] for key in _SETTINGS if body.get(key) is not None}
    options |= {"tags": sort_tags(parse_tags(options.get("tags", [])))}
    validate_gateway(options)

    def make(documents: Documents) -> Write:
        if find(name, documents, service) is not None:
            raise error_conflict(f"Serving endpoint with name {name} already exists", "RESOURCE_ALREADY_EXISTS")
        _validate_count(documents)
        now = service.clock.now()
        stored = StoredEndpoint(
            name=name,
            id=draw_hex(request.key, "endpoint"),
            creator=user_of(request),
            created=now,
            updated=now,
            pending=_plan_update(config, service),
            options=options,
        )
        validate_tokens(options, deploy(stored, None))
        return _write_endpoint(stored, request, service)

    return Change(make)


def _validate_count(documents: Documents) -> None:
    made = sum(isinstance(document, dict) and not document.get("deleted") for document in documents.values())
    if made >= _MAX_ENDPOINTS:
        text = f"The workspace has reached its limit of {_MAX_ENDPOINTS} serving endpoints."  # unverified
        raise error_parameter(text, code="RESOURCE_LIMIT_EXCEEDED")


def delete_endpoint(request: Request, service: DatabricksService) -> Change:
    """``DELETE /api/2.0/serving-endpoints/{name}``."""
    name = request.params["name"]

    def make(documents: Documents) -> Write:
        found = _find(name, documents, service)
        stored = load_stored(found, service)
        if not stored.id:
            raise _error_preconfigured(name)
        validate_access(stored, request.principal, "CAN_MANAGE")
        gone = stored.but(deleted=True).to_json() if name in service.deployments else None
        return Write(answer_json({}, request, service.settings), name, gone)

    return Change(make)


def update_config(request: Request, service: DatabricksService) -> Change:
    """``PUT /api/2.0/serving-endpoints/{name}/config``: the old config serves until the new one is ready."""
    return _change_config(request, service, parse_body(request, service.settings.payload_limit_bytes))


def update_provisioned(request: Request, service: DatabricksService) -> Change:
    """``PUT /api/2.0/serving-endpoints/pt/{name}/config``."""
    body = parse_body(request, service.settings.payload_limit_bytes)
    return _change_config(request, service, body.get("config"))


def _change_config(request: Request, service: DatabricksService, given: JSON) -> Change:
    def alter(stored: StoredEndpoint, found: FoundEndpoint) -> StoredEndpoint:
        config = parse_config(given)
        _validate_idle(stored, "updating its config")
        if stored.config and is_external(stored.config) != is_external(config):
            raise invalid("External models cannot be added to or removed from an endpoint.", "served_entities")
        return stored.but(pending=_plan_update(config, service), stopped=False)

    return change(request, service, alter)


def stop_endpoint(request: Request, service: DatabricksService) -> Change:
    """``POST /api/2.0/serving-endpoints/{name}/config:stop``: only for custom models."""

    def alter(stored: StoredEndpoint, found: FoundEndpoint) -> StoredEndpoint:
        if not is_custom(found.deployment):
            raise invalid("Only endpoints that serve custom models can be stopped.")
        _validate_idle(stored, "stopping it")
        return stored.but(stopped=True, up=False)

    return change(request, service, alter)


def start_endpoint(request: Request, service: DatabricksService) -> Change:
    """``POST /api/2.0/serving-endpoints/{name}/config:start``: deploys the last config as a new version."""

    def alter(stored: StoredEndpoint, found: FoundEndpoint) -> StoredEndpoint:
        if not stored.stopped:
            raise invalid(f"Endpoint {stored.name} is not stopped.")
        return stored.but(stopped=False, pending=_plan_update(stored.config, service))

    return change(request, service, alter)


def change(
    request: Request,
    service: DatabricksService,
    alter: Alter,
    show: Callable[[StoredEndpoint], JSON] | None = None,
    *,
    preconfigured: bool = False,
) -> Change:
    """Return a change of an existing endpoint.

    Args:
        show: builds the response body; by default the endpoint in full.
        preconfigured: whether preconfigured endpoints can be changed.
    """

    def make(documents: Documents) -> Write:
        found = _find(request.params["name"], documents, service)
        before = load_stored(found, service)
        if not before.id and not preconfigured:
            raise _error_preconfigured(before.name)
        validate_access(before, request.principal, "CAN_MANAGE")
        stored = alter(before, found).but(updated=service.clock.now())
        return _write_endpoint(stored, request, service, show)

    return Change(make)


def _write_endpoint(
    stored: StoredEndpoint,
    request: Request,
    service: DatabricksService,
    show: Callable[[StoredEndpoint], JSON] | None = None,
) -> Write:
    shape = (
        show(stored) if show is not None else build_endpoint(open_stored(stored, service), request, service, full=True)
    )
    return Write(answer_json(shape, request, service.settings), stored.name, stored.to_json())


def parse_tags(given: JSON) -> list[Object]:
    """Parse tags: each has a key, a value is optional."""
    if not isinstance(given, list):
        raise invalid("'tags' must be a list.", "tags")
    tags: list[Object] = []
    for tag in given:
        if not isinstance(tag, dict) or not isinstance(tag.get("key"), str) or not tag["key"]:
            raise invalid("A tag needs a 'key'.", "tags")
        tags.append({"key": tag["key"], "value": str(tag.get("value") or "")})
    return tags


def sort_tags(tags: list[Object]) -> list[Object]:
    """Return the last tag of each key, sorted by key."""
    by_key = {str(tag["key"]): tag for tag in tags}
    return [by_key[key] for key in sorted(by_key)]


def _plan_update(config: Object, service: DatabricksService) -> Update:
    """Return an update; it takes effect at once under a clock without waits."""
    now, settings = service.clock.now(), service.settings
    waits = service.clock.to_client(settings.cold_start_s) > 0
    entities = config["served_entities"]
    models = [e.get("entity_name") for e in entities if isinstance(e, dict)] if isinstance(entities, list) else []
    fails = any(model in settings.failing_models for model in models)
    return Update(config=config, since=now, until=now + settings.cold_start_s * waits, fails=fails)


def _validate_idle(stored: StoredEndpoint, doing: str) -> None:
    if stored.updating:
        text = f"Endpoint {stored.name} is currently updating. Wait for the update to complete before {doing}."
        raise error_conflict(text, "RESOURCE_CONFLICT")


def error_conflict(text: str, code: str) -> EmulatedError:
    """Return a conflict error (409)."""
    return EmulatedError(ErrorKind.INVALID_PARAMETER, text, status=409, details={"error_code": code})


def _find(name: str, documents: Documents, service: DatabricksService) -> FoundEndpoint:
    """Return an endpoint or raise. Source for the text: the fake server of databricks-cli."""
    found = find(name, documents, service)
    if found is None:
        raise error_missing(f"Serving endpoint with name {name} not found")
    return found


def _error_preconfigured(name: str) -> EmulatedError:
    text = f"User does not have permission 'Manage' on Endpoint {name}"  # wording unverified
    return EmulatedError(ErrorKind.FORBIDDEN, text)
