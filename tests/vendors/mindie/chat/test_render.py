"""Non-streaming chat responses."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import (
    CHAT,
    HELLO,
    MODEL,
    REPLY,
)


@pytest.mark.covers("mindie/routes", "POST /v1/chat/completions")
@pytest.mark.covers("mindie/answers", "chat")
async def test_chat(start: Start) -> None:
    running = await start(REPLY)
    answer = (await running.ask("mindie", CHAT, {"model": MODEL, "messages": HELLO})).json()
    assert list(answer) == ["id", "object", "created", "model", "choices", "usage"]
    message = {"role": "assistant", "content": " one two three", "tool_calls": []}
    assert answer["choices"] == [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}]


BEAMS = {"model": MODEL, "messages": HELLO, "use_beam_search": True, "max_tokens": 8}


async def test_beams_return_distinct_reproducible_choices(start: Start) -> None:
    running = await start()
    body = {**BEAMS, "n": 3, "logprobs": True}
    one, other = [(await running.ask("mindie", CHAT, body)).json()["choices"] for _ in range(2)]
    texts = [choice["message"]["content"] for choice in one]
    assert len(set(texts)) == 3
    assert texts == [choice["message"]["content"] for choice in other]
    sums = [sum(entry["logprob"] for entry in choice["logprobs"]["content"]) for choice in one]
    assert sums == sorted(sums, reverse=True)


async def test_beams_stream_at_end(start: Start) -> None:
    running = await start()
    answer = await running.ask("mindie", CHAT, {**BEAMS, "n": 2, "stream": True})
    *roles, one, two, done = answer.events()
    assert done == "[DONE]"
    assert [row["choices"][0]["delta"] for row in roles] == [{"role": "assistant", "content": ""}] * 2
    for index, chunk in enumerate((one, two)):
        assert list(chunk) == ["id", "object", "created", "model", "usage", "choices"]
        (choice,) = chunk["choices"]
        assert choice["index"] == index
        assert list(choice["delta"]) == ["role", "reasoning_content", "content"]
        assert (choice["finish_reason"], chunk["usage"]["completion_tokens"]) == ("length", 8)


async def test_beams_call_tools(start: Start) -> None:
    calls = "rules: [{name: w, reply: {tool_calls: [{name: get_weather, arguments: {city: Paris}}]}}]\n"
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
    answer = await (await start(calls)).ask("mindie", CHAT, {**BEAMS, "tools": tools, "stream": True, "max_tokens": 99})
    (choice,) = answer.events()[1]["choices"]
    assert choice["delta"]["tool_calls"][0]["function"]["name"] == "get_weather"
    assert choice["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("path", [CHAT, "/v1/completions"])
@pytest.mark.parametrize("stream", [True, False])
async def test_cached_tokens_are_counted(start: Start, path: str, stream: bool) -> None:
    running = await start("vendors: {mindie: {prefix_cache: true}}\n")
    text = "word " * 300
    asked: JSON = {"prompt": text} if path != CHAT else {"messages": [{"role": "user", "content": text}]}
    found = []
    for _ in range(2):
        answer = await running.ask("mindie", path, {"model": MODEL, "max_tokens": 2, "stream": stream, **asked})
        usage = answer.events()[-2]["usage"] if stream else answer.json()["usage"]
        assert list(usage) == ["prompt_tokens", "prompt_tokens_details", "completion_tokens", "total_tokens"]
        found.append(usage["prompt_tokens_details"])
    assert found == [{"cached_tokens": 0}, {"cached_tokens": 256}]
