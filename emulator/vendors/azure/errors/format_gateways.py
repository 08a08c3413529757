"""Format error bodies of Azure's API gateways: Foundry resources (``foundry``) and Azure OpenAI (``aoai``).

Sources: Azure/azure-sdk-assets, recorded refusals; MicrosoftDocs azure-ai-docs, model inference troubleshooting;
microsoft/semantic-kernel issue 10337 (wrong key). Codes of kinds that no source shows are ``unverified``.
"""

from emulator.core.errors import ErrorKind
from emulator.core.json import JSON, Object, as_text, dump_text
from emulator.vendors.azure.errors.format_openai import format_openai
from emulator.vendors.azure.errors.rate_limits import format_foundry_limit, format_openai_limit, wait_headers
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
    "image_edits": "imageEdits",
    "transcription": "audioTranscription",
    "translation": "audioTranslation",
    "speech": "audioSpeech",
    "image_embeddings": "imageEmbeddings",
    "responses": "responses",
    "anthropic": "messages",
    "rerank": "rerank",
}
_ADVICE = (
    " To learn more about our content filtering policies please read our documentation: "
    "https://go.microsoft.com/fwlink/?linkid=2198766"
)


def format_foundry(fields: ErrorFields) -> FormattedError:
    """Format an error of ``services.ai.azure.com/models``: a gateway before many models."""
    return _add_headers(_format_gateway(fields) or _format_foundry_model(fields), fields)


def format_aoai(fields: ErrorFields) -> FormattedError:
    """Format an error of ``openai.azure.com``: OpenAI's own errors behind the gateway."""
    if fields.kind is ErrorKind.NOT_FOUND and "task" in fields.details:
        message = fields.message or _format_wrong_operation(fields)
        return _add_headers(FormattedError(_build_coded("OperationNotSupported", message), status=400), fields)
    return _add_headers(_format_gateway(fields) or _format_azure_openai(fields), fields)


def _add_headers(formatted: FormattedError, fields: ErrorFields) -> FormattedError:
    own = (
        *throttled_headers(fields.details, fields.limit, fields.quota),
        *gateway_headers(fields.request, fields.hsts),
    )
    return FormattedError(formatted.body, (*formatted.headers, *own), formatted.status)


def _format_gateway(fields: ErrorFields) -> FormattedError | None:
    """Format an error that both gateways share; ``None`` if a model reports it."""
    details = fields.details
    if fields.kind is ErrorKind.UNAUTHENTICATED:
        return _format_unauthenticated(fields)
    if fields.kind is ErrorKind.NOT_FOUND and "deployment" in details:
        return FormattedError(_build_coded("DeploymentNotFound", fields.message or _NO_DEPLOYMENT))
    if fields.kind is ErrorKind.NOT_FOUND or fields.code == "invalid_api_version":
        own = None if fields.code == "invalid_api_version" else fields.message
        return FormattedError(_build_coded("404", own or "Resource not found"), status=404)
    if fields.kind is ErrorKind.METHOD_NOT_ALLOWED:
        return FormattedError(_build_coded("405", fields.text), (("Allow", str(details.get("allow", "POST"))),))
    if fields.kind is ErrorKind.FORBIDDEN:
        return FormattedError(
            _build_coded("PermissionDenied", fields.message or "Principal does not have access to API/Operation.")
        )
    if fields.kind is ErrorKind.TIMEOUT:
        return FormattedError(_build_coded("Timeout", fields.message or "The operation was timeout."), status=408)
    return None


def _format_unauthenticated(fields: ErrorFields) -> FormattedError:
    if fields.request.headers.get("api-key"):
        return FormattedError(_build_coded("401", fields.message or _WRONG_KEY))
    return FormattedError({"statusCode": fields.status, "message": fields.message or _WRONG_TOKEN})


def _format_wrong_operation(fields: ErrorFields) -> str:
    operation = _OPERATIONS[as_text(fields.details["task"])]
    return (
        f"The {operation} operation does not work with the specified model, {fields.details['model']}. "
        "Please choose different model and try again. You can learn more about which models can be used with each "
        "operation here: https://go.microsoft.com/fwlink/?linkid=2197993."
    )


def _build_coded(code: str, message: str) -> Object:
    return {"error": {"code": code, "message": message}}


def _format_foundry_model(fields: ErrorFields) -> FormattedError:
    """Format an error of the models behind a Foundry resource; GitHub Models answers alike."""
    if fields.kind is ErrorKind.INVALID_PARAMETER:
        details = fields.details
        breaks_schema = "errors" in details and not details.get("model_refused")
        return format_openai(fields) if breaks_schema or fields.openai else format_invalid(fields)
    if fields.kind is ErrorKind.CONTENT_FILTER:
        return format_filtered(fields)
    if fields.kind is ErrorKind.RATE_LIMITED:
        message = fields.message or format_foundry_limit(fields)
        return FormattedError(_build_detailed("RateLimitReached", message, message), wait_headers(fields))
    if fields.kind is ErrorKind.CONTEXT_LENGTH:
        message = fields.message or _format_size(fields)
        return FormattedError(_build_detailed("tokens_limit_reached", message, message), status=413)
    if fields.code in ("unknown_model", "no_model_name"):
        repeated = None if fields.code == "unknown_model" else fields.text
        return FormattedError(_build_detailed(fields.code, fields.text, repeated), (("x-ms-error-code", fields.code),))
    if fields.details.get("bare"):
        return FormattedError({"detail": fields.text})
    if fields.openai and fields.kind is ErrorKind.INVALID_REQUEST:
        return format_openai(fields)
    return FormattedError(_build_coded(fields.phrase.replace(" ", ""), fields.text))


def _build_detailed(code: str, message: str, details: str | None) -> Object:
    return {"error": {"code": code, "message": message, "details": details}}


def _format_size(fields: ErrorFields) -> str:
    model, size = fields.details.get("model", "the"), fields.details.get("context", 8000)
    return f"Request body too large for {model} model. Max size: {size} tokens."


def _format_azure_openai(fields: ErrorFields) -> FormattedError:
    if fields.kind is ErrorKind.RATE_LIMITED:
        return FormattedError(_build_coded("429", fields.message or format_openai_limit(fields)), wait_headers(fields))
    if fields.kind is ErrorKind.CONTENT_FILTER:
        formatter = format_filtered_response if fields.request.path.endswith("/responses") else format_filtered
        return formatter(fields, "Azure OpenAI's", _ADVICE)
    return format_openai(fields)


def format_invalid(fields: ErrorFields) -> FormattedError:
    """Format a parameter that the container or its model refuses.

    Violations of the schema are listed. A feature that the model lacks has a flat error, as documented. The model's
    own error about passed-through parameters is quoted as text.
    """
    details = fields.details
    if details.get("model_refused"):
        headers = model_error_headers(fields)
        answer: Object = {"detail": details["errors"]}
        if details.get("bare"):
            return FormattedError(answer, headers)
        quoted: JSON = {"code": "Invalid input", "message": dump_text(answer), "status": fields.status}
        return FormattedError({"error": quoted}, (*headers, ("x-ms-rai-invoked", "true")))
    if "errors" in details:
        message = fields.message or "invalid input error"
        return FormattedError(
            {
                "error": {
                    "code": "Invalid input",
                    "status": fields.status,
                    "message": message,
                    "details": details["errors"],
                }
            }
        )
    violation = fields.violation
    detail: JSON = {"loc": violation.loc, "input": violation.value}
    return FormattedError({"status": fields.status, "code": fields.code, "detail": detail, "message": fields.text})
