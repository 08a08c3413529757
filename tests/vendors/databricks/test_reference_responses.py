"""The fields of the REST reference's Responses tables, each with a request that shows it and one that it refuses."""

import json

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.requests import Message
from emulator.vendors.databricks.errors import render_late_error
from tests.reference_rows import Cases, Piece, check
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import GPT, make_service, refused, respond

SCHEMA: JSON = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FORMAT: JSON = {"name": "city", "schema": SCHEMA}
TOOL: JSON = {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}


def formatted(**fields: JSON) -> JSON:
    return {"text": {"format": fields}}


REQUEST: dict[str, Cases] = {
    "responses request.model": [
        ({"model": "databricks-gpt-5-mini"}, {"call.deployment.name": "databricks-gpt-5-mini"}),
        ({"model": None}, refused("Missing required parameter: 'model'")),
    ],
    "responses request.input": [
        ({"input": "Hi"}, {"call.request.messages": (Message(role="user", text="Hi"),)}),
        ({"input": [{"role": "user", "content": "Hi"}]}, {"call.request.messages": (Message(role="user", text="Hi"),)}),
        ({"input": None}, refused("Missing required parameter: 'input'.")),
    ],
    "responses request.instructions": [
        ({"instructions": "Be brief"}, {"call.request.messages.0": Message(role="system", text="Be brief")}),
        ({"instructions": 5}, refused("field 'instructions' expects")),
    ],
    "responses request.max_output_tokens": [
        ({"max_output_tokens": 16}, {"call.request.sampling.max_tokens": 16, "body.usage.output_tokens": 16}),
        ({"max_output_tokens": 0}, refused("max_output_tokens must be greater than 0")),
    ],
    "responses request.temperature": [
        ({"temperature": 0.5}, {"call.request.sampling.parameters": (("temperature", 0.5),)}),
        ({"temperature": 2.1}, refused("temperature must be in [0, 2]")),
    ],
    "responses request.top_p": [
        ({"top_p": 0.5}, {"call.request.sampling.parameters": (("top_p", 0.5),)}),
        ({"top_p": 0}, refused("top_p must be in (0, 1]")),
    ],
    "responses request.stream": [
        ({"stream": True}, {"events.0.type": "response.created", "events.-1.type": "response.completed"}),
        ({"stream": "no"}, refused("field 'stream' expects")),
    ],
    "responses request.stream_options": [
        ({"stream": True, "stream_options": {"include_usage": True}}, {"events.-1.response.usage.total_tokens": int}),
        ({"stream_options": {"include_usage": True}}, refused("only allowed when stream is true")),
    ],
    "responses request.text": [
        (formatted(type="json_object"), {"body.text.format.type": "json_object"}),
        ({"text": 5}, refused("field 'text' expects")),
    ],
    "responses request.reasoning": [
        ({"reasoning": {"effort": "low"}}, {"call.request.reasoning": "low", "body.reasoning.effort": "low"}),
        ({"reasoning": 5}, refused("field 'reasoning' expects")),
    ],
    "responses request.tool_choice": [
        ({"tools": [TOOL]}, {"call.request.tool_choice": "auto", "body.tool_choice": "auto"}),
        ({"tools": [TOOL], "tool_choice": "required"}, {"body.output.1.type": "function_call"}),
        ({"tools": [TOOL], "tool_choice": TOOL}, {"call.request.tool_name": "f"}),
        ({"tool_choice": "required"}, refused("only allowed when tools")),
    ],
    "responses request.tools": [
        ({"tools": [TOOL]}, {"call.request.tools.0.name": "f"}),
        ({"tools": [{"type": "code_interpreter"}]}, refused("is not supported")),
    ],
    "responses request.parallel_tool_calls": [
        ({"parallel_tool_calls": False}, {"body.parallel_tool_calls": False}),
        ({"parallel_tool_calls": "no"}, refused("field 'parallel_tool_calls'")),
    ],
    "responses request.max_tool_calls": [
        ({"max_tool_calls": 2}, {"body.max_tool_calls": 2}),
        ({"max_tool_calls": 0}, refused("max_tool_calls must be greater than 0")),
    ],
    "responses request.metadata": [
        ({"metadata": {str(i): "x" for i in range(16)}}, {"body.metadata.15": "x"}),
        ({"metadata": {str(i): "x" for i in range(17)}}, refused("at most 16 key-value pairs")),
    ],
    "responses request.prompt_cache_key": [
        ({"prompt_cache_key": "k"}, {"body.prompt_cache_key": "k"}),
        ({"prompt_cache_key": 5}, refused("field 'prompt_cache_key'")),
    ],
    "responses request.prompt_cache_retention": [
        ({"prompt_cache_retention": "24h"}, {"body.prompt_cache_retention": "24h"}),
        ({"prompt_cache_retention": 24}, refused("field 'prompt_cache_retention'")),
    ],
    "responses request.safety_identifier": [
        ({"safety_identifier": "s"}, {"body.safety_identifier": "s"}),
        ({"safety_identifier": {}}, refused("field 'safety_identifier'")),
    ],
    "responses request.user": [
        ({"user": "u"}, {"body.user": "u"}),
        ({"user": 5}, refused("field 'user'")),
    ],
    "responses request.truncation": [
        ({"truncation": "auto"}, {"body.truncation": "auto"}),
        ({"truncation": "most"}, refused('truncation must be "auto" or "disabled"')),
    ],
    "responses request.top_logprobs": [
        ({"top_logprobs": 2}, {"body.output.1.content.0.logprobs.0.top_logprobs.1.logprob": float}),
        ({"top_logprobs": 21}, refused("between 0 and 20")),
    ],
    "responses request.include": [
        ({"include": ["reasoning.encrypted_content"]}, {"body.output.0.encrypted_content": str}),
        ({"include": "x"}, refused("field 'include' expects")),
    ],
    "responses request.prompt": [
        ({"prompt": {"id": "p"}}, {"status": 200}),
        ({"prompt": "p"}, refused("field 'prompt' expects")),
    ],
    "responses request.background": [({"background": True}, refused("Unsupported parameter: 'background'"))],
    "responses request.store": [({"store": False}, refused("Unsupported parameter: 'store'"))],
    "responses request.conversation": [({"conversation": "c"}, refused("Unsupported parameter: 'conversation'"))],
    "responses request.service_tier": [({"service_tier": "auto"}, refused("Unsupported parameter: 'service_tier'"))],
    "StreamOptions.include_usage": [
        (
            {"options": {"responses_always_usage": False}, "stream": True, "stream_options": {"include_usage": True}},
            {"events.-1.response.usage.total_tokens": int},
        ),
        (
            {"options": {"responses_always_usage": False}, "stream": True},
            {"events.-1.response.usage": None},
        ),
        ({"stream": True, "stream_options": {"include_usage": 5}}, refused("include_usage' expects")),
    ],
    "TextConfig.format": [
        (formatted(type="json_schema", **FORMAT), {"body.output.1.content.0.text": Piece('{"city":')}),
        ({"text": {"format": 5}}, refused("field 'text.format' expects")),
    ],
    "ResponsesFormatObject.type": [
        (formatted(type="json_object"), {"call.request.format": "json_object"}),
        (formatted(type="xml"), refused("text.format.type must be")),
    ],
    "ResponsesFormatObject.json_schema": [
        (formatted(type="json_schema", json_schema=FORMAT), {"call.request.schema": SCHEMA}),
        (formatted(type="json_schema"), refused("Missing required parameter: 'text.format.name'")),
    ],
    "ReasoningConfig.effort": [
        ({"reasoning": {"effort": "high"}}, {"body.usage.output_tokens_details.reasoning_tokens": 160}),
        ({"reasoning": {"effort": "utmost"}}, refused("reasoning.effort must be one of")),
    ],
    "ReasoningConfig.encrypted_content": [
        ({"reasoning": {"encrypted_content": "x"}}, {"status": 200}),
        ({"reasoning": {"encrypted_content": 5}}, refused("field 'reasoning.encrypted_content'")),
    ],
}

