"""Messages of a chat."""

import base64

import pytest

from emulator.core.call import ChatAsk
from tests.parsed import JSON
from tests.vendors.mindie.direct import (
    PROMPT,
    accepted,
)

TEXT = {"type": "text", "text": PROMPT}


def image(value: JSON) -> JSON:
    return {"type": "image_url", "image_url": value}


def test_chat_with_a_large_picture() -> None:
    data = "data:image/png;base64," + base64.b64encode(bytes(5 * 1024**2)).decode()
    message = {"role": "user", "content": [TEXT, image({"url": data})]}
    call = accepted("/v1/chat/completions", {"model": "llama_65b", "messages": [message]})
    assert call.ask.prompt == PROMPT


@pytest.mark.parametrize("calls", ["abc", 5, [1], {}, [None], [{"id": 5}]], ids=repr)
@pytest.mark.parametrize("content", ["x", [{"type": "text", "text": "x"}]], ids=["text", "parts"])
def test_calls_beside_a_users_content_are_ignored(calls: JSON, content: JSON) -> None:
    message = {"role": "user", "content": content, "tool_calls": calls}
    call = accepted("/v1/chat/completions", {"model": "llama_65b", "messages": [message]})
    assert isinstance(call.ask, ChatAsk)
    assert (call.ask.prompt, call.ask.messages[0].tool_calls) == ("x", ())
