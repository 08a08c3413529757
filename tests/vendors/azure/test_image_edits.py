"""Edits of images: sizes, tokens, events, refusals."""

import struct
from base64 import b64decode

import pytest

from emulator.encoding.images import draw_jpeg, draw_png, draw_webp, measure_picture, measure_webp
from tests.conftest import Start
from tests.http_client import Answer, Running
from tests.untyped_json import JSON
from tests.vendors.azure.service import Refused, accept, send
from tests.vendors.forms import HEADERS, Part, make_form

V1 = "/openai/v1/images/edits"
PNG = draw_png(b"k", 64, 64)
IMAGE: Part = ("a.png", PNG, "image/png")
MASK: Part = ("m.png", PNG, "image/png")
FLAT: Part = ("m.png", PNG[:25] + b"\2" + PNG[26:], "image/png")
MODEL = ("model", "gpt-image-1")
PROMPT = ("prompt", "A cat")


async def edit(running: Running, *fields: tuple[str, Part], target: str = V1) -> Answer:
    kind = HEADERS["Content-Type"]
    head = f"POST {target} HTTP/1.1\r\napi-key: k\r\nContent-Type: {kind}\r\n".encode()
    return await running.send("azure", head, make_form(*fields))


async def test_edited_image_depends_on_its_images(start: Start) -> None:
    running = await start()
    fields = (MODEL, PROMPT, ("image", IMAGE), ("mask", MASK), ("size", "1536x1024"), ("output_format", "jpeg"))
    first = (await edit(running, *fields)).json()
    (found,) = first["data"]
    assert measure_picture(b64decode(found["b64_json"])) == (1536, 1024)
    assert (first["usage"]["input_tokens_details"]["image_tokens"], first["size"]) == (194, "1536x1024")
    assert (await edit(await start(), *fields)).json()["data"] == [found]
    other = ("image", ("a.png", draw_png(b"other", 64, 64), "image/png"))
    assert (await edit(running, MODEL, PROMPT, other, *fields[3:])).json()["data"] != [found]


@pytest.mark.parametrize(
    ("images", "fidelity", "tokens"),
    [
        ([draw_png(b"k", 1024, 1024)], None, 194),
        ([draw_jpeg(b"k", 1536, 1024)], None, 323),
        ([PNG, draw_webp(b"k", 64, 32)], "low", 194 + 323),
        ([PNG, draw_webp(b"k", 64, 32)], "high", 194 + 4160 + 323 + 6240),
    ],
)
def test_tokens_of_images(images: list[bytes], fidelity: str | None, tokens: int) -> None:
    kinds = {b"\x89": "image/png", b"\xff": "image/jpeg", b"R": "image/webp"}
    parts: list[tuple[str, Part]] = [("image[]", ("a", image, kinds[image[:1]])) for image in images]
    more: list[tuple[str, Part]] = [("input_fidelity", fidelity)] if fidelity else []
    call = accept(make_form(MODEL, PROMPT, *parts, *more), V1, headers=HEADERS)
    assert call.prompt_tokens == (2 + tokens,)


async def test_streamed_edit(start: Start) -> None:
    running = await start()
    target = "/openai/deployments/gpt-image-1/images/edits?api-version=2025-04-01-preview"
    answer = await edit(running, PROMPT, ("image", IMAGE), ("stream", "true"), ("partial_images", "1"), target=target)
    first, last = answer.events()
    assert (first["type"], last["type"]) == ("image_edit.partial_image", "image_edit.completed")
    assert last["usage"]["input_tokens"] == 196


@pytest.mark.parametrize(
    ("fields", "param", "code", "begins"),
    [
        ((), "image", "missing_required_parameter", "Missing required parameter: 'image'."),
        ((("image", "text"),), "image", "invalid_type", "Invalid type for 'image': expected one of an array of files"),
        (
            (("image", ("a.gif", b"GIF89a", "image/gif")),),
            "image",
            "unsupported_file_mimetype",
            "Invalid file 'image': unsupported mimetype ('image/gif'). Supported file formats are 'image/jpeg', 'im",
        ),
        ((("image[]", IMAGE), ("image[]", PNG)), "image[1]", "unsupported_file_mimetype", "Invalid file 'image[1]'"),
        (
            (("image", ("a.png", b"x", "image/png")),),
            "image",
            "invalid_image_file",
            "Invalid image file or mode",
        ),
        ((("image", ("a", PNG, "image/webp")),), "image", "invalid_image_file", "Invalid image file or mode for image"),
        ((("image[]", IMAGE),) * 17, "image", "array_above_max_length", "Invalid 'image': array too long."),
        ((("image", IMAGE), ("n", "11")), "n", "integer_above_max_value", "Invalid 'n': integer above maximum"),
        (
            (("image", IMAGE), ("n", "x")),
            "n",
            "invalid_type",
            "Invalid type for 'n': expected an integer",
        ),
        ((("image", IMAGE), ("size", "8x8")), "size", "invalid_value", "Invalid value: '8x8'."),
        ((("image", IMAGE), ("input_fidelity", "x")), "input_fidelity", "invalid_value", "Invalid value: 'x'."),
        ((("image", IMAGE), ("odd", "x")), "odd", "unknown_parameter", "Unknown parameter: 'odd'."),
        ((("image", IMAGE), ("response_format", "url")), "response_format", "unknown_parameter", "Unknown parameter"),
        ((("image", IMAGE), ("mask", FLAT)), "mask", "invalid_mask_image_format", "Invalid mask image format - mask i"),
        (
            (("image", IMAGE), ("mask", ("m.png", draw_png(b"k", 8, 8), "image/png"))),
            "mask",
            "invalid_mask_image_format",
            "Invalid mask image format - mask size does not match image size",
        ),
    ],
)
def test_wrong_edit_is_refused(fields: tuple[tuple[str, Part], ...], param: str, code: str, begins: str) -> None:
    refused = send(make_form(MODEL, PROMPT, *fields), V1, headers=HEADERS)
    assert isinstance(refused, Refused)
    error: JSON = refused.json()["error"]
    assert (refused.status, error["param"], error["code"]) == (400, param, code), error
    assert error["message"].startswith(begins)


def test_file_without_type_is_refused() -> None:
    head = b'--xyz\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n\r\n'
    body = head + PNG + b"\r\n" + make_form(MODEL, PROMPT)
    refused = send(body, V1, headers=HEADERS)
    assert isinstance(refused, Refused)
    assert refused.json()["error"]["code"] == "missing_file_mimetype"


@pytest.mark.parametrize("model", ["dall-e-3", "gpt-4o"])
def test_only_some_models_edit(model: str) -> None:
    refused = send(make_form(("model", model), PROMPT, ("image", IMAGE)), V1, headers=HEADERS)
    assert isinstance(refused, Refused)
    assert refused.json()["error"]["code"] == "OperationNotSupported"
    assert send({"model": "gpt-image-1"}, V1).status == 415  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (draw_webp(b"k", 1, 16_384), (1, 16_384)),
        (b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + struct.pack("<HH", 300, 200), (300, 200)),
        (b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + b"\x2b\x01\0\xc7\0\0", (300, 200)),
        (b"RIFF\0\0\0\0WEBPVP8 ", None),
        (b"RIFF\0\0\0\0WEBPVP8X", None),
        (b"RIFF", None),
    ],
)
def test_size_of_webp(data: bytes, size: tuple[int, int] | None) -> None:
    assert measure_webp(data) == size
