"""Endpoint table of the management API (``/api/2.0/serving-endpoints`` and others), a part of the vendor's own.

Source: databricks-sdk, ``service/serving.py``.
"""

from collections.abc import Callable

from emulator.core.calls import Parsed
from emulator.core.http import Request
from emulator.vendors.databricks import gateway_routes
from emulator.vendors.databricks.management import changes, discovery, endpoints, permissions, updates
from emulator.vendors.databricks.metrics import show_metrics
from emulator.vendors.databricks.profile import DatabricksService

_API = "/api/2.0/serving-endpoints"
_NAMED = f"{_API}/{{name}}"
_SERVED = f"{_NAMED}/served-models/{{served}}"
_ACCESS = "/api/2.0/permissions/serving-endpoints/{id}"

MANAGEMENT: tuple[tuple[str, str, Callable[[Request, DatabricksService], Parsed]], ...] = (
    ("GET", "/api/2.0/preview/scim/v2/Me", discovery.show_me),
    ("GET", "/serving-endpoints/models", endpoints.list_models),
    ("GET", "/serving-endpoints/v1/models", endpoints.list_models),
    ("GET", "/api/ai-gateway/v2/endpoints", endpoints.list_foundation_models),
    ("GET", "/api/2.1/unity-catalog/model-services", gateway_routes.list_model_services),
    ("GET", _API, endpoints.list_endpoints),
    ("POST", _API, changes.create_endpoint),
    ("POST", f"{_API}/pt", changes.create_endpoint),
    ("PUT", f"{_API}/pt/{{name}}/config", changes.update_provisioned),
    ("GET", f"{_API}:foundation-models", endpoints.list_foundation_models),
    ("GET", f"{_API}/get-model-optimization-info/{{model}}/{{version}}", endpoints.show_optimization),
    ("GET", _NAMED, endpoints.get_endpoint),
    ("DELETE", _NAMED, changes.delete_endpoint),
    ("PUT", f"{_NAMED}/config", changes.update_config),
    ("POST", f"{_NAMED}/config:stop", changes.stop_endpoint),
    ("POST", f"{_NAMED}/config:start", changes.start_endpoint),
    ("PUT", f"{_NAMED}/ai-gateway", updates.put_gateway),
    ("PUT", f"{_NAMED}/rate-limits", updates.put_rate_limits),
    ("PATCH", f"{_NAMED}/tags", updates.patch_tags),
    ("PATCH", f"{_NAMED}/notifications", updates.patch_notifications),
    ("PATCH", f"{_NAMED}/telemetry-config", updates.patch_telemetry),
    ("GET", f"{_NAMED}/metrics", show_metrics),
    ("GET", f"{_NAMED}/openapi", endpoints.show_openapi),
    ("GET", f"{_SERVED}/build-logs", endpoints.show_build_logs),
    ("GET", f"{_SERVED}/logs", endpoints.show_logs),
    ("GET", _ACCESS, permissions.show_permissions),
    ("PUT", _ACCESS, permissions.set_permissions),
    ("PATCH", _ACCESS, permissions.update_permissions),
    ("GET", f"{_ACCESS}/permissionLevels", permissions.show_permission_levels),
)
