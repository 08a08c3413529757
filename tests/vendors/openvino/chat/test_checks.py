"""Checks of messages, images and sounds by release: every row of the table."""

import json

import pytest

from emulator.core.requests import ChatRequest
from emulator.vendors.openvino.chat.checks import find_checks
from emulator.vendors.openvino.release import RELEASES
from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import BASE, Refusal, failure, make_server

_ALL = tuple(name for name in RELEASES if name[0] == "2")
_PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQ"
    "DwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
_STRUCTURE = "Invalid message structure"
_CONTENT = f"{_STRUCTURE} - content should be string or array"
_BASE64 = "Invalid base64 string in request"
_URL = 'Url should contain base64 encoded string followed by "base64," prefix'
_DOMAIN = "Given url does not match any allowed domain from allowed_media_domains"
_LOCAL = "Loading images from local filesystem is disabled."
_TEXT_ONLY = "This servable supports only text input, but image_url has been provided"
_TAG = "Message contains restricted <ov_genai_image> tag"
_EMPTY = f"{_STRUCTURE} - content array is empty"
_SINCE: JSON = [{"role": "user", "content": "hi"}]

Reasons = dict[str, str | None]
"""Reason of the error by first release; ``None`` if the request is accepted."""


def spread(reasons: Reasons) -> list[tuple[str, str | None]]:
    """Return each release with its reason."""
    found: list[tuple[str, str | None]] = []
    reason: str | None = None
    for release in _ALL:
        reason = reasons.get(release, reason)
        found.append((release, reason))
    return found


def say(*parts: JSON) -> JSON:
    return [{"role": "user", "content": [{"type": "text", "text": "hi"}, *parts]}]


def picture(url: str) -> JSON:
    return {"type": "image_url", "image_url": {"url": url}}


@pytest.mark.covers("openvino/messages", "members that are texts", "role and content", "content that is an array")
@pytest.mark.covers("openvino/releases", "messages")
@pytest.mark.covers("openvino/decisions", "12 content")
@pytest.mark.parametrize(
    ("messages", "reasons"),
    [
        pytest.param(_SINCE, {"2024.2": None}, id="a text"),
        pytest.param(say(), {"2024.2": _STRUCTURE, "2025.0": None}, id="a list of texts"),
        pytest.param(
            [{"role": "user", "content": []}], {"2024.2": _STRUCTURE, "2025.0": _EMPTY, "2026.3": None}, id="[]"
        ),
        pytest.param(
            [{"role": "user", "content": 1}],
            {"2024.2": _STRUCTURE, "2025.0": _CONTENT, "2025.2": None},
            id="a number as content",
        ),
        pytest.param(
            [{"role": "user", "content": "hi", "x": None}],
            {"2024.2": _STRUCTURE, "2025.0": _CONTENT, "2025.2": None},
            id="another member",
        ),
        pytest.param(
            [{"role": "assistant", "content": "hi", "tool_calls": [1]}],
            {"2024.2": _STRUCTURE, "2025.0": _CONTENT, "2025.2": None, "2025.4": "Each tool_call must be an object"},
            id="a call that is a number",
        ),
        pytest.param(
            [{"role": "assistant", "content": "hi", "tool_calls": [{"function": "f"}]}],
            {
                "2024.2": _STRUCTURE,
                "2025.0": _CONTENT,
                "2025.2": None,
                "2025.4": "Each tool_call must have a 'function' object",
            },
            id="a call without a function",
        ),
        pytest.param(
            [],
            {"2024.2": "There are no messages to apply for chat", "2025.0": "Messages array cannot be empty"},
            id="none",
        ),
    ],
)
def test_messages(messages: JSON, reasons: Reasons) -> None:
    for release, reason in spread(reasons):
        expected = None if reason is None else Refusal(400, failure(reason))
        assert make_server(release).refusal({**BASE, "messages": messages}) == expected, release


