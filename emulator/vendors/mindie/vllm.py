"""``POST /generate``: TGI's form or vLLM's, by what the body holds.

Source: MindIE-LLM, ``http_wrapper/http_handler.cpp``, ``single_req_vllm_infer_interface.cpp`` and
``utils/infer_param.cpp``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from emulator.core.call import CompletionAsk, Sampling
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest, WireResponse, WireStream
from emulator.dialects.tgi import check_ready, serves
from emulator.vendors.mindie.decoder import count_units, parse_body, read_boolean, refuse
from emulator.vendors.mindie.generate.codec import clean, end_at_token, find_end, release, sampling_of
from emulator.vendors.mindie.generate.inputs import Inputs, fetch_media, measure_excess, read_inputs
from emulator.vendors.mindie.generate.parse import measure_room, parse_tgi
from emulator.vendors.mindie.headers import check_headers, closing_headers, stream_headers
from emulator.vendors.mindie.sampling import Fields, StopIds, read_max_tokens, read_sampling
from emulator.vendors.mindie.settings import MindieSettings

MAX_MODEL_LENGTH = 256
NEITHER_FORM = (
    '{"Error": "`inputs` or `prompt` must be necessary and data type must be string. '
    'Additionally, the request body must be valid json", "error_type": "validation"}'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompted:
    """What the codec remembers: the prompt as the answer repeats it, and the ids that end an answer."""

    prompt: str
    stop_ids: StopIds


def parse_generate(request: WireRequest, service: Service[MindieSettings, None]) -> Call | WireResponse:
    """``prompt`` makes it vLLM's form, even beside ``inputs``; TGI's form never streams here."""
    check_headers(request, service)
    body = parse_body(request, service.settings, NEITHER_FORM)
    fields: Fields = body if isinstance(body, dict) else {}
    if fields.get("prompt") is not None:
        return _parse_vllm(request, service, fields)
    if fields.get("inputs") is not None:
        return parse_tgi(request, service, fields, stream=False, array=False)
    raise refuse(NEITHER_FORM)


def _parse_vllm(request: WireRequest, service: Service[MindieSettings, None], fields: Fields) -> Call:
    settings = service.settings
    deployments = tuple(service.deployments.values())
    check_ready(serves(deployments))
    inputs = _read_prompt(fields["prompt"], settings)
    (count,) = service.count_prompt(CompletionAsk(prompts=(inputs.prompt,), media=inputs.media), serves(deployments))
    if not count:
        text = "Messages token length must be in (0, 1048576], but got 0"
        raise refuse(f"{text}. This could be caused by invalid input format or empty content.", "prompt")
    sampling, stop_ids = read_sampling(fields, settings)
    deployment = serves(deployments, _read_model(fields))
    asked = read_max_tokens(fields) or deployment.max_output or settings.max_iter_times
    stream = read_boolean(fields, "stream") or False
    _check_choices(fields, sampling["n"])
    if settings.disaggregated and (sampling["stop"] or stop_ids.ids):
        field = "stop" if sampling["stop"] else "stop_token_ids"
        raise refuse(f"{field} is not supported in dmi mode", field)
    room = measure_room(settings, deployment, count, asked)
    return Call(
        request=request,
        deployment=deployment,
        ask=CompletionAsk(
            prompts=(inputs.prompt,), sampling=Sampling(max_tokens=room.answer, **sampling), media=inputs.media
        ),
        codec=VLLM,
        stream=stream,
        prompt_tokens=(room.prompt,),
        context=Prompted(prompt=inputs.first_text, stop_ids=stop_ids),
        repeatable=True,
    )


def _read_prompt(value: JSON, settings: MindieSettings) -> Inputs:
    inputs = read_inputs(value, "prompt")
    length = measure_excess(inputs, value, settings.max_input_chars)
    if length is not None:
        text = "Prompt must be necessary and data type must be string and length in "
        raise refuse(f"{text}(0, {settings.max_input_chars}], but the length of inputs is {length}", "prompt")
    if isinstance(value, list):
        fetch_media(value)
    return inputs


def _check_choices(fields: Fields, made: int) -> None:
    """Several answers need sampling, and no more are kept than were made."""
    best_of, count = fields.get("best_of"), fields.get("n")
    if best_of is not None and count is not None and best_of < count:
        text = f"best_of should greater than or equal to n, but best_of is {best_of}, n is {count}."
        raise refuse(text, "best_of")
    if made > 1 and not fields.get("temperature"):
        text = "Best_of/N can not greater than 1 when temperature is 0 or not set, but "
        raise refuse(f"{text}best_of is {best_of}, n is {count}.", "best_of")


def _read_model(fields: Fields) -> str:
    """``model`` names an adapter."""
    value = fields.get("model")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise refuse("Model must be string type.", "model")
    length = count_units(value)
    if not 1 <= length <= MAX_MODEL_LENGTH:
        text = f"Input validation error: length of `model` must be in [1, {MAX_MODEL_LENGTH}], but got {length}"
        raise refuse(text, "model")
    return value


class VllmCodec:
    """``{"text": [...]}``: the prompt, a space and the answer; streamed, the new text alone, ended by a NUL."""

    def render(self, plan: Plan, call: Call, service: Service[MindieSettings, None]) -> WireResponse:
        prompted: Prompted = call.context
        texts = [f"{prompted.prompt} {choice.text()}" for choice in _choices(plan, prompted)]
        return WireResponse(200, dump_json({"text": list(map(clean, texts))}), closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, call: Call, service: Service[MindieSettings, None]) -> WireStream:
        return WireStream(_stream(plan, call, service), stream_headers(plan.key))


VLLM = VllmCodec()


def _choices(plan: Plan, prompted: Prompted) -> list[Choice]:
    return [end_at_token(choice, prompted.stop_ids) for choice in plan.choices]


def _stream(plan: Plan, call: Call, service: Service[MindieSettings, None]) -> Iterator[tuple[float, bytes]]:
    """One object per round of decoding; an answer that has ended is ``""`` in the rounds that follow."""
    tokenizer = service.tokenizer(call.deployment)
    window = max(map(count_units, sampling_of(call).stop), default=0)
    columns = []
    for choice in _choices(plan, call.context):
        if not choice.tokens:
            return
        end = find_end(choice, tokenizer)
        due = release(choice, end, window) if window else choice.due
        columns.append(list(zip(due[: end + 1], map(clean, choice.tokens), strict=False)))
    for row in zip_longest(*columns):
        texts = ["" if cell is None else cell[1] for cell in row]
        yield max(cell[0] for cell in row if cell is not None), dump_json({"text": texts}) + b"\0"
