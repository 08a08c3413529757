"""Schemas that Azure OpenAI cannot follow, in chat and in Responses."""

import pytest

from emulator.core.http import Response
from tests.untyped_json import JSON
from tests.vendors.azure.service import Refused, refuse, send

CHAT = "/openai/v1/chat/completions"
RESPONSES = "/openai/v1/responses"
OPEN = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
CLOSED = {**OPEN, "additionalProperties": False}
BARE_LIST = {"type": "object", "properties": {"a": {"type": "array"}}}
_LOOSE = "In context=(), 'additionalProperties' is required to be supplied and to be false."


def function(parameters: JSON, **more: JSON) -> JSON:
    return {"name": "f", "parameters": parameters, **more}


def in_chat(*, tool: JSON = None, form: JSON = None) -> JSON:
    body: JSON = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
    if tool:
        body["tools"] = [{"type": "function", "function": tool}]
    if form:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "x", **form}}
    return body


def in_responses(*, tool: JSON = None, form: JSON = None) -> JSON:
    body: JSON = {"model": "gpt-4o", "input": "Hi"}
    if tool:
        body["tools"] = [{"type": "function", **tool}]
    if form:
        body["text"] = {"format": {"type": "json_schema", "name": "x", **form}}
    return body


@pytest.mark.covers("azure/Azure OpenAI", "strict schemas")
@pytest.mark.parametrize(
    ("path", "body", "message", "param", "code"),
    [
        pytest.param(
            CHAT,
            in_chat(tool=function(OPEN, strict=True)),
            f"Invalid schema for function 'f': {_LOOSE}",
            "tools[0].function.parameters",
            "invalid_function_parameters",
            id="a strict tool of a chat",
        ),
        pytest.param(
            CHAT,
            in_chat(tool=function(BARE_LIST)),
            "Invalid schema for function 'f': In context=('properties', 'a'), array schema missing items.",
            "tools[0].function.parameters",
            "invalid_function_parameters",
            id="any tool of a chat",
        ),
        pytest.param(
            CHAT,
            in_chat(form={"strict": True, "schema": OPEN}),
            f"Invalid schema for response_format 'x': {_LOOSE}",
            "response_format",
            None,
            id="a strict answer of a chat",
        ),
        pytest.param(
            RESPONSES,
            in_responses(tool=function(OPEN, strict=True)),
            f"Invalid schema for function 'f': {_LOOSE}",
            "tools[0].parameters",
            "invalid_function_parameters",
            id="a strict tool",
        ),
        pytest.param(
            RESPONSES,
            in_responses(form={"strict": True, "schema": OPEN}),
            f"Invalid schema for response_format 'x': {_LOOSE}",
            "text.format.schema",
            "invalid_json_schema",
            id="a strict answer",
        ),
    ],
)
def test_unsupported_schema_is_refused(path: str, body: JSON, message: str, param: str, code: str | None) -> None:
    refused = refuse(body, path)
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    assert (refused.status, refused.json()) == (400, {"error": error})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param(CHAT, in_chat(tool=function(OPEN)), id="a tool that is not strict"),
        pytest.param(CHAT, in_chat(tool=function(CLOSED, strict=True)), id="a closed tool"),
        pytest.param(CHAT, in_chat(tool=function(None, strict=True)), id="a tool without arguments"),
        pytest.param(CHAT, in_chat(form={"schema": OPEN}), id="an answer that is not strict"),
        pytest.param(CHAT, in_chat(form={"strict": True, "schema": CLOSED}), id="a closed answer"),
        pytest.param(RESPONSES, in_responses(tool=function(OPEN)), id="a tool of responses"),
        pytest.param(RESPONSES, in_responses(form={"strict": True, "schema": CLOSED}), id="an answer of responses"),
        pytest.param(
            "/chat/completions?api-version=2024-05-01-preview", in_chat(tool=function(BARE_LIST)), id="others"
        ),
    ],
)
def test_supported_schema_is_accepted(path: str, body: JSON) -> None:
    answer = send(body, path)
    assert not isinstance(answer, Refused | Response)
