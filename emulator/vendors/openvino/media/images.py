"""Parse ``images/generations`` requests, since 2025.2, and ``images/edits``, since 2025.3; draw images.

Images have the same bytes on every machine. Variations are an unsupported URI. Source: model_server,
src/image_gen/http_image_gen_calculator.cc and imagegenutils.cpp.
"""

import base64
import hashlib
from struct import pack
from zlib import adler32, crc32

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Headers, Request, Response
from emulator.core.json import Object, dump_json
from emulator.core.plan import Plan
from emulator.core.requests import CompletionRequest
from emulator.core.vendor import WholeCodec
from emulator.encoding.images import measure_picture
from emulator.encoding.multipart import Form
from emulator.vendors.openvino.chat.media import is_picture
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.media.options import TEXT_OPTIONS, Options, parse_options, take_member, take_text
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.request import ParsedRequest

_UNHANDLED = ("background", "moderation", "output_compression", "output_format", "quality", "style")
_KNOWN = frozenset(
    ("prompt", "image", "model", "size", "height", "width", "n", "num_images_per_prompt", "num_inference_steps")
).union(("rng_seed", "strength", "guidance_scale", "max_sequence_length", *TEXT_OPTIONS))
_MAX_PIXELS = 4096 * 4096  # the engine fails beyond
_STEP = 8  # pixels; image sides are multiples of it
_SIDE = 512  # pixels; default of models without a size
_LORA = (
    "lora_alphas is not supported when no dynamic LoRA adapters are available. "
    "Alpha values cannot be overridden for STATIC (NPU) or FUSE mode adapters."
)
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_STORED = 65535  # maximum bytes of a stored block
_TILE = 32  # pixels; height of a tile, which is eight wide


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class ImagesCodec(WholeCodec):
    """Codec of ``count`` images, equal for equal requests."""

    headers: Headers
    width: int
    height: int
    count: int
    key: bytes

    def render(self, plan: Plan, request: Request) -> Response:
        drawn = [draw_png(self.width, self.height, self.key + bytes([number])) for number in range(self.count)]
        items = b",\n".join([b'{"b64_json":"%b"}' % base64.b64encode(png) for png in drawn])
        return Response(200, b'{"data":[%b]}\n' % items, self.headers)


def parse_images(parsed: ParsedRequest) -> InferenceCall:
    """Parse a prompt, with or without an initial image."""
    path, release = parsed.request.path, parsed.release
    roots = ("/v3/", "/v1/") if release.v1_alias else ("/v3/",)
    if not release.since(2025, 3) or path.startswith(tuple([root + "images/generations" for root in roots])):
        prompt, options = _parse_generation(parsed)
    elif path.startswith(tuple([root + "images/edits" for root in roots])):
        prompt, options = _parse_edit(parsed)
    else:
        raise refusal(f"Unsupported URI: {path}")
    _validate_bounds(parsed, options)
    _validate_pipeline(parsed)
    width, height = _find_size(parsed, options)
    if width * height > _MAX_PIXELS:
        raise refusal("Error during images generation", word="INTERNAL")
    return InferenceCall(
        deployment=parsed.deployment,
        is_cpu_heavy=True,
        request=CompletionRequest(prompts=(prompt,), known=""),
        codec=ImagesCodec(
            headers=parsed.settings.json_headers,
            width=width,
            height=height,
            count=int(options.number("num_images_per_prompt") or 1),
            key=dump_json([prompt, parsed.deployment.name, options.values]) + _find_image(parsed),
        ),
        served=parsed.method,
    )


def _find_size(parsed: ParsedRequest, options: Options) -> tuple[int, int]:
    """Return width and height in pixels; an edit without a mask keeps its image's size, cut to multiples of 8.

    Source: openvino.genai, stable_diffusion_pipeline.hpp, ``compute_dim``.
    """
    form = parsed.form
    if form is not None and not form.file("mask") and (found := measure_picture(form.file("image"))):
        width, height = (max(side - side % _STEP, _STEP) for side in found)
    else:
        width, height = (int(options.number(side) or _SIDE) for side in ("width", "height"))
    return width, height


def _find_image(parsed: ParsedRequest) -> bytes:
    form = parsed.form
    return form.file("image") + form.file("mask") if form is not None else b""


def _parse_generation(parsed: ParsedRequest) -> tuple[str, Options]:
    body = parsed.body
    if parsed.form is not None or not body:
        raise refusal("Failed to parse JSON")
    if "prompt" not in body:
        raise refusal("prompt field is missing in JSON body")
    prompt = body["prompt"]
    if not isinstance(prompt, str):
        raise refusal("prompt field is not a string")
    options = parse_options(parsed.release, lambda name, kind: take_member(body, name, kind))
    for name in _UNHANDLED:
        if name in body:
            raise refusal(f"Unhandled parameter: {name}")
    _default_size(parsed, options)
    known = _list_fields(parsed.release)
    for name in body:
        if name not in known:
            raise refusal(f"Unhandled parameter: {name}")
    _validate_alphas(body)
    return prompt, options


def _list_fields(release: Release) -> frozenset[str]:
    known = _KNOWN | {"response_format"} if release.since(2025, 3) else _KNOWN
    return known | {"lora_alphas"} if release.since(2026, 3) else known


def _validate_alphas(body: Object) -> None:
    """Raise if there are adapter weights, as no graph has adapters."""
    alphas = body.get("lora_alphas", {})
    if not isinstance(alphas, dict):
        raise refusal("lora_alphas must be an object")
    for name, value in alphas.items():
        if type(value) not in (int, float):
            raise refusal(f"lora_alphas value for '{name}' must be a number")
    if alphas:
        raise refusal(_LORA)


