"""The fields of the REST reference's chat tables, each with a request that shows it and one that it refuses."""

import pytest

from emulator.core.requests import Message, ToolCall
from tests.reference_rows import Cases, Piece, check
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import CLAUDE, LLAMA, OSS, PROVISIONED, USER, chat, refused, with_traits

SCHEMA: JSON = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION: JSON = {"name": "f", "description": "d", "parameters": SCHEMA}
TOOL: JSON = {"type": "function", "function": FUNCTION}
NAMED: JSON = {"type": "function", "function": {"name": "f"}}
CALL: JSON = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT: JSON = {"role": "tool", "tool_call_id": "c1", "content": "sunny"}
ONE_TOKEN: JSON = {"max_tokens": 1}
FORCED: JSON = {"tools": [TOOL], "tool_choice": "required"}
EXTERNAL: JSON = {"name": "mine", "options": {"deployments": with_traits("external", family="gemini")}}


def says(**message: JSON) -> JSON:
    """A request of one message."""
    return {"messages": [message], "max_tokens": 1}


def called(**fields: JSON) -> JSON:
    """Return a request with a tool call and its result."""
    messages = [USER, {"role": "assistant", "tool_calls": [{**CALL, **fields}]}, RESULT]
    return {"messages": messages, "max_tokens": 1}


def offered(**fields: JSON) -> JSON:
    return {"tools": [{**TOOL, "function": {**FUNCTION, **fields}}], "max_tokens": 1}


def shaped(**fields: JSON) -> JSON:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, **fields}}}


