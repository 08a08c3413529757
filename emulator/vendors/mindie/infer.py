"""Parse ``POST /infer`` and ``/infer_token``, the server's native form, and render their responses.

Source: MindIE-LLM, ``single_req_self_develop_infer_interface.cpp``.
"""

from collections.abc import Callable, Iterator, Mapping

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Mark, Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.requests import CompletionRequest
from emulator.encoding.sse import encode_string
from emulator.protocols.choice_events import PLAIN
from emulator.protocols.tgi import find_served
from emulator.vendors.mindie import ranges
from emulator.vendors.mindie.decoder import (
    Fields,
    is_integer,
    parse_boolean,
    parse_float,
    parse_integer,
    parse_object,
    parse_unsigned,
    refusal,
)
from emulator.vendors.mindie.generate.fields import Parameters, build_sampling
from emulator.vendors.mindie.generate.inputs import TOO_LONG, parse_inputs
from emulator.vendors.mindie.generate.render import find_finish_reason, find_seed
from emulator.vendors.mindie.headers import closing_headers, stream_headers
from emulator.vendors.mindie.postprocess import ENDED, clean, quote_so_far
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.request import measure_lengths, parse_body, validate_headers, validate_ids, validate_tokens
from emulator.vendors.mindie.request_ids import parse_id
from emulator.vendors.mindie.server_state import find_profile, validate_serving
from emulator.vendors.mindie.settings import MindieSettings

MAX_ID = 1024 * 1024


def parse_infer(request: Request, service: MindieService) -> InferenceCall:
    """Parse a request with either ``inputs``, a text or a list, or ``input_id``, token ids."""
    validate_headers(request, service)
    settings = service.settings
    fields = parse_body(request, settings)
    deployment = validate_serving(request, find_served(service))
    tokenizer = service.tokenizer(deployment)
    prompt, media = _parse_prompt(fields, settings)
    if not isinstance(prompt, str):
        validate_ids(prompt, tokenizer, "input_id")
    (count,) = service.count_prompt(CompletionRequest(prompts=(prompt,), media=media), deployment)
    validate_tokens(count)
    parameters = parse_native_parameters(parse_object(fields, "parameters"))
    stream = parse_boolean(fields, "stream") or False
    asked = parameters.max_new_tokens or find_profile(service, deployment).default_answer
    lengths = measure_lengths(service, deployment, count, asked)
    sampling = build_sampling(parameters, lengths.answer, tokenizer)
    return InferenceCall(
        deployment=deployment,
        request=CompletionRequest(prompts=(prompt,), media=media, sampling=sampling),
        codec=NativeCodec(limit=lengths.answer, details=parameters.details, seed=parameters.seed, settings=settings),
        stream=stream,
        prompt_tokens=(lengths.prompt,),
        repeatable=True,
        cancel_ids=parse_id(request).names,
    )


def _parse_prompt(fields: Fields, settings: MindieSettings) -> tuple[str | tuple[int, ...], int]:
    if "inputs" in fields and "input_id" in fields:
        raise refusal("Input conflict.", "inputs")
    if "input_id" in fields:
        return _parse_ids(fields["input_id"]), 0
    if "inputs" not in fields:
        raise refusal("Not found inputs.", "inputs")
    value = fields["inputs"]
    if value is None:
        raise refusal("Inputs must not be null", "inputs")
    inputs = parse_inputs(value, settings.max_input_chars, "Inputs" + TOO_LONG)
    return inputs.prompt, inputs.media


def _parse_ids(value: JSON) -> tuple[int, ...]:
    if value is None:
        raise refusal("Input_id should not be empty", "input_id")
    if not isinstance(value, list):
        raise refusal("Parameter input_id must be an array", "input_id")
    for token in value:
        if not is_integer(token):
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


def parse_native_parameters(fields: Fields, form: Form = _NATIVE) -> Parameters:
    """Parse and validate ``parameters`` of the native and Triton forms."""
    temperature = parse_float(fields, "temperature", ranges.TEMPERATURE)
    top_k = parse_integer(fields, "top_k", ranges.TOP_K_OR_ZERO if form.triton else ranges.TOP_K)
    top_p = parse_float(fields, "top_p", ranges.TOP_P if form.triton else ranges.TOP_P_BELOW_ONE)
    if form.typical:
        parse_float(fields, "typical_p", ranges.TYPICAL_P)
    do_sample = parse_boolean(fields, "do_sample")
    seed = parse_unsigned(fields, "seed", ranges.SEED)
    repetition_penalty = parse_float(fields, "repetition_penalty", ranges.REPETITION)
    parse_boolean(fields, "watermark")
    parse_unsigned(fields, "priority", ranges.PRIORITY)
    max_new_tokens = parse_integer(fields, "max_new_tokens", ranges.MAX_NEW_TOKENS)
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


_CHECKS: Mapping[str, Callable[[Fields], object]] = {
    "timeout": lambda fields: parse_unsigned(fields, "timeout", ranges.TIMEOUT),
    "details": lambda fields: parse_boolean(fields, "details"),
    "batch_size": lambda fields: parse_integer(fields, "batch_size", ranges.BATCH_SIZE),  # has no effect
}


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
        "finish_reason": find_finish_reason(choice, codec.limit, codec.settings),
        "generated_tokens": choice.count,
        **ids,
        "seed": find_seed(plan.key, codec.seed),
    }


def encode_times(due: float, before: float | None) -> bytes:
    """Encode ``prefill_time`` of the first token or ``decode_time`` of a later one, in milliseconds."""
    if before is None:
        return b'"prefill_time":%d,"decode_time":null' % round(due * 1000)
    return b'"prefill_time":null,"decode_time":%d' % round((due - before) * 1000)


def _stream(codec: NativeCodec, plan: Plan) -> Iterator[Event]:
    """Yield an event per token; the last one has the whole text instead of the token's."""
    choice = plan.choices[0]
    count = len(choice.tokens)
    texts = quote_so_far(choice.tokens) if codec.settings.full_text else map(encode_string, choice.tokens)
    before: float | None = None
    for position, (due, token, text) in enumerate(zip(choice.due, choice.ids, texts, strict=True), 1):
        times = encode_times(due, before)
        before = due
        if position < count:
            yield due, b'data: {%b,"token":{"id":[%d],"text":%b}}\n\n' % (times, token, text), position, PLAIN
            continue
        details = _build_details(codec, plan, choice, {}) if codec.details else None
        body = dump_json({"generated_text": clean(choice.text()), "details": details})[1:-1]
        mark = ENDED if codec.details else Mark.FINISH
        yield due, b'data: {%b,%b,"token":{"id":[%d],"text":null}}\n\n' % (times, body, token), count, mark
