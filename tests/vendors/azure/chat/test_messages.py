"""What messages say."""

import pytest

from emulator.core.call import Message, ToolCall
from tests.parsed import JSON
from tests.vendors.azure.service import ask_of

CALLED: JSON = {"name": "get_weather", "arguments": "{}"}
NAMED: JSON = {"type": "function", "function": {"name": "get_weather"}}
PICTURE: JSON = {"type": "image_url", "image_url": {"url": "https://e.org/a.png", "detail": "low"}}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param({"role": "user", "content": "Hi"}, Message(role="user", text="Hi"), id="user"),
        pytest.param({"role": "system", "content": "Hi"}, Message(role="system", text="Hi"), id="system"),
        pytest.param({"role": "developer", "content": "Hi"}, Message(role="developer", text="Hi"), id="developer"),
        pytest.param({"role": "assistant", "content": "Hi"}, Message(role="assistant", text="Hi"), id="assistant"),
        pytest.param({"role": "assistant"}, Message(role="assistant"), id="assistant without content"),
        pytest.param({"role": "tool", "content": "Hi"}, Message(role="tool", text="Hi"), id="tool without an id"),
        pytest.param(
            {"role": "tool", "content": "Hi", "tool_call_id": "c", "name": None},
            Message(role="tool", text="Hi", tool_call_id="c"),
            id="tool with an id",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "text", "content": "Hi"}, {"type": "text", "text": "you"}]},
            Message(role="user", text="Hi\nyou"),
            id="text parts, payload under content or text",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "image_url", "content": "https://e.org/a.png", "detail": "high"}]},
            Message(role="user", media=1),
            id="a picture by URL under content",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "image", "content": "aGk=", "detail": "auto"}]},
            Message(role="user", media=1),
            id="a picture as base64 under content",
        ),
        pytest.param(
            {"role": "user", "content": [PICTURE, {"type": "image", "image": {"data": "aGk="}}]},
            Message(role="user", media=2),
            id="pictures under their types",
        ),
        pytest.param(
            {
                "role": "assistant",
                "tool_calls": [{"id": "c", "type": "function", "function": NAMED["function"] | {"arguments": "{}"}}],
            },
            Message(role="assistant", tool_calls=(ToolCall("c", "get_weather", "{}"),)),
            id="tool calls",
        ),
        pytest.param(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"ID": "c", "function": {"name": "f", "arguments": ""}}],
            },
            Message(role="assistant", tool_calls=(ToolCall("c", "f", ""),)),
            id="a tool call's id spelled ID",
        ),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
            Message(role="assistant", tool_calls=(ToolCall("call_f_0", "f", "{}"),)),
            id="a tool call without an id",
        ),
    ],
)
def test_message(message: JSON, expected: Message) -> None:
    assert ask_of({"messages": [message]}).messages == (expected,)
