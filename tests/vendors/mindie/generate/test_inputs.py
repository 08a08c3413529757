"""``inputs``: a text or a list, its lengths, and the media in it."""

import base64
import json

import pytest

from emulator.core.requests import CompletionRequest
from emulator.vendors.mindie.decoder import count_formatted, count_units, format_value
from emulator.vendors.mindie.settings import MindieSettings
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import (
    PROMPT,
    accept,
    error_of,
)

TEXT = {"type": "text", "text": PROMPT}


FAILED = "[InferTokenizer::DownloadUrl] Download fail: "


JPEG = base64.b64encode(b"\xff\xd8\xff\xe0" + bytes(64)).decode()


SMALL = "vendors: {mindie: {max_input_chars: 8}}\n"


def image(value: JSON) -> JSON:
    return {"type": "image_url", "image_url": value}


@pytest.mark.covers("mindie/other checks", "length")
@pytest.mark.parametrize(
    ("text", "length"),
    [
        pytest.param("x" * 9, 9, id="one too many"),
        pytest.param("𝄞" * 5, 10, id="five characters of two code units"),
    ],
)
def test_input_length_is_counted_in_utf16_code_units(text: str, length: int) -> None:
    assert error_of("/", {"inputs": text}, SMALL) == f"Inputs length must be in (0, 8], but got {length}"


@pytest.mark.parametrize("text", ["x" * 8, "𝄞" * 4, "世界你好啊吗呢吧"], ids=["ASCII", "pairs", "Chinese"])
def test_longest_text_is_accepted(text: str) -> None:
    accept("/", {"inputs": text}, SMALL)


@pytest.mark.covers("mindie/decisions", "3 length of inputs")
def test_default_input_limit_is_4_mi_characters() -> None:
    assert MindieSettings().max_input_chars == 4 * 1024**2


@pytest.mark.covers("mindie/media", "image_url", case="a picture in base64")
@pytest.mark.parametrize(
    "part",
    [
        pytest.param(image("/xxxx/test.png"), id="a picture on the server"),
        pytest.param(image("test.JPG"), id="a picture with capitals"),
        pytest.param(image("file:///data/a.jpeg"), id="a picture as a file URL"),
        pytest.param(image("https://example.org/a.png?size=1"), id="a picture elsewhere"),
        pytest.param(image({"url": "http://example.org/a.jpg"}), id="a picture in an object"),
        pytest.param(image(JPEG), id="a picture in base64"),
        pytest.param(image(f"data:image/png;base64,{JPEG}"), id="a picture in a data URL"),
        *[
            pytest.param({"type": "video_url", "video_url": f"/data/a.{kind}"}, id=f"a film of type {kind}")
            for kind in ("mp4", "AVI", "wmv")
        ],
        *[
            pytest.param(
                {"type": "audio_url", "audio_url": f"https://example.org/a.{kind}"}, id=f"a sound of type {kind}"
            )
            for kind in ("mp3", "wav", "FLAC")
        ],
    ],
)
def test_valid_media_are_accepted(part: JSON) -> None:
    call = accept("/", {"inputs": [TEXT, part]})
    assert isinstance(call.request, CompletionRequest)
    assert (call.request.prompt, call.request.media) == (PROMPT, 1)
    assert call.prompt_tokens[0] > accept("/", {"inputs": [TEXT]}).prompt_tokens[0]


