"""Format errors of the documented API (``seed``, ``docs``) and of the model containers (``maas``, ``managed``).

Sources: Azure Machine Learning reference, Chat Completions, definitions of errors; Azure/azure-sdk-assets, recorded
refusals of serverless endpoints; Azure/azureml-assets, foundation/model/serve/error_handler.py, constants.py and
api_server.py.
"""

from emulator.core.errors import ErrorKind
from emulator.core.http import Headers
from emulator.core.json import JSON, Object, as_text, dump_text
from emulator.protocols.anthropic.response import build_error, draw_request_id, find_error_type
from emulator.vendors.azure.errors.format_gateways import format_foundry, format_invalid
from emulator.vendors.azure.errors.types import (
    UNION_BRANCHES,
    ErrorFields,
    FormattedError,
    format_filtered,
    model_error_headers,
)
from emulator.vendors.azure.headers import throttled_headers

_SHORT = frozenset({ErrorKind.UNAUTHENTICATED, ErrorKind.NOT_FOUND, ErrorKind.RATE_LIMITED})
_UNAUTHENTICATED = "Auth token validation failed. Please provide a valid key or a valid AAD token"
_UNSAFE_INPUT = "request input violates azure ai content safety setting."
_FAILED = "An error occurred during the request processing: internal error"
_CODES = {  # the only statuses that the container names
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    422: "Invalid input",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}
_TASK_TYPES = {"chat": "chat-completion", "completions": "text-generation", "embeddings": "embeddings"}
_ROUTES = {"chat": "chat completions API", "completions": "text generation API", "embeddings": "embeddings API"}


def format_seed(fields: ErrorFields) -> FormattedError:
    """Format a flat error, with ``error`` as a string."""
    body: Object = {"status": fields.status}
    if fields.kind not in _SHORT:
        body["code"] = fields.code
    body["error"] = fields.phrase
    body["message"] = _format_message(fields)
    if fields.kind is ErrorKind.INVALID_PARAMETER:
        loc, value = _find_violation(fields)
        text = value if isinstance(value, str) else dump_text(value)
        body["detail"] = {"loc": loc, "value": text, "input": value}
    elif fields.kind not in _SHORT:
        body["param"] = fields.param or _find_param(fields)
    return FormattedError(body, _flat_headers(fields))


def format_docs(fields: ErrorFields) -> FormattedError:
    """Format a flat error without ``error``, so that clients find code and message."""
    body: Object = {"status": fields.status}
    if fields.kind not in _SHORT:
        body["code"] = fields.code
    if fields.kind is ErrorKind.INVALID_PARAMETER:
        loc, value = _find_violation(fields)
        body["detail"] = {"loc": loc, "input": value}
    body["message"] = _format_message(fields)
    if fields.kind is not ErrorKind.INVALID_PARAMETER and fields.kind not in _SHORT:
        body |= {"param": fields.param or _find_param(fields), "type": None}
    return FormattedError(body, _flat_headers(fields))


def _flat_headers(fields: ErrorFields) -> Headers:
    return (("x-ms-error-code", fields.code), *throttled_headers(fields.details), *_build_allow(fields))


def _format_message(fields: ErrorFields) -> str:
    """Return the message; of several violations it names the first."""
    if fields.message is None and fields.kind is ErrorKind.NOT_FOUND and "deployment" in fields.details:
        return f"The deployment {fields.details['deployment']} does not exist on this endpoint."
    if fields.message is None and "errors" in fields.details:
        return f"{fields.text} {'.'.join(_find_violation(fields)[0])}: {fields.violation.text}"
    return fields.text


def _find_violation(fields: ErrorFields) -> tuple[list[str], JSON]:
    """Return path and value of the first violation; a union's branch is not part of the path."""
    violation = fields.violation
    loc = [str(part) for part in violation.loc]
    if loc[-1] in UNION_BRANCHES:
        loc.pop()
    return loc, violation.value