def _parse_edit(parsed: ParsedRequest) -> tuple[str, Options]:
    form = parsed.form
    if form is None:
        raise refusal("Failed to parse multipart data")
    prompt = form.text("prompt")
    if not prompt:
        raise refusal("prompt field is missing in multipart body")
    picture = form.file("image")
    if not picture:  # the text around it is unverified
        raise refusal("Image field is missing in multipart body", word="INTERNAL")
    _validate_picture(picture)
    options = parse_options(parsed.release, lambda name, kind: take_text(form, name, kind))
    _validate_fields(parsed, form)
    _default_size(parsed, options)
    return prompt, options


def _validate_fields(parsed: ParsedRequest, form: Form) -> None:
    """Raise for unknown fields, OpenAI's first."""
    known = _list_fields(parsed.release) | ({"mask"} if parsed.release.since(2026, 1) else frozenset())
    unknown = [name for name in _UNHANDLED if form.text(name)]
    unknown += [name for name in form.names() if name not in known]
    if unknown:
        raise refusal(f"Unhandled parameter: {unknown[0]}")
    if form.text("lora_alphas"):
        raise refusal(_LORA)


def _validate_picture(picture: bytes) -> None:
    if not is_picture(picture):
        raise refusal("Image parsing failed: unknown image type")


def _default_size(parsed: ParsedRequest, options: Options) -> None:
    """Fill in absent sides from the graph's trait ``default_resolution``."""
    width, _, height = str(parsed.deployment.traits.get("default_resolution", "")).partition("x")
    for name, text in (("height", height), ("width", width)):
        if text.isdigit():
            options.values.setdefault(name, int(text))


def _validate_bounds(parsed: ParsedRequest, options: Options) -> None:
    """Raise if a value exceeds the graph's bounds, which are traits of its deployment."""
    _validate_count(parsed, options)
    steps = options.number("num_inference_steps")
    if steps is not None:
        limit = _find_bound(parsed, "max_num_inference_steps", 100)
        _validate_maximum(steps, limit, "num_inference_steps is greater than maxNumInferenceSteps")
    for name in ("num_inference_steps", "width", "height"):
        value = options.number(name)
        if value is not None and value <= 0 and parsed.release.since(2025, 3):
            raise refusal(f"{name} must be higher than 0")
    strength = options.number("strength") or 0.0
    if strength > 1:
        raise refusal("strength is greater than maxStrength: 1")
    if strength < 0:
        raise refusal("strength is less than minStrength: 0")


def _validate_pipeline(parsed: ParsedRequest) -> None:
    """Raise if the pipeline is missing in the graph's trait ``pipelines``; without the trait there are all three."""
    mask = parsed.form.file("mask") if parsed.form is not None else b""
    name = "Text-to-image" if parsed.form is None else "Inpainting" if mask else "Image-to-image"
    built = parsed.deployment.traits.get("pipelines")
    if isinstance(built, list) and name.lower() not in built and parsed.release.since(2026, 1):
        raise refusal(f"{name} pipeline is not available for this model", word="FAILED_PRECONDITION")
    if mask:
        _validate_picture(mask)


def _validate_count(parsed: ParsedRequest, options: Options) -> None:
    count, later = options.number("num_images_per_prompt"), parsed.release.since(2025, 3)
    if count is None:
        return
    label = "num_images_per_prompt/n" if later else "num_images_per_prompt"
    limit = _find_bound(parsed, "max_num_images_per_prompt", 10)
    _validate_maximum(count, limit, f"{label} is greater than maxNumImagesPerPrompt")
    if count <= 0 and later:
        raise refusal(f"{label} must be higher than 0")
    if count != 1 and not later:
        raise refusal(f"Only 1 image in response can be requested. n value:{int(count)} is not supported.")


def _validate_maximum(value: float, limit: int, reason: str) -> None:
    if value > limit:
        raise refusal(f"{reason}: {limit}")


def _find_bound(parsed: ParsedRequest, trait: str, default: int) -> int:
    value = parsed.deployment.traits.get(trait)
    return value if isinstance(value, int) else default


def draw_png(width: int, height: int, key: bytes) -> bytes:
    """Draw tiles of two colours from ``key``, one bit per pixel; uncompressed, as zlib versions differ in bytes."""
    drawn = hashlib.sha256(key).digest()
    row_bytes = (width + 7) // 8
    rows = []
    for band in range(0, height, _TILE):
        pattern = bytes([drawn[(band // _TILE + tile) % len(drawn)] for tile in range(4)])
        row = b"\0" + (pattern * (row_bytes // len(pattern) + 1))[:row_bytes]
        rows.append(row * min(_TILE, height - band))
    head = pack(">IIBBBBB", width, height, 1, 3, 0, 0, 0)
    chunks = (
        _encode_chunk(b"IHDR", head),
        _encode_chunk(b"PLTE", drawn[:6]),
        _encode_chunk(b"IDAT", _store(b"".join(rows))),
    )
    return _SIGNATURE + b"".join(chunks) + _encode_chunk(b"IEND", b"")


def _encode_chunk(kind: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))


def _store(data: bytes) -> bytes:
    """Encode a zlib stream of stored blocks."""
    blocks = []
    for start in range(0, len(data), _STORED):
        block = data[start : start + _STORED]
        last = start + _STORED >= len(data)
        blocks.append(pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block)
    return b"\x78\x01" + b"".join(blocks) + pack(">I", adler32(data))
