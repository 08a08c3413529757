"""``POST /images/edits``: parse a form of images, a mask and a prompt; the images of the answer are drawn anew.

Sources: openai/openai-openapi, ``CreateImageEditRequest``; learn.microsoft.com, "dall-e" (Azure OpenAI, image edits);
openai-node issue 1468, openai-ruby issue 147, go-openai issue 1012 (texts about files); OpenAI, "Images and vision"
(tokens of an image). Texts about masks and broken images are unverified.
"""

from collections.abc import Sequence
from math import ceil
from typing import Literal

from pydantic import ConfigDict

from emulator.core.calls import InferenceCall
from emulator.core.errors import EmulatedError
from emulator.core.http import Request
from emulator.core.json import JSON, as_object
from emulator.core.requests import EmbeddingRequest
from emulator.encoding.images import measure_picture, measure_webp
from emulator.encoding.multipart import Form
from emulator.encoding.multipart import FormField as Part
from emulator.vendors.azure.decoder import validate
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.errors.refusals import validate_names
from emulator.vendors.azure.forms import read_form, read_members
from emulator.vendors.azure.images import ImageCodec, OpenAIImageRequest, validate_fields
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import parse_request
from emulator.vendors.azure.url_kind import OPENAI_KINDS

_MAX_IMAGES = 16
_TYPES = {"image/jpeg": b"\xff\xd8", "image/png": b"\x89PNG\r\n\x1a\n", "image/webp": b"RIFF"}
_BASE, _TILE, _SIDE = 65, 129, 512  # tokens of an image and of each tile of it; pixels of a tile
_SQUARE, _OBLONG = 4160, 6240  # further tokens of an image of high fidelity
_WITH_ALPHA = (3, 4, 6)  # colour types of PNG; a palette may have it


class EditRequest(OpenAIImageRequest):
    """Text fields of a form, read as the values that they write."""

    model_config = ConfigDict(strict=False)

    input_fidelity: Literal["high", "low"] | None = None


def parse_edit(request: Request, service: AzureService) -> InferenceCall:
    """Parse a request; the plan has one vector per image."""
    forms: list[Form] = []

    def read(request: Request, settings: object) -> JSON:
        forms.append(read_form(request))
        return read_members(forms[0])

    parsed = parse_request(request, service, "images", OPENAI_KINDS, "image_edits", read=read)
    if not parsed.profile.traits.get("edits"):
        raise refusals.wrong_route("image_edits", "images", parsed.profile.model)
    validate_names(parsed.fields, {*EditRequest.model_fields, "image"})
    images = _read_images(forms[0], as_object(parsed.body))
    wire = validate(EditRequest, {name: value for name, value in parsed.fields.items() if name != "image"})
    validate_fields(wire, parsed)
    _validate_mask(forms[0], images)
    seen = sum(_count_tokens(size, high=wire.input_fidelity == "high") for size in images)
    (text,) = service.count_prompt(EmbeddingRequest(inputs=(wire.prompt,)), parsed.deployment)
    count = wire.n or 1
    return InferenceCall(
        deployment=parsed.deployment,
        is_cpu_heavy=True,
        request=EmbeddingRequest(inputs=(wire.prompt,) * count, dimensions=1),
        codec=ImageCodec(
            profile=parsed.profile,
            wire=wire,
            size=wire.size or (1024, 1024),
            count=count,
            seen=seen,
            event="image_edit",
        ),
        stream=wire.stream is True,
        prompt_tokens=(text + seen,),
        repeatable=True,
    )


def _read_images(form: Form, members: dict[str, JSON]) -> Sequence[tuple[int, int]]:
    parts = [field for field in form.fields if field.name in ("image", "image[]") and field.filename is not None]
    if not parts and "image" in members:
        raise refusals.invalid_type("image", "", "one of an array of files or file")
    if not parts:
        raise refusals.missing_parameter("image")
    if len(parts) > _MAX_IMAGES:
        raise refusals.too_long("image", [part.filename for part in parts], _MAX_IMAGES)
    listed = len(parts) > 1 or parts[0].name == "image[]"
    return [_measure(part, f"image[{number}]" if listed else "image", number + 1) for number, part in enumerate(parts)]


def _measure(part: Part, name: str, number: int) -> tuple[int, int]:
    kind = part.content_type
    if not kind:
        text = f"Invalid file '{name}': failed to determine mimetype. Ensure you are providing the file's mimetype as"
        raise refusals.contradicts(f"{text} part of the 'Content-Type' header.", name, "missing_file_mimetype")
    if kind not in _TYPES:
        known = "Supported file formats are 'image/jpeg', 'image/png', and 'image/webp'."
        text = f"Invalid file '{name}': unsupported mimetype ('{kind}'). {known}"
        raise refusals.contradicts(text, name, "unsupported_file_mimetype")
    data = part.content
    size = measure_webp(data) if kind == "image/webp" else measure_picture(data)
    if size is None or not data.startswith(_TYPES[kind]):
        text = f"Invalid image file or mode for image {number}, please check your image file."
        raise refusals.contradicts(text, name, "invalid_image_file")
    return size


def _validate_mask(form: Form, images: Sequence[tuple[int, int]]) -> None:
    """Raise unless the mask is a PNG of the first image's size with an alpha channel."""
    mask = next((field for field in form.fields if field.name == "mask" and field.filename is not None), None)
    if mask is None:
        return
    if not mask.content.startswith(_TYPES["image/png"]) or len(mask.content) < 26:
        raise _error_mask("mask must be a PNG file")
    if measure_picture(mask.content) != images[0]:
        raise _error_mask("mask size does not match image size")
    if mask.content[25] not in _WITH_ALPHA:
        raise _error_mask("mask image missing alpha channel")


def _error_mask(reason: str) -> EmulatedError:
    return refusals.contradicts(f"Invalid mask image format - {reason}", "mask", "invalid_mask_image_format")


def _count_tokens(size: tuple[int, int], *, high: bool) -> int:
    """Return the tokens of an image, whose shorter side is scaled to a tile."""
    shorter, longer = sorted(size)
    tiles = ceil(longer / max(1, shorter) - 1e-9)
    more = (_SQUARE if longer == shorter else _OBLONG) if high else 0
    return _BASE + _TILE * tiles + more
