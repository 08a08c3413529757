"""Parse ``POST /infer`` and ``/infer_token``, the server's native form, and render their responses.

Source: MindIE-LLM, ``single_req_self_develop_infer_interface.cpp``.
"""

from collections.abc import Iterator

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Mark, Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.requests import CompletionRequest
from emulator.core.vendor import InferenceCall
from emulator.encoding.sse import quote
from emulator.protocols.choice_events import PLAIN
from emulator.protocols.tgi import find_served
from emulator.vendors.mindie.decoder import (
    MAX_INT32,
    Fields,
    read_boolean,
    read_float,
    read_object,
    read_unsigned,
    refusal,
    show,
)
from emulator.vendors.mindie.generate.fields import (
    Parameters,
    read_max_new_tokens,
    read_repetition_penalty,
    read_seed,
    read_temperature,
    read_top_k,
    read_top_p,
    read_typical_p,
    shape_sampling,
)
from emulator.vendors.mindie.generate.inputs import TOO_LONG, read_inputs
from emulator.vendors.mindie.generate.shapes import name_finish, show_seed
from emulator.vendors.mindie.headers import closing_headers, stream_headers
from emulator.vendors.mindie.postprocess import ENDED, clean, quote_so_far
from emulator.vendors.mindie.request import check_headers, check_ids, check_tokens, measure_lengths, read_body
from emulator.vendors.mindie.request_ids import read_id
from emulator.vendors.mindie.server_state import check_serving, find_bounds
from emulator.vendors.mindie.settings import MindieService, MindieSettings

MAX_PRIORITY = 5
MAX_TIMEOUT = 65535
MAX_ID = 1024 * 1024


def parse_infer(request: Request, service: MindieService) -> InferenceCall:
    """Parse a request with either ``inputs``, a text or a list, or ``input_id``, token ids."""
    check_headers(request, service)
    settings = service.settings
    fields = read_body(request, settings)
    deployment = check_serving(request, find_served(service))
    tokenizer = service.tokenizer(deployment)
    prompt, media = _read_prompt(fields, settings)
    if not isinstance(prompt, str):
        check_ids(prompt, tokenizer, "input_id")
    (count,) = service.count_prompt(CompletionRequest(prompts=(prompt,), media=media), deployment)
    check_tokens(count)
    parameters = read_native_parameters(read_object(fields, "parameters"))
    stream = read_boolean(fields, "stream") or False
    asked = parameters.max_new_tokens or find_bounds(service, deployment).default_answer
    lengths = measure_lengths(service, deployment, count, asked)
    sampling = shape_sampling(parameters, lengths.answer, tokenizer)
    return InferenceCall(
        deployment=deployment,
        request=CompletionRequest(prompts=(prompt,), media=media, sampling=sampling),
        codec=NativeCodec(limit=lengths.answer, details=parameters.details, seed=parameters.seed, settings=settings),
        stream=stream,
        prompt_tokens=(lengths.prompt,),
        repeatable=True,
        cancel_ids=read_id(request).names,
    )


def _read_prompt(fields: Fields, settings: MindieSettings) -> tuple[str | tuple[int, ...], int]:
    if "inputs" in fields and "input_id" in fields:
        raise refusal("Input conflict.", "inputs")
    if "input_id" in fields:
        return _read_ids(fields["input_id"]), 0
    if "inputs" not in fields:
        raise refusal("Not found inputs.", "inputs")
    value = fields["inputs"]
    if value is None:
        raise refusal("Inputs must not be null", "inputs")
    inputs = read_inputs(value, settings.max_input_chars, "Inputs" + TOO_LONG)
    return inputs.prompt, inputs.media


def _read_ids(value: JSON) -> tuple[int, ...]:
    if value is None:
        raise refusal("Input_id should not be empty", "input_id")
    if not isinstance(value, list):
        raise refusal("Parameter input_id must be an array", "input_id")
    for token in value:
        if not isinstance(token, int) or isinstance(token, bool):
            raise refusal("Parameter input_id must be integer", "input_id")
        if not 0 <= token <= MAX_ID:
            raise refusal("Data element in param input_id is invalid", "input_id")
    return tuple(value)


@fast_dataclass(frozen=True, slots=True)
class Form:
    """Variant of the ``parameters`` rules of the native and Triton forms.

    Fields:
        triton: ``top_k`` may be 0 and ``top_p`` 1.
        typical: ``typical_p`` is validated.
        last: fields validated after the others, in order.
    """

    triton: bool = True
    typical: bool = True
    last: tuple[str, ...] = ()


