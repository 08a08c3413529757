"""Pictures: whole and of the size that was asked for."""

import struct
import zlib
from base64 import b64decode

import pytest

from emulator.encoding.images import draw_png
from tests.conftest import Start
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.service import VERSION, accept, refuse

V1 = "/openai/v1/images/generations"
KEY = {"api-key": "k"}


def size_of(png: bytes) -> tuple[int, int]:
    """Return width and height of a PNG with complete chunks and lines."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    position, pixels, names = 8, b"", []
    while position < len(png):
        (length,) = struct.unpack(">I", png[position : position + 4])
        name, data = png[position + 4 : position + 8], png[position + 8 : position + 8 + length]
        (check,) = struct.unpack(">I", png[position + 8 + length : position + 12 + length])
        assert check == zlib.crc32(name + data)
        pixels += data if name == b"IDAT" else b""
        names.append(name)
        position += 12 + length
    width, height = struct.unpack(">II", png[16:24])
    assert (names[0], names[-1]) == (b"IHDR", b"IEND")
    assert len(zlib.decompress(pixels)) == height * (1 + -(-width // 4))
    return width, height


@pytest.mark.parametrize("size", [(1, 1), (7, 3), (1024, 1792)])
def test_draw_png_is_deterministic_and_small(size: tuple[int, int]) -> None:
    picture = draw_png(b"key", *size)
    assert size_of(picture) == size
    assert len(picture) < 4096
    assert picture == draw_png(b"key", *size) != draw_png(b"other", *size)


@pytest.mark.covers("azure/Azure OpenAI", "pictures")
async def test_azure_openai_image_generation(start: Start) -> None:
    running = await start()
    body: JSON = {"model": "gpt-image-1", "prompt": "A cat", "n": 2, "size": "1536x1024", "quality": "low"}
    answer = (await running.ask("azure", V1, body, headers=KEY)).json()
    assert [size_of(b64decode(each["b64_json"])) for each in answer["data"]] == [(1536, 1024)] * 2
    assert answer["data"][0] != answer["data"][1]
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] == usage["input_tokens"] + 544


async def test_image_url_serves_image(start: Start) -> None:
    running = await start()
    target = f"/openai/deployments/dall-e-3/images/generations{VERSION}"
    (found,) = (await running.ask("azure", target, {"prompt": "A cat"}, headers=KEY)).json()["data"]
    assert found["revised_prompt"] == "A cat"
    picture = await running.ask("azure", found["url"].removeprefix(running.urls["azure"]))
    assert (picture.header("Content-Type"), size_of(picture.body)) == ("image/png", (1024, 1024))
    assert (await running.ask("azure", "/openai/generated/0x0/00.png")).status == 404


@pytest.mark.covers("azure/routes", "POST images/generations")
async def test_model_inference_image_generation(start: Start) -> None:
    running = await start()
    body: JSON = {"prompt": "A cat", "size": {"width": 16, "height": 8}, "seed": 5, "model": "FLUX-1.1-pro"}
    answer = (await running.ask("azure", f"/images/generations{VERSION}", body, headers=KEY)).json()
    assert (answer["object"], answer["usage"], answer["model"]) == (
        "image.generation",
        {"image_generations": 1},
        "FLUX-1.1-pro",
    )
    assert (size_of(b64decode(answer["data"][0]["image"])), answer["data"][0]["seed"]) == ((16, 8), 5)


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        pytest.param("png", b"\x89PNG", id="PNG"),
        pytest.param("jpeg", b"\xff\xd8\xff", id="JPEG"),
        pytest.param("webp", b"RIFF", id="WebP"),
    ],
)
async def test_image_output_formats(start: Start, form: str, begins: bytes) -> None:
    body: JSON = {"model": "gpt-image-1", "prompt": "A cat", "output_format": form}
    answer = (await (await start()).ask("azure", V1, body, headers=KEY)).json()
    (found,) = answer["data"]
    assert (b64decode(found["b64_json"]).startswith(begins), answer["output_format"]) == (True, form)


async def test_images_include_content_filter_results(start: Start) -> None:
    running = await start()
    for model in ("gpt-image-1", "dall-e-3"):
        (found,) = (await running.ask("azure", V1, {"model": model, "prompt": "A cat"}, headers=KEY)).json()["data"]
        assert found["content_filter_results"]["violence"] == {"filtered": False, "severity": "safe"}
        assert found["prompt_filter_results"]["profanity"] == {"filtered": False, "detected": False}


async def test_streamed_image_generation(start: Start) -> None:
    running = await start()
    body: JSON = {"model": "gpt-image-1", "prompt": "A cat", "stream": True, "partial_images": 2, "quality": "low"}
    answer = await running.ask("azure", V1, body, headers=KEY)
    events = [parse_json(line[6:]) for line in answer.body.splitlines() if line.startswith(b"data: ")]
    names = [line[7:].decode() for line in answer.body.splitlines() if line.startswith(b"event: ")]
    assert names == [event["type"] for event in events]
    assert names == [*["image_generation.partial_image"] * 2, "image_generation.completed"]
    assert [event.get("partial_image_index") for event in events] == [0, 1, None]
    assert [size_of(b64decode(event["b64_json"])) for event in events] == [(1024, 1024)] * 3
    assert (events[-1]["usage"]["output_tokens"], events[-1]["quality"]) == (272, "low")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        pytest.param({"model": "gpt-image-1"}, "prompt", id="no prompt"),
        pytest.param({"model": "gpt-image-1", "prompt": "a", "size": "big"}, "size", id="no size"),
        pytest.param({"model": "gpt-image-1", "prompt": "a", "n": 11}, "n", id="too many"),
        pytest.param({"model": "dall-e-3", "prompt": "a", "n": 2}, "n", id="more than one"),
        pytest.param({"model": "gpt-image-1", "prompt": "a", "output_format": "gif"}, "output_format", id="a GIF"),
        pytest.param({"model": "dall-e-3", "prompt": "a", "output_format": "png"}, "output_format", id="a form"),
        pytest.param({"model": "gpt-image-1", "prompt": "a", "partial_images": 2}, "partial_images", id="no stream"),
        pytest.param({"model": "gpt-image-1", "prompt": "a", "stream": True, "n": 2}, "n", id="two in a stream"),
        pytest.param({"model": "gpt-image-1", "prompt": "a", "response_format": "url"}, "response_format", id="no URL"),
    ],
)
def test_invalid_image_requests_are_refused(body: JSON, param: str) -> None:
    refused = refuse(body, V1)
    assert (refused.status, refused.json()["error"]["param"]) == (400, param)


def test_only_image_models_generate_images() -> None:
    assert refuse({"model": "gpt-4o", "prompt": "a"}, V1).json()["error"]["code"] == "OperationNotSupported"
    assert refuse({"model": "gpt-image-1", "prompt": "a", "foo": 1}, V1).json()["error"]["message"].endswith(": foo")
    assert accept({"prompt": "a", "foo": 1}, f"/images/generations{VERSION}", headers={"extra-parameters": "drop"})


@pytest.mark.parametrize(
    ("body", "message", "param", "code"),
    [
        ({"model": "gpt-image-1", "style": "vivid"}, "Unknown parameter: 'style'.", "style", "unknown_parameter"),
        (
            {"model": "gpt-image-1", "quality": "standard"},
            "Invalid value: 'standard'. Supported values are: 'low', 'medium', 'high', and 'auto'.",
            "quality",
            "invalid_value",
        ),
        (
            {"model": "dall-e-3", "quality": "high"},
            "Invalid value: 'high'. Supported values are: 'standard' and 'hd'.",
            "quality",
            "invalid_value",
        ),
        *[
            (
                {"model": model, "prompt": "x" * (most + 1)},
                f"Invalid 'prompt': string too long. Expected a string with maximum length {most}, but got a string "
                f"with length {most + 1} instead.",
                "prompt",
                "string_above_max_length",
            )
            for model, most in (("gpt-image-1", 32_000), ("dall-e-3", 4000))
        ],
        (
            {"model": "gpt-image-1", "background": "transparent", "output_format": "jpeg"},
            "Transparent background is not supported for JPEG output format",
            "background",
            "invalid_value",
        ),
        *[
            (
                {"model": "gpt-image-1", "output_compression": value},
                "Compression less than 100 is not supported for PNG output format",
                None,
                "invalid_png_output_compression",
            )
            for value in (0, 99)
        ],
    ],
    ids=lambda value: str(value)[:60],
)
def test_field_that_model_or_format_lacks_is_refused(body: JSON, message: str, param: str | None, code: str) -> None:
    refused = refuse({"prompt": "A cat", **body}, V1)
    kind = "image_generation_user_error" if "png" in code else "invalid_request_error"
    assert refused.status == 400
    assert refused.json()["error"] == {"message": message, "type": kind, "param": param, "code": code}


@pytest.mark.parametrize(
    "body",
    [
        {"model": "gpt-image-1", "output_compression": 100},
        {"model": "gpt-image-1", "output_compression": 0, "output_format": "webp"},
        {"model": "gpt-image-1", "background": "transparent", "output_format": "webp", "quality": "auto"},
        {"model": "gpt-image-1", "prompt": "x" * 32_000},
        {"model": "dall-e-3", "style": "natural", "quality": "hd", "prompt": "x" * 4000},
        {"model": "dall-e-3", "quality": "auto"},
        {"model": "FLUX-1.1-pro", "quality": "hd", "output_compression": 50},
        {"model": "FLUX.2-pro", "style": "vivid", "background": "transparent", "output_format": "jpeg"},
    ],
    ids=lambda value: str(value)[:60],
)
def test_field_that_model_has_is_accepted(body: JSON) -> None:
    assert accept({"prompt": "A cat", **body}, V1)
