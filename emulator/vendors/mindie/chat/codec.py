"""Answers of ``/v1/chat/completions``.

Source: MindIE-LLM, ``single_req_vllm_openai_infer_interface.cpp`` and
``mindie_llm/runtime/models/base/tool_calls_processor.py``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, Plan, Span
from emulator.core.seed import draw_alphanumeric, draw_integer
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireResponse, WireStream
from emulator.dialects.openai import shape_logprob
from emulator.dialects.sse import DONE, frame, quote
from emulator.dialects.tgi import report_counts
from emulator.vendors.mindie.decoder import count_units
from emulator.vendors.mindie.generate.codec import (
    accumulate,
    clean,
    end_at_token,
    find_end,
    quote_clean,
    release,
    sampling_of,
)
from emulator.vendors.mindie.headers import closing_headers, stream_headers
from emulator.vendors.mindie.sampling import StopIds
from emulator.vendors.mindie.settings import MindieSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """What the codec remembers; ``top``: alternatives beside each token, ``None`` without log-probabilities."""

    model: str
    limit: int
    stop_ids: StopIds
    top: int | None


def pick_id(key: bytes) -> str:
    """``endpoint_common_<n>``: the server counts its requests."""
    return f"endpoint_common_{draw_integer(key, 10**6, 'id') + 1}"


def name_finish(choice: Choice, limit: int) -> str:
    """``length``, ``tool_calls``, or ``stop`` for everything else."""
    if choice.finish_reason == "length" or len(choice.tokens) >= limit:
        return "length"
    return "tool_calls" if any(span.kind == "tool_call" for span in choice.spans) else "stop"


def shape_usage(plan: Plan, call: Call, choices: list[Choice], *, reasoning: bool) -> JSON:
    """Token counts of these choices; ``reasoning``: the model thinks, so its thoughts are counted apart."""
    prompt, count = report_counts(plan, call.prompt_tokens[0], sum(len(choice.ids) for choice in choices))
    thoughts = sum(span.end - span.start for span in choices[0].spans if span.kind == "reasoning") if choices else 0
    usage: dict[str, JSON] = {"prompt_tokens": prompt, "completion_tokens": count}
    if reasoning:
        usage["completion_tokens_details"] = {"reasoning_tokens": thoughts}
    return {**usage, "total_tokens": prompt + count}


def has_reasoning(choice: Choice) -> bool:
    return any(span.kind == "reasoning" for span in choice.spans)


class ChatCodec:
    """Chat completions, whole or in chunks."""

    def render(self, plan: Plan, call: Call, service: Service[MindieSettings, None]) -> WireResponse:
        asked: Chat = call.context
        choices = [end_at_token(choice, asked.stop_ids) for choice in plan.choices]
        spans = choices[0].spans if len(choices) == 1 else ()
        if len(spans) == 1 and spans[0].kind == "text" and asked.top is None:
            return WireResponse(200, _fill_plain(plan, call, choices[0]), closing_headers(plan.key), close=True)
        body = {
            "id": pick_id(plan.key),
            "object": "chat.completion",
            "created": int(plan.created),
            "model": asked.model,
            "choices": [_shape_choice(plan, choice, index, asked) for index, choice in enumerate(choices)],
            "usage": shape_usage(plan, call, choices, reasoning=any(map(has_reasoning, choices))),
        }
        return WireResponse(200, dump_json(body), closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, call: Call, service: Service[MindieSettings, None]) -> WireStream:
        return WireStream(_stream(plan, call, service), stream_headers(plan.key))


CHAT = ChatCodec()


_PLAIN = (
    b'{"id":"%b","object":"chat.completion","created":%d,"model":%b,"choices":[{"index":0,"message":'
    b'{"role":"assistant","content":%b,"tool_calls":[]},"logprobs":null,"finish_reason":"%b"}],'
    b'"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}'
)


def _fill_plain(plan: Plan, call: Call, choice: Choice) -> bytes:
    """The answer of one text, and nothing else."""
    asked: Chat = call.context
    prompt, count = report_counts(plan, call.prompt_tokens[0], len(choice.ids))
    return _PLAIN % (
        pick_id(plan.key).encode(),
        int(plan.created),
        quote(asked.model),
        quote_clean("".join(choice.tokens)),
        name_finish(choice, asked.limit).encode(),
        prompt,
        count,
        prompt + count,
    )


def _shape_choice(plan: Plan, choice: Choice, index: int, asked: Chat) -> JSON:
    calls = [span for span in choice.spans if span.kind == "tool_call"]
    message: dict[str, JSON] = {"role": "assistant", "content": clean(choice.text() + choice.text("refusal"))}
    if has_reasoning(choice):
        message["reasoning_content"] = clean(choice.text("reasoning"))
    message["tool_calls"] = [
        {
            "function": {"arguments": "".join(choice.tokens[span.start : span.end]), "name": span.name},
            "id": _call_id(plan.key, span, index, number),
            "type": "function",
        }
        for number, span in enumerate(calls)
    ]
    return {
        "index": index,
        "message": message,
        "logprobs": _shape_logprobs(choice, 0, len(choice.tokens), asked),
        "finish_reason": name_finish(choice, asked.limit),
    }


def _call_id(key: bytes, span: Span, index: int, number: int) -> str:
    return span.id or "call_" + draw_alphanumeric(key, 8, "call", index, number)


def _shape_logprobs(choice: Choice, start: int, end: int, asked: Chat) -> JSON:
    if asked.top is None or choice.logprobs is None:
        return None
    return {"content": [shape_logprob(entry) for entry in choice.logprobs[start:end]]}


def _stream(plan: Plan, call: Call, service: Service[MindieSettings, None]) -> Iterator[tuple[float, bytes]]:
    """A chunk of the role for every choice, then the choices token by token, as they are due."""
    asked: Chat = call.context
    choices = [end_at_token(choice, asked.stop_ids) for choice in plan.choices if choice.tokens]
    if not choices:
        return
    rows: list[tuple[float, bytes]] = []
    streams = [_stream_choice(plan, call, service, choice, index) for index, choice in enumerate(choices)]
    head = _head(plan, asked)
    first = min(choice.due[0] for choice in choices)
    for index in range(len(choices)):
        delta = {"index": index, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}
        yield first, frame({**head, "choices": [delta]})
    if len(streams) == 1:
        yield from streams[0]
    else:
        rows = sorted((row for stream in streams for row in stream), key=lambda row: row[0])
        yield from rows
    yield max(choice.due[-1] for choice in choices), DONE


def _head(plan: Plan, asked: Chat) -> Mapping[str, JSON]:
    return {
        "id": pick_id(plan.key),
        "object": "chat.completion.chunk",
        "created": int(plan.created),
        "model": asked.model,
    }


_DELTA = b'"choices":[{"index":%d,"delta":{"role":"assistant",%b},"logprobs":%b,"finish_reason":%b}]}\n\n'


def _stream_choice(
    plan: Plan, call: Call, service: Service[MindieSettings, None], choice: Choice, number: int
) -> Iterator[tuple[float, bytes]]:
    asked: Chat = call.context
    settings = service.settings
    head = b"data: %b," % dump_json(_head(plan, asked))[:-1]
    window = max(map(count_units, sampling_of(call).stop), default=0)
    end = find_end(choice, service.tokenizer(call.deployment))
    due = release(choice, end, window) if window else choice.due
    deltas = _deltas(plan, choice, number, settings)
    between, after = b'},"logprobs":', b',"finish_reason":null}]}\n\n'
    before = head + b'"choices":[{"index":%d,"delta":{"role":"assistant",' % number
    weights = [b"null"] * len(choice.tokens)
    if asked.top is not None:
        weights = [dump_json(_shape_logprobs(choice, index, index + 1, asked)) for index in range(len(weights))]
    for moment, delta, weight in zip(due, islice(deltas, end), weights, strict=False):
        yield moment, b"".join((before, delta, between, weight, after))
    full = b'"full_text":%b,' % quote(choice.text()) if settings.full_text else b""
    usage = dump_json(shape_usage(plan, call, [choice], reasoning=has_reasoning(choice)))
    last = (number, next(deltas), weights[end], quote(name_finish(choice, asked.limit)))
    yield due[end], head + full + b'"usage":%b,' % usage + _DELTA % last


def _deltas(plan: Plan, choice: Choice, number: int, settings: MindieSettings) -> Iterator[bytes]:
    """What each token adds, as members of ``delta``; with full text, everything so far."""
    calls = -1
    for span in choice.spans:
        tokens = choice.tokens[span.start : span.end]
        if span.kind == "tool_call":
            calls += 1
            for index, token in enumerate(tokens, span.start):
                yield _call_delta(plan, span, index, quote(token), number, calls)
            continue
        key = b'"reasoning_content":' if span.kind == "reasoning" else b'"content":'
        for text in accumulate(tokens) if settings.full_text else map(quote, tokens):
            yield key + text


def _call_delta(plan: Plan, span: Span, index: int, text: bytes, number: int, call: int) -> bytes:
    """A call opens with its name and the first of its arguments."""
    if index > span.start:
        return b'"tool_calls":[{"index":%d,"function":{"arguments":%b}}]' % (call, text)
    named = (call, quote(_call_id(plan.key, span, number, call)), quote(span.name), text)
    return b'"tool_calls":[{"index":%d,"id":%b,"type":"function","function":{"name":%b,"arguments":%b}}]' % named
