"""Images: validation of generations and edits, and valid PNG files."""

import base64
import json
from struct import pack, unpack
from zlib import crc32, decompress

import pytest

from emulator.core.calls import InferenceCall
from emulator.vendors.openvino.media.images import draw_png
from tests.untyped_json import JSON
from tests.vendors.client import make_request
from tests.vendors.forms import HEADERS, make_form
from tests.vendors.openvino.ovms import LATEST, Refusal, failure, make_server
from tests.vendors.openvino.plans import say

_PATH = "/v3/images/generations"
_EDITS = "/v3/images/edits"
_NODE = "ImageGenExecutor"
_PNG = draw_png(8, 8, b"")
_ENOUGH: JSON = {"model": "draws", "prompt": "a cat"}


def draw(body: JSON, release: str = "latest", path: str = _PATH, headers: dict[str, str] | None = None) -> bytes:
    answer = make_server(release).send(path, body, headers=headers)
    assert isinstance(answer, InferenceCall), answer.body
    return answer.codec.render(say(), make_request(path)).body


def sizes(body: bytes) -> list[tuple[int, int]]:
    """Return the size of each image; assert that each PNG is complete."""
    found = []
    for item in json.loads(body)["data"]:
        png = base64.b64decode(item["b64_json"], validate=True)
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        position, pixels = 8, b""
        while position < len(png):
            (length,) = unpack(">I", png[position : position + 4])
            chunk = png[position + 4 : position + 8 + length]
            assert unpack(">I", png[position + 8 + length : position + 12 + length]) == (crc32(chunk),)
            pixels += chunk[4:] if chunk[:4] == b"IDAT" else b""
            position += 12 + length
        width, height = unpack(">II", png[16:24])
        assert len(decompress(pixels)) == height * (1 + (width + 7) // 8)
        found.append((width, height))
    return found


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        pytest.param({}, [(512, 512)], id="nothing but a prompt"),
        pytest.param({"size": "64x33"}, [(64, 33)], id="a size"),
        pytest.param({"size": "auto", "width": 40}, [(40, 512)], id="a width"),
        pytest.param({"n": 3, "size": "16x16"}, [(16, 16)] * 3, id="three"),
        pytest.param({"size": "1024x1024"}, [(1024, 1024)], id="more than a block holds"),
    ],
)
def test_image_sizes_and_count(fields: JSON, found: list[tuple[int, int]]) -> None:
    assert sizes(draw({**_ENOUGH, **fields})) == found


@pytest.mark.covers("openvino/images and audio", "bytes")
def test_image_response_bytes() -> None:
    body = draw({**_ENOUGH, "n": 2, "size": "8x8"})
    assert body.startswith(b'{"data":[{"b64_json":"iVBORw0KGgo')
    assert body.count(b'"},\n{"b64_json":"') == 1
    assert body.endswith(b'"}]}\n')
    assert len({item["b64_json"] for item in json.loads(body)["data"]}) == 2


def test_images_are_deterministic_per_request() -> None:
    ask = {**_ENOUGH, "size": "32x32"}
    assert draw(ask) == draw(ask)
    assert (
        len({draw({**ask, **fields}) for fields in ({}, {"rng_seed": 1}, {"prompt": "a dog"}, {"guidance_scale": 1.5})})
        == 4
    )


