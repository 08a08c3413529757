"""Render the error responses of Databricks: status, ``error_code`` and text of each kind of error.

Sources: github.com threads that quote real answers (named at each text), docs.databricks.com "Model Serving
limits and regions", databricks-sdk error mapping. Texts without a source are marked unverified.
"""

from collections.abc import Mapping

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, as_number, dump_json, dump_text, parse_json
from emulator.core.rng import draw_uuid
from emulator.encoding.sse import encode_event
from emulator.vendors.databricks.chat.shapes import draw_response_id
from emulator.vendors.databricks.headers import JSON_TYPE, base_headers
from emulator.vendors.databricks.management.limits import name_limit
from emulator.vendors.databricks.management.lookup import find
from emulator.vendors.databricks.passthrough.errors import build_native, frame_native, list_native_headers
from emulator.vendors.databricks.profile import DatabricksService
from emulator.vendors.databricks.settings import DatabricksSettings

NO_CREDENTIAL = "Credential was not sent or was of an unsupported type for this API."  # PipedreamHQ/pipedream#20701
BAD_TOKEN = "Invalid access token."
NO_ENDPOINT = (
    "The given endpoint does not exist, please retry after checking the specified model and version deployment exists."
)
_CAPACITY = (
    "Databricks is unable to satisfy this request due to unexpected capacity constraints"
    " - we apologize for the inconvenience."
)
# Status, ``error_code`` and text of each kind; ``_format_text`` makes the texts with variable parts.
ERRORS: Mapping[ErrorKind, tuple[int, str | int, str]] = {
    ErrorKind.INVALID_REQUEST: (400, "BAD_REQUEST", "Bad request: invalid JSON"),
    ErrorKind.INVALID_PARAMETER: (400, "BAD_REQUEST", "Bad request: invalid request"),
    ErrorKind.UNAUTHENTICATED: (401, 401, NO_CREDENTIAL),
    ErrorKind.FORBIDDEN: (403, "PERMISSION_DENIED", "User does not have permission 'Query' on Endpoint"),
    ErrorKind.NOT_FOUND: (404, "ENDPOINT_NOT_FOUND", NO_ENDPOINT),
    ErrorKind.METHOD_NOT_ALLOWED: (405, "METHOD_NOT_ALLOWED", "Method not allowed"),  # unverified
    ErrorKind.PAYLOAD_TOO_LARGE: (413, "MAX_REQUEST_SIZE_EXCEEDED", "Request size is too large."),  # unverified
    ErrorKind.CONTEXT_LENGTH: (400, "BAD_REQUEST", "Input is too long for requested model."),
    ErrorKind.CONTENT_FILTER: (400, "BAD_REQUEST", ""),
    ErrorKind.RATE_LIMITED: (429, "REQUEST_LIMIT_EXCEEDED", ""),
    ErrorKind.OVERLOADED: (503, "TEMPORARILY_UNAVAILABLE", _CAPACITY),
    ErrorKind.NOT_READY: (503, "TEMPORARILY_UNAVAILABLE", "The endpoint is not ready."),  # unverified
    ErrorKind.TIMEOUT: (504, "TEMPORARILY_UNAVAILABLE", ""),
    ErrorKind.INTERNAL: (500, "INTERNAL_ERROR", "The server received an invalid response from an upstream server."),
}
# Kinds of errors that the provider of an external model reports, which Databricks passes on: its type of error, and its
# text. Source: public traces; often the whole is text in Databricks' own error.
_PROVIDER_ERRORS: Mapping[ErrorKind, tuple[str, str]] = {
    ErrorKind.RATE_LIMITED: ("rate_limit_error", "Rate limit reached for requests"),
    ErrorKind.OVERLOADED: ("server_error", "The server is currently overloaded with other requests."),
    ErrorKind.TIMEOUT: ("server_error", "Request timed out."),
    ErrorKind.INTERNAL: ("server_error", "The server had an error while processing your request."),
    ErrorKind.CONTEXT_LENGTH: ("invalid_request_error", "This model's maximum context length is exceeded."),
}
_RETRIED = {ErrorKind.RATE_LIMITED, ErrorKind.OVERLOADED, ErrorKind.NOT_READY}


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ErrorFields:
    """Formatted error, before it becomes a response or an event.

    Fields:
        body: body of the response; a string is sent verbatim.
        code, message: members of the body, where it has them.
    """

    status: int
    body: JSON
    code: str
    message: str


def render_error(error: EmulatedError, request: Request, service: DatabricksService) -> Response:
    """Return the response of an error; Databricks' own texts fill in what the error leaves open."""
    settings = service.settings
    fields = build_fields(error, request, service)
    headers = [*base_headers(request, settings), *list_native_headers(request)]
    if (wait := _find_retry_after(error, settings)) is not None:
        headers.append(("Retry-After", str(wait)))
    if error.kind is ErrorKind.METHOD_NOT_ALLOWED and "allow" in error.details:
        headers.append(("Allow", str(error.details["allow"])))
    if fields.status == 403 and error.kind is ErrorKind.UNAUTHENTICATED:
        headers.append(("X-Databricks-Reason-Phrase", BAD_TOKEN))
    body = fields.body
    if error.body is None:
        body = build_native(error, fields.status, fields.message, request) or body
    plain = isinstance(body, str) and not body.lstrip().startswith(("{", "["))
    kind = ("Content-Type", "text/plain") if plain else JSON_TYPE
    return Response(fields.status, _encode_body(body), (kind, *headers))


