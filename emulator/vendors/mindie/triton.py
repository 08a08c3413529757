"""Triton-style routes: ``/v2/models/{model}/infer``, ``/generate`` and ``/generate_stream``.

Source: MindIE-LLM, ``single_req_triton_token_infer_interface.cpp`` and
``single_req_triton_text_infer_interface.cpp``.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from emulator.core.call import CompletionAsk, Deployment
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Plan
from emulator.core.seed import draw_integer
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest, WireResponse, WireStream
from emulator.dialects.tgi import check_ready
from emulator.vendors.mindie.decoder import parse_body, read_object, read_string, refuse
from emulator.vendors.mindie.generate.codec import finish
from emulator.vendors.mindie.generate.fields import shape_sampling
from emulator.vendors.mindie.generate.inputs import fetch_media, measure_excess, read_inputs
from emulator.vendors.mindie.generate.parse import (
    BROKEN_REQUEST,
    MAX_PROMPT_TOKENS,
    check_tokens,
    default_length,
    measure_room,
)
from emulator.vendors.mindie.headers import check_headers, closing_headers, stream_headers
from emulator.vendors.mindie.native import read_batch_size, read_native_parameters, show_times
from emulator.vendors.mindie.settings import MindieSettings

MAX_NAME = 256
_ID = re.compile(r"[a-zA-Z0-9_-]{1,256}")
_BAD_ID = "The id can contain only digits, letters, underscores(_), hyphens(-) and no more than 256 words in length."
_Fields = Mapping[str, JSON]
_Prompt = str | tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Triton:
    """What the codec remembers of a request; ``output``: the name a tensor goes out under."""

    id: str | None
    limit: int
    details: bool = False
    output: str = ""


def find_model(request: WireRequest, service: Service[MindieSettings, None]) -> Deployment:
    """The model a path names.

    Raises:
        EmulatedError: there is none of that name.
    """
    name = request.params["model"]
    if not re.fullmatch(r"[\w\-.]+", name, re.ASCII):
        raise EmulatedError(ErrorKind.NOT_FOUND, details={"path": request.path})
    deployment = service.deployments.get(name)
    if deployment is None:
        raise EmulatedError(ErrorKind.NOT_FOUND, message=f"Model {name} not found.")
    return deployment


def read_id(fields: _Fields) -> str | None:
    """``id`` of a request: digits, letters, underscores and hyphens."""
    value = read_string(fields, "id")
    if value is not None and not _ID.fullmatch(value):
        raise refuse(_BAD_ID, "id")
    return value


def parse_text(request: WireRequest, service: Service[MindieSettings, None], *, stream: bool) -> Call | WireResponse:
    """``/generate`` and ``/generate_stream``: text in, text out."""
    check_headers(request, service)
    deployment = check_ready(find_model(request, service))
    settings = service.settings
    body = parse_body(request, settings, BROKEN_REQUEST)
    fields: _Fields = body if isinstance(body, dict) else {}
    given = read_id(fields)
    value = fields.get("text_input")
    if value is None:
        raise refuse("The text_input not found", "text_input")
    inputs = read_inputs(value, "text_input")
    length = measure_excess(inputs, value, settings.max_input_chars)
    if length is not None:
        text = "text_input must be necessary and data type must be string and length in "
        raise refuse(f"{text}(0, {settings.max_input_chars}], but the length of inputs is {length}", "text_input")
    if isinstance(value, list):
        fetch_media(value)
    parameters = read_object(fields, "parameters")
    return _shape(request, service, deployment, inputs.prompt, parameters, given, media=inputs.media, stream=stream)


PARSE_GENERATE = partial(parse_text, stream=False)
PARSE_STREAM = partial(parse_text, stream=True)


def parse_token(request: WireRequest, service: Service[MindieSettings, None]) -> Call | WireResponse:
    """``/infer``: one tensor of token ids in, one out."""
    check_headers(request, service)
    deployment = check_ready(find_model(request, service))
    body = parse_body(request, service.settings, BROKEN_REQUEST)
    fields: _Fields = body if isinstance(body, dict) else {}
    inputs = fields.get("inputs")
    if not isinstance(inputs, list):
        raise refuse("Req should contain 'inputs' and the type should be array.", "inputs")
    if len(inputs) != 1:
        raise refuse("Inputs count must be 1.", "inputs")
    tensor: _Fields = inputs[0] if isinstance(inputs[0], dict) else {}
    ids = _read_tensor(tensor)
    given = read_id(fields)
    output = _read_output(fields.get("outputs"))
    vocabulary = service.tokenizer(deployment).vocabulary_size
    if any(not 0 <= token < vocabulary for token in ids):
        raise refuse("Failed to enqueue inferRequest. Invalid Input Ids", "inputs", 424)
    parameters = read_object(tensor, "parameters") or read_object(fields, "parameters")
    return _shape(request, service, deployment, ids, parameters, given, output=output)


def _shape(
    request: WireRequest,
    service: Service[MindieSettings, None],
    deployment: Deployment,
    prompt: _Prompt,
    fields: _Fields,
    given: str | None,
    *,
    media: int = 0,
    output: str = "",
    stream: bool = False,
) -> Call:
    tokenizer = service.tokenizer(deployment)
    (count,) = service.count_prompt(CompletionAsk(prompts=(prompt,), media=media), deployment)
    check_tokens(count)
    parameters = read_native_parameters(fields, triton=True)
    read_batch_size(fields)
    asked = parameters.max_new_tokens or default_length(deployment)
    room = measure_room(service.settings, deployment, count, asked)
    sampling = shape_sampling(parameters, max_tokens=room.answer, vocabulary=tokenizer.vocabulary_size, logprobs=False)
    return Call(
        request=request,
        deployment=deployment,
        ask=CompletionAsk(prompts=(prompt,), media=media, sampling=sampling),
        codec=TOKENS if output else TEXT,
        stream=stream,
        prompt_tokens=(room.prompt,),
        context=Triton(id=given, limit=room.answer, details=parameters.details, output=output),
        repeatable=True,
    )


def _read_tensor(tensor: _Fields) -> tuple[int, ...]:
    name = tensor.get("name")
    if not isinstance(name, str):
        raise refuse("Cannot find name in inputs or its type is not string", "inputs")
    if len(name.encode()) > MAX_NAME:
        raise refuse("The length of name set in inputs exceeds 256.", "inputs")
    width = _read_shape(tensor.get("shape"))
    kind = tensor.get("datatype")
    if not isinstance(kind, str):
        raise refuse("Cannot find datatype in inputs or its type is not string", "inputs")
    if kind != "UINT32":
        raise refuse(f"Unsupported datatype, got {kind}.", "inputs")
    return _read_data(tensor.get("data"), width)


def _read_shape(shape: JSON) -> int:
    if not isinstance(shape, list):
        raise refuse("Cannot find shape in inputs or its type is not array", "inputs")
    if any(not isinstance(size, int) or isinstance(size, bool) or size < 0 for size in shape):
        raise refuse("Shape element must be integer type.", "inputs")
    row = len(shape) == 2 and shape[0] == 1 and 0 < shape[1] <= MAX_PROMPT_TOKENS
    if len(shape) != 1 and not row:
        text = "Shape must be at most two-dimensional, and the last element's value must be in "
        raise refuse(f"{text}(0,{MAX_PROMPT_TOKENS}].", "inputs")
    return int(shape[-1])


def _read_data(data: JSON, width: int) -> tuple[int, ...]:
    if not isinstance(data, list):
        raise refuse("Cannot find data in inputs or its type is not array", "inputs")
    if len(data) > MAX_PROMPT_TOKENS:
        text = f"Data element must be no more than max token id length, which is {MAX_PROMPT_TOKENS}."
        raise refuse(text, "inputs")
    if len(data) != width:
        raise refuse(f"Data size should be {width}, got {len(data)}.", "inputs")
    if any(not isinstance(token, int) or isinstance(token, bool) for token in data):
        raise refuse("Data element must be integer type.", "inputs")
    return tuple(data)


def _read_output(outputs: JSON) -> str:
    if not isinstance(outputs, list):
        raise refuse("Req should contain 'outputs' and the type should be array.", "outputs")
    if len(outputs) != 1:
        raise refuse(f"Outputs size should be 1, got {len(outputs)}.", "outputs")
    name = outputs[0].get("name") if isinstance(outputs[0], dict) else None
    if not isinstance(name, str):
        raise refuse("Outputs name must be non-empty string.", "outputs")
    return name or "output0"


def pick_id(plan: Plan, asked: Triton) -> str:
    """The request's own id, or the server's."""
    return asked.id if asked.id is not None else str(draw_integer(plan.key, 10**6, "id") + 1)


class TokenCodec:
    """A tensor of the answer's token ids."""

    def render(self, plan: Plan, call: Call, service: Service[MindieSettings, None]) -> WireResponse:
        asked: Triton = call.context
        ids = list(plan.choices[0].ids)
        tensor = {"name": asked.output, "shape": [1, len(ids)], "datatype": "UINT32", "data": ids}
        body = {"id": pick_id(plan, asked), "outputs": [tensor]}
        return WireResponse(200, dump_json(body), closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, call: Call, service: Service[MindieSettings, None]) -> WireStream:
        body = self.render(plan, call, service).body
        return WireStream(iter([(plan.due, body)]), stream_headers(plan.key))