@pytest.mark.covers("openvino/routes", "POST images/generations")
@pytest.mark.covers("openvino/images and audio", "fields")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"prompt": ...}, "prompt field is missing in JSON body", id="no prompt"),
        pytest.param({"prompt": 1}, "prompt field is not a string", id="a number as prompt"),
        pytest.param({"size": 1}, "size field is not a string", id="a number as size"),
        pytest.param({"size": "1024"}, "size field is not in correct format - WxH", id="one side"),
        pytest.param({"size": "ax1"}, "size field is not in correct format - WxH", id="letters"),
        pytest.param({"size": "0x1"}, "size field values must be greater than 0", id="nothing"),
        pytest.param(
            {"response_format": "url"}, "Unsupported response_format: url. Only b64_json is supported.", id="url"
        ),
        pytest.param({"response_format": "b64_json"}, None, id="base64"),
        pytest.param({"negative_prompt": 1}, "negative_prompt field is not a string", id="negative_prompt"),
        pytest.param({"n": "1"}, "n field is not a int", id="n as text"),
        pytest.param({"n": 5}, "num_images_per_prompt/n is greater than maxNumImagesPerPrompt: 4", id="too many"),
        pytest.param({"n": 0}, "num_images_per_prompt/n must be higher than 0", id="none"),
        pytest.param(
            {"n": 1, "num_images_per_prompt": 1},
            "Key: num_images_per_prompt already exists in request options.",
            id="twice",
        ),
        pytest.param({"size": "8x8", "width": 8}, "Key: width already exists in request options.", id="width twice"),
        pytest.param({"max_sequence_length": 1.5}, "max_sequence_length field is not a int", id="max_sequence_length"),
        pytest.param({"guidance_scale": 7}, "guidance_scale field is not a float", id="a whole number as float"),
        pytest.param({"guidance_scale": 1e39}, "guidance_scale field is not a float", id="beyond a float"),
        pytest.param({"guidance_scale": 3e38}, None, id="a large float"),
        pytest.param({"guidance_scale": 2**63}, "guidance_scale field is not a float", id="a 64-bit number as float"),
        pytest.param({"guidance_scale": 2**64}, None, id="a whole number beyond 64 bits, read as a float"),
        pytest.param({"size": f"{2**63}x8"}, "size field is not in correct format - WxH", id="a side beyond 64 bits"),
        pytest.param({"strength": 1.5}, "strength is greater than maxStrength: 1", id="too strong"),
        pytest.param({"strength": -0.5}, "strength is less than minStrength: 0", id="too weak"),
        pytest.param({"width": "8"}, "width field is not a int64", id="a text as width"),
        pytest.param({"width": 0}, "width must be higher than 0", id="no width"),
        pytest.param({"num_inference_steps": -1}, "num_inference_steps field is not a size_t", id="negative steps"),
        pytest.param(
            {"num_inference_steps": 101}, "num_inference_steps is greater than maxNumInferenceSteps: 100", id="steps"
        ),
        pytest.param({"num_inference_steps": 0}, "num_inference_steps must be higher than 0", id="no steps"),
        pytest.param({"rng_seed": 1.5}, "rng_seed field is not a size_t", id="seed"),
        pytest.param({"quality": "hd"}, "Unhandled parameter: quality", id="quality"),
        pytest.param({"user": "me"}, "Unhandled parameter: user", id="user"),
        pytest.param({"stream": True}, "Unhandled parameter: stream", id="stream"),
        pytest.param({"lora_alphas": 1}, "lora_alphas must be an object", id="lora number"),
        pytest.param({"lora_alphas": {"a": "b"}}, "lora_alphas value for 'a' must be a number", id="lora text"),
        pytest.param({"lora_alphas": {}}, None, id="no lora"),
    ],
)
def test_generation_fields(fields: JSON, reason: str | None) -> None:
    body = {name: value for name, value in {**_ENOUGH, **fields}.items() if value is not ...}
    expected = None if reason is None else Refusal(400, failure(reason, _NODE))
    assert LATEST.refusal(body, _PATH) == expected


@pytest.mark.covers("openvino/images and audio", "the engine's failure")
def test_oversized_image_returns_engine_error() -> None:
    refusal = LATEST.refusal({**_ENOUGH, "size": "99999x99999"}, _PATH)
    assert refusal == Refusal(400, failure("Error during images generation", _NODE, "INTERNAL"))


@pytest.mark.covers("openvino/images and audio", "by release")
@pytest.mark.parametrize(
    ("release", "fields", "reason"),
    [
        pytest.param(
            "2025.2", {"n": 2}, "Only 1 image in response can be requested. n value:2 is not supported.", id="two"
        ),
        pytest.param(
            "2025.2", {"n": 11}, "num_images_per_prompt is greater than maxNumImagesPerPrompt: 4", id="too many"
        ),
        pytest.param(
            "2025.2", {"response_format": "b64_json"}, "Unhandled parameter: response_format", id="its format"
        ),
        pytest.param("2025.2", {"width": 0}, None, id="no width"),
        pytest.param("2026.2", {"lora_alphas": {}}, "Unhandled parameter: lora_alphas", id="adapters"),
    ],
)
def test_generation_by_release(release: str, fields: JSON, reason: str | None) -> None:
    expected = None if reason is None else Refusal(400, failure(reason, _NODE))
    assert make_server(release).refusal({**_ENOUGH, **fields}, _PATH) == expected


@pytest.mark.parametrize(
    ("release", "path", "refusal"),
    [
        pytest.param(
            "2025.1", _PATH, Refusal(404, "Mediapipe graph definition with requested name is not found"), id="before"
        ),
        pytest.param("2025.2", "/v3/images/variations", None, id="at first any path"),
        pytest.param(
            "2025.3",
            "/v3/images/variations",
            Refusal(400, failure("Unsupported URI: /v3/images/variations", _NODE)),
            id="variations",
        ),
        pytest.param(
            "2026.3",
            "/v1/images/variations",
            Refusal(400, failure("Unsupported URI: /v1/images/variations", _NODE)),
            id="under v1",
        ),
        pytest.param("2026.3", "/v1/images/generations", None, id="generation under v1"),
        pytest.param(
            "2026.3", _EDITS, Refusal(400, failure("Failed to parse multipart data", _NODE)), id="an edit as JSON"
        ),
    ],
)
def test_paths(release: str, path: str, refusal: Refusal | None) -> None:
    assert make_server(release).refusal(_ENOUGH, path) == refusal


_FIELDS = (("model", "draws"), ("prompt", "a hat"), ("image", _PNG), ("size", "16x16"))


