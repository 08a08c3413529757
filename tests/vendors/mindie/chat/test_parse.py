"""What a chat request must be."""

import json

import pytest

from tests.conftest import Start
from tests.parsed import JSON
from tests.vendors.mindie.direct import (
    CHAT,
    HELLO,
    MODEL,
    error_of,
)

MESSAGES = [
    ({}, "Request contains not model or model null"),
    ({"model": 5}, "Request param model must be string"),
    ({"model": ""}, "Request param model must be not empty"),
    ({"model": "other"}, "Model not found"),
    ({"model": MODEL}, "Request param contains not messages or messages null"),
    ({"model": MODEL, "messages": []}, "Request param messages not arr or arr is empty"),
    ({"model": MODEL, "messages": [{}]}, "Request param contains not role or role null"),
    ({"model": MODEL, "messages": [{"role": "user"}]}, "Request param contains not content or content null"),
    (
        {"model": MODEL, "messages": [{"role": "assistant", "content": ""}]},
        'Request param "content" should not be empty',
    ),
    (
        {"model": MODEL, "messages": [{"role": "tool", "content": "x"}]},
        "Request param contains not tool_call_id or tool_call_id null while role is tool",
    ),
    ({"model": MODEL, "messages": HELLO, "top_logprobs": 21}, "Parameter top logprobs must be in [0, 20], got 21."),
    ({"model": MODEL, "messages": HELLO, "tools": [{}]}, "Tool param invalid, tool type not exist"),
    (
        {"model": MODEL, "messages": HELLO, "tool_choice": "x"},
        "Parameter tool_choice string not in [none, auto, required]",
    ),
    (
        {"model": MODEL, "messages": HELLO, "response_format": {"type": "xml"}},
        "Parameter response_format.type must be 'json_object', 'json_schema' or 'text', got 'xml'",
    ),
]


@pytest.mark.parametrize(("body", "text"), MESSAGES, ids=[json.dumps(body) for body, _ in MESSAGES])
def test_chat_refused(body: JSON, text: str) -> None:
    assert error_of(CHAT, body) == text


async def test_chat_with_a_schema(start: Start) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    body = {"model": MODEL, "messages": HELLO, "response_format": form}
    answer = (await (await start()).ask("mindie", CHAT, body)).json()
    assert isinstance(json.loads(answer["choices"][0]["message"]["content"])["n"], int)


THINKING = {"model": MODEL, "messages": HELLO, "chat_template_kwargs": {"enable_thinking": True}}
SPLIT = "vendors: {mindie: {enable_reasoning: true}}\n"
THOUGHTS = "rules: [{name: thinks, reply: {reasoning: 'Let me see.', text: 'Yes.'}}]\n"


async def test_thoughts_stand_apart_where_they_are_split(start: Start) -> None:
    answer = (await (await start(SPLIT + THOUGHTS)).ask("mindie", CHAT, THINKING)).json()
    message = answer["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("Yes.", "Let me see.")
    usage = answer["usage"]
    assert list(usage) == ["prompt_tokens", "completion_tokens", "completion_tokens_details", "total_tokens"]
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 4


async def test_thoughts_stay_in_the_text(start: Start) -> None:
    running = await start(THOUGHTS)
    answer = (await running.ask("mindie", CHAT, THINKING)).json()
    message = answer["choices"][0]["message"]
    assert message["content"] == "<think>\nLet me see.\n</think>\n\nYes."
    assert "reasoning_content" not in message
    assert list(answer["usage"]) == ["prompt_tokens", "completion_tokens", "total_tokens"]
    streamed = await running.ask("mindie", CHAT, {**THINKING, "stream": True})
    deltas = [event["choices"][0]["delta"] for event in streamed.events()[:-1]]
    assert "".join(delta["content"] for delta in deltas) == message["content"]