def _find_param(fields: ErrorFields) -> str:
    """Return the default ``param`` of an error that names none."""
    return "messages" if fields.kind in (ErrorKind.CONTENT_FILTER, ErrorKind.CONTEXT_LENGTH) else ""


def _build_allow(fields: ErrorFields) -> Headers:
    allow = fields.details.get("allow")
    return (("Allow", as_text(allow)),) if allow else ()


def format_maas(fields: ErrorFields) -> FormattedError:
    """Format a serverless endpoint's error: its gateway's 401, its model's plain 404, else the container's."""
    if fields.kind is ErrorKind.UNAUTHENTICATED:
        body: Object = {"statusCode": fields.status, "message": fields.message or _UNAUTHENTICATED}
        return FormattedError(body, (("x-ms-error-reason", "Invalid JWT."),))
    if fields.kind is ErrorKind.NOT_FOUND and "path" not in fields.details:
        return FormattedError(fields.message or "NOT FOUND", model_error_headers(fields))
    if fields.kind is ErrorKind.CONTENT_FILTER:
        return format_filtered(fields)
    return _format_container(fields)


def format_managed(fields: ErrorFields) -> FormattedError:
    """Format a managed online endpoint's error: the container's, behind the same gateway."""
    if fields.kind is ErrorKind.UNAUTHENTICATED:
        return format_maas(fields)
    if fields.kind is ErrorKind.NOT_FOUND and "task" in fields.details:
        task = as_text(fields.details["deployment_task"])
        there = _TASK_TYPES.get(task, task)
        name = as_text(fields.details["task"])
        route = _ROUTES.get(name, f"{name} API")
        return FormattedError(
            _build_error(400, "Bad Request", f"task_type {there} not available with {route}."), status=400
        )
    if fields.kind is ErrorKind.CONTENT_FILTER:
        code = _CODES.get(fields.status, "Unknown Status Code")
        return FormattedError(_build_error(fields.status, code, fields.message or _UNSAFE_INPUT))
    return _format_container(fields)


def _format_container(fields: ErrorFields) -> FormattedError:
    if fields.kind is ErrorKind.INVALID_PARAMETER:
        return format_invalid(fields)
    if fields.kind is ErrorKind.NOT_FOUND:
        return FormattedError({"detail": fields.message or "Not Found"})
    if fields.kind is ErrorKind.METHOD_NOT_ALLOWED:
        return FormattedError({"detail": fields.text}, _build_allow(fields))
    if fields.details.get("bare"):
        return FormattedError({"detail": fields.text})
    text = _FAILED if fields.kind is ErrorKind.INTERNAL and fields.message is None else fields.text
    return FormattedError(_build_error(fields.status, _CODES.get(fields.status, "Unknown Status Code"), text))


def _build_error(status: int, code: str, message: str) -> Object:
    return {"error": {"code": code, "message": message, "status": status}}


def format_anthropic(fields: ErrorFields) -> FormattedError:
    """Format an error of Anthropic's API behind Foundry's gateway."""
    gateway = format_foundry(fields)
    known = fields.kind in (ErrorKind.INVALID_PARAMETER, ErrorKind.CONTEXT_LENGTH)
    status = 400 if known else gateway.status or fields.status
    text = fields.message or _format_anthropic_message(fields)
    body = build_error(find_error_type(status), text, fields.request)
    return FormattedError(body, (*gateway.headers, ("request-id", draw_request_id(fields.request))), status)


def _format_anthropic_message(fields: ErrorFields) -> str:
    """Return the message of an error without one."""
    details = fields.details
    if "errors" in details:
        violation = fields.violation
        return f"{'.'.join(str(part) for part in violation.loc[1:])}: {violation.text}"
    if "deployment" in details:
        return f"model: {details['deployment']}"
    if "context" in details:
        return f"prompt is too long: {details['prompt_tokens']} tokens > {details['context']} maximum"
    if fields.kind is ErrorKind.UNAUTHENTICATED:
        return "invalid x-api-key"
    return "Not Found" if fields.kind is ErrorKind.NOT_FOUND else fields.text
