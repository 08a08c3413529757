"""Error bodies of Azure's API gateways: Foundry resources (``foundry``) and Azure OpenAI (``aoai``).

Sources: Azure/azure-sdk-assets, recorded refusals; MicrosoftDocs azure-ai-docs, model inference troubleshooting;
microsoft/semantic-kernel issue 10337 (wrong key). Codes of kinds that no source shows are ``unverified``.
"""

from emulator.core.errors import ErrorKind
from emulator.core.json import JSON, dump_text
from emulator.vendors.azure.errors.openai import word_openai
from emulator.vendors.azure.errors.wording import MODEL_ERROR, Refusal, Worded, word_filtered
from emulator.vendors.azure.headers import gateway_headers, refused_headers

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
    "images": "imageEmbeddings",
}
_ADVICE = (
    " To learn more about our content filtering policies please read our documentation: "
    "https://go.microsoft.com/fwlink/?linkid=2198766"
)
_THROTTLED = (
    "Requests to the {operation} Operation under Azure OpenAI API version {version} have exceeded {limit} rate limit "
    "of your current AIServices S0 pricing tier. Please retry after {wait} seconds."
)


def word_foundry(refusal: Refusal) -> Worded:
    """As ``services.ai.azure.com/models``: a gateway before many models."""
    return _add_headers(_word_gateway(refusal) or _word_mesh(refusal), refusal)


def word_aoai(refusal: Refusal) -> Worded:
    """As ``openai.azure.com``: OpenAI's own words behind the gateway."""
    if refusal.kind is ErrorKind.NOT_FOUND and "task" in refusal.details:
        message = refusal.message or _wrong_operation(refusal)
        return _add_headers(Worded(_coded("OperationNotSupported", message), status=400), refusal)
    return _add_headers(_word_gateway(refusal) or _word_azure_openai(refusal), refusal)


def _add_headers(worded: Worded, refusal: Refusal) -> Worded:
    own = (*refused_headers(refusal.details), *gateway_headers(refusal.request))
    return Worded(worded.body, (*worded.headers, *own), worded.status)


def _word_gateway(refusal: Refusal) -> Worded | None:
    """What both gateways say alike, before any model is asked."""
    details = refusal.details
    if refusal.kind is ErrorKind.UNAUTHENTICATED:
        return _word_unauthenticated(refusal)
    if refusal.kind is ErrorKind.NOT_FOUND and "deployment" in details:
        return Worded(_coded("DeploymentNotFound", refusal.message or _NO_DEPLOYMENT))
    if refusal.kind is ErrorKind.NOT_FOUND or refusal.code == "invalid_api_version":
        message = None if refusal.code == "invalid_api_version" else refusal.message
        return Worded(_coded("404", message or "Resource not found"), status=404)
    if refusal.kind is ErrorKind.METHOD_NOT_ALLOWED:
        return Worded(_coded("405", refusal.text), (("Allow", str(details.get("allow", "POST"))),))
    if refusal.kind is ErrorKind.FORBIDDEN:
        return Worded(_coded("PermissionDenied", refusal.message or "Principal does not have access to API/Operation."))
    if refusal.kind is ErrorKind.TIMEOUT:
        return Worded(_coded("Timeout", refusal.message or "The operation was timeout."), status=408)
    return None


def _word_unauthenticated(refusal: Refusal) -> Worded:
    if refusal.request.headers.get("api-key"):
        return Worded(_coded("401", refusal.message or _WRONG_KEY))
    return Worded({"statusCode": refusal.status, "message": refusal.message or _WRONG_TOKEN})


def _wrong_operation(refusal: Refusal) -> str:
    operation = _OPERATIONS[refusal.details["task"]]
    return (
        f"The {operation} operation does not work with the specified model, {refusal.details['model']}. "
        "Please choose different model and try again. You can learn more about which models can be used with each "
        "operation here: https://go.microsoft.com/fwlink/?linkid=2197993."
    )


