"""``POST /images/generations``: parse a request, and draw small images of the requested size.

Sources: openai-python, ``types/image_generate_params.py`` and ``image_gen_stream_event.py``, MicrosoftDocs
azure-ai-docs, "dall-e-rest", for the content filter results (Azure OpenAI); Azure/azure-rest-api-specs,
specification/ai/ModelInference, versions of 2025 in draft (all other paths).
"""

from base64 import b64encode
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, PlainValidator

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Event, Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, as_text, dump_json
from emulator.core.plan import Plan
from emulator.core.requests import EmbeddingRequest
from emulator.core.rng import derive_key, draw_integer, draw_uuid
from emulator.core.text import parse_integer
from emulator.encoding.images import IMAGE_ENCODERS, draw_png
from emulator.encoding.sse import encode_event
from emulator.protocols.choice_events import FINISH, PLAIN, USAGE
from emulator.vendors.azure.chat.shapes import HARMS, NOT_DETECTED
from emulator.vendors.azure.decoder import Integer, WireModel, validate
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.profile import AzureService, DeploymentProfile
from emulator.vendors.azure.request import ParsedRequest, parse_extras, parse_request

_MAX_SIDE = 4096  # pixels of a side
_DIMENSIONS = 1  # of the vectors that the plan carries and no response shows
_TOKENS = {"low": 272, "medium": 1056, "high": 4160}  # output tokens of a square image of gpt-image-1
_STRICT = ConfigDict(strict=True)
_GPT_FIELDS = ("background", "moderation", "output_compression", "output_format", "partial_images", "stream")
_QUALITIES = {"dall-e-3": ("standard", "hd"), "dall-e-2": ("standard",)}
_LONGEST = {"dall-e-3": 4000, "dall-e-2": 1000}  # characters of a prompt
_FILTER_RESULTS: Object = {
    "content_filter_results": HARMS,
    "prompt_filter_results": {**HARMS, "jailbreak": NOT_DETECTED, "profanity": NOT_DETECTED},
}


def _read_size(value: JSON) -> tuple[int, int]:
    """Parse ``1024x1024``, ``auto``, or an object of width and height."""
    if isinstance(value, dict):
        sides = [value.get("width"), value.get("height")]
    elif isinstance(value, str):
        sides = [parse_integer(side) if side.isdecimal() else None for side in value.split("x")]
    else:
        sides = []
    if value == "auto":
        return 1024, 1024
    width, height = sides if len(sides) == 2 else (None, None)
    if not isinstance(width, int) or not isinstance(height, int):
        raise ValueError("expected a size such as 1024x1024.")
    if not (1 <= width <= _MAX_SIDE and 1 <= height <= _MAX_SIDE):
        raise ValueError(f"each side must have 1 to {_MAX_SIDE} pixels.")
    return width, height


class ImageRequest(WireModel):
    """Fields that both services share."""

    model_config = _STRICT

    prompt: Annotated[str, Field(min_length=1)]
    n: Annotated[Integer, Field(ge=1, le=10)] | None = None
    size: Annotated[tuple[int, int], PlainValidator(_read_size)] | None = None
    model: str | None = None


class OpenAIImageRequest(ImageRequest):
    """Request of Azure OpenAI."""

    background: Literal["transparent", "opaque", "auto"] | None = None
    moderation: Literal["low", "auto"] | None = None
    output_compression: Annotated[Integer, Field(ge=0, le=100)] | None = None
    output_format: Literal["png", "jpeg", "webp"] | None = None
    partial_images: Annotated[Integer, Field(ge=0, le=3)] | None = None
    quality: Literal["standard", "hd", "low", "medium", "high", "auto"] | None = None
    response_format: Literal["url", "b64_json"] | None = None
    stream: bool | None = None
    style: Literal["vivid", "natural"] | None = None
    user: str | None = None


class DraftImageRequest(ImageRequest):
    """Request of Model Inference (draft)."""

    negative_prompt: str | None = None
    image_prompt: dict[str, JSON] | None = None
    output_format: Literal["png", "jpg"] | None = None
    quality: Literal["standard", "hd"] | None = None
    seed: Integer | None = None


