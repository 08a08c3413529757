"""Error bodies of the documented API (``seed``, ``docs``) and of the containers (``maas``, ``managed``).

Sources: Azure Machine Learning reference, Chat Completions, definitions of errors; Azure/azure-sdk-assets,
recorded refusals of serverless endpoints; Azure/azureml-assets, foundation/model/serve/error_handler.py,
constants.py and api_server.py.
"""

from collections.abc import Mapping

from emulator.core.errors import ErrorKind
from emulator.core.json import JSON, dump_text
from emulator.core.wire import Headers
from emulator.vendors.azure.chat.fields import BRANCHES
from emulator.vendors.azure.errors.gateways import word_aoai, word_foundry, word_invalid
from emulator.vendors.azure.errors.wording import MODEL_ERROR, Refusal, Worded, Words, word_filtered
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


def word_seed(refusal: Refusal) -> Worded:
    """Flat, with ``error`` as a string."""
    body: JSON = {"status": refusal.status}
    if refusal.kind not in _SHORT:
        body["code"] = refusal.code
    body["error"] = refusal.phrase
    body["message"] = _explain(refusal)
    if refusal.kind is ErrorKind.INVALID_PARAMETER:
        loc, value = _locate(refusal)
        text = value if isinstance(value, str) else dump_text(value)
        body["detail"] = {"loc": loc, "value": text, "input": value}
    elif refusal.kind not in _SHORT:
        body["param"] = refusal.param or _blame(refusal)
    headers = (("x-ms-error-code", refusal.code), *refused_headers(refusal.details), *_allow(refusal))
    return Worded(body, headers)


def word_docs(refusal: Refusal) -> Worded:
    """Flat, without ``error``, so that clients find code and message."""
    worded = word_seed(refusal)
    body = {key: value for key, value in worded.body.items() if key not in ("error", "detail", "message")}
    if "detail" in worded.body:
        detail = worded.body["detail"]
        body["detail"] = {"loc": detail["loc"], "input": detail["input"]}
    param = body.pop("param", None)
    body["message"] = worded.body["message"]
    if param is not None:
        body |= {"param": param, "type": None}
    return Worded(body, worded.headers)


def _explain(refusal: Refusal) -> str:
    """The message; of several violations the first is told."""
    if refusal.message is None and refusal.kind is ErrorKind.NOT_FOUND and "deployment" in refusal.details:
        return f"The deployment {refusal.details['deployment']} does not exist on this endpoint."
    if refusal.message is None and "errors" in refusal.details:
        return f"{refusal.text} {'.'.join(_locate(refusal)[0])}: {refusal.errors[0]['msg']}"
    return refusal.text


def _locate(refusal: Refusal) -> tuple[list[str], JSON]:
    """Where the first violation is, and the value there; a union's branch is no place in the body."""
    first = refusal.errors[0]
    loc = [str(part) for part in first["loc"]]
    if loc[-1] in BRANCHES:
        loc.pop()
    return loc, first["input"]


def _blame(refusal: Refusal) -> str:
    """``param`` of an error that names none."""
    return "messages" if refusal.kind in (ErrorKind.CONTENT_FILTER, ErrorKind.CONTEXT_LENGTH) else ""


def _allow(refusal: Refusal) -> Headers:
    allow = refusal.details.get("allow")
    return (("Allow", allow),) if allow else ()


def word_maas(refusal: Refusal) -> Worded:
    """As a serverless endpoint: its gateway's 401, its model's plain 404, else the container's words."""
    if refusal.kind is ErrorKind.UNAUTHENTICATED:
        body = {"statusCode": refusal.status, "message": refusal.message or _UNAUTHENTICATED}
        return Worded(body, (("x-ms-error-reason", "Invalid JWT."),))
    if refusal.kind is ErrorKind.NOT_FOUND and "path" not in refusal.details:
        headers = ((name, value.format(status=refusal.status)) for name, value in MODEL_ERROR)
        return Worded(refusal.message or "NOT FOUND", tuple(headers))
    if refusal.kind is ErrorKind.CONTENT_FILTER:
        return word_filtered(refusal)
    return _word_container(refusal)


def word_managed(refusal: Refusal) -> Worded:
    """As a managed online endpoint: the container alone, behind the same gateway."""
    if refusal.kind is ErrorKind.UNAUTHENTICATED:
        return word_maas(refusal)
    if refusal.kind is ErrorKind.NOT_FOUND and "task" in refusal.details:
        there = _TASK_TYPES.get(refusal.details["deployment_task"], refusal.details["deployment_task"])
        route = _ROUTES[refusal.details["task"]]
        return Worded(_envelope(400, "Bad Request", f"task_type {there} not available with {route}."), status=400)
    if refusal.kind is ErrorKind.CONTENT_FILTER:
        code = _CODES.get(refusal.status, "Unknown Status Code")
        return Worded(_envelope(refusal.status, code, refusal.message or _UNSAFE_INPUT))
    return _word_container(refusal)


def _word_container(refusal: Refusal) -> Worded:
    if refusal.kind is ErrorKind.INVALID_PARAMETER:
        return word_invalid(refusal)
    if refusal.kind is ErrorKind.NOT_FOUND:
        return Worded({"detail": refusal.message or "Not Found"})
    if refusal.kind is ErrorKind.METHOD_NOT_ALLOWED:
        return Worded({"detail": refusal.text}, _allow(refusal))
    if refusal.details.get("bare"):
        return Worded({"detail": refusal.text})
    text = _FAILED if refusal.kind is ErrorKind.INTERNAL and refusal.message is None else refusal.text
    return Worded(_envelope(refusal.status, _CODES.get(refusal.status, "Unknown Status Code"), text))


def _envelope(status: int, code: str, message: str) -> JSON:
    return {"error": {"code": code, "message": message, "status": status}}


SHAPES: Mapping[str, Words] = {
    "seed": word_seed,
    "docs": word_docs,
    "maas": word_maas,
    "managed": word_managed,
    "foundry": word_foundry,
    "aoai": word_aoai,
}
