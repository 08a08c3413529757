"""``POST /serving-endpoints/embeddings``: parse a request, and render vectors.

Source: Databricks, "Foundation model REST API reference", embedding task.
"""

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import dump_json, quote_value
from emulator.core.plan import Plan
from emulator.core.requests import EmbeddingRequest
from emulator.core.rng import draw_uuid
from emulator.core.vendor import WholeCodec
from emulator.encoding.floats import dump_base64, dump_float32
from emulator.encoding.sse import encode_string
from emulator.vendors.databricks.chat.fields import COMMON
from emulator.vendors.databricks.decoder import INTEGER, STRING, TEXTS, Struct, error_parameter
from emulator.vendors.databricks.headers import answer_headers
from emulator.vendors.databricks.profile import DatabricksService
from emulator.vendors.databricks.request import ParsedRequest, find_by_model
from emulator.vendors.databricks.sampling import count_prompts, validate_positive
from emulator.vendors.databricks.settings import DatabricksSettings

_CODE = "INVALID_PARAMETER_VALUE"  # databricks-demos/dbdemos issue 97
FIELDS = Struct({**COMMON, "input": TEXTS, "instruction": STRING, "user": STRING})
EXTENDED_FIELDS = Struct({**FIELDS.fields, "encoding_format": STRING, "dimensions": INTEGER})


def parse_embeddings(request: Request, service: DatabricksService) -> InferenceCall:
    """``POST /serving-endpoints/embeddings``."""
    return parse_embedding_request(find_by_model(request, service))


def parse_embedding_request(parsed: ParsedRequest) -> InferenceCall:
    if parsed.deployment.task != "embeddings":
        # unverified
        raise error_parameter(f"Bad request: endpoint {parsed.deployment.name} does not support the embeddings task")
    parsed.check(EXTENDED_FIELDS if parsed.settings.embeddings_extras else FIELDS)
    inputs = _parse_inputs(parsed)
    encoding = parsed.get("encoding_format", "float")
    if encoding not in ("float", "base64"):
        raise error_parameter(
            f"encoding_format must be 'float' or 'base64', but got {quote_value(encoding)}", "encoding_format", _CODE
        )
    dimensions = _parse_dimensions(parsed)
    embedding_request = EmbeddingRequest(
        inputs=inputs, dimensions=dimensions, instruction=parsed.get_text("instruction")
    )
    embedding_request, counts = _truncate(parsed, embedding_request)
    return InferenceCall(
        deployment=parsed.deployment,
        request=embedding_request,
        codec=EmbeddingsCodec(parsed.settings, parsed.profile.style.model, parsed.served, base64=encoding == "base64"),
        prompt_tokens=counts,
        repeatable=parsed.repeatable,
        served=parsed.served,
    )


def _parse_inputs(parsed: ParsedRequest) -> tuple[str, ...]:
    if parsed.get("input") is None:
        raise error_parameter("Missing required embeddings parameter: 'input'", "input", _CODE)
    inputs = parsed.list_texts("input")
    if inputs is None:
        raise error_parameter("input must be a string or a list of strings", "input", _CODE)
    if not inputs or not all(inputs):
        raise error_parameter("input must not be empty", "input", _CODE)
    limit = parsed.settings.max_inputs
    if len(inputs) > limit:
        text = f"Input embeddings size is too large, exceeding {limit} limit for {parsed.deployment.name}"
        raise error_parameter(text, "input", _CODE)
    return inputs


def _parse_dimensions(parsed: ParsedRequest) -> int | None:
    """Return ``dimensions``; ``None`` for models that cannot shorten their vectors, which ignore it."""
    validate_positive(parsed, "dimensions")
    requested = parsed.get_integer("dimensions")
    if requested is None or not parsed.traits.get("resizable"):
        return None
    limit = parsed.deployment.dimensions
    if requested > limit:
        raise error_parameter(f"dimensions must not exceed {limit}, but got {requested}", "dimensions", _CODE)
    return requested


def _truncate(parsed: ParsedRequest, embedding_request: EmbeddingRequest) -> tuple[EmbeddingRequest, tuple[int, ...]]:
    """Truncate inputs to the model's context and recount them; that the service truncates is unverified."""
    counts = count_prompts(parsed, embedding_request)
    context = parsed.deployment.context
    longest = max(counts)
    if context is None or longest <= context:
        return embedding_request, counts
    if parsed.settings.embeddings_overflow == "refuse":
        text = f"Input is too long: {longest} tokens exceed the maximum of {context} tokens"
        raise EmulatedError(ErrorKind.CONTEXT_LENGTH, text, "input", details={"error_code": _CODE})
    tokenizer = parsed.service.tokenizer(parsed.deployment)
    capacity = max(
        0, context - count_prompts(parsed, EmbeddingRequest(inputs=("",), instruction=embedding_request.instruction))[0]
    )
    cut = tuple(
        text if number <= context else tokenizer.decode(tokenizer.encode(str(text))[:capacity])
        for text, number in zip(embedding_request.inputs, counts, strict=True)
    )
    counts = tuple(min(number, context) for number in counts)
    return EmbeddingRequest(
        inputs=cut, dimensions=embedding_request.dimensions, instruction=embedding_request.instruction
    ), counts


@fast_dataclass(frozen=True, slots=True, eq=False)
class EmbeddingsCodec(WholeCodec):
    """Codec of vectors, as numbers or in base64."""

    settings: DatabricksSettings
    model: str
    served: str
    base64: bool

    def render(self, plan: Plan, request: Request) -> Response:
        assert plan.vectors is not None
        tokens = plan.usage.prompt_tokens
        name = dump_json(draw_uuid(plan.key, "embeddings"))
        parts = [b'{"id":%b,"object":"list","model":%b,"data":[' % (name, encode_string(self.model))]
        for number, item in enumerate((dump_base64 if self.base64 else dump_float32)(plan.vectors)):
            parts += (b'{"object":"embedding","index":%d,"embedding":' % number, item, b"},")
        parts[-1] = b'}],"usage":{"prompt_tokens":%d,"total_tokens":%d}}' % (tokens, tokens)
        return Response(200, b"".join(parts), answer_headers(request, self.settings, self.served))
