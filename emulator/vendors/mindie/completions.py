"""``POST /v1/completions``.

Source: MindIE-LLM, ``single_req_vllm_openai_completions_infer_interface.cpp``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from emulator.core.call import CompletionAsk, Sampling
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest, WireResponse, WireStream
from emulator.dialects.sse import DONE, quote
from emulator.dialects.tgi import check_ready
from emulator.vendors.mindie.chat.codec import name_finish, pick_id, shape_usage
from emulator.vendors.mindie.chat.parse import check_count
from emulator.vendors.mindie.decoder import count_units, parse_body, read_boolean, read_unsigned, refuse
from emulator.vendors.mindie.generate.codec import (
    accumulate,
    clean,
    end_at_token,
    find_end,
    quote_clean,
    quote_token,
    release,
    sampling_of,
)
from emulator.vendors.mindie.generate.parse import BROKEN_REQUEST, MAX_PROMPT_TOKENS, measure_room
from emulator.vendors.mindie.headers import check_headers, closing_headers, stream_headers
from emulator.vendors.mindie.sampling import Fields, StopIds, read_max_tokens, read_model, read_sampling
from emulator.vendors.mindie.settings import MindieSettings

MAX_LOGPROBS = 5
_UNKNOWN = "Not found given model, please check modelName in config file."


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What the codec remembers of a request."""

    model: str
    limit: int
    stop_ids: StopIds
    top: int | None


def parse_completions(request: WireRequest, service: Service[MindieSettings, None]) -> Call | WireResponse:
    check_headers(request, service)
    settings = service.settings
    body = parse_body(request, settings, BROKEN_REQUEST)
    fields: Fields = body if isinstance(body, dict) else {}
    model = read_model(fields, service.deployments, _UNKNOWN)
    deployment = check_ready(service.deployments[model])
    prompt = _read_prompt(fields.get("prompt"), settings.max_input_chars)
    vocabulary = service.tokenizer(deployment).vocabulary_size
    if not isinstance(prompt, str) and any(not 0 <= token < vocabulary for token in prompt):
        raise refuse("Failed to enqueue inferRequest. Invalid Input Ids", "prompt", 424)
    (count,) = service.count_prompt(CompletionAsk(prompts=(prompt,)), deployment)
    sampling, stop_ids = read_sampling(fields, settings)
    read_boolean(fields, "use_beam_search")
    top = _read_logprobs(fields)
    asked = read_max_tokens(fields) or deployment.max_output or settings.max_iter_times
    stream = read_boolean(fields, "stream") or False
    check_count(fields, sampling["n"], stream=stream)
    room = measure_room(settings, deployment, count, asked)
    return Call(
        request=request,
        deployment=deployment,
        ask=CompletionAsk(prompts=(prompt,), sampling=Sampling(max_tokens=room.answer, logprobs=top, **sampling)),
        codec=COMPLETIONS,
        stream=stream,
        prompt_tokens=(room.prompt,),
        context=Completion(model=model, limit=room.answer, stop_ids=stop_ids, top=top),
        repeatable=True,
    )


def _read_prompt(value: JSON, most: int) -> str | tuple[int, ...]:
    """A text, or a list of token ids."""
    if value is None:
        raise refuse("Contains not prompt or prompt null", "prompt")
    if isinstance(value, str):
        _check_length(count_units(value), most, "Prompt text")
        return value
    if not isinstance(value, list):
        raise refuse("The type of prompt is abnormal,prompt must be str or integer list.", "prompt")
    if not value:
        raise refuse("Prompt array cannot be empty.", "prompt")
    if any(not isinstance(token, int) or isinstance(token, bool) for token in value):
        raise refuse("All elements of the prompt array must be integers.", "prompt")
    _check_length(len(value), MAX_PROMPT_TOKENS, "Prompt token")
    return tuple(value)


def _check_length(length: int, most: int, what: str) -> None:
    if not 0 < length <= most:
        text = f"Length of {what} should be greater than 0 and less than or equal to {most}, but got {length}"
        raise refuse(text, "prompt")


def _read_logprobs(fields: Fields) -> int | None:
    top = read_unsigned(fields, "logprobs")
    if top is not None and top > MAX_LOGPROBS:
        raise refuse(f"logprobs should be in range [0, {MAX_LOGPROBS}], got {top}.", "logprobs")
    return top


