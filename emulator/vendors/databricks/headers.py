"""The headers of answers, and answers that need no more than these and JSON."""

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
    """What every answer carries: which request and which workspace."""
    name = format_uuid(_derive_name(request.key))
    return (
        ("x-request-id", name),
        ("x-databricks-request-id", name),
        ("x-databricks-org-id", settings.workspace_id),
    )


def answer_headers(request: Request, settings: DatabricksSettings, served: str, *, stream: bool = False) -> Headers:
    """Content type, request and workspace, and which served entity answered."""
    kind = _STREAM_TYPE if stream else JSON_TYPE
    name, same, workspace = base_headers(request, settings)
    return kind, name, same, workspace, ("served-model-name", served)


def answer_json(body: JSON, request: Request, settings: DatabricksSettings) -> Response:
    """An answer of the workspace itself."""
    return Response(200, dump_json(body), (JSON_TYPE, *base_headers(request, settings)))
