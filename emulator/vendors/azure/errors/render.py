"""Any refusal in the words of the profile: which status and code it has, and what a client reads."""

import math

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, dump_json, parse_json
from emulator.core.wire import Headers, WireRequest, WireResponse
from emulator.dialects.sse import DONE
from emulator.vendors.azure.errors.bodies import SHAPES
from emulator.vendors.azure.errors.refusals import echo
from emulator.vendors.azure.errors.wording import WORDS, Refusal
from emulator.vendors.azure.headers import echo_request_id
from emulator.vendors.azure.request import AzureService

_TEXT_TYPE = ("Content-Type", "text/plain")
_UTF8_TYPE = ("Content-Type", "text/plain; charset=utf-8")
_JSON_TYPE = ("Content-Type", "application/json")


def render_error(error: EmulatedError, request: WireRequest, service: AzureService) -> WireResponse:
    """Word any refusal as the profile does; what the error itself fixes stands."""
    refusal = _complete(error, request)
    worded = SHAPES[service.settings.shape](refusal)
    status = error.status or worded.status or refusal.status
    body = worded.body if error.body is None else error.body
    kind = _JSON_TYPE if not isinstance(body, str) else _TEXT_TYPE if error.body is None else _UTF8_TYPE
    content = body.encode("utf-8", "replace") if isinstance(body, str) else dump_json(body)
    retry = _retry_after(error, refusal)
    return WireResponse(status, content, (kind, *worded.headers, *retry, *echo_request_id(request)))


def render_late_error(error: EmulatedError, request: WireRequest, service: AzureService) -> bytes:
    """What a stream says of a failure after it has begun; clients of this API read none of it.

    Source: Azure/azureml-assets, foundation/model/serve/api_server.py (``managed``); others ``unverified``.
    """
    if service.settings.shape == "managed":
        text = " ".join((error.message or WORDS[error.kind][2]).split())
        return f"event: error\ndata: Error parsing decoded stream: {text}\n\n".encode() + DONE
    body = render_error(error, request, service).body
    try:
        parse_json(body)
    except ValueError:
        body = dump_json({"error": {"message": body.decode()}})
    return b"data: %b\n\n" % body


def _retry_after(error: EmulatedError, refusal: Refusal) -> Headers:
    """Clients retry whatever carries it: only a throttled request does by itself."""
    if error.kind is not ErrorKind.RATE_LIMITED and error.retry_after is None:
        return ()
    return (("Retry-After", str(refusal.wait)),)


def _complete(error: EmulatedError, request: WireRequest) -> Refusal:
    status, code, _ = WORDS[error.kind]
    wait = 1 if error.retry_after is None else max(0, math.ceil(error.retry_after))
    return Refusal(
        kind=error.kind,
        status=error.status or status,
        code=error.details.get("code", code),
        message=error.message,
        param=error.param,
        wait=wait,
        errors=_find_errors(error, request),
        details=error.details,
        request=request,
        limit=error.limit,
    )


def _find_errors(error: EmulatedError, request: WireRequest) -> list[JSON]:
    """The violations, or one made up for the parameter at fault, with its value in the request."""
    if error.kind is not ErrorKind.INVALID_PARAMETER:
        return []
    if "errors" in error.details:
        return list(error.details["errors"])
    if "loc" in error.details:
        return [{"loc": error.details["loc"], "input": error.details["input"], "type": "value_error", "msg": ""}]
    name = error.param or "messages"
    return [{"loc": ["body", name], "input": echo(_find_value(request, name)), "type": "value_error", "msg": ""}]


def _find_value(request: WireRequest, name: str) -> JSON:
    try:
        body = request.json()
    except ValueError:
        return None
    return body.get(name) if isinstance(body, dict) else None
