"""Error bodies of the documented API (``seed``, ``docs``) and of the containers (``maas``, ``managed``).

Sources: Azure Machine Learning reference, Chat Completions, definitions of errors; Azure/azure-sdk-assets,
recorded refusals of serverless endpoints; Azure/azureml-assets, foundation/model/serve/error_handler.py,
constants.py and api_server.py.
"""

from collections.abc import Mapping

from emulator.core.errors import ErrorKind
from emulator.core.http import Headers
from emulator.core.json import JSON, Object, as_text, dump_text
from emulator.protocols.anthropic.response import name_error, shape_error
from emulator.vendors.azure.errors.format_gateways import format_aoai, format_foundry, format_invalid
from emulator.vendors.azure.errors.types import (
    BRANCHES,
    ErrorFields,
    FormattedError,
    Words,
    format_filtered,
    model_error_headers,
)
from emulator.vendors.azure.headers import refused_headers

_SHORT = frozenset({ErrorKind.UNAUTHENTICATED, ErrorKind.NOT_FOUND, ErrorKind.RATE_LIMITED})
_UNAUTHENTICATED = "Auth token validation failed. Please provide a valid key or a valid AAD token"
_UNSAFE_INPUT = "request input violates azure ai content safety setting."
_FAILED = "An error occurred during the request processing: internal error"
_CODES = {  # all that the container has words for
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
    """Flat, with ``error`` as a string."""
    body: Object = {"status": envelope.status}
    if envelope.kind not in _SHORT:
        body["code"] = envelope.code
    body["error"] = envelope.phrase
    body["message"] = _explain(envelope)
    if envelope.kind is ErrorKind.INVALID_PARAMETER:
        loc, value = _locate(envelope)
        text = value if isinstance(value, str) else dump_text(value)
        body["detail"] = {"loc": loc, "value": text, "input": value}
    elif envelope.kind not in _SHORT:
        body["param"] = envelope.param or _blame(envelope)
    return FormattedError(body, _flat_headers(envelope))


def format_docs(envelope: ErrorFields) -> FormattedError:
    """Flat, without ``error``, so that clients find code and message."""
    body: Object = {"status": envelope.status}
    if envelope.kind not in _SHORT:
        body["code"] = envelope.code
    if envelope.kind is ErrorKind.INVALID_PARAMETER:
        loc, value = _locate(envelope)
        body["detail"] = {"loc": loc, "input": value}
    body["message"] = _explain(envelope)
    if envelope.kind is not ErrorKind.INVALID_PARAMETER and envelope.kind not in _SHORT:
        body |= {"param": envelope.param or _blame(envelope), "type": None}
    return FormattedError(body, _flat_headers(envelope))


def _flat_headers(envelope: ErrorFields) -> Headers:
    return (("x-ms-error-code", envelope.code), *refused_headers(envelope.details), *_allow(envelope))


def _explain(envelope: ErrorFields) -> str:
    """The message; of several violations it names the first."""
    if envelope.message is None and envelope.kind is ErrorKind.NOT_FOUND and "deployment" in envelope.details:
        return f"The deployment {envelope.details['deployment']} does not exist on this endpoint."
    if envelope.message is None and "errors" in envelope.details:
        return f"{envelope.text} {'.'.join(_locate(envelope)[0])}: {envelope.violation.text}"
    return envelope.text


def _locate(envelope: ErrorFields) -> tuple[list[str], JSON]:
    """Where the first violation is, and the value there; a union's branch is no place in the body."""
    violation = envelope.violation
    loc = [str(part) for part in violation.loc]
    if loc[-1] in BRANCHES:
        loc.pop()
    return loc, violation.value


def _blame(envelope: ErrorFields) -> str:
    """``param`` of an error that names none."""
    return "messages" if envelope.kind in (ErrorKind.CONTENT_FILTER, ErrorKind.CONTEXT_LENGTH) else ""


def _allow(envelope: ErrorFields) -> Headers:
    allow = envelope.details.get("allow")
    return (("Allow", as_text(allow)),) if allow else ()


def format_maas(envelope: ErrorFields) -> FormattedError:
    """As a serverless endpoint: its gateway's 401, its model's plain 404, else the container's words."""
    if envelope.kind is ErrorKind.UNAUTHENTICATED:
        body: Object = {"statusCode": envelope.status, "message": envelope.message or _UNAUTHENTICATED}
        return FormattedError(body, (("x-ms-error-reason", "Invalid JWT."),))
    if envelope.kind is ErrorKind.NOT_FOUND and "path" not in envelope.details:
        return FormattedError(envelope.message or "NOT FOUND", model_error_headers(envelope))
    if envelope.kind is ErrorKind.CONTENT_FILTER:
        return format_filtered(envelope)
    return _word_container(envelope)


def format_managed(envelope: ErrorFields) -> FormattedError:
    """As a managed online endpoint: the container alone, behind the same gateway."""
    if envelope.kind is ErrorKind.UNAUTHENTICATED:
        return format_maas(envelope)
    if envelope.kind is ErrorKind.NOT_FOUND and "task" in envelope.details:
        task = as_text(envelope.details["deployment_task"])
        there = _TASK_TYPES.get(task, task)
        name = as_text(envelope.details["task"])
        route = _ROUTES.get(name, f"{name} API")
        return FormattedError(_wrap(400, "Bad Request", f"task_type {there} not available with {route}."), status=400)
    if envelope.kind is ErrorKind.CONTENT_FILTER:
        code = _CODES.get(envelope.status, "Unknown Status Code")
        return FormattedError(_wrap(envelope.status, code, envelope.message or _UNSAFE_INPUT))
    return _word_container(envelope)


def _word_container(envelope: ErrorFields) -> FormattedError:
    if envelope.kind is ErrorKind.INVALID_PARAMETER:
        return format_invalid(envelope)
    if envelope.kind is ErrorKind.NOT_FOUND:
        return FormattedError({"detail": envelope.message or "Not Found"})
    if envelope.kind is ErrorKind.METHOD_NOT_ALLOWED:
        return FormattedError({"detail": envelope.text}, _allow(envelope))
    if envelope.details.get("bare"):
        return FormattedError({"detail": envelope.text})
    text = _FAILED if envelope.kind is ErrorKind.INTERNAL and envelope.message is None else envelope.text
    return FormattedError(_wrap(envelope.status, _CODES.get(envelope.status, "Unknown Status Code"), text))


def _wrap(status: int, code: str, message: str) -> Object:
    return {"error": {"code": code, "message": message, "status": status}}


def format_anthropic(envelope: ErrorFields) -> FormattedError:
    """As Anthropic's API behind Foundry's gateway."""
    gateway = format_foundry(envelope)
    known = envelope.kind in (ErrorKind.INVALID_PARAMETER, ErrorKind.CONTEXT_LENGTH)
    status = 400 if known else gateway.status or envelope.status
    text = envelope.message or _explain_natively(envelope)
    return FormattedError(shape_error(name_error(status), text), gateway.headers, status)


def _explain_natively(envelope: ErrorFields) -> str:
    """The message of an error that has none of its own."""
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


SHAPES: Mapping[str, Words] = {
    "seed": format_seed,
    "docs": format_docs,
    "maas": format_maas,
    "managed": format_managed,
    "foundry": format_foundry,
    "aoai": format_aoai,
    "anthropic": format_anthropic,
}
