"""Parsing of the messages of a chat."""

import pytest

from emulator.core.requests import Message, ToolCall
from tests.untyped_json import JSON
from tests.vendors.azure.service import Refused, accept, ask_of, messages, refuse, send

CALLED: JSON = {"name": "get_weather", "arguments": "{}"}
NAMED: JSON = {"type": "function", "function": {"name": "get_weather"}}
PICTURE: JSON = {"type": "image_url", "image_url": {"url": "https://e.org/a.png", "detail": "low"}}


@pytest.mark.covers(
    "azure/where page and service differ", "content parts", case="text parts, payload under content or text"
)
@pytest.mark.covers("azure/messages and parts", "system", case="system")
@pytest.mark.covers("azure/messages and parts", "developer", case="developer")
@pytest.mark.covers("azure/messages and parts", "user", case="user")
@pytest.mark.covers("azure/messages and parts", "assistant", case="assistant without content")
@pytest.mark.covers("azure/messages and parts", "tool", case="tool with an id")
@pytest.mark.covers("azure/messages and parts", "tool without an id", case="tool without an id")
@pytest.mark.covers("azure/messages and parts", "a call's ID", case="a tool call's id spelled ID")
@pytest.mark.covers("azure/messages and parts", "a call without id", case="a tool call without an id")
@pytest.mark.covers("azure/messages and parts", "image_url", case="a picture by URL under content")
@pytest.mark.covers("azure/messages and parts", "image", case="pictures under their types")
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


BAD_DATA = [
    pytest.param({"type": "image_url", "image_url": {"url": "data:image/png;base64,a*b"}}, "image_url.url", id="a URL"),
    pytest.param({"type": "image", "image": {"data": "a*b"}}, "image.data", id="a picture"),
    pytest.param(
        {"type": "input_audio", "input_audio": {"data": "a", "format": "wav"}}, "input_audio.data", id="a sound"
    ),
    pytest.param({"type": "image", "content": "a*b"}, "content", id="a picture as first documented"),
]


@pytest.mark.covers("azure/messages and parts", "base64")
@pytest.mark.parametrize(("part", "place"), BAD_DATA)
def test_invalid_base64_is_rejected(part: JSON, place: str) -> None:
    detail = refuse({**messages(part), "model": "Phi-4-multimodal-instruct"}).json()["detail"]
    assert detail["loc"] == ["body", "messages", "0", "content", "0", *place.split(".")]


def test_invalid_base64_is_a_value_error_of_the_container() -> None:
    body = {**messages({"type": "image", "content": "a*b"}), "model": "Phi-4-multimodal-instruct"}
    (violation,) = refuse(body, scenario="profile=maas").json()["error"]["details"]
    place = ["body", "messages", 0, "content", 0, "content"]
    error = {"type": "value_error", "loc": place, "msg": "Value error, invalid base64", "input": "a*b"}
    assert violation == {**error, "ctx": {"error": {}}}


def test_invalid_base64_is_rejected_in_openai_format() -> None:
    body = {**messages(BAD_DATA[0].values[0]), "model": "gpt-4o"}
    refused = refuse(body, "/openai/v1/chat/completions")
    error = {"message": "Invalid base64 image_url.", "type": "invalid_request_error", "param": None}
    assert (refused.status, refused.json()) == (400, {"error": {**error, "code": "invalid_base64"}})


@pytest.mark.parametrize(
    "part",
    [
        pytest.param({"type": "image_url", "image_url": {"url": "https://e.org/a*b.png"}}, id="a link"),
        pytest.param({"type": "image_url", "image_url": {"url": "data:image/svg+xml,<svg/>"}}, id="plain data"),
        pytest.param({"type": "image", "content": "https://e.org/a.png"}, id="a link as first documented"),
        pytest.param({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}, id="base64"),
    ],
)
def test_valid_pictures_are_accepted(part: JSON) -> None:
    assert accept({**messages(part), "model": "Phi-4-multimodal-instruct"})


@pytest.mark.parametrize(
    ("roles", "refused"),
    [
        pytest.param("[user]", ["system", "assistant"], id="one role"),
        pytest.param("[{}]", ["user", "system", "assistant"], id="what is no role"),
        pytest.param("user", [], id="no list"),
    ],
)
def test_unsupported_roles_are_rejected(roles: str, refused: list[str]) -> None:
    scenario = f"deployments:\n- {{vendor: azure, name: own, traits: {{roles: {roles}}}}}\n"
    for role in ("user", "system", "assistant"):
        asked = send({"model": "own", "messages": [{"role": role, "content": "Hi"}]}, scenario=scenario)
        assert isinstance(asked, Refused) == (role in refused)
