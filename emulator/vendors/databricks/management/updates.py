"""Routes that update an endpoint's settings besides its config: limits, gateway, tags, notifications, telemetry.

Sources: databricks-sdk (``service/serving.py``); the fake server of databricks-cli for the responses.
"""

from collections.abc import Mapping

from emulator.core.calls import Change
from emulator.core.http import Request
from emulator.core.json import JSON, Object
from emulator.vendors.databricks.families import is_custom
from emulator.vendors.databricks.management.changes import change, parse_tags, sort_tags
from emulator.vendors.databricks.management.config import invalid
from emulator.vendors.databricks.management.gateway_settings import validate_gateway, validate_tokens
from emulator.vendors.databricks.management.limits import validate_limits
from emulator.vendors.databricks.management.lookup import FoundEndpoint
from emulator.vendors.databricks.management.stored_endpoint import StoredEndpoint
from emulator.vendors.databricks.profile import DatabricksService
from emulator.vendors.databricks.request import parse_body

_GATEWAY = ("fallback_config", "guardrails", "inference_table_config", "rate_limits", "usage_tracking_config")


def put_rate_limits(request: Request, service: DatabricksService) -> Change:
    """``PUT /api/2.0/serving-endpoints/{name}/rate-limits``: the older limits, in calls only."""
    limits = _parse_body(request, service).get("rate_limits", [])
    validate_limits({"rate_limits": limits})
    return _update_settings(request, service, {"rate_limits": limits}, ("rate_limits",))


def put_gateway(request: Request, service: DatabricksService) -> Change:
    """``PUT /api/2.0/serving-endpoints/{name}/ai-gateway``: replaces all settings."""
    body = _parse_body(request, service)
    gateway: Object = {name: body[name] for name in _GATEWAY if body.get(name) is not None}
    validate_gateway({"ai_gateway": gateway})

    def alter(stored: StoredEndpoint, found: FoundEndpoint) -> StoredEndpoint:
        validate_tokens({"ai_gateway": gateway}, found.deployment)
        return stored.but(options={**stored.options, "ai_gateway": gateway})

    return change(request, service, alter, lambda stored: gateway, preconfigured=True)


def patch_tags(request: Request, service: DatabricksService) -> Change:
    """``PATCH /api/2.0/serving-endpoints/{name}/tags``."""
    body = _parse_body(request, service)
    added = parse_tags(body.get("add_tags") or [])
    deleted = body.get("delete_tags") or []
    if not isinstance(deleted, list):
        raise invalid("'delete_tags' must be a list.", "delete_tags")

    def alter(stored: StoredEndpoint, found: FoundEndpoint) -> StoredEndpoint:
        tags = sort_tags([*parse_tags(stored.options.get("tags", [])), *added])
        return stored.but(options={**stored.options, "tags": [tag for tag in tags if tag["key"] not in deleted]})

    return change(request, service, alter, lambda stored: {"tags": stored.options["tags"]}, preconfigured=True)


def patch_notifications(request: Request, service: DatabricksService) -> Change:
    """``PATCH /api/2.0/serving-endpoints/{name}/notifications``."""
    wanted = _parse_body(request, service).get("email_notifications") or {}
    if not isinstance(wanted, dict):
        raise invalid("'email_notifications' must be an object.", "email_notifications")
    return _update_settings(request, service, {"email_notifications": wanted}, ("email_notifications", "name"))


def patch_telemetry(request: Request, service: DatabricksService) -> Change:
    """``PATCH /api/2.0/serving-endpoints/{name}/telemetry-config``: only for custom models."""
    body = _parse_body(request, service)
    wanted = body.get("telemetry_config", {name: value for name, value in body.items() if name != "name"})

    def alter(stored: StoredEndpoint, found: FoundEndpoint) -> StoredEndpoint:
        if not is_custom(found.deployment):
            raise invalid("Telemetry is available for endpoints that serve custom models only.", "telemetry_config")
        return stored.but(options={**stored.options, "telemetry_config": wanted})

    return change(request, service, alter)


def _update_settings(
    request: Request, service: DatabricksService, options: Mapping[str, JSON], shown: tuple[str, ...]
) -> Change:
    def alter(stored: StoredEndpoint, found: FoundEndpoint) -> StoredEndpoint:
        return stored.but(options={**stored.options, **options})

    def show(stored: StoredEndpoint) -> JSON:
        every: Object = {"name": stored.name, **options}
        return {name: every[name] for name in shown}

    return change(request, service, alter, show, preconfigured=True)


def _parse_body(request: Request, service: DatabricksService) -> Object:
    return parse_body(request, service.settings.payload_limit_bytes)
