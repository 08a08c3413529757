"""The reference page's tables of an answer: hand-written plans and errors, and the place of each field."""

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from tests.reference_rows import Cases, Piece, check
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.chat.plans import CALL, HELLO, TOOL, chunks, plan_of, render, say
from tests.vendors.azure.service import chat, headers_of, look, word

SHORT: JSON = {"plan": plan_of(say(("text", ["Hel"]), finish="length"))}
FILTERED: JSON = {"plan": plan_of(say(("text", ["bad"]), finish="content_filter"))}
TWO: JSON = {"plan": plan_of(say(("text", ["a"])), say(("text", ["b"]))), "n": 2}
CALLED: JSON = {"plan": CALL, "tools": [TOOL]}

ANSWER: dict[str, Cases] = {
    "Responses.200 OK": [({}, {"status": 200, "answer.object": "chat.completion"})],
    "ChatCompletionFinishReason.content_filter": [
        (FILTERED, {"answer.choices.0.finish_reason": "content_filter"}),
        (FILTERED, {"events.-1.choices.0.finish_reason": "content_filter"}),
    ],
    "ChatCompletionFinishReason.length": [
        (SHORT, {"answer.choices.0.finish_reason": "length", "events.-1.choices.0.finish_reason": "length"})
    ],
    "ChatCompletionFinishReason.stop": [
        ({}, {"answer.choices.0.finish_reason": "stop", "events.-1.choices.0.finish_reason": "stop"})
    ],
    "ChatCompletionFinishReason.tool_calls": [
        (CALLED, {"answer.choices.0.finish_reason": "tool_calls", "events.-1.choices.0.finish_reason": "tool_calls"})
    ],
    "ChatCompletionObject.chat.completion": [({}, {"answer.object": "chat.completion"})],
    "ChatCompletionResponseMessage.content": [
        ({}, {"answer.choices.0.message.content": "Hellö.", "events.0.choices.0.delta.content": str})
    ],
    "ChatCompletionResponseMessage.role": [
        ({}, {"answer.choices.0.message.role": "assistant", "events.0.choices.0.delta.role": "assistant"})
    ],
    "ChatCompletionResponseMessage.tool_calls": [
        (CALLED, {"answer.choices.0.message.tool_calls.0.id": str}),
        (CALLED, {"answer.choices.0.message.tool_calls.0.function": {"name": "f", "arguments": '{"a": 1}'}}),
    ],
    "Choices.finish_reason": [(SHORT, {"answer.choices.0.finish_reason": "length"})],
    "Choices.index": [(TWO, {"answer.choices.0.index": 0, "answer.choices.1.index": 1})],
    "Choices.message": [
        (TWO, {"answer.choices.0.message": {"role": "assistant", "content": "a"}}),
        (TWO, {"answer.choices.1.message": {"role": "assistant", "content": "b"}}),
    ],
    "CompletionUsage.completion_tokens": [({}, {"answer.usage.completion_tokens": 4})],
    "CompletionUsage.prompt_tokens": [({}, {"answer.usage.prompt_tokens": 13})],
    "CompletionUsage.total_tokens": [({}, {"answer.usage.total_tokens": 17})],
    "CreateChatCompletionResponse.choices": [(TWO, {"answer.choices": list, "answer.choices.1.index": 1})],
    "CreateChatCompletionResponse.created": [({}, {"answer.created": 1731461004, "events.0.created": 1731461004})],
    "CreateChatCompletionResponse.ID": [({}, {"answer.id": str, "events.0.id": str})],
    "CreateChatCompletionResponse.model": [
        ({}, {"answer.model": "mistral-small-2503"}),
        ({"model": "gpt-4o-mini"}, {"answer.model": Piece("gpt-4o-mini")}),
    ],
    "CreateChatCompletionResponse.object": [
        ({}, {"answer.object": "chat.completion", "events.0.object": "chat.completion.chunk"})
    ],
    "CreateChatCompletionResponse.system_fingerprint": [({}, {"answer.system_fingerprint": str})],
    "CreateChatCompletionResponse.usage": [
        ({}, {"answer.usage": {"prompt_tokens": 13, "completion_tokens": 4, "total_tokens": 17}})
    ],
}


@pytest.mark.covers(
    "azure/reference page: answers",
    "200 OK",
    "CreateChatCompletionResponse",
    "Choices finish_reason, index, message",
    "ChatCompletionResponseMessage content, role, tool_calls",
    "ChatCompletionFinishReason",
    "CompletionUsage",
)
@pytest.mark.parametrize("field", ANSWER)
def test_response_field(field: str) -> None:
    for request, seen in ANSWER[field]:
        sent = {"plan": HELLO, **request}
        whole = render(**sent)
        check({"status": whole.status, "answer": parse_json(whole.body), "events": chunks(**sent)}, seen)