REQUEST: dict[str, Cases] = {
    "chat request.messages": [
        (says(role="user", content="Hi"), {"call.request.messages": (Message(role="user", text="Hi"),)}),
        ({"messages": []}, refused("Missing required Chat parameter: 'messages'")),
    ],
    "chat request.max_tokens": [
        ({"max_tokens": 3}, {"body.usage.completion_tokens": 3, "body.choices.0.finish_reason": "length"}),
        ({"max_tokens": 0}, refused("max_tokens must be greater than 0")),
    ],
    "chat request.stream": [
        ({"stream": True, "max_tokens": 1}, {"events.0.object": "chat.completion.chunk", "events.-1": "[DONE]"}),
        ({"stream": "yes"}, refused("field 'stream' expects input with json type 'boolean'")),
    ],
    "chat request.temperature": [
        ({"temperature": 0.5, "max_tokens": 1}, {"call.request.sampling.parameters": (("temperature", 0.5),)}),
        ({"temperature": 0, "max_tokens": 1}, {"call.request.sampling.greedy": True}),
        ({"temperature": 2.01}, refused("temperature must be in [0, 2]")),
    ],
    "chat request.top_p": [
        ({"top_p": 0.5, "max_tokens": 1}, {"call.request.sampling.parameters": (("top_p", 0.5),)}),
        ({"top_p": 0}, refused("top_p must be in (0, 1]")),
    ],
    "chat request.top_k": [
        ({"top_k": 5, "max_tokens": 1}, {"call.request.sampling.parameters": (("top_k", 5),)}),
        ({"top_k": 1, "max_tokens": 1}, {"call.request.sampling.greedy": True}),
        ({"top_k": 0}, refused("top_k must be greater than 0")),
    ],
    "chat request.stop": [
        ({"stop": "x", "max_tokens": 1}, {"call.request.sampling.stop": ("x",)}),
        ({"stop": ["x", "y"], "max_tokens": 1}, {"call.request.sampling.stop": ("x", "y")}),
        ({"stop": 5}, refused("field 'stop' expects input with json type 'array'")),
    ],
    "chat request.n": [
        ({"name": PROVISIONED, "n": 2, "max_tokens": 1}, {"body.choices.1.index": 1}),
        ({"n": 2, "max_tokens": 1}, {"body.choices.1.index": 1}),
        ({"n": 0}, refused("n must be")),
    ],
    "chat request.tool_choice": [
        ({**ONE_TOKEN, "tools": [TOOL]}, {"call.request.tool_choice": "auto"}),
        ({**ONE_TOKEN, "tools": [TOOL], "tool_choice": "none"}, {"call.request.tool_choice": "none"}),
        (FORCED, {"body.choices.0.finish_reason": "tool_calls"}),
        ({"tool_choice": "required"}, refused("only allowed when tools are specified")),
    ],
    "chat request.tools": [
        (FORCED, {"body.choices.0.message.tool_calls.0.function.name": "f"}),
        ({"tools": [TOOL] * 33}, refused("at most 32 tools")),
    ],
    "chat request.response_format": [
        ({"response_format": {"type": "json_object"}}, {"body.choices.0.message.content": Piece("{")}),
        ({"response_format": "json_object"}, refused("field 'response_format' expects")),
    ],
    "chat request.logprobs": [
        ({"logprobs": True, "max_tokens": 1}, {"body.choices.0.logprobs.content.0.logprob": float}),
        ({"logprobs": 1}, refused("field 'logprobs'")),
    ],
    "chat request.top_logprobs": [
        (
            {"logprobs": True, "top_logprobs": 2, "max_tokens": 1},
            {"body.choices.0.logprobs.content.0.top_logprobs.1.logprob": float},
        ),
        ({"logprobs": True, "top_logprobs": 21}, refused("between 0 and 20")),
        ({"top_logprobs": 3}, refused("top_logprobs requires logprobs")),
    ],
    "chat request.reasoning_effort": [
        ({"name": OSS, "reasoning_effort": "low"}, {"body.usage.reasoning_tokens": 24}),
        ({"name": OSS, "reasoning_effort": "utmost"}, refused("reasoning_effort")),
        ({"reasoning_effort": "low"}, refused('unknown field "reasoning_effort"')),
    ],
    "ChatMessage.role": [
        (says(role="assistant", content="x"), {"call.request.messages.0.role": "assistant"}),
        (says(role="robot", content="x"), refused("role must be one of")),
        ({"messages": [USER, {"role": "system", "content": "x"}]}, refused("only be used once, as the first")),
    ],
    "ChatMessage.content": [
        (says(role="user", content="Hi"), {"call.request.messages.0.text": "Hi"}),
        (says(role="user"), refused("messages[0].content is required")),
    ],
    "ChatMessage.tool_calls": [
        (called(), {"call.request.messages.1.tool_calls": (ToolCall("c1", "f", "{}"),)}),
        (says(role="user", content="x", tool_calls=[CALL]), refused("tool_calls are only")),
    ],
    "ChatMessage.tool_call_id": [
        (called(), {"call.request.messages.2.tool_call_id": "c1"}),
        (says(role="user", content="x", tool_call_id="c1"), refused("tool_call_id is only")),
        (says(role="tool", content="x"), refused("needs a tool_call_id")),
    ],
    "ToolCall.id": [
        (called(), {"call.request.messages.1.tool_calls.0.id": "c1"}),
        (called(id=None), refused("need an id")),
    ],
    "ToolCall.type": [
        (called(), {"status": 200}),
        (called(type="x"), refused('"function"')),
    ],
    "ToolCall.function": [
        (called(function={"name": "g", "arguments": "{}"}), {"call.request.messages.1.tool_calls.0.name": "g"}),
        (called(function=None), refused("function with a name")),
    ],
    "ToolCall.cache_control": [
        ({"name": CLAUDE, **called(cache_control="x")}, {"status": 200}),
        (called(cache_control="x"), refused('unknown field "cache_control"')),
    ],
    "FunctionCallCompletion.name": [
        (called(function={"name": "g", "arguments": "{}"}), {"call.request.messages.1.tool_calls.0.name": "g"}),
        (called(function={"arguments": "{}"}), refused("function with a name")),
    ],
    "FunctionCallCompletion.arguments": [
        (
            called(function={"name": "f", "arguments": '{"a":1}'}),
            {"call.request.messages.1.tool_calls.0.arguments": '{"a":1}'},
        ),
        (called(function={"name": "f", "arguments": {}}), refused("expects input with json type 'string'")),
    ],
    "ToolChoiceObject.type": [
        ({"tools": [TOOL], "tool_choice": NAMED}, {"call.request.tool_choice": "required"}),
        ({"tools": [TOOL], "tool_choice": {**NAMED, "type": "retrieval"}}, refused("tool_choice type")),
    ],
    "ToolChoiceObject.function": [
        ({"tools": [TOOL], "tool_choice": NAMED}, {"call.request.tool_name": "f"}),
        ({"tools": [TOOL], "tool_choice": {**NAMED, "function": {}}}, refused('needs the "name"')),
        ({"tools": [TOOL], "tool_choice": {**NAMED, "function": {"name": "g"}}}, refused("which is not in tools")),
    ],
    "ToolObject.type": [
        ({"tools": [{"type": "retrieval", "function": FUNCTION}]}, refused('only supported tool type is "function"')),
        (offered(), {"call.request.tools.0.name": "f"}),
    ],
    "ToolObject.function": [
        (offered(name="g"), {"call.request.tools.0.name": "g"}),
        ({"tools": [{"type": "function"}]}, refused('"function" is a required property')),
    ],
    "FunctionObject.name": [
        (offered(name="g"), {"call.request.tools.0.name": "g"}),
        (offered(name=""), refused('"name" is a required property')),
    ],
    "FunctionObject.description": [
        (offered(description="more"), {"call.request.tools.0.description": "more"}),
        (offered(description={}), refused("field 'tools.function.description'")),
    ],
    "FunctionObject.parameters": [
        (offered(), {"call.request.tools.0.parameters": SCHEMA}),
        (offered(parameters={"properties": {f"k{i}": {} for i in range(16)}}), refused("but at most 15")),
    ],
    "FunctionObject.strict": [
        (offered(parameters={"type": "string", "pattern": "a"}), {"status": 200}),
        (offered(parameters={"type": "string", "pattern": "a"}, strict=True), refused('"pattern" keyword')),
    ],
    "ResponseFormatObject.type": [
        ({"response_format": {"type": "json_object"}}, {"call.request.format": "json_object"}),
        (shaped(), {"call.request.format": "json_schema"}),
        ({"response_format": {"type": "xml"}}, refused("response_format.type must be")),
    ],
    "ResponseFormatObject.json_schema": [
        (shaped(), {"call.request.schema": SCHEMA, "body.choices.0.message.content": Piece('{"city":')}),
        ({"response_format": {"type": "json_schema"}}, refused("Missing required parameter")),
    ],
    "JsonSchemaObject.name": [
        (shaped(name="m"), {"status": 200}),
        (shaped(name=None), refused("Missing required parameter: 'response_format.json_schema.name'")),
    ],
    "JsonSchemaObject.description": [
        (shaped(description="A city"), {"status": 200}),
        (shaped(description=5), refused("field 'response_format.json_schema.description'")),
    ],
    "JsonSchemaObject.schema": [
        (shaped(schema={"type": "object"}), {"call.request.schema": {"type": "object"}}),
        (shaped(schema=[]), refused("field 'response_format.json_schema.schema'")),
    ],
    "JsonSchemaObject.strict": [
        (shaped(schema={"type": "string", "pattern": "a"}), {"status": 200}),
        (shaped(schema={"type": "string", "pattern": "a"}, strict=True), refused('"pattern" keyword')),
    ],
}