@pytest.mark.covers("openvino/messages", "pictures")
@pytest.mark.parametrize(
    ("url", "seen", "unseen"),
    [
        pytest.param(_PIXEL, {"2024.2": _STRUCTURE, "2025.0": None}, {"2025.1": _TEXT_ONLY}, id="a picture"),
        pytest.param(
            "base64,!!",
            {"2024.2": _STRUCTURE, "2025.0": _BASE64},
            {"2025.1": _BASE64, "2026.3": _TEXT_ONLY},
            id="not base64",
        ),
        pytest.param(
            "base64,-_-_",
            {"2024.2": _STRUCTURE, "2025.0": _BASE64},
            {"2025.1": _BASE64, "2026.3": _TEXT_ONLY},
            id="web-safe",
        ),
        pytest.param(
            "base64,AAAA",
            {
                "2024.2": _STRUCTURE,
                "2025.0": "Image size invalid",
                "2025.1": "Response generation failed",
                "2025.2": "Image parsing failed: unknown image type",
                "2026.2": "Image parsing failed",
            },
            {
                "2025.1": "Response generation failed",
                "2025.2": "Image parsing failed: unknown image type",
                "2026.2": "Image parsing failed",
                "2026.3": _TEXT_ONLY,
            },
            id="no picture",
        ),
        pytest.param(
            "http://host/a.png",
            {"2024.2": _STRUCTURE, "2025.0": _URL, "2025.2": None, "2026.0": _DOMAIN},
            {"2025.1": _URL, "2025.2": _TEXT_ONLY, "2026.0": _DOMAIN, "2026.3": _TEXT_ONLY},
            id="an address",
        ),
        pytest.param(
            "/a.png",
            {"2024.2": _STRUCTURE, "2025.0": _URL, "2025.2": _LOCAL},
            {"2025.1": _URL, "2025.2": _LOCAL, "2026.3": _TEXT_ONLY},
            id="a file",
        ),
    ],
)
def test_images(url: str, seen: Reasons, unseen: Reasons) -> None:
    """Before 2026.3 a text graph refuses images with a status word of its own."""
    blind = {**{name: reason for name, reason in seen.items() if name < "2025.1"}, **unseen}
    for model, reasons in (("eyes", seen), ("llama3", blind)):
        for release, reason in spread(reasons):
            inner = reason == _TEXT_ONLY and release < "2026.3"
            word = "INTERNAL" if inner else "INVALID_ARGUMENT"
            expected = None if reason is None else Refusal(400, failure(reason, word=word))
            found = make_server(release).refusal({**BASE, "model": model, "messages": say(picture(url))})
            assert found == expected, (model, release)


@pytest.mark.covers("openvino/order of checks", "pictures after fields")
@pytest.mark.parametrize("release", _ALL)
def test_fields_are_checked_before_images(release: str) -> None:
    """Only 2026.3 parses the template options with the other fields."""
    fields: JSON = {"messages": say(picture(_PIXEL)), "max_completion_tokens": "x"}
    refusal = make_server(release).refusal({**BASE, **fields})
    assert refusal is not None
    assert (_STRUCTURE if release == "2024.2" else "max_completion_tokens is not") in refusal.error
    options = make_server(release).refusal({**BASE, "messages": say(picture(_PIXEL)), "chat_template_kwargs": 1})
    if release >= "2025.1":
        assert options is not None
        assert ("chat_template_kwargs must be an object" in options.error) is (release == "2026.3")


@pytest.mark.covers("openvino/messages", "several texts")
@pytest.mark.parametrize("release", _ALL[1:])
def test_several_text_parts(release: str) -> None:
    parts: JSON = [{"type": "text", "text": text} for text in ("", "one", "", "two")]
    ask = make_server(release).call({**BASE, "messages": [{"role": "user", "content": parts}]}).request
    assert ask.prompt == ("one\n\ntwo" if release >= "2026.2" else "two")


@pytest.mark.covers("openvino/messages", "content that is no text")
@pytest.mark.parametrize("release", _ALL[4:])
def test_non_text_content(release: str) -> None:
    ask = make_server(release).call({**BASE, "messages": [{"role": "user", "content": 7}]}).request
    assert ask.prompt == ("" if release == "2026.3" else "7")


