"""Error bodies of Azure's API gateways: Foundry resources (``foundry``) and Azure OpenAI (``aoai``).

Sources: Azure/azure-sdk-assets, recorded refusals; MicrosoftDocs azure-ai-docs, model inference troubleshooting;
microsoft/semantic-kernel issue 10337 (wrong key). Codes of kinds that no source shows are ``unverified``.
"""

from emulator.core.errors import ErrorKind
from emulator.core.http import Headers
from emulator.core.json import JSON, Object, as_number, as_text, dump_text
from emulator.vendors.azure.errors.format_openai import format_openai
from emulator.vendors.azure.errors.types import (
    ErrorFields,
    FormattedError,
    format_filtered,
    format_filtered_response,
    model_error_headers,
)
from emulator.vendors.azure.headers import gateway_headers, throttled_headers

_WRONG_KEY = (
    "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an "
    "active subscription and use a correct regional API endpoint for your resource."
)
_WRONG_TOKEN = (
    "Unauthorized. Access token is missing, invalid, audience is incorrect (https://cognitiveservices.azure.com), "
    "or have expired."
)
_NO_DEPLOYMENT = (
    "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, "
    "please wait a moment and try again."
)
_OPERATIONS = {
    "chat": "chatCompletion",
    "completions": "completion",
    "embeddings": "embeddings",
    "images": "imageGenerations",
    "image_embeddings": "imageEmbeddings",
    "responses": "responses",
    "anthropic": "messages",
    "rerank": "rerank",
}
_THROTTLED_OPERATIONS = (
    ("/chat/completions", "ChatCompletions_Create"),
    ("/completions", "Completions_Create"),
    ("/embeddings", "Embeddings_Create"),
    ("/responses", "Responses_Create"),
    ("/images/generations", "ImageGenerations_Create"),
    ("/messages", "Messages_Create"),
)
_ADVICE = (
    " To learn more about our content filtering policies please read our documentation: "
    "https://go.microsoft.com/fwlink/?linkid=2198766"
)
_THROTTLED = (
    "Requests to the {operation} Operation under Azure OpenAI API version {version} have exceeded {limit} rate limit "
    "of your current AIServices S0 pricing tier. Please retry after {wait} seconds."
)


def format_foundry(envelope: ErrorFields) -> FormattedError:
    """Format an error of ``services.ai.azure.com/models``: a gateway before many models."""
    return _add_headers(_format_gateway(envelope) or _format_foundry_model(envelope), envelope)


def format_aoai(envelope: ErrorFields) -> FormattedError:
    """Format an error of ``openai.azure.com``: OpenAI's own errors behind the gateway."""
    if envelope.kind is ErrorKind.NOT_FOUND and "task" in envelope.details:
        message = envelope.message or _format_wrong_operation(envelope)
        return _add_headers(FormattedError(_build_coded("OperationNotSupported", message), status=400), envelope)
    return _add_headers(_format_gateway(envelope) or _format_azure_openai(envelope), envelope)


def _add_headers(formatted: FormattedError, envelope: ErrorFields) -> FormattedError:
    own = (*throttled_headers(envelope.details, envelope.limit, envelope.quota), *gateway_headers(envelope.request))
    return FormattedError(formatted.body, (*formatted.headers, *own), formatted.status)


def _format_gateway(envelope: ErrorFields) -> FormattedError | None:
    """Format an error that both gateways share; ``None`` if a model reports it."""
    details = envelope.details
    if envelope.kind is ErrorKind.UNAUTHENTICATED:
        return _format_unauthenticated(envelope)
    if envelope.kind is ErrorKind.NOT_FOUND and "deployment" in details:
        return FormattedError(_build_coded("DeploymentNotFound", envelope.message or _NO_DEPLOYMENT))
    if envelope.kind is ErrorKind.NOT_FOUND or envelope.code == "invalid_api_version":
        own = None if envelope.code == "invalid_api_version" else envelope.message
        return FormattedError(_build_coded("404", own or "Resource not found"), status=404)
    if envelope.kind is ErrorKind.METHOD_NOT_ALLOWED:
        return FormattedError(_build_coded("405", envelope.text), (("Allow", str(details.get("allow", "POST"))),))
    if envelope.kind is ErrorKind.FORBIDDEN:
        return FormattedError(
            _build_coded("PermissionDenied", envelope.message or "Principal does not have access to API/Operation.")
        )
    if envelope.kind is ErrorKind.TIMEOUT:
        return FormattedError(_build_coded("Timeout", envelope.message or "The operation was timeout."), status=408)
    return None


def _format_unauthenticated(envelope: ErrorFields) -> FormattedError:
    if envelope.request.headers.get("api-key"):
        return FormattedError(_build_coded("401", envelope.message or _WRONG_KEY))
    return FormattedError({"statusCode": envelope.status, "message": envelope.message or _WRONG_TOKEN})


def _format_wrong_operation(envelope: ErrorFields) -> str:
    operation = _OPERATIONS[as_text(envelope.details["task"])]
    return (
        f"The {operation} operation does not work with the specified model, {envelope.details['model']}. "
        "Please choose different model and try again. You can learn more about which models can be used with each "
        "operation here: https://go.microsoft.com/fwlink/?linkid=2197993."
    )