UNAUTHORIZED: JSON = {"headers": {"api-key": ""}}
NOT_FOUND: JSON = {"headers": {"azureml-model-deployment": "llama2-7b"}}
UNPROCESSABLE: JSON = {"body": chat(model="llama2-70b-chat", tools=[TOOL])}
TOO_MANY: JSON = {"injected": ErrorKind.RATE_LIMITED}
UNSAFE: JSON = {"injected": ErrorKind.CONTENT_FILTER}

ERRORS: dict[str, Cases] = {
    "Responses.401 Unauthorized": [(UNAUTHORIZED, {"status": 401, "answer.status": 401})],
    "Responses.404 Not Found": [(NOT_FOUND, {"status": 404, "answer.status": 404})],
    "Responses.422 Unprocessable Entity": [(UNPROCESSABLE, {"status": 422, "answer.status": 422})],
    "Responses.429 Too Many Requests": [(TOO_MANY, {"status": 429, "answer.status": 429})],
    "Responses.Other Status Codes": [(UNSAFE, {"status": 400, "answer.status": 400})],
    "Responses.x-ms-error-code": [
        (UNAUTHORIZED, {"headers.x-ms-error-code": "Unauthorized"}),
        (NOT_FOUND, {"headers.x-ms-error-code": "NotFound"}),
        (UNPROCESSABLE, {"headers.x-ms-error-code": "parameter_not_supported"}),
        (TOO_MANY, {"headers.x-ms-error-code": "TooManyRequests"}),
        (UNSAFE, {"headers.x-ms-error-code": "content_filter"}),
    ],
    "ContentFilterError.code": [(UNSAFE, {"answer.code": "content_filter"})],
    "ContentFilterError.error": [(UNSAFE, {"answer.error": "Bad Request"})],
    "ContentFilterError.message": [(UNSAFE, {"answer.message": "The response was filtered"})],
    "ContentFilterError.param": [(UNSAFE, {"answer.param": "messages"})],
    "ContentFilterError.status": [(UNSAFE, {"answer.status": 400})],
    "Detail.loc": [(UNPROCESSABLE, {"answer.detail.loc": ["body", "tools"]})],
    "Detail.value": [(UNPROCESSABLE, {"answer.detail.value": Piece('"name":"f"')})],
    "NotFoundError.error": [(NOT_FOUND, {"answer.error": "Not Found"})],
    "NotFoundError.message": [(NOT_FOUND, {"answer.message": Piece("does not serve the requested route")})],
    "NotFoundError.status": [(NOT_FOUND, {"answer.status": 404})],
    "TooManyRequestsError.error": [(TOO_MANY, {"answer.error": "Too Many Requests"})],
    "TooManyRequestsError.message": [(TOO_MANY, {"answer.message": Piece("Rate limit reached")})],
    "TooManyRequestsError.status": [(TOO_MANY, {"answer.status": 429})],
    "UnauthorizedError.error": [(UNAUTHORIZED, {"answer.error": "Unauthorized"})],
    "UnauthorizedError.message": [(UNAUTHORIZED, {"answer.message": Piece("access token is absent")})],
    "UnauthorizedError.status": [(UNAUTHORIZED, {"answer.status": 401})],
    "UnprocessableContentError.code": [(UNPROCESSABLE, {"answer.code": "parameter_not_supported"})],
    "UnprocessableContentError.detail": [(UNPROCESSABLE, {"answer.detail": dict})],
    "UnprocessableContentError.error": [(UNPROCESSABLE, {"answer.error": "Unprocessable Entity"})],
    "UnprocessableContentError.message": [(UNPROCESSABLE, {"answer.message": Piece("contain invalid values")})],
    "UnprocessableContentError.status": [(UNPROCESSABLE, {"answer.status": 422})],
}


def provoke(injected: ErrorKind | None = None, **request: JSON) -> object:
    """An error as a client gets it."""
    if injected is None:
        return look(**{"body": chat(), **request})
    response = word(EmulatedError(injected))
    return {"status": response.status, "headers": headers_of(response), "answer": parse_json(response.body)}


@pytest.mark.covers(
    "azure/reference page: answers",
    "401 UnauthorizedError",
    "404 NotFoundError",
    "422 UnprocessableContentError",
    "Detail loc, value",
    "429 TooManyRequestsError",
    "other ContentFilterError",
    "x-ms-error-code",
)
@pytest.mark.parametrize("field", ERRORS)
def test_error_field(field: str) -> None:
    for request, seen in ERRORS[field]:
        check(provoke(**request), seen)