class CompletionsCodec:
    """Text completions, whole or in chunks."""

    def render(self, plan: Plan, call: Call, service: Service[MindieSettings, None]) -> WireResponse:
        asked: Completion = call.context
        choices = [end_at_token(choice, asked.stop_ids) for choice in plan.choices]
        rows = [
            _ROW
            % (
                index,
                quote_clean(choice.text()),
                dump_json(_shape_logprobs(choice, range(len(choice.tokens)), asked)),
                name_finish(choice, asked.limit).encode(),
            )
            for index, choice in enumerate(choices)
        ]
        usage = dump_json(shape_usage(plan, call, choices, reasoning=False))
        body = b'%b,"choices":[%b],"usage":%b}' % (_write_head(plan, asked), b",".join(rows), usage)
        return WireResponse(200, body, closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, call: Call, service: Service[MindieSettings, None]) -> WireStream:
        return WireStream(_stream(plan, call, service), stream_headers(plan.key))


COMPLETIONS = CompletionsCodec()


_ROW = b'{"index":%d,"text":%b,"logprobs":%b,"stop_reason":null,"finish_reason":"%b"}'


def _write_head(plan: Plan, asked: Completion) -> bytes:
    """Where every answer and chunk begins."""
    return b'{"id":"%b","object":"text_completion","created":%d,"model":%b' % (
        pick_id(plan.key).encode(),
        int(plan.created),
        quote(asked.model),
    )


def _shape_logprobs(choice: Choice, indices: Sequence[int], asked: Completion) -> JSON:
    if asked.top is None or choice.logprobs is None:
        return None
    offset = sum(len(token.encode()) for token in choice.tokens[: indices[0]]) if indices else 0
    offsets = []
    for index in indices:
        offsets.append(offset)
        offset += len(choice.tokens[index].encode())
    entries = [choice.logprobs[index] for index in indices]
    return {
        "text_offset": offsets,
        "token_logprobs": [entry.logprob for entry in entries],
        "tokens": [entry.token for entry in entries],
        "top_logprobs": [{entry.token: entry.logprob, **dict(entry.top)} for entry in entries],
    }


def _stream(plan: Plan, call: Call, service: Service[MindieSettings, None]) -> Iterator[tuple[float, bytes]]:
    asked: Completion = call.context
    choices = [end_at_token(choice, asked.stop_ids) for choice in plan.choices if choice.tokens]
    if not choices:
        return
    if len(choices) == 1:
        yield from _stream_choice(plan, call, service, choices[0], 0)
    else:
        rows = [row for i, choice in enumerate(choices) for row in _stream_choice(plan, call, service, choice, i)]
        yield from sorted(rows, key=lambda row: row[0])
    yield max(choice.due[-1] for choice in choices), DONE


def _stream_choice(
    plan: Plan, call: Call, service: Service[MindieSettings, None], choice: Choice, number: int
) -> Iterator[tuple[float, bytes]]:
    asked: Completion = call.context
    window = max(map(count_units, sampling_of(call).stop), default=0)
    end = find_end(choice, service.tokenizer(call.deployment))
    due = release(choice, end, window) if window else choice.due
    texts = accumulate(map(clean, choice.tokens)) if service.settings.full_text else map(quote_token, choice.tokens)
    weights = [b"null"] * (end + 1)
    if asked.top is not None:
        weights = [dump_json(_shape_logprobs(choice, (index,), asked)) for index in range(end + 1)]
    before = b'data: %b,"choices":[{"index":%d,"text":' % (_write_head(plan, asked), number)
    between, after = b',"logprobs":', b',"stop_reason":null,"finish_reason":null}]}\n\n'
    for moment, text, weight in zip(due, islice(texts, end), weights, strict=False):
        yield moment, b"".join((before, text, between, weight, after))
    usage = dump_json(shape_usage(plan, call, [choice], reasoning=False))
    last = (before, next(texts), between, weights[end], quote(name_finish(choice, asked.limit)), usage)
    yield due[end], b'%b%b%b%b,"stop_reason":null,"finish_reason":%b}],"usage":%b}\n\n' % last
