"""A failure after a stream has begun.

No trace of one was found; what is said here is what openai-python understands (unverified).
"""

from __future__ import annotations

import json
from typing import Any

from emulator.core.errors import EmulatedError
from emulator.core.json import JSON, dump_json
from emulator.core.vendor import Service
from emulator.core.wire import WireRequest
from emulator.dialects.sse import frame
from emulator.vendors.databricks.errors import endpoint_name, render_error
from emulator.vendors.databricks.responses.shapes import draw_response_id


def render_late_error(error: EmulatedError, request: WireRequest, service: Service[Any, Any]) -> bytes:
    """One event: an error object, or for Responses the response that has failed."""
    whole = render_error(error, request, service)
    body = _read(whole.body)
    code, message = body.get("error_code"), str(body.get("message", ""))
    if _is_responses(request):
        failed = _shape_failed(error, request, service, str(code), message)
        event = b"data: %b\n\n" % dump_json({"type": "response.failed", "response": failed})
        named = not request.path.rstrip("/").endswith("/invocations")
        return b"event: response.failed\n" + event if named else event
    if error.body is not None or "error" in body or service.settings.late_error == "databricks":
        return b"data: %b\n\n" % whole.body
    return frame({"error": {"message": message, "type": "server_error", "code": whole.status}})


def _read(body: bytes) -> dict[str, JSON]:
    try:
        value = json.loads(body)
    except ValueError:
        return {"message": body.decode(errors="replace")}
    return value if isinstance(value, dict) else {}


def _is_responses(request: WireRequest) -> bool:
    body = request.json()
    return isinstance(body, dict) and "input" in body


def _shape_failed(
    error: EmulatedError, request: WireRequest, service: Service[Any, Any], code: str, message: str
) -> dict[str, JSON]:
    return {
        "id": draw_response_id(request.key),
        "object": "response",
        "created_at": int(service.clock.now()),
        "status": "failed",
        "error": {"code": code.lower(), "message": message, "param": error.param, "type": "server_error"},
        "incomplete_details": None,
        "model": endpoint_name(request),
        "output": [],
        "usage": None,
    }
