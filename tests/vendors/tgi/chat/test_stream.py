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


@pytest.mark.parametrize(
    ("arguments", "counts"),
    [
        pytest.param('{"a":1}', [0, 1, 2, 3, 4, 6], id="the opening brace is a part of a token"),
        pytest.param("{ }", [1, 3], id="it is a token"),
    ],
)
def test_tool_call_token_counts(arguments: str, counts: list[int]) -> None:
    reply = FixedReply(tool_calls=(("get_weather", arguments, ""),))
    events = stream(CHAT, {"messages": HELLO, "tools": [WEATHER], "stream": True}, reply)
    assert [tokens for _, _, tokens, _ in events[:-1]] == counts
    assert [mark for _, _, _, mark in events[-2:]] == [Mark.FINISH, Mark.DONE]
