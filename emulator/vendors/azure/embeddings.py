"""``POST /embeddings`` and ``/images/embeddings``: parse a request of texts or images, and render vectors.

Sources: Azure Machine Learning reference, Embeddings; Azure/azure-sdk-assets, recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.http import Headers, Request, Response
from emulator.core.json import JSON, as_array, as_number, dump_json
from emulator.core.plan import Plan
from emulator.core.requests import EmbeddingRequest
from emulator.core.rng import draw_uuid
from emulator.core.vendor import WholeCodec
from emulator.encoding import floats
from emulator.vendors.azure.bodies import (
    EmbeddingBody,
    EmbeddingOptions,
    ImageEmbeddingRequest,
    StrictEmbeddingBody,
    StrictImageEmbeddingRequest,
    parse_inputs,
    validate_tokens,
)
from emulator.vendors.azure.chat.messages import validate_data
from emulator.vendors.azure.decoder import validate
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.models import model_name
from emulator.vendors.azure.profile import AzureService, DeploymentProfile
from emulator.vendors.azure.request import ParsedRequest, parse_extras, parse_request
from emulator.vendors.azure.url_kind import classify_url

if TYPE_CHECKING:
    from emulator.encoding.floats import Rows

MAX_INPUTS = 1024
MAX_OPENAI_INPUTS = 2048  # learn.microsoft.com, "Azure OpenAI quotas and limits"
PICTURE_TOKENS = 1000  # as recorded of a Cohere endpoint
_KNOWN = frozenset(EmbeddingBody.model_fields)
_NATIVE = frozenset({"user"})

DUMPS: Mapping[str, Callable[[Rows], list[bytes]]] = {
    "float": floats.dump_float32,
    "base64": floats.dump_base64,
    "int8": floats.dump_int8,
    "uint8": floats.dump_uint8,
    "binary": floats.pack_binary,
    "ubinary": floats.pack_ubinary,
}


def parse_embeddings(request: Request, service: AzureService) -> InferenceCall:
    """Parse a request of texts or token ids; ``input_type`` changes the vectors but not the token counts."""
    parsed = parse_request(request, service, "embeddings")
    deployment = parsed.deployment
    wire = validate(StrictEmbeddingBody if parsed.settings.strict_types else EmbeddingBody, parsed.body)
    _check_user(parse_extras(parsed, _KNOWN, _NATIVE).get("user"), parsed.profile)
    inputs = parse_inputs(wire.input)
    validate_vectors(wire, len(inputs), parsed)
    validate_tokens(inputs, "input", service, deployment)
    prompt_tokens = service.count_prompt(EmbeddingRequest(inputs=inputs), deployment)
    if deployment.context is not None and max(prompt_tokens) > deployment.context:
        raise refusals.context_exceeded(deployment.context, max(prompt_tokens), model_name(deployment))
    return InferenceCall(
        deployment=deployment,
        request=build_embedding_request(wire, inputs),
        codec=EmbeddingsCodec(parsed.profile, wire.encoding, _count_characters(inputs)),
        repeatable=True,
        prompt_tokens=prompt_tokens,
    )


def parse_image_embeddings(request: Request, service: AzureService) -> InferenceCall:
    """Parse a request of images: each counts :data:`PICTURE_TOKENS` plus the tokens of its text."""
    if classify_url(request).settings(service.settings).profile in ("managed", "aoai"):
        raise refusals.no_such_path(request.path)
    parsed = parse_request(request, service, "embeddings")
    deployment = parsed.deployment
    if not parsed.profile.supports("images"):
        raise refusals.wrong_route("image_embeddings", deployment.task, deployment.name)
    wire = validate(StrictImageEmbeddingRequest if parsed.settings.strict_types else ImageEmbeddingRequest, parsed.body)
    parse_extras(parsed, _KNOWN, _NATIVE)
    validate_vectors(wire, len(wire.input), parsed)
    for position, picture in enumerate(wire.input):
        if not picture.image.startswith(("http://", "https://")):
            validate_data({"image": picture.image}, ("input", position), parsed.profile)
    texts = tuple([picture.text or "" for picture in wire.input])
    counts = service.count_prompt(EmbeddingRequest(inputs=texts), deployment)
    return InferenceCall(
        deployment=deployment,
        request=build_embedding_request(
            wire, tuple([f"{picture.image}\n{picture.text or ''}" for picture in wire.input])
        ),
        codec=EmbeddingsCodec(parsed.profile, wire.encoding, _count_characters(texts), images=len(texts)),
        repeatable=True,
        prompt_tokens=tuple([PICTURE_TOKENS + (n if text else 0) for n, text in zip(counts, texts, strict=True)]),
    )


def build_embedding_request(wire: EmbeddingOptions, inputs: tuple[str | tuple[int, ...], ...]) -> EmbeddingRequest:
    purpose = "" if wire.input_type in (None, "text") else f"{wire.input_type}: "
    return EmbeddingRequest(inputs=inputs, dimensions=wire.dimensions, instruction=purpose)


def validate_vectors(wire: EmbeddingOptions, count: int, parsed: ParsedRequest) -> None:
    """Raise for too many inputs, or a size or encoding that the model lacks."""
    deployment, traits = parsed.deployment, parsed.profile.traits
    most = traits.get("max_inputs", MAX_OPENAI_INPUTS if parsed.profile.openai else MAX_INPUTS)
    if count > as_number(most):
        raise (
            _error_count(count, as_number(most)) if parsed.profile.openai else refusals.not_supported(("input",), count)
        )
    dimensions, encoding = wire.dimensions, wire.encoding
    if not _has_size(parsed, dimensions):
        if parsed.profile.openai:
            raise _error_size(parsed, dimensions)
        raise refusals.not_supported(("dimensions",), dimensions)
    packed = encoding in ("binary", "ubinary") and (dimensions or deployment.dimensions) % 8  # signs fill whole bytes
    encodings = traits.get("encodings")
    if packed or encoding not in (DUMPS if encodings is None else as_array(encodings)):
        raise refusals.not_supported(("encoding_format",), encoding)


def _error_count(count: int, most: float) -> EmulatedError:
    text = f"Expected an array with maximum length {most:.0f}, but got an array with length {count} instead."
    return refusals.contradicts(f"Invalid 'input': array too long. {text}", "input", "array_above_max_length")


def _error_size(parsed: ParsedRequest, dimensions: int | None) -> EmulatedError:
    """Return the error for an unsupported size. Source: openai/openai-python issue threads."""
    text = (
        f"Invalid value for 'dimensions' = {dimensions}. Must be less than or equal to {parsed.deployment.dimensions}."
    )
    if not parsed.profile.supports("dimensions"):
        text = "This model does not support specifying dimensions."
    return refusals.contradicts(text, None)


def _check_user(user: JSON, profile: DeploymentProfile) -> None:
    if profile.openai and user is not None and not isinstance(user, str):
        raise refusals.breaks_schema([{"type": "string_type", "loc": ("user",), "msg": "", "input": user}])


def _has_size(parsed: ParsedRequest, dimensions: int | None) -> bool:
    most = parsed.deployment.dimensions
    return dimensions in (None, most) or (parsed.profile.supports("dimensions") and (dimensions or 0) < most)


def _count_characters(inputs: Sequence[str | tuple[int, ...]]) -> int:
    return sum([len(text) for text in inputs if isinstance(text, str)])


@fast_dataclass(frozen=True, slots=True)
class EmbeddingsCodec(WholeCodec):
    """Codec of vectors in the requested encoding.

    Fields:
        characters: number of characters of all texts.
        images: number of images in the request; ``None``: the inputs are texts.
    """

    profile: DeploymentProfile
    encoding: str
    characters: int
    images: int | None = None

    def render(self, plan: Plan, request: Request) -> Response:
        assert plan.vectors is not None
        openai = self.profile.openai and self.images is None
        opening = b'{"object":"embedding","index":%d,' if openai else b'{"index":%d,"object":"embedding",'
        opening += b'"embedding":'
        head = b'{"object":"list"' if openai else b'{"id":"%b","object":"list"' % draw_uuid(plan.key, "embd").encode()
        parts = [head, b',"data":[']
        for number, item in enumerate(DUMPS[self.encoding](plan.vectors)):
            parts += (opening % number, item, b"},")
        tail = dump_json({"model": self.profile.model, "usage": self._count_usage(plan, openai)})
        parts[-1] = b"}],%b" % tail[1:]
        headers = (*answer_headers(plan, request, self.profile), *self._count_headers(plan))
        return Response(200, b"".join(parts), headers)

    def _count_usage(self, plan: Plan, openai: bool) -> dict[str, int]:
        tokens = plan.usage.prompt_tokens
        if openai:
            return {"prompt_tokens": tokens, "total_tokens": tokens}
        usage = {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}
        return usage if self.images is None else {**usage, "images": self.images}

    def _count_headers(self, plan: Plan) -> Headers:
        """Return a serverless endpoint's count headers and its headers against caching."""
        if self.profile.dialect not in ("maas", "managed"):
            return ()
        return (
            ("num_chars", str(self.characters)),
            ("num_tokens", str(plan.usage.prompt_tokens)),
            ("Cache-Control", "no-cache, no-store, no-transform, must-revalidate, private, max-age=0"),
            ("Expires", "Thu, 01 Jan 1970 00:00:00 UTC"),
            ("Pragma", "no-cache"),
            ("Vary", "Origin"),
            ("x-accel-expires", "0"),
        )