@pytest.mark.covers("openvino/messages", "restricted tags")
@pytest.mark.parametrize("release", _ALL[1:])
def test_restricted_image_tags(release: str) -> None:
    """A text may not contain the image tags of a vision graph."""
    server = make_server(release)
    tagged = [{"role": "user", "content": "see <ov_genai_image_0>"}]
    expected = None if release == "2025.0" else Refusal(400, failure(_TAG))
    assert server.refusal({**BASE, "model": "eyes", "messages": tagged}) == expected
    assert server.refusal({**BASE, "messages": tagged}) is None
    named = [{"role": "user", "name": "<ov_genai_image_0>", "content": "hi"}]
    expected = Refusal(400, failure(_TAG)) if release == "2025.1" else None
    assert server.refusal({**BASE, "model": "eyes", "messages": named}) == expected


@pytest.mark.covers("openvino/messages", "input_audio")
@pytest.mark.parametrize(
    ("sound", "reason"),
    [
        pytest.param({"data": ""}, "input_audio data field is empty", id="nothing"),
        pytest.param({"data": "!"}, "Invalid base64 string in input_audio data", id="no base64"),
        pytest.param({"data": "AAAA"}, "Audio decoding failed: WAV file parsing failed", id="no WAV"),
        pytest.param({"data": "AAAA", "format": "mp3"}, "Audio decoding failed: MP3 file parsing failed", id="no MP3"),
        pytest.param({"data": "AAAA", "format": "x"}, "Audio decoding failed: Unsupported audio format: x", id="other"),
    ],
)
def test_audio_parts(sound: JSON, reason: str) -> None:
    """Only omni graphs validate sounds; text graphs ignore them."""
    messages = say({"type": "input_audio", "input_audio": sound})
    latest = make_server("2026.3")
    assert latest.refusal({**BASE, "model": "ears", "messages": messages}) == Refusal(400, failure(reason))
    assert latest.refusal({**BASE, "messages": messages}) is None
    assert make_server("2026.2").refusal({**BASE, "messages": messages}) == Refusal(
        400, failure("Unsupported content type")
    )


def test_release_between_rows_uses_older_checks() -> None:
    assert find_checks((2026, 1)) == find_checks((2026, 0))
    assert find_checks((2027, 0)) == find_checks((2026, 3))
    assert json.dumps(sorted(RELEASES)) == json.dumps(sorted([*_ALL, "seed", "latest"]))


@pytest.mark.covers("openvino/models, tokenize, responses", "part types")
@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        pytest.param(
            [{"type": "text", "text": "a"}],
            "unsupported input content item type: text",
            "unsupported input content item type: text",
            id="a chat's text part",
        ),
        pytest.param([{"type": "output_text"}], *["output_text requires a valid text field"] * 2, id="its own name"),
        pytest.param(
            [{"type": "input_audio"}],
            "unsupported input content item type: input_audio",
            "input_audio requires input_audio object field",
            id="no sound",
        ),
        pytest.param(
            [{"type": "input_audio", "input_audio": {}}],
            "unsupported input content item type: input_audio",
            "input_audio.data is missing or invalid",
            id="a sound without data",
        ),
        pytest.param([{"type": "input_image", "image_url": "base64,!"}], _BASE64, _TEXT_ONLY, id="a picture"),
    ],
)
def test_responses_content_parts(content: JSON, old: str, new: str) -> None:
    for release, reason in (("2026.2", old), ("2026.3", new)):
        body = {"model": "llama3", "input": [{"role": "user", "content": content}]}
        assert make_server(release).refusal(body, "/v3/responses") == Refusal(400, failure(reason))


@pytest.mark.parametrize(("release", "text"), [("2026.2", "b"), ("2026.3", "a\nb")])
def test_responses_item_with_several_texts(release: str, text: str) -> None:
    parts: JSON = [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]
    body = {"model": "llama3", "input": [{"role": "user", "content": parts}]}
    ask = make_server(release).call(body, "/v3/responses").request
    assert isinstance(ask, ChatRequest)
    assert ask.prompt == text
