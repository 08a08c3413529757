"""Answers of the TGI-style routes.

Source: MindIE documentation, "text/stream inference", samples and tables of both modes, and MindIE-LLM,
``single_req_tgi_text_infer_interface.cpp`` and ``single_req_infer_interface_base.cpp``.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from emulator.core.call import EmbeddingAsk, Sampling
from emulator.core.json import dump_json, dump_text
from emulator.core.plan import Choice, Plan
from emulator.core.record import record
from emulator.core.tokenizer import Tokenizer
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireResponse, WireStream
from emulator.dialects.sse import quote
from emulator.dialects.tgi import draw_prefill_logprob, pick_seed, reason, report_counts, spell
from emulator.vendors.mindie.decoder import count_units
from emulator.vendors.mindie.headers import closing_headers, stream_headers
from emulator.vendors.mindie.sampling import StopIds
from emulator.vendors.mindie.settings import MindieSettings

_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_NULLS = ',"logprob":null,"special":null,"text":null}'
_BETWEEN = _NULLS + ',{"id":'
_SEED_BITS = 32


@record(frozen=True, slots=True, kw_only=True)
class Generation:
    """What a codec remembers of a TGI-style request.

    Fields:
        limit: most tokens of the answer; one that reaches it reports ``length``.
        prefill: ids of the prompt, if asked for.
        echo: goes in front of the answer, with a space.
        seed: as asked, or ``None``: one is drawn.
    """

    limit: int
    details: bool
    prefill: tuple[int, ...]
    echo: str | None
    seed: int | None


def clean(text: str) -> str:
    """Without the control characters the server does not send."""
    return _NOT_TEXT.sub("", text)


def finish(choice: Choice, limit: int, settings: MindieSettings) -> str:
    """``finish_reason``: the limit is looked at last, so it hides an end that falls on it.

    Source: MindIE-LLM, ``mindie_llm/text_generator/utils/output_filter.py``.
    """
    if choice.finish_reason == "content_filter":
        return settings.invalid_finish_reason
    return "length" if len(choice.tokens) >= limit else reason(choice)


def find_end(choice: Choice, tokenizer: Tokenizer) -> int:
    """Index of the token a stream ends with: the last, or the one in which a stop string begins."""
    last = len(choice.tokens) - 1
    if choice.stopped_by is None:
        return last
    index = next((i for i in range(last, -1, -1) if choice.tokens[i]), -1)
    whole = index >= 0 and tokenizer.decode(choice.ids[index : index + 1]) == choice.tokens[index]
    return min(last, index + 1) if whole or index < 0 else index


def release(choice: Choice, end: int, window: int) -> list[float]:
    """When each streamed token leaves: once ``window`` code units have followed it, or at the end."""
    lengths = [count_units(token) for token in choice.tokens]
    final = choice.due[-1]
    times = []
    followed = 0
    newest = 0
    for index in range(end):
        newest = max(newest, index)
        while followed < window and newest < len(lengths) - 1:
            newest += 1
            followed += lengths[newest]
        times.append(choice.due[newest] if followed >= window else final)
        if newest > index:
            followed -= lengths[index + 1]
    return [*times, final]


def end_at_token(choice: Choice, stop: StopIds) -> Choice:
    """The answer up to the first of the given ids, whose text goes unless it is kept."""
    if not stop.ids:
        return choice
    index = next((i for i, token in enumerate(choice.ids) if token in stop.ids), None)
    if index is None:
        return choice
    last = choice.tokens[index] if stop.keep else ""
    return replace(
        choice,
        tokens=(*choice.tokens[:index], last),
        ids=choice.ids[: index + 1],
        due=choice.due[: index + 1],
        spans=tuple(replace(s, end=min(s.end, index + 1)) for s in choice.spans if s.start <= index),
        finish_reason="stop",
        stopped_by=choice.tokens[index],
    )


class GenerateCodec:
    """TGI's form; ``array``: a whole answer is an array of one object."""

    def __init__(self, *, array: bool) -> None:
        self._array = array

    def render(self, plan: Plan, call: Call, service: Service[MindieSettings, None]) -> WireResponse:
        asked: Generation = call.context
        choice = plan.choices[0]
        text = quote_answer(choice.text(), asked)
        body = b'{"generated_text":%b}' % text
        if asked.details:
            body = b'{"details":%b,"generated_text":%b}' % (_details(plan, call, service).encode(), text)
        return WireResponse(200, b"[%b]" % body if self._array else body, closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, call: Call, service: Service[MindieSettings, None]) -> WireStream:
        return WireStream(_stream(plan, call, service), stream_headers(plan.key))


GENERATE = GenerateCodec(array=False)
GENERATE_ARRAY = GenerateCodec(array=True)


def quote_answer(text: str, asked: Generation) -> bytes:
    """``generated_text`` as JSON."""
    whole = text if asked.echo is None else f"{asked.echo} {text}"
    return quote_clean(whole)


def quote_clean(text: str) -> bytes:
    """Text that the server has cleaned, as JSON; only what JSON escapes, or DEL, can need it."""
    quoted = dump_json(text)
    return dump_json(clean(text)) if b"\\" in quoted or b"\x7f" in quoted else quoted


