"""What the words of a profile come to, and words that several profiles share."""

from collections.abc import Callable

from emulator.core.json import JSON
from emulator.core.record import record
from emulator.core.wire import Headers
from emulator.vendors.azure.errors.envelope import Envelope


@record(frozen=True, slots=True, eq=False)
class Worded:
    """An error in a profile's shape; ``body`` is JSON unless it is a string, which is plain text."""

    body: JSON
    headers: Headers = ()
    status: int | None = None


Words = Callable[[Envelope], Worded]

NO_SCHEMA = "Response format is json_schema but json_schema is not provided."
_SAFE: JSON = {"filtered": False, "severity": "safe"}
_FOUND: JSON = {
    "hate": _SAFE,
    "jailbreak": {"filtered": False, "detected": False},
    "self_harm": _SAFE,
    "sexual": _SAFE,
    "violence": {"filtered": True, "severity": "medium"},
}
_FILTER_RESULT: JSON = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": _FOUND}
_FILTERED = (
    "The response was filtered due to the prompt triggering {policy} content management policy. "
    "Please modify your prompt and retry."
)


def model_error_headers(envelope: Envelope) -> Headers:
    """What a serverless endpoint adds to an answer that its model refused."""
    return (
        ("ms-azureml-model-error-reason", "model_error"),
        ("ms-azureml-model-error-statuscode", str(envelope.status)),
    )


def word_filtered(envelope: Envelope, policy: str = "Microsoft's", advice: str = "") -> Worded:
    """A prompt that the content filter stopped. Source: continuedev/continue issue 3902."""
    return Worded(
        {
            "error": {
                "message": envelope.message or _FILTERED.format(policy=policy) + advice,
                "type": None,
                "param": envelope.param or "prompt",
                "code": "content_filter",
                "status": envelope.status,
                "innererror": _FILTER_RESULT,
            }
        }
    )


def word_filtered_response(envelope: Envelope, policy: str, advice: str) -> Worded:
    """The same of the Responses API. Source: Microsoft's public guides on moving there from chat completions."""
    return Worded(
        {
            "error": {
                "message": envelope.message or _FILTERED.format(policy=policy) + advice,
                "type": "invalid_request_error",
                "param": envelope.param or "prompt",
                "code": "content_filter",
                "content_filters": [{"blocked": True, "source_type": "prompt", "content_filter_results": _FOUND}],
            }
        }
    )
