"""The conversation of a chat request: each message, its parts, and their order."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.databricks.harness import (
    CLAUDE,
    GEMINI,
    GPT,
    LLAMA,
    OSS,
    USER,
    chat,
    invoke,
)


@pytest.mark.covers("databricks/chat", "an old Llama and a list", case="a list of parts, on an old Llama")
@pytest.mark.covers("databricks/validation", "roles", case="a role nobody knows")
@pytest.mark.covers("databricks/validation", "content", case="no content")
@pytest.mark.covers("databricks/validation", "tool_calls", case="a user's call")
@pytest.mark.covers("databricks/validation", "tool_call_id", case="a result of nothing")
@pytest.mark.parametrize(
    ("message", "text"),
    [
        pytest.param({"content": "x"}, "role must be one of", id="no role"),
        pytest.param({"role": "robot", "content": "x"}, "role must be one of", id="a role nobody knows"),
        pytest.param({"role": "developer", "content": "x"}, "role must be one of", id="developer, on an open model"),
        pytest.param({"role": "user"}, "messages[0].content is required", id="no content"),
        pytest.param({"role": "user", "content": None}, "content is required", id="null content"),
        pytest.param({"role": "assistant"}, "content is required", id="an assistant without content or calls"),
        pytest.param({"role": "user", "content": 5}, "field 'messages.content' expects", id="content as a number"),
        pytest.param(
            {"role": "user", "content": [{"type": "text", "text": "x"}]},
            "Unable to parse json body for request, field 'messages.content' expects input with json type 'string'"
            " but got 'array'",
            id="a list of parts, on an old Llama",
        ),
        pytest.param({"role": "user", "content": "x", "mood": 1}, 'unknown field "mood"\n', id="a field in a message"),
        pytest.param({"role": "user", "content": "x", "tool_calls": [{}]}, "tool_calls are only", id="a user's call"),
        pytest.param({"role": "user", "content": "x", "tool_call_id": "1"}, "tool_call_id is only", id="a user's id"),
        pytest.param({"role": "tool", "content": "x"}, "needs a tool_call_id", id="a result of nothing"),
        pytest.param(
            {"role": "tool", "content": "x", "tool_call_id": "1"}, "must follow", id="a result without a call"
        ),
        pytest.param({"role": "assistant", "tool_calls": [{}]}, "need an id", id="a call without id"),
        pytest.param({"role": "assistant", "tool_calls": [{"id": "1"}]}, '"function"', id="a call without type"),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"id": "1", "type": "function"}]}, "function with a name", id="no name"
        ),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f"}}]},
            "function with arguments",
            id="a call without arguments",
        ),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"id": "1", "type": "x", "function": {"arguments": {}}}]},
            "field 'messages.tool_calls.function.arguments' expects input with json type 'string' but got 'object'",
            id="arguments that are not serialized",
        ),
        pytest.param("hello", "field 'messages' expects", id="a text in place of a message"),
        pytest.param(None, "field 'messages' expects", id="null in place of a message"),
    ],
)
def test_invalid_message_is_rejected(message: JSON, text: str) -> None:
    answer = invoke(LLAMA, {"messages": [message]})
    assert answer.status == 400
    assert text in answer.message


CALL: JSON = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLED: JSON = {"role": "assistant", "tool_calls": [CALL]}
RESULT: JSON = {"role": "tool", "tool_call_id": "1", "content": "sunny"}
SYSTEM: JSON = {"role": "system", "content": "Be brief"}


@pytest.mark.covers("databricks/validation", "no messages", case="no messages")
@pytest.mark.covers("databricks/validation", "system once, first", case="system twice")
@pytest.mark.covers("databricks/validation", "a result after its call", case="a late result")
@pytest.mark.covers("databricks/validation", "one result in a row", case="two results in a row")
@pytest.mark.parametrize(
    ("messages", "text"),
    [
        pytest.param([SYSTEM, USER], None, id="system first"),
        pytest.param([USER, SYSTEM], "only be used once, as the first", id="system later"),
        pytest.param([SYSTEM, SYSTEM, USER], "only be used once", id="system twice"),
        pytest.param([USER, CALLED, RESULT], None, id="a call and its result"),
        pytest.param([USER, {**CALLED, "content": ""}, RESULT], None, id="a call with empty content"),
        pytest.param([USER, {**CALLED, "content": None}, RESULT], None, id="a call with null content"),
        pytest.param([USER, {**CALLED, "content": "I call"}, RESULT], None, id="a call with content"),
        pytest.param([USER, CALLED, RESULT, RESULT], "only one tool message", id="two results in a row"),
        pytest.param([USER, CALLED, USER, RESULT], "must follow a message with tool_calls", id="a late result"),
        pytest.param([{**USER, "tool_call_id": ""}], None, id="an empty id on a user's message"),
        pytest.param([{**USER, "name": "Ann"}], None, id="a user's name"),
        pytest.param([], "Missing required Chat parameter: 'messages'", id="no messages"),
        pytest.param(None, "Missing required Chat parameter: 'messages'", id="null messages"),
        pytest.param("hello", "field 'messages' expects input with json type 'array'", id="messages as text"),
    ],
)
def test_conversation(messages: JSON, text: str | None) -> None:
    answer = invoke(LLAMA, {"messages": messages})
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


@pytest.mark.covers("databricks/usage", "prompt_tokens with the template")
def test_prompt_tokens_include_template() -> None:
    short = chat().body["usage"]["prompt_tokens"]
    assert short > 5
    long = invoke(LLAMA, {"messages": [SYSTEM, USER]}).body["usage"]["prompt_tokens"]
    assert long > short


TOOL: JSON = {"type": "function", "function": {"name": "f", "description": "d"}}
PICTURE: JSON = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
GEMINI_3 = "databricks-gemini-3-1-pro"


@pytest.mark.covers("databricks/validation", "thought signatures")
def test_gemini_tool_call_requires_thought_signature() -> None:
    call = chat(GEMINI_3, tools=[TOOL], tool_choice="required").body["choices"][0]["message"]["tool_calls"][0]
    assert call["thoughtSignature"]
    asked: JSON = {"role": "assistant", "tool_calls": [call]}
    result: JSON = {"role": "tool", "tool_call_id": call["id"], "content": "x"}
    assert invoke(GEMINI_3, {"messages": [USER, asked, result]}).status == 200
    del call["thoughtSignature"]
    assert "missing a thought_signature" in invoke(GEMINI_3, {"messages": [USER, asked, result]}).message


@pytest.mark.covers("databricks/chat", "content parts")
@pytest.mark.covers("databricks/validation", "empty text for Claude", case="empty text")
@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        pytest.param(CLAUDE, [{"type": "text", "text": "x"}, PICTURE], None, id="Claude sees"),
        pytest.param("databricks-llama-4-maverick", [PICTURE], None, id="Maverick sees"),
        pytest.param(OSS, [PICTURE], "does not support content parts of type 'image_url'", id="gpt-oss is blind"),
        pytest.param(GEMINI, [{"type": "video_url", "video_url": {"url": "https://x"}}], None, id="Gemini watches"),
        pytest.param(CLAUDE, [{"type": "audio_url"}], "does not support", id="Claude is deaf"),
        pytest.param(CLAUDE, [{"type": "text", "text": ""}], "text content blocks must be non-empty", id="empty text"),
        pytest.param(CLAUDE, "", "text content blocks must be non-empty", id="empty content"),
        pytest.param(CLAUDE, [{"type": "smell"}], "unsupported content part type", id="an odd part"),
        pytest.param(CLAUDE, [{"type": "text"}], "needs a text", id="a text part without text"),
        pytest.param(CLAUDE, ["x"], "field 'messages.content' expects", id="a text for a part"),
        pytest.param(CLAUDE, [{"type": "image_url", "image_url": "x"}], "must be an http(s) URL", id="no URL"),
        pytest.param(
            CLAUDE, [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}], None, id="cached"
        ),
        pytest.param(
            GPT, [{"type": "text", "text": "x", "cache_control": {}}], 'unknown field "cache', id="not cached"
        ),
    ],
)
def test_content_parts(name: str, content: JSON, text: str | None) -> None:
    answer = invoke(name, {"messages": [{"role": "user", "content": content}]})
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


def test_model_content_parts_can_be_sent_back() -> None:
    said = chat(OSS).body["choices"][0]["message"]
    assert invoke(OSS, {"messages": [USER, said, USER]}).status == 200


@pytest.mark.covers("databricks/validation", "cache_control")
def test_tool_call_cache_control_is_claude_only() -> None:
    call: JSON = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}, "cache_control": "x"}
    messages = [
        USER,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "x"},
    ]
    assert invoke(CLAUDE, {"messages": messages}).status == 200
    assert 'unknown field "cache_control"' in invoke(LLAMA, {"messages": messages}).message


@pytest.mark.covers("databricks/validation", "Claude takes several")
def test_claude_accepts_consecutive_tool_results() -> None:
    calls: JSON = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in "12"]
    results: JSON = [{"role": "tool", "tool_call_id": i, "content": "x"} for i in "12"]
    body = {"messages": [USER, {"role": "assistant", "tool_calls": calls}, *results]}
    assert (invoke(CLAUDE, body).status, invoke(LLAMA, body).status) == (200, 400)
    assert invoke(LLAMA, body, one_tool_result=False).status == 200