SENT: JSON = {
    "instructions": "Be brief", "max_output_tokens": 400, "temperature": 0.5, "top_p": 0.9, "tools": [TOOL],
    "tool_choice": "none", "parallel_tool_calls": False, "metadata": {"a": "b"},
}  # fmt: skip

ANSWER: dict[str, Cases] = {
    "responses response.id": [({}, {"body.id": Piece("resp_")})],
    "responses response.object": [({}, {"body.object": "response"})],
    "responses response.created_at": [({}, {"body.created_at": 5})],
    "responses response.status": [
        ({}, {"body.status": "completed"}),
        ({"max_output_tokens": 70}, {"body.status": "incomplete"}),
        ({"stream": True}, {"events.0.response.status": "in_progress", "events.-1.response.status": "completed"}),
    ],
    "responses response.model": [({}, {"body.model": GPT})],
    "responses response.output": [({}, {"body.output.0.type": "reasoning", "body.output.1.type": "message"})],
    "responses response.usage": [
        ({"max_output_tokens": 70}, {"body.usage.output_tokens": 70, "body.usage.total_tokens": 81}),
        ({"stream": True}, {"events.0.response.usage": None, "events.-1.response.usage.input_tokens": 11}),
    ],
    "responses response.error": [({}, {"body.error": None})],
    "responses response.incomplete_details": [
        ({}, {"body.incomplete_details": None}),
        ({"max_output_tokens": 70}, {"body.incomplete_details": {"reason": "max_output_tokens"}}),
    ],
    "responses response.store": [({}, {"body.store": False})],
    **{f"responses response.{name}": [(SENT, {f"body.{name}": SENT[name]})] for name in SENT},
    "ResponsesMessage.id": [({}, {"body.output.1.id": Piece("msg_")})],
    "ResponsesMessage.role": [({}, {"body.output.1.role": "assistant"})],
    "ResponsesMessage.content": [
        ({"max_output_tokens": 65}, {"body.output.1.content.0.text": "Both"}),
        ({}, {"body.output.1.content.0.type": "output_text", "body.output.1.content.0.annotations": []}),
    ],
    "ResponsesMessage.status": [
        ({}, {"body.output.1.status": "completed"}),
        ({"max_output_tokens": 70}, {"body.output.1.status": "incomplete"}),
    ],
    "ResponsesMessage.type": [({}, {"body.output.1.type": "message"})],
    "IncompleteDetails.reason": [({"max_output_tokens": 70}, {"body.incomplete_details.reason": "max_output_tokens"})],
}