_NATIVE = Form(triton=False, last=("timeout", "details"))


def read_native_parameters(fields: Fields, form: Form = _NATIVE) -> Parameters:
    """Parse and validate ``parameters`` of the native and Triton forms."""
    temperature = read_temperature(fields)
    top_k = read_top_k(fields, zero=form.triton)
    top_p = read_top_p(fields, one=form.triton)
    if form.typical:
        read_typical_p(fields)
    do_sample = read_boolean(fields, "do_sample")
    seed = read_seed(fields)
    repetition_penalty = read_repetition_penalty(fields)
    read_boolean(fields, "watermark")
    _check_range(fields, "priority", MAX_PRIORITY, "Parameter priority must be in [1,5], got {}.")
    max_new_tokens = read_max_new_tokens(fields)
    for key in form.last:
        _CHECKS[key](fields)
    return Parameters(
        temperature=temperature,
        top_k=top_k or None,
        top_p=top_p,
        do_sample=do_sample,
        seed=seed,
        repetition_penalty=repetition_penalty,
        max_new_tokens=max_new_tokens,
        details=fields.get("details") is True,
    )


def _check_timeout(fields: Fields) -> None:
    template = "Parameter timeout must be strictly positive and small than 65535 seconds, got {}."
    _check_range(fields, "timeout", MAX_TIMEOUT, template)


def _check_details(fields: Fields) -> None:
    read_boolean(fields, "details")


def _check_batch_size(fields: Fields) -> None:
    """Raise if ``batch_size`` is invalid; the value has no effect."""
    value = read_float(fields, "batch_size")
    if value is not None and (value != int(value) or not 1 <= value <= MAX_INT32):
        text = f"Parameter batch_size must be in (0,{MAX_INT32}], got {show(fields['batch_size'])}."
        raise refusal(text, "batch_size")


_CHECKS = {"timeout": _check_timeout, "details": _check_details, "batch_size": _check_batch_size}


def _check_range(fields: Fields, key: str, limit: int, template: str) -> None:
    value = read_unsigned(fields, key)
    if value is not None and not 1 <= value <= limit:
        raise refusal(template.format(show(value)), key)


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class NativeCodec:
    """Codec of the native form; streaming events have the milliseconds of each token.

    Fields:
        limit: maximum tokens of the response; one that reaches it reports ``length``.
        seed: the request's seed; ``None``: draw one.
    """

    limit: int
    details: bool
    seed: int | None
    settings: MindieSettings

    def render(self, plan: Plan, request: Request) -> Response:
        choice = plan.choices[0]
        body: Object = {"generated_text": clean(choice.text())}
        if self.details:
            body["details"] = _build_details(self, plan, choice, {"generated_token_ids": choice.ids})
        return Response(200, dump_json(body), closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return StreamingResponse(_stream(self, plan), stream_headers(plan.key))


def _build_details(codec: NativeCodec, plan: Plan, choice: Choice, ids: Object) -> JSON:
    return {
        "finish_reason": name_finish(choice, codec.limit, codec.settings),
        "generated_tokens": choice.count,
        **ids,
        "seed": show_seed(plan.key, codec.seed),
    }


def show_times(due: float, before: float | None) -> bytes:
    """Encode ``prefill_time`` of the first token or ``decode_time`` of a later one, in milliseconds."""
    if before is None:
        return b'"prefill_time":%d,"decode_time":null' % round(due * 1000)
    return b'"prefill_time":null,"decode_time":%d' % round((due - before) * 1000)


def _stream(codec: NativeCodec, plan: Plan) -> Iterator[Event]:
    """Yield an event per token; the last one has the whole text instead of the token's."""
    choice = plan.choices[0]
    count = len(choice.tokens)
    texts = quote_so_far(choice.tokens) if codec.settings.full_text else map(quote, choice.tokens)
    before: float | None = None
    for position, (due, token, text) in enumerate(zip(choice.due, choice.ids, texts, strict=True), 1):
        times = show_times(due, before)
        before = due
        if position < count:
            yield due, b'data: {%b,"token":{"id":[%d],"text":%b}}\n\n' % (times, token, text), position, PLAIN
            continue
        details = _build_details(codec, plan, choice, {}) if codec.details else None
        body = dump_json({"generated_text": clean(choice.text()), "details": details})[1:-1]
        mark = ENDED if codec.details else Mark.FINISH
        yield due, b'data: {%b,%b,"token":{"id":[%d],"text":null}}\n\n' % (times, body, token), count, mark
