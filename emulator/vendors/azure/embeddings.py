"""``POST /embeddings`` and ``/images/embeddings``.

Sources: Azure Machine Learning reference, Embeddings; Azure/azure-sdk-assets, recordings.
"""

from collections.abc import Callable, Mapping

from emulator.core.call import Deployment, EmbeddingAsk
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Plan
from emulator.core.seed import draw_uuid
from emulator.core.vendor import Call
from emulator.core.wire import Headers, WireRequest, WireResponse, WireStream
from emulator.dialects import floats
from emulator.vendors.azure.catalogue import is_openai, model_name, supports
from emulator.vendors.azure.chat.fields import validate
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.fields import (
    EmbeddingOptions,
    EmbeddingRequest,
    ImageEmbeddingRequest,
    StrictEmbeddingRequest,
    StrictImageEmbeddingRequest,
    check_tokens,
    read_texts,
)
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.request import AzureService, admit, read_extras

MAX_INPUTS = 1024
PICTURE_TOKENS = 1000  # as recorded of a Cohere endpoint
_KNOWN = frozenset(EmbeddingRequest.model_fields)
_NATIVE = frozenset({"user"})

DUMPS: Mapping[str, Callable[[JSON], bytes]] = {
    "float": floats.dump_float32,
    "base64": lambda row: dump_json(floats.dump_base64(row)),
    "int8": floats.dump_int8,
    "uint8": floats.dump_uint8,
    "binary": floats.pack_binary,
    "ubinary": floats.pack_ubinary,
}


def parse_embeddings(request: WireRequest, service: AzureService) -> Call:
    """Texts or token ids to vectors; what a text is for changes its vector but not its token count."""
    settings = service.settings
    deployment, body = admit(request, service, "embeddings")
    wire = validate(StrictEmbeddingRequest if settings.strict_types else EmbeddingRequest, body)
    read_extras(request, service, body, _KNOWN, _NATIVE, deployment)
    inputs = read_texts(wire.input)
    check_vectors(wire, len(inputs), deployment)
    check_tokens(inputs, "input", service, deployment)
    prompt_tokens = service.count_prompt(EmbeddingAsk(inputs=inputs), deployment)
    if deployment.context is not None and max(prompt_tokens) > deployment.context:
        raise refusals.context_exceeded(deployment.context, max(prompt_tokens), model_name(deployment))
    return Call(
        request=request,
        deployment=deployment,
        ask=read_ask(wire, inputs),
        codec=EMBEDDINGS,
        repeatable=True,
        prompt_tokens=prompt_tokens,
        context={"encoding": wire.encoding, "openai": is_openai(deployment, settings), "inputs": inputs},
    )


def parse_image_embeddings(request: WireRequest, service: AzureService) -> Call:
    """Pictures to vectors: each counts :data:`PICTURE_TOKENS` and the text beside it."""
    settings = service.settings
    if settings.profile in ("managed", "aoai"):
        raise EmulatedError(ErrorKind.NOT_FOUND, details={"path": request.path})
    deployment, body = admit(request, service, "embeddings")
    if not supports(deployment, "images"):
        raise refusals.wrong_route("images", deployment.task, deployment.name)
    wire = validate(StrictImageEmbeddingRequest if settings.strict_types else ImageEmbeddingRequest, body)
    read_extras(request, service, body, _KNOWN, _NATIVE, deployment)
    check_vectors(wire, len(wire.input), deployment)
    texts = tuple([picture.text or "" for picture in wire.input])
    counts = service.count_prompt(EmbeddingAsk(inputs=texts), deployment)
    return Call(
        request=request,
        deployment=deployment,
        ask=read_ask(wire, tuple([f"{picture.image}\n{picture.text or ''}" for picture in wire.input])),
        codec=EMBEDDINGS,
        repeatable=True,
        prompt_tokens=tuple(PICTURE_TOKENS + (n if text else 0) for n, text in zip(counts, texts, strict=True)),
        context={"encoding": wire.encoding, "openai": False, "inputs": texts, "images": len(texts)},
    )