@pytest.mark.covers("mindie/other checks", "elements of a list")
@pytest.mark.covers("mindie/media", "video_url", case="a film of another type")
@pytest.mark.covers("mindie/media", "audio_url", case="a sound of another type")
@pytest.mark.covers("mindie/checks of media", "text", case="a text that is a number")
@pytest.mark.covers("mindie/checks of media", "a key that is null", case="no picture")
@pytest.mark.covers("mindie/checks of media", "type", case="a smell")
@pytest.mark.covers("mindie/checks of media", "form", case="neither path nor base64")
@pytest.mark.parametrize(
    ("part", "text"),
    [
        pytest.param({"type": "text", "text": 5}, "Request param text must be string", id="a text that is a number"),
        pytest.param({"type": "text", "text": ""}, "Request param text must not be empty", id="an empty text"),
        pytest.param(image(None), "Request param image_url null", id="no picture"),
        pytest.param({"type": "audio_url", "audio_url": None}, "Request param audio_url null", id="no sound"),
        pytest.param({"type": "video_url", "video_url": None}, "Request param video_url null", id="no film"),
        pytest.param(
            {"type": "smell_url"}, f"{FAILED}ValueError: Input type smell_url does not match the mm type.", id="a smell"
        ),
        pytest.param({"text": "x"}, f"{FAILED}KeyError: 'type'", id="an element without a type"),
        pytest.param(
            {"type": "text"},
            "Inputs token length must be in (0, 1048576], but got 0",
            id="a text that is not there leaves no tokens",
        ),
        pytest.param(
            image("https://example.org/a.gif"),
            f"{FAILED}ValueError: The media type is image_url, url must end with one of ['.jpg', '.jpeg', '.png'].",
            id="a picture of another type",
        ),
        pytest.param(
            {"type": "video_url", "video_url": "https://example.org/a.mkv"},
            f"{FAILED}ValueError: The media type is video_url, url must end with one of ['.mp4', '.avi', '.wmv'].",
            id="a film of another type",
        ),
        pytest.param(
            {"type": "audio_url", "audio_url": "https://example.org/a.ogg"},
            f"{FAILED}ValueError: The media type is audio_url, url must end with one of ['.mp3', '.wav', '.flac'].",
            id="a sound of another type",
        ),
        pytest.param(image("not base64!"), f"{FAILED}ValueError: Invalid base64 url", id="neither path nor base64"),
        pytest.param(
            image("data:image/gif;base64,AAAA"),
            f"{FAILED}ValueError: Expected format: data:<mime_type>/<subtype>;base64,<base64_data>",
            id="a data URL of another type",
        ),
        pytest.param(
            image("http://example.org/" + "a" * 4096 + ".png"),
            f"{FAILED}ValueError: The length of media_url should be less than 4096, but got 4119.",
            id="a long URL",
        ),
        pytest.param(
            {"type": "audio_url", "audio_url": JPEG},
            f"{FAILED}ValueError: Input type audio_url does not match the mm type.",
            id="a sound in base64",
        ),
    ],
)
def test_invalid_media_are_rejected(part: JSON, text: str) -> None:
    assert error_of("/", {"inputs": [TEXT, part]}) == text


@pytest.mark.slow
@pytest.mark.covers("mindie/other checks", "media")
def test_picture_above_20_mb_is_rejected() -> None:
    data = base64.b64encode(bytes(20 * 1024**2 + 1)).decode()
    assert (
        error_of("/", {"inputs": [image(data)]}) == f"{FAILED}ValueError: The size of image_url cannot exceed 20.0 MB"
    )


@pytest.mark.slow
@pytest.mark.covers("mindie/checks of media", "size")
@pytest.mark.covers("mindie/decisions", "8 size of media")
@pytest.mark.parametrize("form", ["{}", "data:image/png;base64,{}"], ids=["plain", "data URL"])
def test_picture_of_exactly_20_mb_is_accepted(form: str) -> None:
    data = form.format(base64.b64encode(bytes(20 * 1024**2)).decode())
    accept("/", {"inputs": [TEXT, image(data)]})


def test_input_limit_applies_to_list_with_large_picture() -> None:
    data = base64.b64encode(bytes(1024**2)).decode()
    body = {"inputs": [{"type": "text", "text": "a" * 4194304}, image(data)]}
    length = len(json.dumps(body["inputs"], separators=(",", ":")))
    assert error_of("/", body) == f"Inputs length must be in (0, 4194304], but got {length}"


@pytest.mark.covers("mindie/checks of media", "more than twenty")
@pytest.mark.covers("mindie/vectors", "media")
def test_at_most_twenty_media_are_accepted() -> None:
    kinds = [("image_url", "a.png"), ("video_url", "a.mp4"), ("audio_url", "a.mp3")]
    parts = [{"type": kind, kind: name} for kind, name in (kinds * 7)[:20]]
    accept("/", {"inputs": [TEXT, *parts]})
    assert (
        error_of("/", {"inputs": [TEXT, *parts, image("a.png")]})
        == "The number of multimodal url should be no more than 20"
    )


def test_formatted_length_matches_formatted_value() -> None:
    values: list[JSON] = [
        "",
        'é"\\\n\x01\x7f🙂',
        [],
        {},
        [1, 2.5, None, True],
        {"a": [{"b": "c\td"}, -1e300]},
        {"": ""},
    ]
    for value in values:
        assert count_formatted(value) == count_units(format_value(value))


@pytest.mark.parametrize("kind", ["json", "x" * 3_000_000])
def test_long_value_is_truncated_in_error(kind: str) -> None:
    body = {"model": "llama_65b", "messages": [{"role": "user", "content": "a"}], "response_format": {"type": kind}}
    assert len(error_of("/v1/chat/completions", body)) < 70_000