def render_late_error(error: EmulatedError, request: Request, service: DatabricksService) -> bytes:
    """Return the last event of a failed stream: an error object, or for Responses the failed response.

    No recording was found; the format is what openai-python understands (unverified).
    """
    fields = build_fields(error, request, service)
    native = frame_native(fields.status, fields.message, request)
    if native is not None:
        return native
    if "input" in request.json_members():
        return _render_failed(error, fields, request, service)
    body = fields.body
    given = error.body is not None or (isinstance(body, dict) and "error" in body)
    if given or service.settings.late_error == "databricks":
        return b"data: %b\n\n" % _encode_body(body)
    return encode_event({"error": {"message": fields.message, "type": "server_error", "code": fields.status}})


def _encode_body(body: JSON) -> bytes:
    return body.encode() if isinstance(body, str) else dump_json(body)


def _render_failed(error: EmulatedError, fields: ErrorFields, request: Request, service: DatabricksService) -> bytes:
    failed: Object = {
        "id": draw_response_id(request.key),
        "object": "response",
        "created_at": int(service.clock.now()),
        "status": "failed",
        "error": {"code": fields.code.lower(), "message": fields.message, "param": error.param, "type": "server_error"},
        "incomplete_details": None,
        "model": endpoint_name(request),
        "output": [],
        "usage": None,
    }
    number = error.details.get("events", 0)
    event = encode_event({"type": "response.failed", "sequence_number": number, "response": failed})
    direct = request.path.rstrip("/").endswith("/invocations")
    return event if direct else b"event: response.failed\n" + event


def build_fields(error: EmulatedError, request: Request, service: DatabricksService) -> ErrorFields:
    """Return the formatted error with the scenario's body, or one with Databricks' own text."""
    status, code, _ = ERRORS[error.kind]
    status = error.status or status
    body = error.body
    if body is None:
        body = _build_body(error, request, service, status, code)
    members = _parse_members(body)
    found = members.get("error_code")
    return ErrorFields(status=status, body=body, code=str(found), message=str(members.get("message", "")))


def _parse_members(body: JSON) -> Object:
    """Return the members of a body; a text that is not JSON is its ``message``."""
    if isinstance(body, str):
        try:
            body = parse_json(body)
        except ValueError:
            return {"message": body}
    return body if isinstance(body, dict) else {}


def _find_retry_after(error: EmulatedError, settings: DatabricksSettings) -> int | None:
    """Return ``Retry-After`` in whole seconds, because databricks-sdk ignores fractions; ``None``: no header."""
    if error.is_final or (error.kind not in _RETRIED and error.retry_after is None):
        return None
    if settings.retry_after is False:
        return None
    if settings.retry_after is not True:
        return settings.retry_after
    return 1 if error.wait is None else error.wait


def _build_body(error: EmulatedError, request: Request, service: DatabricksService, status: int, code: JSON) -> Object:
    settings = service.settings
    if "oauth" in error.details:
        return {"error": error.details["oauth"], "error_description": error.message}
    external = _word_external(error, endpoint_name(request), request, service, code)
    if external is not None:
        return external
    documented = (
        settings.rate_limit_body == "docs" and error.limit != "concurrency"
    )  # no documented name was found for it
    if error.kind is ErrorKind.RATE_LIMITED and documented:
        return _build_documented_limit(error, settings)
    code = error.details.get("error_code", code)
    message = error.message
    if message is None:
        code, message = _format_text(error, request, settings, code)
    if error.kind is ErrorKind.UNAUTHENTICATED:
        code = status
        if error.message is None and status == 403:
            message = BAD_TOKEN
        if message in (NO_CREDENTIAL, BAD_TOKEN):
            message = f"{message} [ReqId: {draw_uuid(request.key, 'request')}]"
    return {"error_code": code, "message": message}


