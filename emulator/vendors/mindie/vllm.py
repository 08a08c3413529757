"""``POST /generate``: TGI's form or vLLM's, by what the body holds.

Source: MindIE-LLM, ``http_wrapper/http_handler.cpp``, ``single_req_vllm_infer_interface.cpp`` and
``utils/infer_param.cpp``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

from emulator.core.call import Call, CompletionAsk, Sampling
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.vendor import Service, WireRequest, WireResponse, WireStream
from emulator.dialects.tgi import serves
from emulator.vendors.mindie.checks import (
    MAX_INT32,
    count_units,
    parse_body,
    read_boolean,
    read_float,
    read_unsigned,
    refuse,
    show,
)
from emulator.vendors.mindie.generate import measure_room, parse_tgi
from emulator.vendors.mindie.headers import check_headers, closing_headers, stream_headers
from emulator.vendors.mindie.inputs import Inputs, fetch_media, read_inputs
from emulator.vendors.mindie.parameters import (
    read_closed_top_p,
    read_repetition_penalty,
    read_seed,
    read_stop,
    read_temperature,
    read_top_k,
)
from emulator.vendors.mindie.render import clean, find_end, release, sampling_of
from emulator.vendors.mindie.settings import MindieSettings

MAX_CHOICES = 128
MAX_PENALTY = 2.0
MAX_MODEL_LENGTH = 256
NEITHER_FORM = (
    '{"Error": "`inputs` or `prompt` must be necessary and data type must be string. '
    'Additionally, the request body must be valid json", "error_type": "validation"}'
)
_Fields = Mapping[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompted:
    """What the codec remembers: the prompt as the answer repeats it, and the ids that end an answer."""

    prompt: str
    stop_ids: frozenset[int]
    keep_stop: bool


def parse_generate(request: WireRequest, service: Service[MindieSettings]) -> Call | WireResponse:
    """``prompt`` makes it vLLM's form, even beside ``inputs``; TGI's form never streams here."""
    check_headers(request, service)
    body = parse_body(request, service.settings.max_json_depth, NEITHER_FORM)
    fields: _Fields = body if isinstance(body, dict) else {}
    if fields.get("prompt") is not None:
        return _parse_vllm(request, service, fields)
    if fields.get("inputs") is not None:
        return parse_tgi(request, service, fields, stream=False, array=False)
    raise refuse(NEITHER_FORM)


def _parse_vllm(request: WireRequest, service: Service[MindieSettings], fields: _Fields) -> Call:
    settings = service.settings
    deployments = tuple(service.deployments.values())
    inputs = _read_prompt(fields["prompt"], settings)
    (count,) = service.count_prompt(CompletionAsk(prompts=(inputs.prompt,), media=inputs.media), serves(deployments))
    if not count:
        text = "Messages token length must be in (0, 1048576], but got 0"
        raise refuse(f"{text}. This could be caused by invalid input format or empty content.", "prompt")
    sampling, prompted = _read_sampling(fields, settings, inputs)
    deployment = serves(deployments, _read_model(fields))
    asked = read_max_tokens(fields) or deployment.max_output or settings.max_iter_times
    stream = read_boolean(fields, "stream") or False
    check_choices(fields, sampling)
    if settings.disaggregated and (sampling.stop or prompted.stop_ids):
        field = "stop" if sampling.stop else "stop_token_ids"
        raise refuse(f"{field} is not supported in dmi mode", field)
    room = measure_room(settings, deployment, count, asked)
    return Call(
        request=request,
        deployment=deployment,
        ask=CompletionAsk(
            prompts=(inputs.prompt,), sampling=replace(sampling, max_tokens=room.answer), media=inputs.media
        ),
        codec=VLLM,
        stream=stream,
        prompt_tokens=(room.prompt,),
        context=prompted,
    )


def _read_prompt(value: JSON, settings: MindieSettings) -> Inputs:
    inputs = read_inputs(value, "prompt")
    length = count_units(inputs.echo)
    if not 0 < length <= settings.max_input_chars:
        text = "Prompt must be necessary and data type must be string and length in "
        raise refuse(f"{text}(0, {settings.max_input_chars}], but the length of inputs is {length}", "prompt")
    if isinstance(value, list):
        fetch_media(value)
    return inputs


def _read_sampling(fields: _Fields, settings: MindieSettings, inputs: Inputs) -> tuple[Sampling, Prompted]:
    ignore_eos = read_boolean(fields, "ignore_eos") or False
    stop = read_stop(fields, most=None)
    stop_ids = read_stop_ids(fields)
    keep = _keeps_stop(fields)
    temperature = read_temperature(fields, zero=True)
    top_k = read_top_k(fields, unlimited=True)
    top_p = read_closed_top_p(fields)
    seed = read_seed(fields)
    repetition = read_repetition_penalty(fields, MAX_PENALTY)
    frequency = read_penalty(fields, "frequency_penalty", "Parameter frequency_penalty should be in [-2.0, 2.0], got")
    presence = read_penalty(fields, "presence_penalty", "Parameter presence_penalty not in [-2.0, 2.0], but got")
    read_boolean(fields, "skip_special_tokens")
    count = read_choices(fields, settings)
    greedy = temperature == 0 or top_k == 1 or all(value is None for value in (temperature, top_k, top_p))
    sampling = Sampling(
        greedy=greedy,
        seed=seed,
        knobs=(
            ("temperature", 1.0 if temperature is None else float(temperature)),
            ("top_k", top_k or 0),
            ("top_p", float(top_p or 1.0)),
            ("repetition_penalty", float(repetition or 1.0)),
            ("frequency_penalty", frequency),
            ("presence_penalty", presence),
        ),
        stop=stop,
        keep_stop=keep,
        ignore_eos=ignore_eos,
        show_eos=True,
        n=count,
    )
    return sampling, Prompted(prompt=inputs.first_text, stop_ids=stop_ids, keep_stop=keep)


def _keeps_stop(fields: _Fields) -> bool:
    """``include_stop_str_in_output`` is looked at only beside a stop."""
    if "stop" not in fields and "stop_token_ids" not in fields:
        return False
    return read_boolean(fields, "include_stop_str_in_output") or False


def read_penalty(fields: _Fields, key: str, words: str) -> float:
    """``presence_penalty`` and ``frequency_penalty``: -2 to 2."""
    value = read_float(fields, key)
    if value is not None and not -MAX_PENALTY <= value <= MAX_PENALTY:
        raise refuse(f"{words} {show(fields[key])}.", key)
    return float(value or 0.0)


def read_stop_ids(fields: _Fields) -> frozenset[int]:
    """``stop_token_ids``; what is no 32-bit id is skipped."""
    value = fields.get("stop_token_ids")
    if value is None:
        return frozenset()
    if not isinstance(value, list):
        raise refuse("Parameter stop_token_ids not array", "stop_token_ids")
    if any(not isinstance(item, int) or isinstance(item, bool) for item in value):
        raise refuse("Parameter stop_token_ids not list[int]", "stop_token_ids")
    return frozenset(item for item in value if 0 <= item <= MAX_INT32)


def read_choices(fields: _Fields, settings: MindieSettings) -> int:
    """How many answers ``best_of`` and ``n`` ask for."""
    best_of = read_unsigned(fields, "best_of")
    if best_of is not None and settings.disaggregated and best_of != 1:
        text = f"Paramter [best_of] can only be set to 1 in pd disaggregation mode, got {best_of}."
        raise refuse(text, "best_of")
    if best_of is not None and not 1 <= best_of <= MAX_CHOICES:
        raise refuse(f"Parameter [best_of] should be in [1, {MAX_CHOICES}], got {best_of}.", "best_of")
    count = read_unsigned(fields, "n")
    if count is not None and settings.disaggregated and count != 1:
        raise refuse(f"Parameter [n] can only be set to 1 in pd disaggregation mode, got {count}.", "n")
    if count is not None and not 1 <= count <= MAX_CHOICES:
        raise refuse(f"Parameter [n] should be in [1, {MAX_CHOICES}], got {count}. ", "n")
    return best_of or count or 1


def check_choices(fields: _Fields, sampling: Sampling) -> None:
    """Several answers need sampling, and no more are kept than were made."""
    best_of, count = fields.get("best_of"), fields.get("n")
    if best_of is not None and count is not None and best_of < count:
        text = f"best_of should greater than or equal to n, but best_of is {best_of}, n is {count}."
        raise refuse(text, "best_of")
    if sampling.n > 1 and not fields.get("temperature"):
        text = "Best_of/N can not greater than 1 when temperature is 0 or not set, but "
        raise refuse(f"{text}best_of is {best_of}, n is {count}.", "best_of")


def _read_model(fields: _Fields) -> str:
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


def read_max_tokens(fields: _Fields) -> int | None:
    value = fields.get("max_tokens")
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise refuse("Parameter max_tokens not number_integer", "max_tokens")
    if not 1 <= value <= MAX_INT32:
        raise refuse(f"Parameter max_tokens must be (0,{MAX_INT32}], got {show(value)}", "max_tokens")
    return value


def end_at_token(choice: Choice, ids: frozenset[int], *, keep: bool) -> Choice:
    """The answer up to the first of the given ids, whose text goes unless ``keep``."""
    index = next((i for i, token in enumerate(choice.ids) if token in ids), None)
    if index is None:
        return choice
    last = choice.tokens[index] if keep else ""
    return replace(
        choice,
        tokens=(*choice.tokens[:index], last),
        ids=choice.ids[: index + 1],
        due=choice.due[: index + 1],
        spans=tuple(replace(s, end=min(s.end, index + 1)) for s in choice.spans if s.start <= index),
        finish_reason="stop",
        stopped_by=choice.tokens[index],
    )


class VllmCodec:
    """``{"text": [...]}``: the prompt, a space and the answer; streamed, the new text alone, ended by a NUL."""

    def render(self, plan: Plan, call: Call, service: Service[MindieSettings]) -> WireResponse:
        prompted: Prompted = call.context
        texts = [f"{prompted.prompt} {choice.text()}" for choice in _choices(plan, prompted)]
        return WireResponse(200, dump_json({"text": list(map(clean, texts))}), closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, call: Call, service: Service[MindieSettings]) -> WireStream:
        return WireStream(_stream(plan, call, service), stream_headers(plan.key))


VLLM = VllmCodec()


def _choices(plan: Plan, prompted: Prompted) -> list[Choice]:
    return [end_at_token(choice, prompted.stop_ids, keep=prompted.keep_stop) for choice in plan.choices]


def _stream(plan: Plan, call: Call, service: Service[MindieSettings]) -> Iterator[tuple[float, bytes]]:
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
