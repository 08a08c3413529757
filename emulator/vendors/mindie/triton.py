"""Parse the Triton-style routes of ``/v2/models/{model}`` and render their responses.

Routes: ``/infer``, ``/generate`` and ``/generate_stream``.
Source: MindIE-LLM, ``single_req_triton_token_infer_interface.cpp`` and
``single_req_triton_text_infer_interface.cpp``.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import shorten
from emulator.core.http import Event, Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.requests import CompletionRequest, Deployment
from emulator.encoding.sse import encode_string
from emulator.protocols.choice_events import PLAIN
from emulator.vendors.mindie.decoder import Fields, is_integer, is_unsigned, parse_boolean, parse_object, refusal
from emulator.vendors.mindie.generate.fields import build_sampling
from emulator.vendors.mindie.generate.inputs import TOO_LONG, parse_inputs
from emulator.vendors.mindie.generate.render import find_finish_reason
from emulator.vendors.mindie.headers import closing_headers, stream_headers
from emulator.vendors.mindie.infer import Form, encode_times, parse_native_parameters
from emulator.vendors.mindie.postprocess import ENDED, quote_so_far
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.request import (
    MAX_PROMPT_TOKENS,
    Lengths,
    find_model,
    measure_lengths,
    parse_body,
    validate_headers,
    validate_ids,
    validate_tokens,
)
from emulator.vendors.mindie.request_ids import RequestId, parse_id
from emulator.vendors.mindie.server_state import find_profile, validate_serving
from emulator.vendors.mindie.settings import MindieSettings

MAX_NAME = 256
_TEXT = Form(last=("details", "batch_size", "timeout"))
_TENSOR = Form(typical=False, last=("timeout", "details", "batch_size"))


def parse_text(request: Request, service: MindieService, *, stream: bool) -> InferenceCall:
    """Parse ``/generate`` and ``/generate_stream``: text in, text out."""
    validate_headers(request, service)
    deployment = validate_serving(request, find_model(request, service))
    fields = parse_body(request, service.settings)
    request_id = parse_id(request, fields)
    value = fields.get("text_input")
    if value is None:
        raise refusal("The text_input not found", "text_input")
    if not isinstance(value, str | list):
        name = request_id.names(request.key)[0]
        raise refusal(f"The type of text_input is abnormal. The requestId is {name}", "text_input")
    if value == []:
        raise refusal("Parameter text_input arr is empty", "text_input")
    inputs = parse_inputs(value, service.settings.max_input_chars, "text_input" + TOO_LONG, "text_input")
    prompt = CompletionRequest(prompts=(inputs.prompt,), media=inputs.media)
    parameters = parse_object(fields, "parameters")
    completion, details, lengths = _parse_parameters(service, deployment, prompt, parameters, _TEXT)
    codec = TextCodec(
        id=request_id,
        model=deployment.name,
        limit=lengths.answer,
        details=details,
        statistics=parse_boolean(parameters, "perf_stat") or False,
        settings=service.settings,
    )
    return InferenceCall(
        deployment=deployment,
        request=completion,
        codec=codec,
        stream=stream,
        prompt_tokens=(lengths.prompt,),
        repeatable=True,
        cancel_ids=request_id.names,
    )


PARSE_GENERATE = partial(parse_text, stream=False)
PARSE_STREAM = partial(parse_text, stream=True)


def parse_token(request: Request, service: MindieService) -> InferenceCall:
    """Parse ``/infer``: one tensor of token ids in, one out."""
    validate_headers(request, service)
    deployment = validate_serving(request, find_model(request, service))
    fields = parse_body(request, service.settings)
    inputs = fields.get("inputs")
    if not isinstance(inputs, list):
        raise refusal("Req should contain 'inputs' and the type should be array.", "inputs")
    if len(inputs) != 1:
        raise refusal("Inputs count must be 1.", "inputs")
    tensor: Fields = inputs[0] if isinstance(inputs[0], dict) else {}
    ids = _parse_tensor(tensor)
    request_id = parse_id(request, fields)
    codec = TensorCodec(id=request_id, output=_parse_output(fields.get("outputs")))
    validate_ids(ids, service.tokenizer(deployment), "inputs")
    parameters = parse_object(tensor, "parameters") or parse_object(fields, "parameters")
    prompt = CompletionRequest(prompts=(ids,))
    completion, _, lengths = _parse_parameters(service, deployment, prompt, parameters, _TENSOR)
    return InferenceCall(
        deployment=deployment,
        request=completion,
        codec=codec,
        prompt_tokens=(lengths.prompt,),
        repeatable=True,
        cancel_ids=request_id.names,
    )


def _parse_parameters(
    service: MindieService, deployment: Deployment, request: CompletionRequest, fields: Fields, form: Form
) -> tuple[CompletionRequest, bool, Lengths]:
    """Return the request with its sampling, whether details are requested, and the token limits."""
    (count,) = service.count_prompt(request, deployment)
    validate_tokens(count, "text_input" if form is _TEXT else "inputs")
    parameters = parse_native_parameters(fields, form)
    asked = parameters.max_new_tokens or find_profile(service, deployment).default_answer
    lengths = measure_lengths(service, deployment, count, asked)
    sampling = build_sampling(parameters, lengths.answer, service.tokenizer(deployment))
    return replace(request, sampling=sampling), parameters.details, lengths


def _parse_tensor(tensor: Fields) -> tuple[int, ...]:
    name = tensor.get("name")
    if not isinstance(name, str):
        raise refusal("Cannot find name in inputs or its type is not string", "inputs")
    if len(name.encode()) > MAX_NAME:
        raise refusal("The length of name set in inputs exceeds 256.", "inputs")
    width = _parse_shape(tensor.get("shape"))
    kind = tensor.get("datatype")
    if not isinstance(kind, str):
        raise refusal("Cannot find datatype in inputs or its type is not string", "inputs")
    if kind != "UINT32":
        raise refusal(f"Unsupported datatype, got {kind}.", "inputs")
    return _parse_data(tensor.get("data"), width)


def _parse_shape(shape: JSON) -> int:
    if not isinstance(shape, list):
        raise refusal("Cannot find shape in inputs or its type is not array", "inputs")
    if not all(map(is_unsigned, shape)):
        raise refusal("Shape element must be integer type.", "inputs")
    row = len(shape) == 2 and shape[0] == 1 and 0 < shape[1] <= MAX_PROMPT_TOKENS
    if len(shape) != 1 and not row:
        text = "Shape must be at most two-dimensional, and the last element's value must be in "
        raise refusal(f"{text}(0,{MAX_PROMPT_TOKENS}].", "inputs")
    return int(shape[-1])


def _parse_data(data: JSON, width: int) -> tuple[int, ...]:
    if not isinstance(data, list):
        raise refusal("Cannot find data in inputs or its type is not array", "inputs")
    if len(data) > MAX_PROMPT_TOKENS:
        text = f"Data element must be no more than max token id length, which is {MAX_PROMPT_TOKENS}."
        raise refusal(text, "inputs")
    if len(data) != width:
        raise refusal(f"Data size should be {width}, got {len(data)}.", "inputs")
    if not all(map(is_integer, data)):
        raise refusal("Data element must be integer type.", "inputs")
    return tuple(data)


def _parse_output(outputs: JSON) -> str:
    if not isinstance(outputs, list):
        raise refusal("Req should contain 'outputs' and the type should be array.", "outputs")
    if len(outputs) != 1:
        raise refusal(f"Outputs size should be 1, got {len(outputs)}.", "outputs")
    name = outputs[0].get("name") if isinstance(outputs[0], dict) else None
    if not isinstance(name, str):
        raise refusal("Outputs name must be non-empty string.", "outputs")
    return shorten(name) or "output0"


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class TensorCodec:
    """Codec of a tensor with the token ids of the response.

    Fields:
        output: name of the tensor.
    """

    id: RequestId
    output: str

    def render(self, plan: Plan, request: Request) -> Response:
        return Response(200, self._encode(plan), closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        event = plan.due, self._encode(plan), len(plan.choices[0].tokens), PLAIN
        return StreamingResponse([event], stream_headers(plan.key))

    def _encode(self, plan: Plan) -> bytes:
        ids = plan.choices[0].ids
        tensor: Object = {"name": self.output, "shape": [1, len(ids)], "datatype": "UINT32", "data": ids}
        return dump_json({"id": self.id.show(plan.key), "outputs": [tensor]})


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class TextCodec:
    """Codec of ``text_output``; a stream has an object per token, without a space after ``data:``.

    Fields:
        limit: maximum tokens of the response; one that reaches it reports ``length``.
        statistics: details have ``perf_stat``: the id of every token so far, and its milliseconds.
    """

    id: RequestId
    model: str
    limit: int
    details: bool
    statistics: bool
    settings: MindieSettings

    def render(self, plan: Plan, request: Request) -> Response:
        choice = plan.choices[0]
        count = choice.count
        details = b""
        if self.details:
            times: Object = {"batch_size": [1] * count, "queue_wait_time": [0] * count}
            taken = self._encode_statistics(choice, count)
            details = _DETAILS % (_FINISH % self._encode_finish(plan), count, taken, dump_json(times)[1:-1])
        body = b"%b%b%b}" % (self._encode_head(plan), encode_string(choice.text()), details)
        return Response(200, body, closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return StreamingResponse(self._stream(plan), stream_headers(plan.key))

    def _stream(self, plan: Plan) -> Iterator[Event]:
        """Yield an event per token; details, if requested, are in every event, the finish reason in the last."""
        choice = plan.choices[0]
        count = len(choice.tokens)
        texts = quote_so_far(choice.tokens) if self.settings.full_text else map(encode_string, choice.tokens)
        before = b"data:" + self._encode_head(plan)
        earlier: float | None = None
        for position, (due, text) in enumerate(zip(choice.due, texts, strict=True), 1):
            after, mark = b"", PLAIN
            if self.details:
                last = position == count
                finish = _FINISH % self._encode_finish(plan) if last else b""
                after = b"%b,%b" % (
                    _DETAILS % (finish, position, self._encode_statistics(choice, position), _NO_WAIT),
                    encode_times(due, earlier),
                )
                mark = ENDED if last else PLAIN
            earlier = due
            yield due, b"%b%b%b}\n\n" % (before, text, after), position, mark

    def _encode_statistics(self, choice: Choice, count: int) -> bytes:
        """Encode ``perf_stat`` of the first ``count`` tokens as the manuals before 2.2 show it."""
        if not self.statistics:
            return b""
        gaps = [0.0, *choice.due[: count - 1]]
        taken = [round(1000 * (due - before)) for due, before in zip(choice.due[:count], gaps, strict=True)]
        return b'"perf_stat":%b,' % dump_json([*zip(choice.ids[:count], taken, strict=True)])

    def _encode_head(self, plan: Plan) -> bytes:
        return _HEAD % (self.id.quote(plan.key), encode_string(self.model))

    def _encode_finish(self, plan: Plan) -> bytes:
        return encode_string(find_finish_reason(plan.choices[0], self.limit, self.settings))


_HEAD = b'{"id":%b,"model_name":%b,"model_version":null,"text_output":'
_FINISH = b'"finish_reason":%b,'
_DETAILS = b',"details":{%b"generated_tokens":%d,"first_token_cost":null,"decode_cost":null,%b%b}'
_NO_WAIT = b'"batch_size":1,"queue_wait_time":0'
