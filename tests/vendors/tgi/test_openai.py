"""``/v1/chat/completions`` and ``/v1/completions`` as TGI speaks them."""

import json

import pytest

from emulator.core.call import ChatAsk
from emulator.core.json import JSON
from tests.conftest import Start
from tests.vendors.mindie.direct import accepted, refused

REPLY = "rules: [{name: fixed, reply: {text: 'one two three'}}]\n"
HELLO = [{"role": "user", "content": "Hello"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
CALL = "rules: [{name: call, reply: {tool_calls: [{name: get_weather, arguments: {city: Paris}}]}}]\n"
CHAT = "/v1/chat/completions"


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


async def test_chat_stream(start: Start) -> None:
    running = await start(REPLY)
    options = {"include_usage": True}
    answer = await running.ask("tgi", CHAT, {"messages": HELLO, "stream": True, "stream_options": options})
    *chunks, usage, done = answer.events()
    assert done == "[DONE]"
    assert "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks) == "one two three"
    assert all(chunk["usage"] is None and chunk["object"] == "chat.completion.chunk" for chunk in chunks)
    assert (usage["choices"], usage["usage"]["completion_tokens"]) == ([], len(chunks))


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


async def test_tool_call_in_a_stream(start: Start) -> None:
    running = await start(CALL)
    answer = await running.ask("tgi", CHAT, {"messages": HELLO, "tools": [WEATHER], "stream": True})
    calls = [row["choices"][0]["delta"]["tool_calls"][0] for row in answer.events()[:-1]]
    assert [call["function"]["name"] for call in calls] == ["get_weather", *[None] * (len(calls) - 1)]
    assert calls[0]["function"]["arguments"] == "{"
    assert json.loads("".join(call["function"]["arguments"] for call in calls)) == {"city": "Paris"}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(
            {"tools": [WEATHER], "tool_choice": "other"},
            "Tool error: Tool with name other not found",
            id="no such tool",
        ),
        pytest.param(
            {"tools": [WEATHER], "response_format": {"type": "json", "value": {"properties": {}}}},
            "Tool error: Grammar and tools are mutually exclusive",
            id="tools and a format",
        ),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_tool_errors_come_before_the_stream(body: JSON, text: str, stream: bool) -> None:
    answer = refused("tgi", CHAT, {"messages": HELLO, "stream": stream, **body})
    assert answer.status == 422
    assert json.loads(answer.body) == {"error": text, "error_type": "tool_error"}


def test_validation_error_in_a_stream() -> None:
    answer = refused("tgi", CHAT, {"messages": HELLO, "stream": True, "top_p": 1.0})
    text = "Input validation error: `top_p` must be > 0.0 and < 1.0"
    event = json.dumps({"error": {"message": text, "http_status_code": 422}}, separators=(",", ":"))
    assert (answer.status, answer.body.decode()) == (200, f"data: {event}\n\ndata: [DONE]\n\n")


def test_only_temperature_zero_is_greedy() -> None:
    for temperature, greedy in ((0, True), (None, False), (0.5, False)):
        ask = accepted("tgi", CHAT, {"messages": HELLO, "temperature": temperature}).ask
        assert isinstance(ask, ChatAsk)
        assert ask.sampling.greedy is greedy


async def test_response_format(start: Start) -> None:
    form = {"type": "json_object", "value": {"properties": {"n": {"type": "integer"}}, "required": ["n"]}}
    answer = (await (await start()).ask("tgi", CHAT, {"messages": HELLO, "response_format": form})).json()
    assert isinstance(json.loads(answer["choices"][0]["message"]["content"])["n"], int)


async def test_completions(start: Start) -> None:
    running = await start(REPLY)
    answer = (await running.ask("tgi", "/v1/completions", {"prompt": ["a b", "c"], "max_tokens": 2})).json()
    assert list(answer) == ["object", "id", "created", "model", "system_fingerprint", "choices", "usage"]
    assert [(c["index"], c["text"], c["finish_reason"]) for c in answer["choices"]] == [
        (0, "one two", "length"),
        (1, "one two", "length"),
    ]
    assert answer["usage"] == {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9}


async def test_completions_stream(start: Start) -> None:
    running = await start(REPLY)
    rows = (await running.ask("tgi", "/v1/completions", {"prompt": "a", "max_tokens": 2, "stream": True})).events()
    assert [row["choices"][0]["text"] for row in rows[:-1]] == ["one", " two"]
    assert [row["choices"][0]["finish_reason"] for row in rows[:-1]] == ["", "length"]
    assert list(rows[0]) == ["object", "id", "created", "choices", "model", "system_fingerprint"]
    assert list(rows[1])[-1] == "usage"
    assert rows[-1] == "[DONE]"


@pytest.mark.parametrize(
    ("body", "error_type"),
    [
        pytest.param({"prompt": "x", "suffix": "y"}, "suffix not supported", id="a suffix"),
        pytest.param({"prompt": list("abcde")}, "batch size exceeded", id="five prompts"),
    ],
)
def test_completions_refused(body: JSON, error_type: str) -> None:
    answer = refused("tgi", "/v1/completions", body)
    assert (answer.status, json.loads(answer.body)["error_type"]) == (422, error_type)


async def test_chat_tokenize(start: Start) -> None:
    answer = (await (await start()).ask("tgi", "/chat_tokenize", {"messages": HELLO})).json()
    assert list(answer) == ["tokenize_response", "templated_text"]
    assert "Hello" in answer["templated_text"]
    assert "".join(token["text"] for token in answer["tokenize_response"]) == answer["templated_text"]


@pytest.mark.parametrize("calls", ["abc", 5, [1], {}, [None], [{"id": 5}]], ids=repr)
@pytest.mark.parametrize("content", ["x", [{"type": "text", "text": "x"}]], ids=["text", "parts"])
def test_calls_beside_a_users_content_are_ignored(calls: JSON, content: JSON) -> None:
    message = {"role": "user", "content": content, "tool_calls": calls}
    call = accepted("tgi", "/v1/chat/completions", {"model": "tgi", "messages": [message]})
    assert isinstance(call.ask, ChatAsk)
    assert (call.ask.prompt, call.ask.messages[0].tool_calls) == ("x", ())
