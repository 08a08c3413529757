"""Non-streaming chat responses."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import CALL, CHAT, HELLO, REPLY, WEATHER


async def test_chat(start: Start) -> None:
    running = await start(REPLY)
    answer = (await running.ask("tgi", CHAT, {"messages": HELLO})).json()
    assert list(answer) == ["object", "id", "created", "model", "system_fingerprint", "choices", "usage"]
    assert answer["id"] == ""
    assert answer["system_fingerprint"] == "3.3.7-native"
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
