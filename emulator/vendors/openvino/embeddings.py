"""Parse ``/v3/embeddings`` requests and render their responses.

Source: model_server, src/embeddings/embeddings_api.cpp, and 2025.x tokenize_parser.cpp.
"""

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.http import Headers, Request, Response
from emulator.core.json import JSON, Object, as_text
from emulator.core.plan import Plan
from emulator.core.requests import EmbeddingRequest
from emulator.core.vendor import WholeCodec
from emulator.encoding.floats import dump_base64, dump_float64
from emulator.vendors.openvino.decoder import is_int32
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import ParsedRequest
from emulator.vendors.openvino.tokenize import handle_tokenize, is_tokenize_request, parse_inputs

_MAX_TOKENS = 1024  # tokens of one input; default of models without a context length
Inputs = tuple[str | tuple[int, ...], ...]


@fast_dataclass(frozen=True, slots=True)
class EmbeddingsCodec(WholeCodec):
    """Codec of a list of vectors, as numbers or in base64."""

    headers: Headers
    base64: bool

    def render(self, plan: Plan, request: Request) -> Response:
        assert plan.vectors is not None
        count = plan.usage.prompt_tokens
        parts = [b'{"object":"list","data":[']
        for number, item in enumerate((dump_base64 if self.base64 else dump_float64)(plan.vectors)):
            parts += (b'{"object":"embedding","embedding":', item, b',"index":%d},' % number)
        parts[-1] = parts[-1][:-1] + b'],"usage":{"prompt_tokens":%d,"total_tokens":%d}}' % (count, count)
        return Response(200, b"".join(parts), self.headers)


def parse_embeddings(parsed: ParsedRequest) -> InferenceCall | Response:
    """Parse texts or token ids, on any path."""
    if is_tokenize_request(parsed):
        return handle_tokenize(parsed)
    inputs = _parse_inputs(parsed)
    base64 = _parse_encoding(parsed.body)
    deployment = parsed.deployment
    vocabulary = parsed.service.tokenizer(deployment).vocabulary_size
    if any(not isinstance(i, str) and not all(0 <= token < vocabulary for token in i) for i in inputs):
        raise _inference_refusal()
    if not inputs or any(i == () for i in inputs):
        raise _inference_refusal()
    embedding = EmbeddingRequest(inputs=inputs)
    counted = parsed.service.count_prompt(embedding, deployment)
    limit = deployment.context or _MAX_TOKENS
    for count in counted:
        if count > limit:
            raise refusal(f"Input length {count} longer than allowed {limit}")
    return InferenceCall(
        deployment=deployment,
        request=embedding,
        codec=EmbeddingsCodec(parsed.settings.json_headers, base64),
        prompt_tokens=counted,
        served=parsed.method,
        repeatable=True,
    )


def _inference_refusal() -> EmulatedError:
    """Return the error of input the model cannot process; the text is unverified."""
    return refusal("Exception during embeddings model inference", word="INTERNAL")


def _parse_inputs(parsed: ParsedRequest) -> Inputs:
    body = parsed.body
    if parsed.release.empty_input_checks:
        kind, value = parse_inputs(body, "input")
        if kind == "strings":
            raise refusal("input must be either array of strings or array of array of integers")
        return _build_inputs(value, kind)
    if "input" not in body:
        raise refusal("input field is required")
    found = body["input"]
    if isinstance(found, str):
        return (found,)
    if not isinstance(found, list):
        raise refusal("input should be string, array of strings or array of integers")
    return _build_inputs(found, _find_common_kind(found))


def _build_inputs(value: JSON, kind: str) -> Inputs:
    """Return texts or rows of token ids; plain token ids are one row."""
    if not isinstance(value, list):
        return (as_text(value),)
    if kind == "int":
        return (tuple(value),)
    return tuple(tuple(element) for element in value) if kind == "ints" else tuple(value)


def _find_common_kind(elements: list[JSON]) -> str:
    kind = ""
    for element in elements:
        found = _find_kind(element)
        if kind not in ("", found):
            raise refusal("input must be homogeneous")
        kind = found
    return kind


def _find_kind(element: JSON) -> str:
    if isinstance(element, list):
        if not all(is_int32(token) for token in element):
            raise refusal("input must be homogeneous")
        return "ints"
    if isinstance(element, str):
        return "string"
    if is_int32(element):
        return "int"
    raise refusal("every element in input array should be either string or int")


def _parse_encoding(body: Object) -> bool:
    encoding = body.get("encoding_format", "float")
    if not isinstance(encoding, str):
        raise refusal("encoding_format should be string")
    if encoding not in ("float", "base64"):
        raise refusal("encoding_format should either base64 or float")
    return encoding == "base64"
