"""Answers that go back unchanged as messages and items of the next request."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON

CHAT, RESPONSES, MESSAGES = "/openai/v1/chat/completions", "/openai/v1/responses", "/anthropic/v1/messages"
SCENARIO = """
rules:
  - {name: call, when: {prompt: {contains: Weather}}, reply: {tool_calls: [{name: f, arguments: {}}, {name: f}]}}
  - {name: refused, when: {prompt: {contains: Decline}}, reply: {refusal: I cannot.}}
  - {name: thought, when: {prompt: {contains: Think}}, reply: {reasoning: Hm., text: Yes.}}
  - {name: pondered, when: {prompt: {contains: Ponder}}, reply: {reasoning: Hm., tool_calls: [{name: f}]}}
"""
PROMPTS = ("Hi", "Weather", "Decline", "Think", "Ponder")
SCHEMA: JSON = {"type": "object", "properties": {}}


def user(text: str) -> JSON:
    return {"role": "user", "content": text}


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5", "o3"])
async def test_chat(start: Start, model: str) -> None:
    running = await start(SCENARIO)
    tools = [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]
    for prompt in PROMPTS:
        body: JSON = {"model": model, "messages": [user(prompt)], "tools": tools, "n": 2}
        answer = (await running.ask("azure", CHAT, body, headers={"api-key": "k"})).json()
        for choice in answer["choices"]:
            message = choice["message"]
            assert "reasoning_content" not in message
            calls = message.get("tool_calls") or []
            results = [{"role": "tool", "tool_call_id": call["id"], "content": "3"} for call in calls]
            body["messages"] = [user(prompt), message, *results, user("And?")]
            again = await running.ask("azure", CHAT, body, headers={"api-key": "k"})
            assert again.status == 200, (prompt, again.json())


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5", "o3"])
@pytest.mark.parametrize("fields", [{}, {"include": ["reasoning.encrypted_content"]}, {"store": False}], ids=str)
async def test_response(start: Start, model: str, fields: JSON) -> None:
    running = await start(SCENARIO)
    tools = [{"type": "function", "name": "f", "parameters": SCHEMA}]
    for prompt in PROMPTS:
        body: JSON = {"model": model, "input": prompt, "tools": tools, **fields}
        output = (await running.ask("azure", RESPONSES, body, headers={"api-key": "k"})).json()["output"]
        calls = [item for item in output if item["type"] == "function_call"]
        results = [{"type": "function_call_output", "call_id": call["call_id"], "output": "3"} for call in calls]
        body["input"] = [user(prompt), *output, *results, user("And?")]
        again = await running.ask("azure", RESPONSES, body, headers={"api-key": "k"})
        assert again.status == 200, (prompt, again.json())


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-5-5"])
async def test_message(start: Start, model: str) -> None:
    running = await start(SCENARIO)
    for prompt in PROMPTS:
        body: JSON = {"model": model, "max_tokens": 50, "messages": [user(prompt)]}
        body["tools"] = [{"name": "f", "input_schema": SCHEMA}]
        content = (await running.ask("azure", MESSAGES, body, headers={"api-key": "k"})).json()["content"]
        names = [block["id"] for block in content if block["type"] == "tool_use"]
        results: JSON = [{"type": "tool_result", "tool_use_id": name, "content": "3"} for name in names]
        last = {"role": "user", "content": [*results, {"type": "text", "text": "And?"}]}
        body["messages"] = [user(prompt), {"role": "assistant", "content": content}, last]
        again = await running.ask("azure", MESSAGES, body, headers={"api-key": "k"})
        assert again.status == 200, (prompt, again.json())


@pytest.mark.parametrize("stream", [False, True])
async def test_empty_message_has_no_content(start: Start, stream: bool) -> None:
    running = await start("rules: [{name: empty, reply: {text: ''}}]")
    body = {"model": "claude-sonnet-4-5", "max_tokens": 50, "messages": [user("Hi")], "stream": stream}
    answer = await running.ask("azure", MESSAGES, body, headers={"api-key": "k"})
    if stream:
        kinds = [event["type"] for event in answer.events()]
        assert kinds == ["message_start", "message_delta", "message_stop"]
    else:
        assert (answer.json()["content"], answer.json()["stop_reason"]) == ([], "end_turn")
