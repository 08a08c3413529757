"""Render streaming responses of ``/v1/chat/completions``.

Source: text-generation-inference, ``router/src/lib.rs`` (ChatCompletionChunk) and ``router/src/chat.rs:60-281``. The
model writes a call as JSON and the router forwards its arguments in chunks. The token that ends the sequence comes
behind the call and is not forwarded, so no chunk has its finish reason; one that is cut off has.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from emulator.core.cache import lru
from emulator.core.http import Event, Mark
from emulator.core.json import JSON, Object, dump_json
from emulator.core.plan import Plan
from emulator.core.rng import draw_uuid
from emulator.encoding.sse import DONE, encode_event
from emulator.encoding.template import SAMPLE, SAMPLE_TOKENS
from emulator.encoding.template_stream import StreamTemplate
from emulator.protocols.choice_events import (
    FINISH,
    PLAIN,
    USAGE,
    has_only,
    last_due,
)
from emulator.vendors.tgi.chat.calls import count_begun, find_begun_call, is_call, list_call_tokens, read_call
from emulator.vendors.tgi.chat.shapes import (
    SAMPLE_OPTIONS,
    ChatOptions,
    NoCall,
    build_chat_usage,
    build_head,
    build_logprobs,
    build_usage,
    find_finish_reason,
    list_texts,
    list_values,
)
from emulator.vendors.tgi.generate.shapes import has_end


def stream_chat(plan: Plan, options: ChatOptions) -> Iterable[Event]:
    """Return one chunk per token; of a response with tool calls, only the first call."""
    choice = plan.choices[0]
    if is_call(choice):
        chunks = _stream_call(plan, options)
    elif options.no_call is not None and not _reaches_text(options.no_call, options.limit):
        return _stream_end(plan, options, build_usage(options.prompt_tokens, options.limit))
    elif choice.count and not (options.logprobs and choice.logprobs) and has_only(choice) and options.no_call is None:
        values = list_values(plan, options, choice.sequence.quoted[-1])
        return _build_template(options.usage).fill(choice, values, silent=True)
    else:
        chunks = _stream_text(plan, options)
    return chain(chunks, _stream_end(plan, options, build_chat_usage(plan, options)))


def _reaches_text(no_call: NoCall, limit: int) -> bool:
    """Return whether the call of no tool can be read before the limit; the model is asked again then."""
    begun = count_begun(no_call.tokens)
    return begun is not None and begun <= limit


@lru(2)
def _build_template(usage: bool) -> StreamTemplate:
    options = replace(SAMPLE_OPTIONS, usage=usage)
    events = chain(_stream_text(SAMPLE, options), _stream_end(SAMPLE, options, build_chat_usage(SAMPLE, options)))
    return StreamTemplate(events, list_values(SAMPLE, options, dump_json(SAMPLE_TOKENS[-1])))


def _stream_end(plan: Plan, options: ChatOptions, usage: JSON) -> Iterator[Event]:
    due = last_due(plan.choices[0], plan.due)
    if options.usage:
        head = build_head(plan, options, "chat.completion.chunk")
        yield due, encode_event({**head, "choices": [], "usage": usage}), 0, USAGE
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
    texts = list_texts(choice, options, choice.tokens)
    for number, (token, due) in enumerate(zip(choice.tokens, choice.due, strict=True), 1):
        here = slice(number - 1, number)
        logprobs = build_logprobs(entries[here], options.top, texts[here]) if entries and options.logprobs else None
        is_last = number == choice.count
        finish = find_finish_reason(choice, options.limit) if is_last else None
        chunk = _encode_chunk(plan, options, {"content": token}, logprobs=logprobs, finish=finish)
        yield due, chunk, number, FINISH if is_last else PLAIN


def _stream_call(plan: Plan, options: ChatOptions) -> Iterator[Event]:
    """Yield a tool call: the name with the opening brace once it is complete, then the arguments by token."""
    choice = plan.choices[0]
    tokens = list_call_tokens(choice, ended=has_end(choice, options.eos[0]))
    call_id = draw_uuid(plan.key, "call") if options.call_id is None else options.call_id
    entries = choice.logprobs or ()
    for position, name, arguments in _read_chunks(tokens):
        function: Object = {"name": name, "arguments": arguments}
        call: Object = {"index": 0, "id": call_id, "type": "function", "function": function}
        is_end = position == choice.count - 1 and has_end(choice, options.eos[0])
        delta: Object = {"content": ""} if is_end else {"tool_calls": [call]}
        here = slice(position, position + 1)
        logprobs = build_logprobs(entries[here], options.top, [arguments]) if entries and options.logprobs else None
        is_last = position == choice.count - 1
        finish = find_finish_reason(choice, options.limit) if is_last else None
        chunk = _encode_chunk(plan, options, delta, logprobs=logprobs, finish=finish)
        yield choice.due[position], chunk, position + 1, FINISH if is_last else PLAIN


def _read_chunks(tokens: Sequence[str]) -> Iterator[tuple[int, str | None, str]]:
    """Yield the tokens the router forwards: position, the name in the first one, and its part of the arguments."""
    begun = count_begun(tokens)
    if begun is None:
        return
    text = "".join(tokens[:begun])
    yield begun - 1, find_begun_call(text), "{"
    for position, token in enumerate(tokens[begun:], begun):
        text += token
        if token.rstrip().endswith("}") and read_call(text) is not None:
            yield position, None, token.rstrip()[:-1]
            return
        yield position, None, token