ANSWER: dict[str, Cases] = {
    "usage.completion_tokens": [({"max_tokens": 3}, {"body.usage.completion_tokens": 3})],
    "usage.prompt_tokens": [(ONE_TOKEN, {"body.usage.prompt_tokens": 18})],
    "usage.total_tokens": [({"max_tokens": 3}, {"body.usage.total_tokens": 21})],
    "usage.reasoning_tokens": [({"name": OSS}, {"body.usage.reasoning_tokens": 64})],
    "chat response.id": [(ONE_TOKEN, {"body.id": Piece("chatcmpl_")})],
    "chat response.choices": [
        (ONE_TOKEN, {"body.choices": list}),
        ({**ONE_TOKEN, "stream": True}, {"events.0.choices": list}),
    ],
    "chat response.object": [
        (ONE_TOKEN, {"body.object": "chat.completion"}),
        ({**ONE_TOKEN, "stream": True}, {"events.0.object": "chat.completion.chunk"}),
    ],
    "chat response.created": [(ONE_TOKEN, {"body.created": 5})],
    "chat response.model": [(ONE_TOKEN, {"body.model": "meta-llama-3.3-70b-instruct-121024"})],
    "chat response.usage": [
        (ONE_TOKEN, {"body.usage": {"prompt_tokens": 18, "completion_tokens": 1, "total_tokens": 19}}),
        ({**ONE_TOKEN, "stream": True}, {"events.-2.usage.total_tokens": 19}),
    ],
    "ChatCompletionChoice.index": [
        ({"name": PROVISIONED, "n": 2, "max_tokens": 1}, {"body.choices.0.index": 0, "body.choices.1.index": 1})
    ],
    "ChatCompletionChoice.message": [
        (ONE_TOKEN, {"body.choices.0.message": {"role": "assistant", "content": "The"}}),
        (FORCED, {"body.choices.0.message.tool_calls.0.type": "function"}),
    ],
    "ChatCompletionChoice.finish_reason": [
        ({"stop": " "}, {"body.choices.0.finish_reason": "stop"}),
        (ONE_TOKEN, {"body.choices.0.finish_reason": "length"}),
        (FORCED, {"body.choices.0.finish_reason": "tool_calls"}),
    ],
    "ChatCompletionChoice.extra_fields": [
        ({**EXTERNAL, "max_tokens": 200}, {"body.choices.0.extra_fields.safetyRating": list})
    ],
    "ChatCompletionChunk.index": [
        ({"name": PROVISIONED, "n": 2, "max_tokens": 1, "stream": True}, {"events.0.choices.0.index": 0}),
        ({"name": PROVISIONED, "n": 2, "max_tokens": 1, "stream": True}, {"events.-2.choices.0.index": 1}),
    ],
    "ChatCompletionChunk.delta": [
        ({**ONE_TOKEN, "stream": True}, {"events.0.choices.0.delta.role": "assistant"}),
        ({**ONE_TOKEN, "stream": True}, {"events.1.choices.0.delta": {"content": "The"}}),
    ],
    "ChatCompletionChunk.finish_reason": [
        ({**ONE_TOKEN, "stream": True}, {"events.0.choices.0.finish_reason": None}),
        ({**ONE_TOKEN, "stream": True}, {"events.-2.choices.0.finish_reason": "length"}),
    ],
}

