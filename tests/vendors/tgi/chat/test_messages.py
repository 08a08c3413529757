"""``messages`` of a chat."""

import json

import pytest

from emulator.core.requests import ChatRequest
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import accept, refuse


@pytest.mark.parametrize(
    ("path", "message", "text"),
    [
        pytest.param(
            "/v1/chat/completions",
            {"role": "user"},
            "data did not match any variant of untagged enum MessageBody",
            id="no content",
        ),
        pytest.param("/v1/chat/completions", {"content": "x"}, "missing field `role`", id="no role"),
    ],
)
def test_invalid_messages_are_rejected(path: str, message: JSON, text: str) -> None:
    answer = refuse(path, json.dumps({"messages": [message]}).encode())
    assert text in answer.body.decode()


@pytest.mark.parametrize("calls", ["abc", 5, [1], {}, [None], [{"id": 5}]], ids=repr)
@pytest.mark.parametrize("content", ["x", [{"type": "text", "text": "x"}]], ids=["text", "parts"])
def test_tool_calls_of_user_message_are_ignored(calls: JSON, content: JSON) -> None:
    message = {"role": "user", "content": content, "tool_calls": calls}
    call = accept("/v1/chat/completions", {"model": "tgi", "messages": [message]})
    assert isinstance(call.request, ChatRequest)
    assert (call.request.prompt, call.request.messages[0].tool_calls) == ("x", ())