ROWS = REQUEST | ANSWER


@pytest.mark.covers(
    "databricks/REST reference: Responses",
    "model",
    "input",
    "instructions",
    "max_output_tokens",
    "temperature",
    "top_p",
    "stream",
    "stream_options",
    "text",
    "reasoning",
    "tool_choice",
    "tools",
    "parallel_tool_calls",
    "max_tool_calls",
    "metadata",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "user",
    "truncation",
    "top_logprobs",
    "include",
    "prompt",
    "background",
    "store",
    "conversation",
    "service_tier",
    "fields of a response",
    "ResponsesMessage",
    "IncompleteDetails",
)
@pytest.mark.parametrize("field", ROWS)
def test_field(field: str) -> None:
    for request, seen in ROWS[field]:
        check(respond(**request), seen)


FAILED = {"code": "internal_error", "message": "boom", "param": "input", "type": "server_error"}


@pytest.mark.covers("databricks/REST reference: Responses", "Error code, message, param, type")
@pytest.mark.parametrize("member", [pytest.param(name, id=f"Error.{name}") for name in FAILED])
def test_failed_response_error_fields(member: str) -> None:
    body = json.dumps({"model": GPT, "input": "x"}).encode()
    request = Request(method="POST", path="/serving-endpoints/responses", body=body)
    error = EmulatedError(ErrorKind.INTERNAL, "boom", param="input")
    event = render_late_error(error, request, make_service({}, ())).decode()
    failed = json.loads(event.partition("data: ")[2])["response"]
    check(failed, {"status": "failed", f"error.{member}": FAILED[member]})