def _coded(code: str, message: str) -> JSON:
    return {"error": {"code": code, "message": message}}


def _word_mesh(refusal: Refusal) -> Worded:
    """The mesh of models behind a Foundry resource; GitHub Models answers alike."""
    if refusal.kind is ErrorKind.INVALID_PARAMETER:
        return word_invalid(refusal)
    if refusal.kind is ErrorKind.CONTENT_FILTER:
        return word_filtered(refusal)
    if refusal.kind is ErrorKind.RATE_LIMITED:
        return Worded(_repeat("RateLimitReached", refusal.message or _name_limit(refusal)))
    if refusal.kind is ErrorKind.CONTEXT_LENGTH:
        return Worded(_repeat("tokens_limit_reached", refusal.message or _name_size(refusal)), status=413)
    if refusal.code in ("unknown_model", "no_model_name"):
        body = _repeat(refusal.code, refusal.text)
        if refusal.code == "unknown_model":
            body["error"]["details"] = None
        return Worded(body, (("x-ms-error-code", refusal.code),))
    if refusal.details.get("bare"):
        return Worded({"detail": refusal.text})
    return Worded(_coded(refusal.phrase.replace(" ", ""), refusal.text))


def _repeat(code: str, message: str) -> JSON:
    return {"error": {"code": code, "message": message, "details": message}}


_LIMITS = {"requests": "UserByModelByMinute", "concurrency": "UserConcurrentRequests"}


def _name_limit(refusal: Refusal) -> str:
    limit = _LIMITS.get(refusal.limit or "requests", "UserByModelByMinuteTokens")
    amount, window = refusal.details.get("amount", 10), refusal.details.get("window", 60)
    head = f"Rate limit of {amount} per {window}s exceeded for {limit}."
    return f"{head} Please wait {refusal.wait} seconds before retrying."


def _name_size(refusal: Refusal) -> str:
    model, size = refusal.details.get("model", "the"), refusal.details.get("context", 8000)
    return f"Request body too large for {model} model. Max size: {size} tokens."


def _word_azure_openai(refusal: Refusal) -> Worded:
    if refusal.kind is ErrorKind.RATE_LIMITED:
        milliseconds = (("retry-after-ms", str(refusal.wait * 1000)),)
        return Worded(_coded("429", refusal.message or _word_throttled(refusal)), milliseconds)
    if refusal.kind is ErrorKind.CONTENT_FILTER:
        return word_filtered(refusal, "Azure OpenAI's", _ADVICE)
    return word_openai(refusal)


def _word_throttled(refusal: Refusal) -> str:
    request = refusal.request
    operation = "Embeddings_Create" if request.path.endswith("/embeddings") else "ChatCompletions_Create"
    version = request.query.get("api-version", "v1")
    limit = "call" if refusal.limit in ("requests", "concurrency") else "token"
    return _THROTTLED.format(operation=operation, version=version, limit=limit, wait=refusal.wait)


def word_invalid(refusal: Refusal) -> Worded:
    """A parameter the container or its model refuses.

    Violations of the schema are listed; a feature the model lacks is told flat, as documented; what the model
    said about passed-through parameters is quoted as text.
    """
    details = refusal.details
    if details.get("model_refused"):
        headers = tuple((name, value.format(status=refusal.status)) for name, value in MODEL_ERROR)
        answer = {"detail": refusal.errors}
        if details.get("bare"):
            return Worded(answer, headers)
        quoted = {"code": "Invalid input", "message": dump_text(answer), "status": refusal.status}
        return Worded({"error": quoted}, (*headers, ("x-ms-rai-invoked", "true")))
    if "errors" in details:
        message = refusal.message or "invalid input error"
        listed = {"code": "Invalid input", "status": refusal.status, "message": message, "details": refusal.errors}
        return Worded({"error": listed})
    first = refusal.errors[0]
    detail = {"loc": first["loc"], "input": first["input"]}
    return Worded({"status": refusal.status, "code": refusal.code, "detail": detail, "message": refusal.text})
