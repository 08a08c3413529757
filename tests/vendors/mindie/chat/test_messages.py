"""Validation of chat messages."""

import base64

import pytest

from emulator.core.requests import ChatRequest
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import (
    PROMPT,
    accept,
    error_of,
)

TEXT = {"type": "text", "text": PROMPT}


def image(value: JSON) -> JSON:
    return {"type": "image_url", "image_url": value}


def test_large_image_is_accepted() -> None:
    data = "data:image/png;base64," + base64.b64encode(bytes(5 * 1024**2)).decode()
    message = {"role": "user", "content": [TEXT, image({"url": data})]}
    call = accept("/v1/chat/completions", {"model": "llama_65b", "messages": [message]})
    assert call.request.prompt == PROMPT


@pytest.mark.parametrize("calls", ["abc", 5, [1], {}, [None], [{"id": 5}]], ids=repr)
@pytest.mark.parametrize("content", ["x", [{"type": "text", "text": "x"}]], ids=["text", "parts"])
def test_tool_calls_on_user_message_are_ignored(calls: JSON, content: JSON) -> None:
    message = {"role": "user", "content": content, "tool_calls": calls}
    call = accept("/v1/chat/completions", {"model": "llama_65b", "messages": [message]})
    assert isinstance(call.request, ChatRequest)
    assert (call.request.prompt, call.request.messages[0].tool_calls) == ("x", ())


FAILED = "[InferTokenizer::DownloadUrl] Download fail: "
SOUND_FORM = (
    f"{FAILED}ValueError: 'input_audio.data' should be base64 encoded data, "
    "and the 'input_audio.format' should be in ['mp3', 'wav', 'flac']."
)
PICTURE = image("https://example.org/a.png")


def sound(value: JSON) -> JSON:
    return {"type": "input_audio", "input_audio": value}


def chat(*messages: JSON) -> JSON:
    return {"model": "llama_65b", "messages": list(messages)}


def user(*parts: JSON) -> JSON:
    return {"role": "user", "content": list(parts)}


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        pytest.param(
            [user(TEXT, image("https://example.org/a.gif"))],
            f"{FAILED}ValueError: The media type is image_url, url must end with one of ['.jpg', '.jpeg', '.png'].",
            id="a picture of another type",
        ),
        pytest.param([user(image({"url": "no base64!"}))], f"{FAILED}ValueError: Invalid base64 url", id="no base64"),
        pytest.param([user(PICTURE, {"text": "x"})], f"{FAILED}KeyError: 'type'", id="a part without a type"),
        pytest.param(
            [user(PICTURE, {"type": "smell"})],
            f"{FAILED}ValueError: Input type smell does not match the mm type.",
            id="a smell",
        ),
        pytest.param([user(image(None))], "Request param image_url null", id="no picture"),
        pytest.param(
            [user(PICTURE), user({"type": "text"})], "[Tokenizer] encode failed. 'text'", id="no text, after a picture"
        ),
        pytest.param([user(PICTURE), user()], "Inputs arr is empty", id="no parts, after a picture"),
        pytest.param([user(PICTURE, sound({"format": "wav"}))], SOUND_FORM, id="a sound without data"),
        pytest.param([user(PICTURE, sound({"data": "AAAA", "format": "ogg"}))], SOUND_FORM, id="a sound as ogg"),
        pytest.param(
            [user(PICTURE, sound({"data": "?", "format": "wav"}))],
            f"{FAILED}ValueError: Invalid base64 url",
            id="a sound that is no base64",
        ),
        pytest.param(
            [user(PICTURE, sound(5))], f"{FAILED}ValueError: Input of input_audio should be str or dict.", id="a number"
        ),
        pytest.param(
            [{"role": "assistant", "tool_calls": []}, user(PICTURE)],
            f"{FAILED}KeyError: 'type'",
            id="a first message without content",
        ),
        pytest.param(
            [user(*[PICTURE] * 21)], "The number of multimodal url should be no more than 20", id="too many pictures"
        ),
    ],
)
def test_invalid_media_is_rejected(messages: list[JSON], text: str) -> None:
    assert error_of("/v1/chat/completions", chat(*messages)) == text


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([user(*[PICTURE] * 20), user(*[PICTURE] * 20)], id="twenty in each message"),
        pytest.param([user(PICTURE, sound({"data": "AAAA", "format": "WAV"}))], id="a sound with a picture"),
        pytest.param([user(TEXT, sound({"format": "ogg"}))], id="a sound alone, which is not checked"),
        pytest.param([user({"type": "smell"}, TEXT)], id="no media at all"),
        pytest.param([user()], id="no parts, before any picture"),
    ],
)
def test_media_is_accepted(messages: list[JSON]) -> None:
    accept("/v1/chat/completions", chat(*messages))
