"""Streaming chat responses."""

import json

import pytest

from emulator.core.http import Mark
from emulator.generation.segments import FixedReply
from tests.conftest import Start
from tests.vendors.tgi.direct import CALL, CHAT, HELLO, REPLY, WEATHER, stream


async def test_chat_stream(start: Start) -> None:
    running = await start(REPLY)
    options = {"include_usage": True}
    answer = await running.ask("tgi", CHAT, {"messages": HELLO, "stream": True, "stream_options": options})
    *chunks, usage, done = answer.events()
    assert done == "[DONE]"
    assert "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks) == "one two three"
    assert all(chunk["usage"] is None and chunk["object"] == "chat.completion.chunk" for chunk in chunks)
    assert (usage["choices"], usage["usage"]["completion_tokens"]) == ([], len(chunks))


async def test_tool_call_stream(start: Start) -> None:
    running = await start(CALL)
    answer = await running.ask("tgi", CHAT, {"messages": HELLO, "tools": [WEATHER], "stream": True})
    calls = [row["choices"][0]["delta"]["tool_calls"][0] for row in answer.events()[:-1]]
    assert [call["function"]["name"] for call in calls] == ["get_weather", *[None] * (len(calls) - 1)]
    assert calls[0]["function"]["arguments"] == "{"
    assert json.loads("".join(call["function"]["arguments"] for call in calls)) == {"city": "Paris"}


def test_stream_event_marks() -> None:
    body = {"messages": HELLO, "stream": True, "stream_options": {"include_usage": True}}
    *chunks, finish, usage, done = stream(CHAT, body, FixedReply(pieces=("a", "", "b")))
    assert [chunk[2:] for chunk in chunks] == [(number, Mark.PLAIN) for number in range(1, len(chunks) + 1)]
    assert finish[2:] == (len(chunks) + 1, Mark.FINISH)
    assert (usage[3], done[3]) == (Mark.USAGE, Mark.DONE)


@pytest.mark.parametrize("arguments", ['{"a":1}', "{ }", "{}", '{"a":{"b":"}}"}}', '{"é":"日本"}'])
def test_tool_call_chunks(arguments: str) -> None:
    """``router/src/chat.rs:183-252``: no chunk has a finish reason, and each has the log-probability of its text."""
    reply = FixedReply(tool_calls=(("get_weather", arguments, ""),))
    body = {"messages": HELLO, "tools": [WEATHER], "stream": True, "logprobs": True, "top_logprobs": 2}
    *events, done = stream(CHAT, body, reply)
    chunks = [json.loads(event[1].removeprefix(b"data: "))["choices"][0] for event in events]
    calls = [chunk["delta"]["tool_calls"][0]["function"] for chunk in chunks]
    assert [call["name"] for call in calls] == ["get_weather", *[None] * (len(calls) - 1)]
    assert json.loads("".join(call["arguments"] for call in calls)) == json.loads(arguments)
    assert {chunk["finish_reason"] for chunk in chunks} == {None}
    texts = [chunk["logprobs"]["content"][0]["token"] for chunk in chunks]
    assert texts == [call["arguments"] for call in calls]
    counts = [event[2] for event in events]
    assert counts == list(range(counts[0], counts[0] + len(counts)))
    assert done[3] is Mark.DONE


def test_tool_call_behind_text() -> None:
    """A scenario's text before a call, which the router's grammar does not allow, is not sent."""
    reply = FixedReply(text="Let me look.", tool_calls=(("get_weather", '{"city":"Paris"}', ""),))
    body = {"messages": HELLO, "tools": [WEATHER], "stream": True}
    *events, _ = stream(CHAT, body, reply)
    chunks = [json.loads(event[1].removeprefix(b"data: "))["choices"][0] for event in events]
    calls = [chunk["delta"]["tool_calls"][0]["function"] for chunk in chunks]
    assert json.loads("".join(call["arguments"] for call in calls)) == {"city": "Paris"}
    assert {chunk["finish_reason"] for chunk in chunks} == {None}


def test_cut_tool_call() -> None:
    """A call cut behind its name ends with the reason, one cut before it is no call at all."""
    reply = FixedReply(tool_calls=(("get_weather", '{"city":"Paris"}', ""),))
    body = {"messages": HELLO, "tools": [WEATHER], "stream": True, "stream_options": {"include_usage": True}}
    whole = len(stream(CHAT, body, reply)) - 2
    for limit in range(1, 40):
        *chunks, usage, done = stream(CHAT, {**body, "max_tokens": limit}, reply)
        assert done[1] == b"data: [DONE]\n\n"
        counts = json.loads(usage[1].removeprefix(b"data: "))["usage"]
        assert counts["completion_tokens"] <= limit
        reasons = [json.loads(chunk[1].removeprefix(b"data: "))["choices"][0]["finish_reason"] for chunk in chunks]
        assert reasons in ([], [None] * whole, [*[None] * (len(chunks) - 1), "length"])