def _format_text(error: EmulatedError, request: Request, settings: DatabricksSettings, code: JSON) -> tuple[JSON, str]:
    """Return code and text for an error without a message."""
    kind = error.kind
    name = endpoint_name(request)
    text = ERRORS[kind][2]
    if kind is ErrorKind.RATE_LIMITED:
        return code, _format_limit(error, request, settings)
    if kind is ErrorKind.NOT_FOUND:
        return _format_missing(request, name)
    if kind is ErrorKind.CONTENT_FILTER:
        text = _format_guardrail()
    elif kind is ErrorKind.TIMEOUT:
        text = (
            f"The service at {request.path} is taking too long to process your request."
            " Please try again later or try a faster operation."
        )
    elif kind is ErrorKind.FORBIDDEN:
        text = f"{text.replace('Query', 'View') if _is_management(request) else text} {name}".rstrip()
    elif kind is ErrorKind.INVALID_PARAMETER:
        code = "INVALID_PARAMETER_VALUE" if _is_management(request) else code
        text = f"Bad request: invalid value for parameter '{error.param}'" if error.param else text
    elif kind is ErrorKind.PAYLOAD_TOO_LARGE and "limit" in error.details:
        text = f"Request size cannot exceed {error.details['limit']} bytes."
    return code, text


def _format_limit(error: EmulatedError, request: Request, settings: DatabricksSettings) -> str:
    """Format a rate limit. Source: public issues of clients; Databricks limits concurrent requests per workspace."""
    if error.limit == "concurrency" and "amount" in error.details:
        workspace, amount = settings.workspace_id, error.details["amount"]
        return f"REQUEST_LIMIT_EXCEEDED: Workspace {workspace} exceeded the concurrent limit of {amount} requests."
    phrase = name_limit(error)[0]
    what = f"{phrase} rate limit" if phrase else "rate limit"
    return (
        f"REQUEST_LIMIT_EXCEEDED: Exceeded workspace {what} for {endpoint_name(request) or 'this endpoint'}."
        " Work with your Databricks account team to request a higher FMAPI rate limit tier."
    )


def _format_missing(request: Request, name: str) -> tuple[str | int, str]:
    """Format a missing endpoint. Source: databricks-demos/dbdemos#220 (management); unknown paths are unverified."""
    if _is_management(request) and name:
        return "RESOURCE_DOES_NOT_EXIST", f"Endpoint with name '{name}' does not exist."
    if request.path.startswith("/serving-endpoints"):
        return "ENDPOINT_NOT_FOUND", NO_ENDPOINT
    return "NOT_FOUND", f"No API found for '{request.method} {request.path}'"


def _is_management(request: Request) -> bool:
    return request.path.startswith("/api/2.0/serving-endpoints")


def _format_guardrail() -> str:
    """Format an input guardrail's JSON message. Source: an inference-table row of August 2026."""
    finding: Object = {"flagged": True, "categories": None, "category_scores": None, "pii_detection": False}
    body: Object = {
        "usage": {"prompt_tokens": 0, "total_tokens": 0},
        "input_guardrail": [finding],
        "finishReason": "input_guardrail_triggered",
    }
    return dump_text(body)


def _build_documented_limit(error: EmulatedError, settings: DatabricksSettings) -> Object:
    """Format the documented 429. Source: docs.databricks.com, "Model Serving limits and regions"; never observed."""
    _, short, kind, default = name_limit(error)
    limit = as_number(error.details.get("amount", default))
    used = as_number(error.details.get("used", limit)) + as_number(error.details.get("asked", 0))
    wait = _find_retry_after(error, settings)
    text = error.message or f"Rate limit exceeded: {short} limit of {limit:,} {_unit(kind)} reached"
    inner: Object = {"message": text, "type": "rate_limit_exceeded", "code": error.status or 429}
    inner |= {"limit_type": kind, "limit": limit, "current": used}
    return {"error": inner if wait is None else {**inner, "retry_after": wait}}


def _unit(kind: str) -> str:
    return "tokens" if "tokens" in kind else "queries"


def endpoint_name(request: Request) -> str:
    """Return the endpoint's name from the path or ``model``; empty if neither has one."""
    if "name" in request.params:
        return request.params["name"]
    model = request.json_members().get("model")
    return model if isinstance(model, str) else ""


def _word_external(
    error: EmulatedError, name: str, request: Request, service: DatabricksService, code: JSON
) -> Object | None:
    """Return the error body of an external model's provider; ``None`` if Databricks reports the error itself."""
    provider = _find_external_provider(error, name, request, service)
    return _build_external_body(error, provider, service.settings, code) if provider else None


def _find_external_provider(error: EmulatedError, name: str, request: Request, service: DatabricksService) -> str:
    """Return the provider of the external model that failed; empty if Databricks reports the error itself."""
    if error.kind not in _PROVIDER_ERRORS or "unit" in error.details:
        return ""
    found = find(name, request.documents, service)
    if found is None or found.deployment.mode != "external":
        return ""
    return str(found.profile.traits.get("provider") or "openai")


def _build_external_body(error: EmulatedError, provider: str, settings: DatabricksSettings, code: JSON) -> Object:
    """Return a provider's error as passed on, in OpenAI's format (unverified for others)."""
    kind, text = _PROVIDER_ERRORS[error.kind]
    inner: Object = {"message": error.message or text, "type": kind, "param": error.param, "code": None}
    body: Object = {"error": f"Received error from {provider}", "external_model_message": {"error": inner}}
    return {"error_code": code, "message": dump_text(body)} if settings.external_errors == "wrapped" else body