@pytest.mark.covers("openvino/routes", "POST images/edits")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param(
            (("model", "draws"), ("image", _PNG)), "prompt field is missing in multipart body", id="no prompt"
        ),
        pytest.param(
            (*_FIELDS[:2], ("image", b"GARBAGE")), "Image parsing failed: unknown image type", id="no picture"
        ),
        pytest.param(
            (*_FIELDS, ("mask", b"GARBAGE")), "Image parsing failed: unknown image type", id="a mask that is none"
        ),
        pytest.param((*_FIELDS, ("n", "x")), "n field is not a int32", id="letters as number"),
        pytest.param((*_FIELDS, ("strength", "x")), "strength field is not a float", id="letters as float"),
        pytest.param((*_FIELDS, ("rng_seed", "-1")), "rng_seed field is not a size_t", id="a negative seed"),
        pytest.param((*_FIELDS, ("quality", "hd")), "Unhandled parameter: quality", id="quality"),
        pytest.param((*_FIELDS, ("user", "me")), "Unhandled parameter: user", id="user"),
        pytest.param(
            (*_FIELDS, ("response_format", "url")),
            "Unsupported response_format: url. Only b64_json is supported.",
            id="url",
        ),
    ],
)
def test_edit_fields(fields: tuple[tuple[str, str | bytes], ...], reason: str) -> None:
    assert LATEST.refusal(make_form(*fields), _EDITS, headers=HEADERS) == Refusal(400, failure(reason, _NODE))


@pytest.mark.covers("openvino/images and audio", "edits")
@pytest.mark.covers("openvino/releases", "edits")
def test_edits_return_images() -> None:
    plain = draw(make_form(*_FIELDS, ("n", "2"), ("strength", "0.5")), path=_EDITS, headers=HEADERS)
    assert sizes(plain) == [(8, 8)] * 2  # as the picture is
    masked = draw(make_form(*_FIELDS, ("mask", _PNG)), path=_EDITS, headers=HEADERS)
    assert sizes(masked) == [(16, 16)]
    missing = LATEST.refusal(make_form(*_FIELDS[:2]), _EDITS, headers=HEADERS)
    assert missing is not None
    assert "Image field is missing in multipart body" in missing.error
    routed = LATEST.refusal(make_form(*_FIELDS[1:]), "/v3/draws", headers=HEADERS)
    assert routed == Refusal(400, failure("Unsupported URI: /v3/draws", _NODE))


@pytest.mark.covers("openvino/errors", "a broken form")
def test_malformed_multipart_form_returns_500() -> None:
    for kind in ("multipart/form-data", "multipart/form-data; boundary=other"):
        refusal = LATEST.refusal(make_form(*_FIELDS), _EDITS, headers={"Content-Type": kind})
        assert refusal == Refusal(500, "Request of multipart type but failed to parse")


_JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc4\x00\x03c\xff\xc2\x00\x0b\x08\x00\x20\x00\x30\x01"


@pytest.mark.parametrize(
    ("picture", "size"),
    [
        pytest.param(draw_png(20, 41, b""), (16, 40), id="PNG"),
        pytest.param(b"GIF89a" + pack("<HH", 24, 9) + bytes(8), (24, 8), id="GIF"),
        pytest.param(b"BM" + bytes(16) + pack("<ii", 33, -16), (32, 16), id="BMP from the top"),
        pytest.param(_JPEG, (48, 32), id="JPEG"),
        pytest.param(draw_png(3, 9, b""), (8, 8), id="a narrow one"),
        pytest.param(b"GIF89a", (512, 512), id="a head that is cut off"),
        pytest.param(_JPEG[:9], (512, 512), id="a JPEG without a frame"),
    ],
)
def test_edit_size_follows_input_image(picture: bytes, size: tuple[int, int]) -> None:
    assert sizes(draw(make_form(*_FIELDS[:2], ("image", picture)), path=_EDITS, headers=HEADERS)) == [size]


@pytest.mark.covers("openvino/images and audio", "not built")
def test_missing_pipeline_returns_412() -> None:
    def send(release: str, *fields: tuple[str, bytes]) -> Refusal | None:
        form = make_form(("model", "fills"), ("prompt", "a hat"), ("image", _PNG), *fields)
        return make_server(release).refusal(form, _EDITS, headers=HEADERS)

    text = "Mediapipe graph precondition failed - FAILED_PRECONDITION: CalculatorGraph::Run() failed: \n"
    text += f'Calculator::Process() for node "{_NODE}" failed: %s pipeline is not available for this model'
    assert LATEST.refusal({"model": "fills", "prompt": "a hat"}, _PATH) == Refusal(412, text % "Text-to-image")
    assert send("latest") == Refusal(412, text % "Image-to-image")
    assert send("latest", ("mask", _PNG)) is None
    assert send("latest", ("mask", b"none")) is not None
    assert send("2026.0") is None
