"""Render streaming responses of ``/v1/chat/completions``.

Source: text-generation-inference, ``router/src/lib.rs`` (ChatCompletionChunk) and ``router/src/chat.rs``. The model
writes a call as JSON and the router forwards its arguments in chunks; the place of the finish reason of a streamed
call is unverified.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, pairwise

from emulator.core.cache import lru
from emulator.core.http import Event, Mark
from emulator.core.json import JSON, Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.rng import draw_uuid
from emulator.encoding.sse import DONE, encode_event
from emulator.encoding.template import SAMPLE, SAMPLE_TOKENS
from emulator.encoding.template_stream import StreamTemplate
from emulator.protocols.choice_events import (
    FINISH,
    PLAIN,
    USAGE,
    TextRun,
    ToolCallStarted,
    has_only,
    iterate_choice,
    last_due,
)
from emulator.vendors.tgi.chat.shapes import (
    SAMPLE_OPTIONS,
    ChatOptions,
    build_chat_usage,
    build_head,
    build_logprobs,
    find_finish_reason,
    list_values,
)


def stream_chat(plan: Plan, options: ChatOptions) -> Iterable[Event]:
    """Return one chunk per token; of a response with tool calls, only the first call."""
    choice = plan.choices[0]
    call = None if has_only(choice) else _find_call(choice)
    if call is not None:
        chunks = _stream_call(plan, options, *call)
    elif choice.count and not (options.logprobs and choice.logprobs):
        values = list_values(plan, options, choice.sequence.quoted[-1])
        return _build_template(options.usage).fill(choice, values, silent=True)
    else:
        chunks = _stream_text(plan, options)
    return chain(chunks, _stream_end(plan, options))


@lru(2)
def _build_template(usage: bool) -> StreamTemplate:
    options = replace(SAMPLE_OPTIONS, usage=usage)
    events = chain(_stream_text(SAMPLE, options), _stream_end(SAMPLE, options))
    return StreamTemplate(events, list_values(SAMPLE, options, dump_json(SAMPLE_TOKENS[-1])))


def _stream_end(plan: Plan, options: ChatOptions) -> Iterator[Event]:
    due = last_due(plan.choices[0], plan.due)
    if options.usage:
        head = build_head(plan, options, "chat.completion.chunk")
        yield due, encode_event({**head, "choices": [], "usage": build_chat_usage(plan, options)}), 0, USAGE
    yield due, DONE, 0, Mark.DONE


def _encode_chunk(
    plan: Plan, options: ChatOptions, delta: Object, *, logprobs: JSON = None, finish: str | None = None
) -> bytes:
    delta = {"role": "assistant", **delta}
    row: Object = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
    return encode_event({**build_head(plan, options, "chat.completion.chunk"), "choices": [row], "usage": None})


def _stream_text(plan: Plan, options: ChatOptions) -> Iterator[Event]:
    """Yield a text, with log-probabilities if there are any."""
    choice = plan.choices[0]
    entries = choice.logprobs or ()
    for number, (token, due) in enumerate(zip(choice.tokens, choice.due, strict=True), 1):
        logprobs = build_logprobs(entries[number - 1 : number], options.top) if entries else None
        is_last = number == choice.count
        finish = find_finish_reason(choice, options.limit) if is_last else None
        chunk = _encode_chunk(plan, options, {"content": token}, logprobs=logprobs, finish=finish)
        yield due, chunk, number, FINISH if is_last else PLAIN


def _find_call(choice: Choice) -> tuple[ToolCallStarted, TextRun] | None:
    """Find the first tool call and its arguments."""
    for opened, run in pairwise(iterate_choice(choice)):
        if isinstance(opened, ToolCallStarted) and isinstance(run, TextRun):
            return opened, run
    return None


def _stream_call(plan: Plan, options: ChatOptions, opened: ToolCallStarted, run: TextRun) -> Iterator[Event]:
    """Yield a tool call: the name with the opening brace, then the arguments by token."""
    choice, start = plan.choices[0], run.start
    if start >= len(choice.tokens):
        return
    call_id = draw_uuid(plan.key, "call") if options.call_id is None else options.call_id

    def encode(arguments: str, *, name: str | None = None, finish: str | None = None) -> bytes:
        function: Object = {"name": name, "arguments": arguments}
        call: Object = {"index": 0, "id": call_id, "type": "function", "function": function}
        return _encode_chunk(plan, options, {"tool_calls": [call]}, finish=finish)

    texts = [choice.tokens[start].removeprefix("{"), *choice.tokens[start + 1 : run.end]]
    while len(texts) > 1 and not texts[-1]:
        texts.pop()  # the end-of-sequence token has no text
    yield opened.due, encode("{", name=opened.name), start if texts[0] else start + 1, PLAIN
    for position, text in enumerate(texts[:-1], start):
        if text:
            yield choice.due[position], encode(text), position + 1, PLAIN
    last = encode(texts[-1], finish=find_finish_reason(choice, options.limit))
    yield choice.due[-1], last, len(choice.tokens), FINISH
