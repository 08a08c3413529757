"""Render streaming chat responses: a chunk with the role for each choice, then a chunk for each token.

Source: MindIE-LLM, ``single_req_vllm_openai_infer_interface.cpp`` and
``mindie_llm/runtime/models/base/tool_calls_processor.py``.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count, islice, repeat

from emulator.core.http import Event, Mark
from emulator.core.json import Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.encoding import sse
from emulator.encoding.sse import encode_string
from emulator.encoding.template_stream import TemplateStream
from emulator.protocols.choice_events import (
    PLAIN,
    TextRun,
    ToolCallStarted,
    first_token_due,
    has_only,
    interleave,
    iterate_choice,
    last_due,
)
from emulator.vendors.mindie.chat.shapes import OpenAIAnswer, build_logprobs, build_message, pick_call_id
from emulator.vendors.mindie.postprocess import ENDED, quote_so_far, time_tokens

_HEAD = b'data: {"id":%b,"object":"chat.completion.chunk","created":%d,"model":%b,'
_BEFORE = b'"choices":[{"index":%d,"delta":{"role":"assistant",'
_AFTER = b'},"logprobs":%b,"finish_reason":%b}]}\n\n'
_CALL = b'"tool_calls":[{"index":%d,"id":%b,"type":"function","function":{"name":%b,"arguments":%b}}]'
_ARGUMENTS = b'"tool_calls":[{"index":%d,"function":{"arguments":%b}}]'


def stream_chat(answer: OpenAIAnswer, plan: Plan) -> Iterable[Event]:
    """Yield the events of a response; choices without tokens are omitted."""
    choices = [choice for choice in answer.parse_all(plan) if choice.tokens]
    if not choices:
        return ()
    head = _HEAD % (answer.id.quote(plan.key), int(plan.created), encode_string(answer.model))
    role = b'"content":""' + _AFTER % (b"null", b"null")
    end = max(map(last_due, choices))
    begin = end if answer.beams else first_token_due(plan)
    opening: list[Event] = [(begin, head + _BEFORE % index + role, 0, PLAIN) for index in range(len(choices))]
    done: Event = (end, sse.DONE, 0, Mark.DONE)
    if answer.beams:
        return [*opening, *(_build_beam(answer, plan, choice, i, head, end) for i, choice in enumerate(choices)), done]
    if len(choices) == 1 and _is_plain(choices[0]) and not answer.full_text:
        return _stream_plain(answer, plan, choices[0], head, opening, done)
    streams = [_stream_choice(answer, plan, choice, i, head) for i, choice in enumerate(choices)]
    return chain(opening, interleave(streams, in_turn=True), [done])


def _is_plain(choice: Choice) -> bool:
    return bool(choice.segments) and has_only(choice) and choice.logprobs is None


def _stream_plain(
    answer: OpenAIAnswer, plan: Plan, choice: Choice, head: bytes, opening: Sequence[Event], done: Event
) -> TemplateStream:
    """Return a template stream with the same events as :func:`_stream_choice`."""
    times = time_tokens(choice, answer.stops, answer.tokenizer)
    last = len(times) - 1
    tokens = choice.sequence.quoted
    delta = b'"content":' + tokens[last]
    return TemplateStream(
        opening=opening,
        tokens=tokens,
        due=times[:last],
        before=head + _BEFORE % 0 + b'"content":',
        after=(_AFTER % (b"null", b"null"),),
        ending=((times[last], _close(answer, plan, choice, 0, head, delta, last), choice.count, ENDED), done),
        silent=True,
    )


def _stream_choice(answer: OpenAIAnswer, plan: Plan, choice: Choice, index: int, head: bytes) -> Iterator[Event]:
    """Yield the chunks of one choice; the last one has its token counts."""
    times = time_tokens(choice, answer.stops, answer.tokenizer)
    last = len(times) - 1
    deltas = chain.from_iterable(_list_deltas(plan.key, choice, index, full_text=answer.full_text))
    before = _BEFORE % index
    opening = head + before
    rows = zip(islice(times, last), deltas, _list_endings(choice), count(1), strict=False)
    for due, delta, after, position in rows:
        yield due, b"%b%b%b" % (opening, delta, after), position, PLAIN
    yield times[last], _close(answer, plan, choice, index, head, next(deltas), last), choice.count, ENDED


def _close(answer: OpenAIAnswer, plan: Plan, choice: Choice, index: int, head: bytes, delta: bytes, last: int) -> bytes:
    """Encode the chunk of the last token that is sent."""
    full = b'"full_text":%b,' % encode_string(choice.text()) if answer.full_text else b""
    usage = b'"usage":%b,' % dump_json(answer.build_usage(plan, [choice]))
    logprobs = dump_json(build_logprobs(choice, last, last + 1))
    after = _AFTER % (logprobs, encode_string(answer.find_finish_reason(choice)))
    return b"".join((head, full, usage, _BEFORE % index, delta, after))


def _build_beam(answer: OpenAIAnswer, plan: Plan, choice: Choice, index: int, head: bytes, due: float) -> Event:
    """Build the event of a choice found by beam search."""
    message = build_message(plan.key, choice, index)
    calls: Object = {"tool_calls": message["tool_calls"]} if message["tool_calls"] else {}
    delta: Object = {
        "role": "assistant",
        "reasoning_content": message.get("reasoning_content", ""),
        "content": message["content"],
        **calls,
    }
    logprobs = build_logprobs(choice, 0, len(choice.tokens))
    finish = answer.find_finish_reason(choice)
    row: Object = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
    full: Object = {"full_text": choice.text()} if answer.full_text else {}
    rest = dump_json({**full, "usage": answer.build_usage(plan, [choice]), "choices": [row]})
    return due, b"%b%b\n\n" % (head, rest[1:]), len(choice.tokens), ENDED


def _list_endings(choice: Choice) -> Iterator[bytes]:
    """Yield the end of each token's chunk."""
    if choice.logprobs is None:
        return repeat(_AFTER % (b"null", b"null"))
    entries = (build_logprobs(choice, index, index + 1) for index in range(len(choice.tokens)))
    return (_AFTER % (dump_json(logprobs), b"null") for logprobs in entries)


def _list_deltas(key: bytes, choice: Choice, index: int, *, full_text: bool) -> Iterator[Iterator[bytes]]:
    """Yield, for each text run, the members each token adds to ``delta``; ``full_text``: all text so far."""
    opened: ToolCallStarted | None = None
    for step in iterate_choice(choice):
        if isinstance(step, ToolCallStarted):
            opened = step
        elif isinstance(step, TextRun):
            tokens = choice.tokens[step.start : step.end]
            if opened is not None and step.kind == "tool_call":
                yield _list_arguments(opened, pick_call_id(key, opened.id, index, opened.number), tokens)
            else:
                name = b'"reasoning_content":' if step.kind == "reasoning" else b'"content":'
                yield map(name.__add__, quote_so_far(tokens) if full_text else map(encode_string, tokens))


def _list_arguments(call: ToolCallStarted, call_id: str, tokens: tuple[str, ...]) -> Iterator[bytes]:
    """Yield the deltas of a tool call: the first one has its id and name."""
    for position, token in enumerate(tokens):
        if position:
            yield _ARGUMENTS % (call.number, encode_string(token))
        else:
            yield _CALL % (call.number, encode_string(call_id), encode_string(call.name), encode_string(token))
