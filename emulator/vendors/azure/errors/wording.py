"""A refusal with every blank filled in, and the common words of each kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from emulator.core.errors import ErrorKind
from emulator.core.json import JSON
from emulator.core.reasons import reason_phrase
from emulator.core.wire import Headers, WireRequest

# Status, code and message of each kind where a profile has no words of its own.
WORDS: Mapping[ErrorKind, tuple[int, str, str]] = {
    ErrorKind.INVALID_REQUEST: (400, "invalid_request", "The request is not valid."),
    ErrorKind.INVALID_PARAMETER: (
        422,
        "parameter_not_supported",
        "One of the parameters contain invalid values.",
    ),
    ErrorKind.UNAUTHENTICATED: (401, "Unauthorized", "The access token is absent or not valid."),
    ErrorKind.FORBIDDEN: (403, "Forbidden", "The principal has no access to this operation."),
    ErrorKind.NOT_FOUND: (404, "NotFound", "This deployment does not serve the requested route."),
    ErrorKind.METHOD_NOT_ALLOWED: (405, "MethodNotAllowed", "Method Not Allowed"),
    ErrorKind.PAYLOAD_TOO_LARGE: (413, "PayloadTooLarge", "The request body is too large."),
    ErrorKind.CONTEXT_LENGTH: (400, "context_length_exceeded", "The messages exceed the model's context length."),
    ErrorKind.CONTENT_FILTER: (400, "content_filter", "The response was filtered"),
    ErrorKind.RATE_LIMITED: (429, "TooManyRequests", "Rate limit reached. Retry after {wait} seconds."),
    ErrorKind.OVERLOADED: (503, "ServiceUnavailable", "The service is overloaded. Please try again later."),
    ErrorKind.NOT_READY: (503, "ServiceUnavailable", "The deployment is not ready to serve requests."),
    ErrorKind.TIMEOUT: (504, "GatewayTimeout", "The operation timed out."),
    ErrorKind.INTERNAL: (500, "InternalServerError", "An internal error occurred."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An error with every blank filled in.

    Fields:
        message: the error's own or ``None``: then the profile's words for its kind.
        wait: whole seconds to wait, of a throttled request.
        errors: violations as pydantic lists them; none if no single parameter is known.
    """

    kind: ErrorKind
    status: int
    code: str
    message: str | None
    param: str | None
    wait: int
    errors: list[JSON]
    details: Mapping[str, JSON]
    request: WireRequest
    limit: str | None

    @property
    def text(self) -> str:
        """The message, in the common words where there is no other."""
        return self.message or WORDS[self.kind][2].format(wait=self.wait)

    @property
    def phrase(self) -> str:
        return reason_phrase(self.status)


@dataclass(frozen=True, slots=True)
class Worded:
    """A refusal in a profile's shape; ``body`` is JSON unless it is a string, which is plain text."""

    body: JSON
    headers: Headers = ()
    status: int | None = None


Words = Callable[[Refusal], Worded]


# What a serverless endpoint adds to an answer that its model refused.
MODEL_ERROR: Headers = (
    ("ms-azureml-model-error-reason", "model_error"),
    ("ms-azureml-model-error-statuscode", "{status}"),
)
_SAFE: JSON = {"filtered": False, "severity": "safe"}
_FILTER_RESULT: JSON = {
    "code": "ResponsibleAIPolicyViolation",
    "content_filter_result": {
        "hate": _SAFE,
        "jailbreak": {"filtered": False, "detected": False},
        "self_harm": _SAFE,
        "sexual": _SAFE,
        "violence": {"filtered": True, "severity": "medium"},
    },
}
_FILTERED = (
    "The response was filtered due to the prompt triggering {policy} content management policy. "
    "Please modify your prompt and retry."
)


def word_filtered(refusal: Refusal, policy: str = "Microsoft's", advice: str = "") -> Worded:
    """A prompt that the content filter stopped. Source: continuedev/continue issue 3902."""
    return Worded(
        {
            "error": {
                "message": refusal.message or _FILTERED.format(policy=policy) + advice,
                "type": None,
                "param": refusal.param or "prompt",
                "code": "content_filter",
                "status": refusal.status,
                "innererror": _FILTER_RESULT,
            }
        }
    )
