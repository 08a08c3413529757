"""Routes that show, set and update the permissions of an endpoint.

Source: databricks-sdk, ``service/serving.py``.
"""

from collections.abc import Callable, Mapping

from emulator.core.calls import Change, Write
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, format_value
from emulator.vendors.databricks.decoder import error_parameter
from emulator.vendors.databricks.headers import answer_json
from emulator.vendors.databricks.management.config import invalid
from emulator.vendors.databricks.management.lookup import Documents, list_all
from emulator.vendors.databricks.management.permission_levels import GRANTEES, LEVELS, validate_access
from emulator.vendors.databricks.management.shapes import load_stored
from emulator.vendors.databricks.management.stored_endpoint import StoredEndpoint
from emulator.vendors.databricks.profile import DatabricksService
from emulator.vendors.databricks.request import parse_body

_LEVELS = (
    ("CAN_VIEW", "Can view the serving endpoint"),
    ("CAN_QUERY", "Can query the serving endpoint"),
    ("CAN_MANAGE", "Can manage the serving endpoint"),
)


def show_permissions(request: Request, service: DatabricksService) -> Response:
    """``GET /api/2.0/permissions/serving-endpoints/{id}``."""
    stored = _find(request, request.documents, service)
    validate_access(stored, request.principal, "CAN_VIEW")
    return answer_json(_build_access(stored), request, service.settings)


def set_permissions(request: Request, service: DatabricksService) -> Change:
    """``PUT /api/2.0/permissions/serving-endpoints/{id}``: replaces all grants."""
    return _change(request, service, lambda before, given: given)


def update_permissions(request: Request, service: DatabricksService) -> Change:
    """``PATCH /api/2.0/permissions/serving-endpoints/{id}``: merges into the existing grants."""
    return _change(request, service, lambda before, given: {**before, **given})


def show_permission_levels(request: Request, service: DatabricksService) -> Response:
    """``GET /api/2.0/permissions/serving-endpoints/{id}/permissionLevels``."""
    _find(request, request.documents, service)
    levels: list[JSON] = [{"permission_level": level, "description": text} for level, text in _LEVELS]
    return answer_json({"permission_levels": levels}, request, service.settings)


Grants = Mapping[str, Object]


def _change(request: Request, service: DatabricksService, merge: Callable[[Grants, Grants], Grants]) -> Change:
    listed = parse_body(request, service.settings.payload_limit_bytes).get("access_control_list") or []
    given = _group_grants(_parse_grants(listed))

    def make(documents: Documents) -> Write:
        before = _find(request, documents, service)
        validate_access(before, request.principal, "CAN_MANAGE")
        stored = before.but(access=tuple(merge(_group_grants(before.access), given).values()))
        return Write(answer_json(_build_access(stored), request, service.settings), stored.name, stored.to_json())

    return Change(make)


def _parse_grants(listed: JSON) -> tuple[Object, ...]:
    if not isinstance(listed, list):
        raise invalid("'access_control_list' must be a list.", "access_control_list")
    grants = tuple(grant for grant in listed if isinstance(grant, dict))
    for grant in grants:
        if not any(grant.get(who) for who in GRANTEES):
            raise invalid("A user, a group or a service principal is required.", "access_control_list")
        level = grant.get("permission_level")
        if level is None:
            raise invalid("Missing required field: 'permission_level'", "access_control_list")
        if level not in LEVELS:
            text = f"Permission level '{format_value(level)}' is not supported."
            raise invalid(text, "access_control_list")
    return grants


def _group_grants(grants: tuple[Object, ...]) -> Grants:
    return {"/".join(str(grant.get(who, "")) for who in GRANTEES): grant for grant in grants}


def _build_access(stored: StoredEndpoint) -> Object:
    """Return the access control list; the creator always has CAN_MANAGE."""
    owner: Object = {"user_name": stored.creator, "permission_level": "CAN_MANAGE"}
    return {
        "object_id": f"/serving-endpoints/{stored.id}",
        "object_type": "serving-endpoint",
        "access_control_list": [_build_grant(grant) for grant in _group_grants((*stored.access, owner)).values()],
    }


def _build_grant(grant: Mapping[str, JSON]) -> Object:
    who: Object = {name: grant[name] for name in GRANTEES if grant.get(name)}
    return {**who, "all_permissions": [{"permission_level": grant["permission_level"], "inherited": False}]}


def _find(request: Request, documents: Documents, service: DatabricksService) -> StoredEndpoint:
    """Return the endpoint of an id; preconfigured ones have none."""
    wanted = request.params["id"]
    endpoints = (load_stored(found, service) for found in list_all(documents, service))
    found = next((stored for stored in endpoints if stored.id and stored.id == wanted), None)
    if found is None:
        raise error_parameter(f"'{wanted}' is not a valid Inference Endpoint ID.", code="INVALID_PARAMETER_VALUE")
    return found
