"""Build the response headers of inference routes, and JSON responses of the workspace's other routes."""

from __future__ import annotations

from emulator.core.http import Headers, Request, Response
from emulator.core.json import JSON, dump_json
from emulator.core.rng import format_uuid, prepare_key
from emulator.vendors.databricks.settings import DatabricksSettings

_derive_name = prepare_key(..., "request")
Header = tuple[str, str]
JSON_TYPE = ("Content-Type", "application/json")
_STREAM_TYPE = ("Content-Type", "text/event-stream; charset=utf-8")


def base_headers(request: Request, settings: DatabricksSettings) -> tuple[Header, Header, Header]:
    """Return the headers of every response: request id and workspace id."""
    name = format_uuid(_derive_name(request.key))
    return (
        ("x-request-id", name),
        ("x-databricks-request-id", name),
        ("x-databricks-org-id", settings.workspace_id),
    )


def answer_headers(request: Request, settings: DatabricksSettings, served: str, *, stream: bool = False) -> Headers:
    """Return the headers of an inference response: content type, ids, the served entity."""
    kind = _STREAM_TYPE if stream else JSON_TYPE
    name, same, workspace = base_headers(request, settings)
    return kind, name, same, workspace, ("served-model-name", served)


def answer_json(body: JSON, request: Request, settings: DatabricksSettings) -> Response:
    """Return a JSON response of the workspace itself."""
    return Response(200, dump_json(body), (JSON_TYPE, *base_headers(request, settings)))
