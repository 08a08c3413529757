"""Pictures: whole and of the size that was asked for."""

import struct
import zlib
from base64 import b64decode

import pytest

from emulator.dialects.png import draw_png
from tests.conftest import Start
from tests.parsed import JSON
from tests.vendors.azure.service import VERSION, accept, refuse

V1 = "/openai/v1/images/generations"
KEY = {"api-key": "k"}


def size_of(png: bytes) -> tuple[int, int]:
    """Width and height of a picture all of whose chunks and lines are there."""
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
def test_a_picture_is_whole_and_small(size: tuple[int, int]) -> None:
    picture = draw_png(b"key", *size)
    assert size_of(picture) == size
    assert len(picture) < 4096
    assert picture == draw_png(b"key", *size) != draw_png(b"other", *size)


async def test_pictures_of_azure_openai(start: Start) -> None:
    running = await start()
    body: JSON = {"model": "gpt-image-1", "prompt": "A cat", "n": 2, "size": "1536x1024", "quality": "low"}
    answer = (await running.ask("azure", V1, body, headers=KEY)).json()
    assert [size_of(b64decode(each["b64_json"])) for each in answer["data"]] == [(1536, 1024)] * 2
    assert answer["data"][0] != answer["data"][1]
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] == usage["input_tokens"] + 544


async def test_a_url_leads_to_the_picture(start: Start) -> None:
    running = await start()
    target = f"/openai/deployments/dall-e-3/images/generations{VERSION}"
    (found,) = (await running.ask("azure", target, {"prompt": "A cat"}, headers=KEY)).json()["data"]
    assert found["revised_prompt"] == "A cat"
    picture = await running.ask("azure", found["url"].removeprefix(running.urls["azure"]))
    assert (picture.header("Content-Type"), size_of(picture.body)) == ("image/png", (1024, 1024))
    assert (await running.ask("azure", "/openai/generated/0x0/00.png")).status == 404


async def test_pictures_of_model_inference(start: Start) -> None:
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
    ("body", "param"),
    [
        pytest.param({"model": "gpt-image-1"}, "prompt", id="no prompt"),
        pytest.param({"model": "gpt-image-1", "prompt": "a", "size": "big"}, "size", id="no size"),
        pytest.param({"model": "gpt-image-1", "prompt": "a", "n": 11}, "n", id="too many"),
        pytest.param({"model": "dall-e-3", "prompt": "a", "n": 2}, "n", id="more than one"),
        pytest.param({"model": "gpt-image-1", "prompt": "a", "output_format": "webp"}, "output_format", id="no PNG"),
        pytest.param({"model": "gpt-image-1", "prompt": "a", "response_format": "url"}, "response_format", id="no URL"),
    ],
)
def test_what_is_refused(body: JSON, param: str) -> None:
    refused = refuse(body, V1)
    assert (refused.status, refused.json()["error"]["param"]) == (400, param)


def test_only_painters_paint() -> None:
    assert refuse({"model": "gpt-4o", "prompt": "a"}, V1).json()["error"]["code"] == "OperationNotSupported"
    assert refuse({"model": "gpt-image-1", "prompt": "a", "foo": 1}, V1).json()["error"]["message"].endswith(": foo")
    assert accept({"prompt": "a", "foo": 1}, f"/images/generations{VERSION}", headers={"extra-parameters": "drop"})