ROWS = REQUEST | ANSWER


@pytest.mark.covers(
    "databricks/REST reference: chat request",
    "messages",
    "max_tokens",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "stop",
    "n",
    "tool_choice",
    "tools",
    "response_format",
    "logprobs",
    "top_logprobs",
    "reasoning_effort",
)
@pytest.mark.covers(
    "databricks/REST reference: objects of a chat",
    "ChatMessage role, content, tool_calls, tool_call_id",
    "ToolCall id, type, function, cache_control",
    "FunctionCallCompletion name, arguments",
    "ToolChoiceObject type, function",
    "ToolObject type, function",
    "FunctionObject name, description, parameters, strict",
    "ResponseFormatObject type, json_schema",
    "JsonSchemaObject name, description, schema, strict",
)
@pytest.mark.covers(
    "databricks/REST reference: chat response",
    "id",
    "choices",
    "object",
    "created",
    "model",
    "usage",
    "ChatCompletionChoice index, message, finish_reason, extra_fields",
    "ChatCompletionChunk index, delta, finish_reason",
    "usage completion_tokens, prompt_tokens, total_tokens, reasoning_tokens",
)
@pytest.mark.parametrize("field", ROWS)
def test_field(field: str) -> None:
    for request, seen in ROWS[field]:
        check(chat(**{"name": LLAMA, **request}), seen)
