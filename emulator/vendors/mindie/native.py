"""``POST /infer`` and ``/infer_token``: the server's own form, text or token ids in.

Source: MindIE-LLM, ``single_req_self_develop_infer_interface.cpp``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from emulator.core.call import CompletionAsk
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Plan
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest, WireResponse, WireStream
from emulator.dialects.sse import quote
from emulator.dialects.tgi import check_ready, find_served, pick_seed
from emulator.vendors.mindie.decoder import (
    parse_body,
    read_boolean,
    read_float,
    read_object,
    read_unsigned,
    refuse,
    show,
)
from emulator.vendors.mindie.generate.codec import clean, finish
from emulator.vendors.mindie.generate.fields import (
    NO_ADAPTER,
    Parameters,
    read_closed_top_p,
    read_max_new_tokens,
    read_repetition_penalty,
    read_seed,
    read_temperature,
    read_top_k,
    read_typical_p,
    refuse_top_p,
    shape_sampling,
)
from emulator.vendors.mindie.generate.inputs import fetch_media, measure_excess, read_inputs
from emulator.vendors.mindie.generate.parse import BROKEN_REQUEST, check_tokens, default_length, measure_room
from emulator.vendors.mindie.headers import check_headers, closing_headers, stream_headers
from emulator.vendors.mindie.settings import MindieSettings

MAX_PRIORITY = 5
MAX_TIMEOUT = 65535
MAX_ID = 1024 * 1024
_Fields = Mapping[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class Native:
    """What the codec remembers of a request."""

    limit: int
    details: bool
    seed: int | None


def parse_infer(request: WireRequest, service: Service[MindieSettings, None]) -> Call | WireResponse:
    """``inputs`` is a text or a list, ``input_id`` token ids; one of them."""
    check_headers(request, service)
    settings = service.settings
    body = parse_body(request, settings, BROKEN_REQUEST)
    fields: _Fields = body if isinstance(body, dict) else {}
    deployment = check_ready(find_served(service))
    tokenizer = service.tokenizer(deployment)
    prompt, media = _read_prompt(fields, settings)
    if not isinstance(prompt, str) and any(token >= tokenizer.vocabulary_size for token in prompt):
        raise refuse("Failed to enqueue inferRequest. Invalid Input Ids", "input_id", 424)
    ask = CompletionAsk(prompts=(prompt,), media=media)
    (count,) = service.count_prompt(ask, deployment)
    check_tokens(count)
    parameters = read_native_parameters(read_object(fields, "parameters"))
    stream = read_boolean(fields, "stream") or False
    room = measure_room(settings, deployment, count, parameters.max_new_tokens or default_length(deployment))
    sampling = shape_sampling(parameters, max_tokens=room.answer, vocabulary=tokenizer.vocabulary_size, logprobs=False)
    return Call(
        request=request,
        deployment=deployment,
        ask=CompletionAsk(prompts=(prompt,), media=media, sampling=sampling),
        codec=NATIVE,
        stream=stream,
        prompt_tokens=(room.prompt,),
        context=Native(limit=room.answer, details=parameters.details, seed=parameters.seed),
        repeatable=True,
    )


def _read_prompt(fields: _Fields, settings: MindieSettings) -> tuple[str | tuple[int, ...], int]:
    if "inputs" in fields and "input_id" in fields:
        raise refuse("Input conflict.", "inputs")
    if "input_id" in fields:
        return _read_ids(fields["input_id"]), 0
    if "inputs" not in fields:
        raise refuse("Not found inputs.", "inputs")
    value = fields["inputs"]
    if value is None:
        raise refuse("Inputs must not be null", "inputs")
    inputs = read_inputs(value)
    length = measure_excess(inputs, value, settings.max_input_chars)
    if length is not None:
        text = "Inputs must be necessary and data type must be string and length in "
        raise refuse(f"{text}(0, {settings.max_input_chars}], but the length of inputs is {length}", "inputs")
    if isinstance(value, list):
        fetch_media(value)
    return inputs.prompt, inputs.media


def _read_ids(value: JSON) -> tuple[int, ...]:
    if value is None:
        raise refuse("Input_id should not be empty", "input_id")
    if not isinstance(value, list):
        raise refuse("Parameter input_id must be an array", "input_id")
    for token in value:
        if not isinstance(token, int) or isinstance(token, bool):
            raise refuse("Parameter input_id must be integer", "input_id")
        if not 0 <= token <= MAX_ID:
            raise refuse("Data element in param input_id is invalid", "input_id")
    return tuple(value)


def read_native_parameters(fields: _Fields, *, triton: bool = False) -> Parameters:
    """``parameters`` of the native and Triton forms; ``triton``: ``top_k`` may be 0 and ``top_p`` 1."""
    temperature = read_temperature(fields)
    top_k = read_top_k(fields, zero=triton)
    top_p = read_closed_top_p(fields)
    if top_p == 1.0 and not triton:
        raise refuse_top_p(fields)
    read_typical_p(fields)
    do_sample = read_boolean(fields, "do_sample")
    seed = read_seed(fields)
    repetition_penalty = read_repetition_penalty(fields)
    read_boolean(fields, "watermark")
    _check_range(fields, "priority", MAX_PRIORITY, "Parameter priority must be in [1,5], got {}.")
    max_new_tokens = read_max_new_tokens(fields)
    words = "Parameter timeout must be strictly positive and small than 65535 seconds, got {}."
    _check_range(fields, "timeout", MAX_TIMEOUT, words)
    return Parameters(
        stop=(),
        temperature=temperature,
        top_k=top_k or None,
        top_p=top_p,
        do_sample=do_sample,
        seed=seed,
        repetition_penalty=repetition_penalty,
        adapter_id=NO_ADAPTER,
        max_new_tokens=max_new_tokens,
        details=read_boolean(fields, "details") or False,
        decoder_input_details=False,
        return_full_text=False,
        truncate=None,
    )


def _check_range(fields: _Fields, key: str, most: int, words: str) -> None:
    value = read_unsigned(fields, key)
    if value is not None and not 1 <= value <= most:
        raise refuse(words.format(show(value)), key)


def read_batch_size(fields: _Fields) -> int | None:
    """``batch_size`` of the Triton forms; checked, and without effect."""
    value = read_float(fields, "batch_size")
    if value is not None and (value != int(value) or not 1 <= value <= 2147483647):
        text = f"Parameter batch_size must be in (0,2147483647], got {show(fields['batch_size'])}."
        raise refuse(text, "batch_size")
    return None if value is None else int(value)


class NativeCodec:
    """An object; streamed, with the milliseconds each token took."""

    def render(self, plan: Plan, call: Call, service: Service[MindieSettings, None]) -> WireResponse:
        asked: Native = call.context
        choice = plan.choices[0]
        body: dict[str, JSON] = {"generated_text": clean(choice.text())}
        if asked.details:
            body["details"] = {
                "finish_reason": finish(choice, asked.limit, service.settings),
                "generated_tokens": len(choice.ids),
                "generated_token_ids": list(choice.ids),
                "seed": pick_seed(plan.key, asked.seed, 32),
            }
        return WireResponse(200, dump_json(body), closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, call: Call, service: Service[MindieSettings, None]) -> WireStream:
        return WireStream(_stream(plan, call, service.settings), stream_headers(plan.key))


NATIVE = NativeCodec()


def show_times(due: float, before: float | None) -> str:
    """``prefill_time`` of the first token, ``decode_time`` of the others, in milliseconds."""
    if before is None:
        return f'"prefill_time":{round(due * 1000)},"decode_time":null'
    return f'"prefill_time":null,"decode_time":{round((due - before) * 1000)}'


def _stream(plan: Plan, call: Call, settings: MindieSettings) -> Iterator[tuple[float, bytes]]:
    asked: Native = call.context
    choice = plan.choices[0]
    last = len(choice.tokens) - 1
    before: float | None = None
    so_far = ""
    for index, (token, text) in enumerate(zip(choice.ids, choice.tokens, strict=True)):
        due = choice.due[index]
        times = show_times(due, before).encode()
        before = due
        so_far += text
        if index < last:
            shown = quote(so_far if settings.full_text else text)
            yield due, b'data: {%b,"token":{"id":[%d],"text":%b}}\n\n' % (times, token, shown)
            continue
        details: JSON = None
        if asked.details:
            details = {
                "finish_reason": finish(choice, asked.limit, settings),
                "generated_tokens": len(choice.ids),
                "seed": pick_seed(plan.key, asked.seed, 32),
            }
        body = dump_json({"generated_text": clean(choice.text()), "details": details})[1:-1]
        yield due, b'data: {%b,%b,"token":{"id":[%d],"text":null}}\n\n' % (times, body, token)
