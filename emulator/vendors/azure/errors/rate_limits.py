"""Texts and ``Retry-After`` headers of a request that exceeds a rate limit (429).

``format_aoai`` and ``format_foundry`` of ``format_gateways.py`` build the body around a text; for the other dialects
``format_openai.py`` and ``format_serverless.py`` do. ``throttled_headers`` in ``azure/headers.py`` builds the quota
headers of a throttled request.
"""

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Headers
from emulator.core.json import as_number
from emulator.vendors.azure.errors.types import ErrorFields

_THROTTLED_OPERATIONS = (
    ("/chat/completions", "ChatCompletions_Create"),
    ("/completions", "Completions_Create"),
    ("/embeddings", "Embeddings_Create"),
    ("/responses", "Responses_Create"),
    ("/images/generations", "ImageGenerations_Create"),
    ("/messages", "Messages_Create"),
)
_THROTTLED = (
    "Requests to the {operation} Operation under Azure OpenAI API version {version} have exceeded {limit} rate limit "
    "of your current AIServices S0 pricing tier. Please retry after {wait} seconds."
)
_LIMITS = {"requests": "", "input_tokens": "UncachedInputTokens"}
_DAY = 86_400  # seconds


def retry_after(error: EmulatedError, fields: ErrorFields) -> Headers:
    """Return ``Retry-After`` for throttled requests only: clients retry any error that has it."""
    if error.kind is not ErrorKind.RATE_LIMITED and error.retry_after is None:
        return ()
    return (("Retry-After", str(fields.wait)),)


def wait_headers(fields: ErrorFields) -> Headers:
    """Return ``retry-after-ms``, which both gateways send besides ``Retry-After``: the wait before it is rounded up."""
    return (("retry-after-ms", str(fields.wait_ms)),)


def format_foundry_limit(fields: ErrorFields) -> str:
    """Format the message of a Foundry resource.

    Source: refusals quoted in public issues; a day's limit of tokens is ``unverified``.
    """
    amount, window = fields.details.get("amount", 10), as_number(fields.details.get("window", 60))
    period = "Day" if window >= _DAY else "Minute"
    limit = f"UserByModelBy{period}{_LIMITS.get(fields.limit or 'requests', 'Tokens')}"
    if fields.limit == "concurrency":
        limit = "UserConcurrentRequests"
    head = f"Rate limit of {amount} per {window}s exceeded for {limit}."
    return f"{head} Please wait {fields.wait} seconds before retrying."


def format_openai_limit(fields: ErrorFields) -> str:
    """Format the message of Azure OpenAI, which names operation and API version."""
    request = fields.request
    operation = next((name for route, name in _THROTTLED_OPERATIONS if request.path.endswith(route)), "Inference")
    version = request.query.get("api-version", "v1")
    limit = "call" if fields.limit in ("requests", "concurrency") else "token"
    return _THROTTLED.format(operation=operation, version=version, limit=limit, wait=fields.wait)