quote_token = lru_cache(maxsize=65536)(quote_clean)


def _details(plan: Plan, call: Call, service: Service[MindieSettings, None]) -> str:
    asked: Generation = call.context
    choice = plan.choices[0]
    if service.settings.token_fields == "filled":
        prefill, tokens = _fill_prefill(plan, call, service), _fill_tokens(choice, service.tokenizer(call.deployment))
    else:
        prefill, tokens = _null_tokens(asked.prefill), _null_tokens(choice.ids)
    prompt, generated = report_counts(plan, call.prompt_tokens[0], len(choice.ids))
    return (
        f'{{"prompt_tokens":{prompt},"finish_reason":"{finish(choice, asked.limit, service.settings)}",'
        f'"generated_tokens":{generated},"prefill":[{prefill}],'
        f'"seed":{pick_seed(plan.key, asked.seed, _SEED_BITS)},"tokens":[{tokens}]}}'
    )


def _null_tokens(ids: tuple[int, ...]) -> str:
    """Tokens of which only the ids are told."""
    return '{"id":' + _BETWEEN.join(map(str, ids)) + _NULLS if ids else ""


def _fill_prefill(plan: Plan, call: Call, service: Service[MindieSettings, None]) -> str:
    asked: Generation = call.context
    tokenizer = service.tokenizer(call.deployment)
    rows = []
    for position, (token, text) in enumerate(zip(asked.prefill, spell(tokenizer, asked.prefill), strict=True)):
        logprob = draw_prefill_logprob(plan.key, position)
        special = "true" if not text and token == tokenizer.bos else "false"
        shown = "null" if logprob is None else repr(logprob)
        rows.append(f'{{"id":{token},"logprob":{shown},"special":{special},"text":{dump_text(text)}}}')
    return ",".join(rows)


def _fill_tokens(choice: Choice, tokenizer: Tokenizer) -> str:
    rows = (
        f'{{"id":{token},"logprob":{_logprob(choice, i)},'
        f'"special":{"true" if token == tokenizer.eos else "false"},"text":{dump_text(text)}}}'
        for i, (token, text) in enumerate(zip(choice.ids, choice.tokens, strict=True))
    )
    return ",".join(rows)


def _logprob(choice: Choice, index: int) -> str:
    return repr(choice.logprobs[index].logprob) if choice.logprobs is not None else "null"


def _stream(plan: Plan, call: Call, service: Service[MindieSettings, None]) -> Iterator[tuple[float, bytes]]:
    settings = service.settings
    choice = plan.choices[0]
    if not choice.tokens:
        return
    tokenizer = service.tokenizer(call.deployment)
    end = find_end(choice, tokenizer)
    window = max(map(count_units, sampling_of(call).stop), default=0)
    due = release(choice, end, window) if window else choice.due
    texts = accumulate(choice.tokens) if settings.full_text else map(quote, choice.tokens)
    rows: Iterator[tuple[int | bytes, ...]] = zip(choice.ids, texts, strict=True)
    template = _EVENT % (b"null", b"null")
    if settings.token_fields == "filled":
        template = _EVENT % (b"%b", b"%b")
        rows = ((*row, *rest) for row, rest in zip(rows, _fill_columns(choice, tokenizer), strict=True))
    if settings.stream_token_id == "scalar":
        template = template.replace(b"[%d]", b"%d")
    event = template + b'"generated_text":null,"details":null}\n\n'
    for moment, row in zip(due, islice(rows, end), strict=False):
        yield moment, event % row
    last = (quote_answer(choice.text(), call.context), _stream_details(plan, call, end + 1, settings))
    yield due[end], (template + b'"generated_text":%b,"details":%b}\n\n') % (*next(rows), *last)


_EVENT = b'data: {"token":{"id":[%%d],"text":%%b,"logprob":%b,"special":%b},'


def sampling_of(call: Call) -> Sampling:
    """How the tokens of a call are chosen; embeddings choose none."""
    return Sampling() if isinstance(call.ask, EmbeddingAsk) else call.ask.sampling


def accumulate(tokens: Iterable[str]) -> Iterator[bytes]:
    """All text up to each token, as JSON."""
    text = b""
    for token in tokens:
        text += quote(token)[1:-1]
        yield b'"%b"' % text


def _fill_columns(choice: Choice, tokenizer: Tokenizer) -> Iterator[tuple[bytes, bytes]]:
    """``logprob`` and ``special`` of each token."""
    for index, token in enumerate(choice.ids):
        yield _logprob(choice, index).encode(), b"true" if token == tokenizer.eos else b"false"


def _stream_details(plan: Plan, call: Call, count: int, settings: MindieSettings) -> bytes:
    """``details`` of the last event; ``count``: tokens sent so far, which leaves out those inside a stop string."""
    asked: Generation = call.context
    if not asked.details:
        return b"null"
    prompt, generated = report_counts(plan, call.prompt_tokens[0], count)
    return b'{"prompt_tokens":%d,"finish_reason":"%b","generated_tokens":%d,"seed":%d}' % (
        prompt,
        finish(plan.choices[0], asked.limit, settings).encode(),
        generated,
        pick_seed(plan.key, asked.seed, _SEED_BITS),
    )