def _build_coded(code: str, message: str) -> Object:
    return {"error": {"code": code, "message": message}}


def _format_foundry_model(envelope: ErrorFields) -> FormattedError:
    """Format an error of the models behind a Foundry resource; GitHub Models answers alike."""
    if envelope.kind is ErrorKind.INVALID_PARAMETER:
        details = envelope.details
        breaks_schema = "errors" in details and not details.get("model_refused")
        return format_openai(envelope) if breaks_schema or envelope.openai else format_invalid(envelope)
    if envelope.kind is ErrorKind.CONTENT_FILTER:
        return format_filtered(envelope)
    if envelope.kind is ErrorKind.RATE_LIMITED:
        message = envelope.message or _format_limit(envelope)
        return FormattedError(_build_detailed("RateLimitReached", message, message), _wait_headers(envelope))
    if envelope.kind is ErrorKind.CONTEXT_LENGTH:
        message = envelope.message or _format_size(envelope)
        return FormattedError(_build_detailed("tokens_limit_reached", message, message), status=413)
    if envelope.code in ("unknown_model", "no_model_name"):
        repeated = None if envelope.code == "unknown_model" else envelope.text
        return FormattedError(
            _build_detailed(envelope.code, envelope.text, repeated), (("x-ms-error-code", envelope.code),)
        )
    if envelope.details.get("bare"):
        return FormattedError({"detail": envelope.text})
    if envelope.openai and envelope.kind is ErrorKind.INVALID_REQUEST:
        return format_openai(envelope)
    return FormattedError(_build_coded(envelope.phrase.replace(" ", ""), envelope.text))


def _build_detailed(code: str, message: str, details: str | None) -> Object:
    return {"error": {"code": code, "message": message, "details": details}}


def _wait_headers(envelope: ErrorFields) -> Headers:
    """Return ``retry-after-ms``, which both gateways send along with ``Retry-After``."""
    return (("retry-after-ms", str(envelope.wait * 1000)),)


_LIMITS = {"requests": "", "input_tokens": "UncachedInputTokens"}
_DAY = 86_400  # seconds


def _format_limit(envelope: ErrorFields) -> str:
    """Format the limit's name. Source: refusals quoted in public issues; a day's limit of tokens is unverified."""
    amount, window = envelope.details.get("amount", 10), as_number(envelope.details.get("window", 60))
    period = "Day" if window >= _DAY else "Minute"
    limit = f"UserByModelBy{period}{_LIMITS.get(envelope.limit or 'requests', 'Tokens')}"
    if envelope.limit == "concurrency":
        limit = "UserConcurrentRequests"
    head = f"Rate limit of {amount} per {window}s exceeded for {limit}."
    return f"{head} Please wait {envelope.wait} seconds before retrying."


def _format_size(envelope: ErrorFields) -> str:
    model, size = envelope.details.get("model", "the"), envelope.details.get("context", 8000)
    return f"Request body too large for {model} model. Max size: {size} tokens."


def _format_azure_openai(envelope: ErrorFields) -> FormattedError:
    if envelope.kind is ErrorKind.RATE_LIMITED:
        return FormattedError(
            _build_coded("429", envelope.message or _format_throttled(envelope)), _wait_headers(envelope)
        )
    if envelope.kind is ErrorKind.CONTENT_FILTER:
        formatter = format_filtered_response if envelope.request.path.endswith("/responses") else format_filtered
        return formatter(envelope, "Azure OpenAI's", _ADVICE)
    return format_openai(envelope)


def _format_throttled(envelope: ErrorFields) -> str:
    request = envelope.request
    operation = next((name for route, name in _THROTTLED_OPERATIONS if request.path.endswith(route)), "Inference")
    version = request.query.get("api-version", "v1")
    limit = "call" if envelope.limit in ("requests", "concurrency") else "token"
    return _THROTTLED.format(operation=operation, version=version, limit=limit, wait=envelope.wait)


def format_invalid(envelope: ErrorFields) -> FormattedError:
    """Format a parameter that the container or its model refuses.

    Violations of the schema are listed. A feature that the model lacks has a flat error, as documented. The model's
    own error about passed-through parameters is quoted as text.
    """
    details = envelope.details
    if details.get("model_refused"):
        headers = model_error_headers(envelope)
        answer: Object = {"detail": details["errors"]}
        if details.get("bare"):
            return FormattedError(answer, headers)
        quoted: JSON = {"code": "Invalid input", "message": dump_text(answer), "status": envelope.status}
        return FormattedError({"error": quoted}, (*headers, ("x-ms-rai-invoked", "true")))
    if "errors" in details:
        message = envelope.message or "invalid input error"
        return FormattedError(
            {
                "error": {
                    "code": "Invalid input",
                    "status": envelope.status,
                    "message": message,
                    "details": details["errors"],
                }
            }
        )
    violation = envelope.violation
    detail: JSON = {"loc": violation.loc, "input": violation.value}
    return FormattedError(
        {"status": envelope.status, "code": envelope.code, "detail": detail, "message": envelope.text}
    )