class TextCodec:
    """The answer as ``text_output``; streamed, an object per token, without a space after ``data:``."""

    def render(self, plan: Plan, call: Call, service: Service[MindieSettings, None]) -> WireResponse:
        asked: Triton = call.context
        choice = plan.choices[0]
        body = {**_head(plan, call), "text_output": choice.text()}
        if asked.details:
            counts = {"batch_size": [1] * len(choice.ids), "queue_wait_time": [0] * len(choice.ids)}
            reason = {"finish_reason": finish(choice, asked.limit, service.settings)}
            body["details"] = {**reason, **_counts(len(choice.ids)), **counts}
        return WireResponse(200, dump_json(body), closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, call: Call, service: Service[MindieSettings, None]) -> WireStream:
        return WireStream(_stream(plan, call, service.settings), stream_headers(plan.key))


TOKENS = TokenCodec()
TEXT = TextCodec()


def _head(plan: Plan, call: Call) -> dict[str, JSON]:
    return {"id": pick_id(plan, call.context), "model_name": call.deployment.name, "model_version": None}


def _counts(count: int) -> dict[str, JSON]:
    return {"generated_tokens": count, "first_token_cost": None, "decode_cost": None}


def _stream(plan: Plan, call: Call, settings: MindieSettings) -> Iterator[tuple[float, bytes]]:
    asked: Triton = call.context
    choice = plan.choices[0]
    head = _head(plan, call)
    before: float | None = None
    so_far = ""
    for index, text in enumerate(choice.tokens):
        so_far += text
        body = {**head, "text_output": so_far if settings.full_text else text}
        tail = ""
        if asked.details:
            last = index == len(choice.tokens) - 1
            reason = {"finish_reason": finish(choice, asked.limit, settings)} if last else {}
            body["details"] = {**reason, **_counts(index + 1), "batch_size": 1, "queue_wait_time": 0}
            tail = "," + show_times(choice.due[index], before)
        before = choice.due[index]
        yield before, b"data:%b%b}\n\n" % (dump_json(body)[:-1], tail.encode())
