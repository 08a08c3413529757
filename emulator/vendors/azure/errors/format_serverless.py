"""Format errors of the documented API (``seed``, ``docs``) and of the containers (``maas``, ``managed``).

Sources: Azure Machine Learning reference, Chat Completions, definitions of errors; Azure/azure-sdk-assets,
recorded refusals of serverless endpoints; Azure/azureml-assets, foundation/model/serve/error_handler.py,
constants.py and api_server.py.
"""

from collections.abc import Mapping

from emulator.core.errors import ErrorKind
from emulator.core.http import Headers
from emulator.core.json import JSON, Object, as_text, dump_text
from emulator.protocols.anthropic.response import build_error, find_error_type
from emulator.vendors.azure.errors.format_gateways import format_aoai, format_foundry, format_invalid
from emulator.vendors.azure.errors.types import (
    BRANCHES,
    ErrorFields,
    ErrorFormatter,
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


def format_seed(envelope: ErrorFields) -> FormattedError:
    """Format a flat error, with ``error`` as a string."""
    body: Object = {"status": envelope.status}
    if envelope.kind not in _SHORT:
        body["code"] = envelope.code
    body["error"] = envelope.phrase
    body["message"] = _format_message(envelope)
    if envelope.kind is ErrorKind.INVALID_PARAMETER:
        loc, value = _find_violation(envelope)
        text = value if isinstance(value, str) else dump_text(value)
        body["detail"] = {"loc": loc, "value": text, "input": value}
    elif envelope.kind not in _SHORT:
        body["param"] = envelope.param or _find_param(envelope)
    return FormattedError(body, _flat_headers(envelope))


def format_docs(envelope: ErrorFields) -> FormattedError:
    """Format a flat error without ``error``, so that clients find code and message."""
    body: Object = {"status": envelope.status}
    if envelope.kind not in _SHORT:
        body["code"] = envelope.code
    if envelope.kind is ErrorKind.INVALID_PARAMETER:
        loc, value = _find_violation(envelope)
        body["detail"] = {"loc": loc, "input": value}
    body["message"] = _format_message(envelope)
    if envelope.kind is not ErrorKind.INVALID_PARAMETER and envelope.kind not in _SHORT:
        body |= {"param": envelope.param or _find_param(envelope), "type": None}
    return FormattedError(body, _flat_headers(envelope))


def _flat_headers(envelope: ErrorFields) -> Headers:
    return (("x-ms-error-code", envelope.code), *throttled_headers(envelope.details), *_build_allow(envelope))


def _format_message(envelope: ErrorFields) -> str:
    """Return the message; of several violations it names the first."""
    if envelope.message is None and envelope.kind is ErrorKind.NOT_FOUND and "deployment" in envelope.details:
        return f"The deployment {envelope.details['deployment']} does not exist on this endpoint."
    if envelope.message is None and "errors" in envelope.details:
        return f"{envelope.text} {'.'.join(_find_violation(envelope)[0])}: {envelope.violation.text}"
    return envelope.text


def _find_violation(envelope: ErrorFields) -> tuple[list[str], JSON]:
    """Return path and value of the first violation; a union's branch is not part of the path."""
    violation = envelope.violation
    loc = [str(part) for part in violation.loc]
    if loc[-1] in BRANCHES:
        loc.pop()
    return loc, violation.value


def _find_param(envelope: ErrorFields) -> str:
    """Return the default ``param`` of an error that names none."""
    return "messages" if envelope.kind in (ErrorKind.CONTENT_FILTER, ErrorKind.CONTEXT_LENGTH) else ""


def _build_allow(envelope: ErrorFields) -> Headers:
    allow = envelope.details.get("allow")
    return (("Allow", as_text(allow)),) if allow else ()


def format_maas(envelope: ErrorFields) -> FormattedError:
    """Format a serverless endpoint's error: its gateway's 401, its model's plain 404, else the container's."""
    if envelope.kind is ErrorKind.UNAUTHENTICATED:
        body: Object = {"statusCode": envelope.status, "message": envelope.message or _UNAUTHENTICATED}
        return FormattedError(body, (("x-ms-error-reason", "Invalid JWT."),))
    if envelope.kind is ErrorKind.NOT_FOUND and "path" not in envelope.details:
        return FormattedError(envelope.message or "NOT FOUND", model_error_headers(envelope))
    if envelope.kind is ErrorKind.CONTENT_FILTER:
        return format_filtered(envelope)
    return _format_container(envelope)


def format_managed(envelope: ErrorFields) -> FormattedError:
    """Format a managed online endpoint's error: the container's, behind the same gateway."""
    if envelope.kind is ErrorKind.UNAUTHENTICATED:
        return format_maas(envelope)
    if envelope.kind is ErrorKind.NOT_FOUND and "task" in envelope.details:
        task = as_text(envelope.details["deployment_task"])
        there = _TASK_TYPES.get(task, task)
        name = as_text(envelope.details["task"])
        route = _ROUTES.get(name, f"{name} API")
        return FormattedError(
            _build_error(400, "Bad Request", f"task_type {there} not available with {route}."), status=400
        )
    if envelope.kind is ErrorKind.CONTENT_FILTER:
        code = _CODES.get(envelope.status, "Unknown Status Code")
        return FormattedError(_build_error(envelope.status, code, envelope.message or _UNSAFE_INPUT))
    return _format_container(envelope)


def _format_container(envelope: ErrorFields) -> FormattedError:
    if envelope.kind is ErrorKind.INVALID_PARAMETER:
        return format_invalid(envelope)
    if envelope.kind is ErrorKind.NOT_FOUND:
        return FormattedError({"detail": envelope.message or "Not Found"})
    if envelope.kind is ErrorKind.METHOD_NOT_ALLOWED:
        return FormattedError({"detail": envelope.text}, _build_allow(envelope))
    if envelope.details.get("bare"):
        return FormattedError({"detail": envelope.text})
    text = _FAILED if envelope.kind is ErrorKind.INTERNAL and envelope.message is None else envelope.text
    return FormattedError(_build_error(envelope.status, _CODES.get(envelope.status, "Unknown Status Code"), text))


def _build_error(status: int, code: str, message: str) -> Object:
    return {"error": {"code": code, "message": message, "status": status}}


def format_anthropic(envelope: ErrorFields) -> FormattedError:
    """Format an error of Anthropic's API behind Foundry's gateway."""
    gateway = format_foundry(envelope)
    known = envelope.kind in (ErrorKind.INVALID_PARAMETER, ErrorKind.CONTEXT_LENGTH)
    status = 400 if known else gateway.status or envelope.status
    text = envelope.message or _format_anthropic_message(envelope)
    return FormattedError(build_error(find_error_type(status), text), gateway.headers, status)


def _format_anthropic_message(envelope: ErrorFields) -> str:
    """Return the message of an error without one."""
    details = envelope.details
    if "errors" in details:
        violation = envelope.violation
        return f"{'.'.join(str(part) for part in violation.loc[1:])}: {violation.text}"
    if "deployment" in details:
        return f"model: {details['deployment']}"
    if "context" in details:
        return f"prompt is too long: {details['prompt_tokens']} tokens > {details['context']} maximum"
    if envelope.kind is ErrorKind.UNAUTHENTICATED:
        return "invalid x-api-key"
    return "Not Found" if envelope.kind is ErrorKind.NOT_FOUND else envelope.text


SHAPES: Mapping[str, ErrorFormatter] = {
    "seed": format_seed,
    "docs": format_docs,
    "maas": format_maas,
    "managed": format_managed,
    "foundry": format_foundry,
    "aoai": format_aoai,
    "anthropic": format_anthropic,
}