def read_ask(wire: EmbeddingOptions, inputs: tuple[str | tuple[int, ...], ...]) -> EmbeddingAsk:
    purpose = "" if wire.input_type in (None, "text") else f"{wire.input_type}: "
    return EmbeddingAsk(inputs=inputs, dimensions=wire.dimensions, instruction=purpose)


def check_vectors(wire: EmbeddingOptions, count: int, deployment: Deployment) -> None:
    """Refuse more inputs, another size or another encoding than the model has.

    Raises:
        EmulatedError: ``INVALID_PARAMETER``, code ``parameter_not_supported``.
    """
    for unsupported in (
        _check_inputs(count, deployment),
        _check_dimensions(wire.dimensions, deployment),
        _check_encoding(wire.encoding, wire.dimensions, deployment),
    ):
        if unsupported is not None:
            raise unsupported


def _check_inputs(count: int, deployment: Deployment) -> EmulatedError | None:
    most = deployment.traits.get("max_inputs", MAX_INPUTS)
    return refusals.not_supported(("input",), count) if count > most else None


def _check_dimensions(dimensions: int | None, deployment: Deployment) -> EmulatedError | None:
    if dimensions is None or dimensions == deployment.dimensions:
        return None
    if supports(deployment, "dimensions") and dimensions < deployment.dimensions:
        return None
    return refusals.not_supported(("dimensions",), dimensions)


def _check_encoding(encoding: str, dimensions: int | None, deployment: Deployment) -> EmulatedError | None:
    """Packed signs fill whole bytes only."""
    packed = encoding in ("binary", "ubinary") and (dimensions or deployment.dimensions) % 8
    if packed or encoding not in deployment.traits.get("encodings", DUMPS):
        return refusals.not_supported(("encoding_format",), encoding)
    return None


class EmbeddingCodec:
    """Vectors in the encoding that was asked for."""

    def render(self, plan: Plan, call: Call, service: AzureService) -> WireResponse:
        assert plan.vectors is not None
        dump = DUMPS[call.context["encoding"]]
        openai = call.context["openai"]
        opening = (
            b'{"object":"embedding","index":%d,"embedding":%b}'
            if openai
            else (b'{"index":%d,"object":"embedding","embedding":%b}')
        )
        rows = b",".join([opening % (index, dump(row)) for index, row in enumerate(plan.vectors)])
        tokens = plan.usage.prompt_tokens
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        if not openai:
            usage = {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}
        if "images" in call.context:
            usage["images"] = call.context["images"]
        tail = dump_json({"model": model_name(call.deployment), "usage": usage})
        head = b'{"object":"list"' if openai else b'{"id":"%b","object":"list"' % draw_uuid(plan.key, "embd").encode()
        body = b'%b,"data":[%b],%b' % (head, rows, tail[1:])
        return WireResponse(200, body, _with_counts(answer_headers(plan, call, service), plan, call, service))

    def stream(self, plan: Plan, call: Call, service: AzureService) -> WireStream:
        raise AssertionError("embeddings are never streamed")


EMBEDDINGS = EmbeddingCodec()


def _with_counts(headers: Headers, plan: Plan, call: Call, service: AzureService) -> Headers:
    """A serverless endpoint also tells how much it read, and forbids caching."""
    if service.settings.profile not in ("maas", "managed"):
        return headers
    characters = sum(len(text) for text in call.context["inputs"] if isinstance(text, str))
    return (
        *headers,
        ("num_chars", str(characters)),
        ("num_tokens", str(plan.usage.prompt_tokens)),
        ("Cache-Control", "no-cache, no-store, no-transform, must-revalidate, private, max-age=0"),
        ("Expires", "Thu, 01 Jan 1970 00:00:00 UTC"),
        ("Pragma", "no-cache"),
        ("Vary", "Origin"),
        ("x-accel-expires", "0"),
    )