def parse_images(request: Request, service: AzureService) -> InferenceCall:
    """Parse a request; the plan has one vector per image."""
    parsed = parse_request(request, service, "images")
    openai = parsed.settings.profile == "aoai"
    wire = validate(OpenAIImageRequest if openai else DraftImageRequest, parsed.body)
    known = type(wire).model_fields
    if parse_extras(parsed, known, ()) and openai:
        raise refusals.unrecognized([name for name in parsed.fields if name not in known])
    validate_fields(wire, parsed)
    count = wire.n or 1
    prompt_tokens = service.count_prompt(EmbeddingRequest(inputs=(wire.prompt,)), parsed.deployment)
    return InferenceCall(
        deployment=parsed.deployment,
        is_cpu_heavy=True,
        request=EmbeddingRequest(inputs=(wire.prompt,) * count, dimensions=_DIMENSIONS),
        codec=ImageCodec(profile=parsed.profile, wire=wire, size=wire.size or (1024, 1024), count=count),
        stream=isinstance(wire, OpenAIImageRequest) and wire.stream is True,
        prompt_tokens=prompt_tokens,
        repeatable=True,
    )


def validate_fields(wire: ImageRequest, parsed: ParsedRequest) -> None:
    """Raise for fields that contradict one another or that the model lacks."""
    if isinstance(wire, OpenAIImageRequest):
        model = parsed.profile.model
        family = next((name for name in _QUALITIES if model.startswith(name)), "")
        _validate_size(parsed)
        own = parsed.profile.traits.get("provider") == "OpenAI"
        if own:
            _validate_family(wire, family)
        if wire.partial_images and not wire.stream:
            text = "The 'partial_images' parameter is only allowed when 'stream' is enabled."
            raise refusals.contradicts(text, "partial_images")
        if wire.stream and (wire.n or 1) > 1:
            raise refusals.contradicts("Streaming is only supported with n=1.", "n", "invalid_value")
        if family == "dall-e-3" and (wire.n or 1) > 1:
            text = "Invalid value for 'n': you must provide n=1 for this model."
            raise refusals.contradicts(text, "n", "invalid_value")
        if own and not family:
            _validate_output(wire)


def _validate_family(wire: OpenAIImageRequest, family: str) -> None:
    """Raise for what a family of models lacks; ``family`` is empty for GPT Image.

    Sources: OpenAI API reference, "Create image"; texts: issue threads on ``gpt-image-1`` (``style``, ``standard``).
    """
    lacking = _GPT_FIELDS if family else ("response_format", "style")
    given = next((name for name in lacking if getattr(wire, name) is not None), None)
    if given is not None:
        raise refusals.unknown_parameter(given)
    qualities = _QUALITIES.get(family, ("low", "medium", "high", "auto"))
    if wire.quality not in (None, "auto", *qualities):
        raise refusals.invalid_value("quality", wire.quality, qualities)
    most = _LONGEST.get(family, 32_000)
    if len(wire.prompt) > most:
        raise refusals.too_long("prompt", wire.prompt, most)


def _validate_output(wire: OpenAIImageRequest) -> None:
    """Raise for what a format cannot hold. Source: errors of the service in public threads."""
    if wire.background == "transparent" and wire.output_format == "jpeg":
        text = "Transparent background is not supported for JPEG output format"
        raise refusals.contradicts(text, "background", "invalid_value")
    compression = wire.output_compression
    if compression is not None and compression < 100 and wire.output_format not in ("jpeg", "webp"):
        text = "Compression less than 100 is not supported for PNG output format"
        error = refusals.contradicts(text, None, "invalid_png_output_compression")
        error.details = {**error.details, "openai_type": "image_generation_user_error"}
        raise error


