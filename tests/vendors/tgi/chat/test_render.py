"""Non-streaming chat responses."""

import json

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import CALL, CHAT, HELLO, REPLY, WEATHER


async def test_chat(start: Start) -> None:
    running = await start(REPLY)
    answer = (await running.ask("tgi", CHAT, {"messages": HELLO})).json()
    assert list(answer) == ["object", "id", "created", "model", "system_fingerprint", "choices", "usage"]
    assert answer["id"] == ""
    assert answer["system_fingerprint"] == "3.3.6-dev0-sha-dfb3fbe"
    assert answer["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "one two three"},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert answer["usage"]["total_tokens"] == sum(
        answer["usage"][f"{kind}_tokens"] for kind in ("prompt", "completion")
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param({}, "stop", id="its own end"),
        pytest.param({"max_tokens": 2}, "length", id="the limit"),
        pytest.param({"max_completion_tokens": 2}, "length", id="the limit by its other name"),
        pytest.param({"stop": [" two"]}, "stop_sequence", id="a stop string keeps TGI's word"),
    ],
)
async def test_finish_reason(start: Start, body: JSON, reason: str) -> None:
    running = await start(REPLY)
    answer = (await running.ask("tgi", CHAT, {"messages": HELLO, **body})).json()
    assert answer["choices"][0]["finish_reason"] == reason
    rows = (await running.ask("tgi", CHAT, {"messages": HELLO, "stream": True, **body})).events()
    assert rows[-1] == "[DONE]"
    assert rows[-2]["choices"][0]["finish_reason"] == reason


async def test_logprobs(start: Start) -> None:
    running = await start(REPLY)
    body = {"messages": HELLO, "logprobs": True, "top_logprobs": 2}
    content = (await running.ask("tgi", CHAT, body)).json()["choices"][0]["logprobs"]["content"]
    assert all(list(entry) == ["token", "logprob", "top_logprobs"] for entry in content)
    assert all(len(entry["top_logprobs"]) == 2 for entry in content)


async def test_tool_call(start: Start) -> None:
    running = await start(CALL)
    answer = (await running.ask("tgi", CHAT, {"messages": HELLO, "tools": [WEATHER]})).json()
    choice = answer["choices"][0]
    assert choice["finish_reason"] == "stop"
    assert choice["message"] == {
        "role": "assistant",
        "tool_calls": [
            {
                "id": "0",
                "type": "function",
                "function": {"description": None, "name": "get_weather", "arguments": '{"city":"Paris"}'},
            }
        ],
    }


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (2, 'EOF while parsing a string at line 1 column 10 "{\\"function"'),
        (3, 'EOF while parsing an object at line 1 column 11 "{\\"function\\""'),
    ],
)
async def test_cut_tool_call(start: Start, limit: int, text: str) -> None:
    """``router/src/chat.rs:32-38``: the call is read again, so one that is cut off is an error."""
    running = await start(CALL)
    for choice in ("auto", "required"):
        body = {"messages": HELLO, "tools": [WEATHER], "max_tokens": limit, "tool_choice": choice}
        answer = await running.ask("tgi", CHAT, body)
        assert answer.status == 422
        assert answer.json()["error_type"] == "tool_error"
        assert answer.json()["error"].startswith("Tool error: Failed to parse generated text: EOF while parsing ")


async def test_model_that_calls_no_tool(start: Start) -> None:
    """``router/src/server.rs``, chat_completions: reason and tokens of a second answer are those of the first."""
    running = await start(REPLY)
    body = {"messages": HELLO, "tools": [WEATHER], "logprobs": True}
    sent = await running.ask("tgi", CHAT, body)
    answer = sent.json()
    choice = answer["choices"][0]
    assert choice["message"] == {"role": "assistant", "content": "one two three"}
    assert sent.header("x-prompt-tokens") == str(answer["usage"]["prompt_tokens"])
    tokens = [entry["token"] for entry in choice["logprobs"]["content"]]
    assert "".join(tokens) == '{"function": {"_name": "no_tool"}}</s>'
    assert (choice["finish_reason"], answer["usage"]["completion_tokens"]) == ("stop", len(tokens))
    plain = (await running.ask("tgi", CHAT, {"messages": HELLO})).json()
    assert answer["usage"]["prompt_tokens"] == plain["usage"]["prompt_tokens"]
    streamed = await running.ask("tgi", CHAT, {**body, "stream": True})
    assert "".join(row["choices"][0]["delta"]["content"] for row in streamed.events()[:-1]) == "one two three"
    for limit in (1, len(tokens) - 2):
        cut = await running.ask("tgi", CHAT, {**body, "max_tokens": limit})
        assert (cut.status, cut.json()["error_type"]) == (422, "tool_error")
    assert (await running.ask("tgi", CHAT, {**body, "max_tokens": 1, "stream": True})).events() == ["[DONE]"]
    none = (await running.ask("tgi", CHAT, {"messages": HELLO, "tools": [WEATHER], "tool_choice": "none"})).json()
    assert none["usage"] == plain["usage"]


async def test_vertex_gives_generated_call(start: Start) -> None:
    chat = {"messages": HELLO, "tools": [WEATHER]}
    predictions = (await (await start(CALL)).ask("tgi", "/vertex", {"instances": [chat]})).json()["predictions"]
    assert json.loads(predictions[0]) == {"function": {"_name": "get_weather", "city": "Paris"}}
    predictions = (await (await start(REPLY)).ask("tgi", "/vertex", {"instances": [chat]})).json()["predictions"]
    assert json.loads(predictions[0]) == {"function": {"_name": "no_tool"}}
