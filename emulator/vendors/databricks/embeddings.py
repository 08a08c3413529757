"""The embeddings task: texts become vectors.

Source: Databricks, "Foundation model REST API reference", embedding task.
"""

from __future__ import annotations

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Mark, Request, Response, StreamingResponse
from emulator.core.json import dump_json
from emulator.core.plan import Plan
from emulator.core.requests import EmbeddingRequest
from emulator.core.rng import draw_uuid
from emulator.core.vendor import InferenceCall
from emulator.encoding.floats import dump_base64, dump_float32
from emulator.encoding.sse import quote
from emulator.vendors.databricks.chat.fields import COMMON
from emulator.vendors.databricks.decoder import INTEGER, STRING, TEXTS, Struct, refusal
from emulator.vendors.databricks.headers import answer_headers
from emulator.vendors.databricks.profile import DatabricksService
from emulator.vendors.databricks.request import ParsedRequest, find_by_model
from emulator.vendors.databricks.sampling import check_positive, count
from emulator.vendors.databricks.settings import DatabricksSettings

_CODE = "INVALID_PARAMETER_VALUE"  # databricks-demos/dbdemos issue 97
FIELDS = Struct({**COMMON, "input": TEXTS, "instruction": STRING, "user": STRING})
EXTENDED_FIELDS = Struct({**FIELDS.fields, "encoding_format": STRING, "dimensions": INTEGER})


def parse_embeddings(request: Request, service: DatabricksService) -> InferenceCall:
    """``POST /serving-endpoints/embeddings``."""
    return read_embeddings(find_by_model(request, service))


def read_embeddings(query: ParsedRequest) -> InferenceCall:
    """Validate and read an embeddings request.

    Raises:
        EmulatedError: what the endpoint refuses.
    """
    if query.deployment.task != "embeddings":
        # unverified
        raise refusal(f"Bad request: endpoint {query.deployment.name} does not support the embeddings task")
    query.check(EXTENDED_FIELDS if query.settings.embeddings_extras else FIELDS)
    inputs = _read_inputs(query)
    encoding = query.get("encoding_format", "float")
    if encoding not in ("float", "base64"):
        raise refusal(f"encoding_format must be 'float' or 'base64', but got {encoding!r}", "encoding_format", _CODE)
    dimensions = _read_dimensions(query)
    ask = EmbeddingRequest(inputs=inputs, dimensions=dimensions, instruction=query.get_text("instruction"))
    ask, counts = _fit(query, ask)
    return InferenceCall(
        deployment=query.deployment,
        request=ask,
        codec=EmbeddingsCodec(query.settings, query.habits.style.model, query.served, base64=encoding == "base64"),
        prompt_tokens=counts,
        repeatable=query.repeatable,
        served=query.served,
    )


def _read_inputs(query: ParsedRequest) -> tuple[str, ...]:
    if query.get("input") is None:
        raise refusal("Missing required embeddings parameter: 'input'", "input", _CODE)
    inputs = query.list_texts("input")
    if inputs is None:
        raise refusal("input must be a string or a list of strings", "input", _CODE)
    if not inputs or not all(inputs):
        raise refusal("input must not be empty", "input", _CODE)
    most = query.settings.max_inputs
    if len(inputs) > most:
        text = f"Input embeddings size is too large, exceeding {most} limit for {query.deployment.name}"
        raise refusal(text, "input", _CODE)
    return inputs


def _read_dimensions(query: ParsedRequest) -> int | None:
    """Only models that can shorten their vectors heed ``dimensions``; the others leave it aside."""
    check_positive(query, "dimensions")
    wanted = query.get_integer("dimensions")
    if wanted is None or not query.traits.get("resizable"):
        return None
    most = query.deployment.dimensions
    if wanted > most:
        raise refusal(f"dimensions must not exceed {most}, but got {wanted}", "dimensions", _CODE)
    return wanted


def _fit(query: ParsedRequest, ask: EmbeddingRequest) -> tuple[EmbeddingRequest, tuple[int, ...]]:
    """Inputs longer than the model reads are cut, and what is left is counted; that the service cuts is unverified."""
    counts = count(query, ask)
    context = query.deployment.context
    longest = max(counts)
    if context is None or longest <= context:
        return ask, counts
    if query.settings.embeddings_overflow == "refuse":
        text = f"Input is too long: {longest} tokens exceed the maximum of {context} tokens"
        raise EmulatedError(ErrorKind.CONTEXT_LENGTH, text, "input", details={"error_code": _CODE})
    tokenizer = query.service.tokenizer(query.deployment)
    room = max(0, context - count(query, EmbeddingRequest(inputs=("",), instruction=ask.instruction))[0])
    cut = tuple(
        text if number <= context else tokenizer.decode(tokenizer.encode(str(text))[:room])
        for text, number in zip(ask.inputs, counts, strict=True)
    )
    counts = tuple(min(number, context) for number in counts)
    return EmbeddingRequest(inputs=cut, dimensions=ask.dimensions, instruction=ask.instruction), counts


@fast_dataclass(frozen=True, slots=True, eq=False)
class EmbeddingsCodec:
    """Words vectors, as numbers or in base64."""

    settings: DatabricksSettings
    model: str
    served: str
    base64: bool

    def render(self, plan: Plan, request: Request) -> Response:
        assert plan.vectors is not None
        tokens = plan.usage.prompt_tokens
        name = dump_json(draw_uuid(plan.key, "embeddings"))
        parts = [b'{"id":%b,"object":"list","model":%b,"data":[' % (name, quote(self.model))]
        for number, item in enumerate((dump_base64 if self.base64 else dump_float32)(plan.vectors)):
            parts += (b'{"object":"embedding","index":%d,"embedding":' % number, item, b"},")
        parts[-1] = b'}],"usage":{"prompt_tokens":%d,"total_tokens":%d}}' % (tokens, tokens)
        return Response(200, b"".join(parts), answer_headers(request, self.settings, self.served))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        """Embeddings never stream: the whole answer is the only event."""
        answer = self.render(plan, request)
        return StreamingResponse([(plan.due, answer.body, 0, Mark.FINISH | Mark.USAGE | Mark.DONE)], answer.headers)
