"""Images in prompts."""

import base64
import json

import pytest

from emulator.core.requests import ChatRequest, CompletionRequest
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import CHAT, accept, refuse

VISION = "deployments: [{vendor: tgi, name: eyes, traits: {vision: true}}]\n"
JUNK = base64.b64encode(b"junkjunkjunkjunk").decode()
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(16)).decode()
URL = "https://example.org/a.png"


def chat(url: str) -> JSON:
    parts = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]
    return {"messages": [{"role": "user", "content": parts}]}


@pytest.mark.parametrize("url", [URL, f"data:image/png;base64,{PNG}"])
def test_vision_model_accepts_images(url: str) -> None:
    call = accept(CHAT, chat(url), VISION)
    assert isinstance(call.request, ChatRequest)
    assert [(message.text, message.media) for message in call.request.messages] == [("What is it?", 1)]
    generated = accept("/generate", {"inputs": f"What is it?![]({url})\n\n"}, VISION)
    assert isinstance(generated.request, CompletionRequest)
    assert (generated.request.prompts, generated.request.media) == (("What is it?\n\n",), 1)
    alone = accept("/generate", {"inputs": "What is it?\n\n"}, VISION)
    assert generated.prompt_tokens > alone.prompt_tokens


def test_text_model_reads_image_markdown() -> None:
    call = accept(CHAT, chat(URL))
    assert isinstance(call.request, ChatRequest)
    assert [(message.text, message.media) for message in call.request.messages] == [(f"What is it?![]({URL})", 0)]
    generated = accept("/generate", {"inputs": f"![]({URL})"})
    assert isinstance(generated.request, CompletionRequest)
    assert generated.request.prompts == (f"![]({URL})",)


@pytest.mark.parametrize(
    ("url", "text"),
    [
        pytest.param("ftp://a/b.png", "invalid image content: ![](ftp://a/b.png)", id="another scheme"),
        pytest.param("data:image/png", "invalid image content: image/png", id="no bytes"),
        pytest.param("data:image/png;x;base64,aa", "invalid image content: image/png;x;base64,aa", id="a parameter"),
        pytest.param("data:image/png;hex,00", "invalid image content: hex,00", id="no base64"),
        pytest.param(
            "data:image/png;base64,aa!a", "base64 encoding is invalid: Invalid symbol 33, offset 2.", id="a symbol"
        ),
        pytest.param("data:image/png;base64,aaa", "base64 encoding is invalid: Invalid padding", id="no padding"),
        pytest.param("data:image/png;base64,aaaaa", "base64 encoding is invalid: Invalid input length: 5", id="length"),
        pytest.param(
            "data:image/png;base64,YR==", "base64 encoding is invalid: Invalid last symbol 82, offset 1.", id="bits"
        ),
        pytest.param(
            "data:image/png;base64,YQ==YQ==",
            "base64 encoding is invalid: Invalid symbol 61, offset 2.",
            id="padding in the middle",
        ),
        pytest.param(
            "data:image/png;base64,é", "base64 encoding is invalid: Invalid symbol 195, offset 0.", id="bytes"
        ),
        pytest.param("data:image/png;base64,AAAA", "invalid image: unexpected end of file", id="cut"),
        pytest.param(
            f"data:image/png;base64,{JUNK}",
            "invalid image: Format error decoding Png: Invalid PNG signature.",
            id="no png",
        ),
        pytest.param(
            f"data:image/jpg;base64,{JUNK}",
            "invalid image: Format error decoding Jpeg: Error parsing image. Illegal start bytes:6A75",
            id="no jpeg",
        ),
        pytest.param(
            f"data:image/gif;base64,{JUNK}",
            "invalid image: Format error decoding Gif: malformed GIF header",
            id="no gif",
        ),
        pytest.param(
            f"data:image/webp;base64,{JUNK}",
            "invalid image: Format error decoding WebP: Invalid Chunk header: [52, 49, 46, 46]",
            id="no webp",
        ),
        pytest.param(
            f"data:image/tiff;base64,{JUNK}",
            "invalid image: Format error decoding Tiff: Format error: TIFF signature not found.",
            id="no tiff",
        ),
        pytest.param(
            "data:image/x;base64,AAAA", "invalid image: The image format could not be determined", id="no format"
        ),
    ],
)
def test_invalid_image_is_rejected(url: str, text: str) -> None:
    for path, body in ((CHAT, chat(url)), ("/generate", {"inputs": f"![]({url})"})):
        answer = refuse(path, body, VISION)
        assert (answer.status, json.loads(answer.body)) == (
            422,
            {"error": f"Input validation error: {text}", "error_type": "validation"},
        )