def _validate_size(parsed: ParsedRequest) -> None:
    """Raise for a size that the model lacks."""
    given, sizes = parsed.fields.get("size"), parsed.profile.traits.get("sizes")
    if isinstance(given, str) and isinstance(sizes, list) and given not in sizes:
        raise refusals.invalid_value("size", given, [as_text(size) for size in sizes])


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageCodec:
    """Codec of images, which are drawn from the key of the plan.

    Fields:
        seen: tokens of the images in the request.
        event: first part of the names of events.
    """

    profile: DeploymentProfile
    wire: ImageRequest
    size: tuple[int, int]
    count: int
    seen: int = 0
    event: str = "image_generation"

    def render(self, plan: Plan, request: Request) -> Response:
        body = self._shape_openai(plan, request) if isinstance(self.wire, OpenAIImageRequest) else self._shape(plan)
        return Response(200, dump_json(body), answer_headers(plan, request, self.profile))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        headers = answer_headers(plan, request, self.profile, stream=True)
        return StreamingResponse(self._stream(plan), headers)

    def _stream(self, plan: Plan) -> Iterator[Event]:
        """Yield the partial images, then the complete one."""
        wire = self.wire
        assert isinstance(wire, OpenAIImageRequest)
        counted = self._count(plan, wire)
        usage = counted.pop("usage")
        for number in range(wire.partial_images or 0):
            partial: Object = {"b64_json": self._draw(plan, number + 1), "partial_image_index": number}
            yield plan.due, self._event("partial_image", plan, {**partial, **counted}), 0, PLAIN
        whole = self._event("completed", plan, {"b64_json": self._draw(plan, 0), **counted, "usage": usage})
        yield plan.due, whole, 0, FINISH | USAGE

    def _event(self, kind: str, plan: Plan, fields: Object) -> bytes:
        name = f"{self.event}.{kind}"
        event: Object = {"type": name, "created_at": int(plan.created), **fields}
        return b"event: %b\n" % name.encode() + encode_event(event)

    def _draw(self, plan: Plan, number: int) -> str:
        return b64encode(IMAGE_ENCODERS[self._format](derive_key(plan.key, "picture", number), *self.size)).decode()

    @property
    def _format(self) -> str:
        form = getattr(self.wire, "output_format", None) or "png"
        return "jpeg" if form == "jpg" else str(form)

    def _shape_openai(self, plan: Plan, request: Request) -> Object:
        wire = self.wire
        assert isinstance(wire, OpenAIImageRequest)
        filter_results: Object = {**_FILTER_RESULTS} if self.profile.filtered else {}
        if not self.profile.model.startswith("dall-e"):
            data: list[JSON] = [
                {"b64_json": self._draw(plan, number), **filter_results} for number in range(self.count)
            ]
            return {"created": int(plan.created), "data": data, **self._count(plan, wire)}
        revised: Object = {**filter_results, "revised_prompt": wire.prompt}
        if wire.response_format == "b64_json":
            drawn: list[JSON] = [{**revised, "b64_json": self._draw(plan, n)} for n in range(self.count)]
        else:
            width, height = self.size
            place = f"{request.base_url}/openai/generated/{width}x{height}"
            keys = [derive_key(plan.key, "picture", number).hex() for number in range(self.count)]
            drawn = [{**revised, "url": f"{place}/{key}.png"} for key in keys]
        return {"created": int(plan.created), "data": drawn}

    def _count(self, plan: Plan, wire: OpenAIImageRequest) -> Object:
        quality = wire.quality if wire.quality in _TOKENS else "high"
        output = _TOKENS[str(quality)] * self.count
        width, height = self.size
        tokens = plan.usage.prompt_tokens
        return {
            "background": "opaque" if wire.background in (None, "auto") else wire.background,
            "output_format": self._format,
            "quality": quality,
            "size": f"{width}x{height}",
            "usage": {
                "input_tokens": tokens,
                "input_tokens_details": {"image_tokens": self.seen, "text_tokens": tokens - self.seen},
                "output_tokens": output,
                "total_tokens": tokens + output,
            },
        }

    def _shape(self, plan: Plan) -> Object:
        seed = getattr(self.wire, "seed", None)
        seeds = [seed if seed is not None else draw_integer(plan.key, 2**31, "seed", n) for n in range(self.count)]
        return {
            "id": draw_uuid(plan.key, "image"),
            "created": int(plan.created),
            "model": self.profile.model,
            "data": [{"image": self._draw(plan, n), "seed": seeds[n]} for n in range(self.count)],
            "usage": {"image_generations": self.count},
            "object": "image.generation",
        }


def fetch_image(request: Request, service: AzureService) -> Response:
    """``GET /openai/generated/{size}/{key}.png``: serve an image by the URL of a response."""
    try:
        width, height = _read_size(request.params["size"])
        key = bytes.fromhex(request.params["key"])
    except ValueError:
        raise EmulatedError(ErrorKind.NOT_FOUND, details={"path": request.path}) from None
    return Response(200, draw_png(key, width, height), (("Content-Type", "image/png"),))
