"""Render streaming responses of ``/v1/chat/completions``.

Source: text-generation-inference, ``router/src/lib.rs`` (ChatCompletionChunk) and ``router/src/chat.rs``. The model
writes a call as JSON and the router forwards its arguments in chunks; the place of the finish reason of a streamed
call is unverified.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise

from emulator.core.http import Event, Mark
from emulator.core.json import dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.rng import draw_uuid
from emulator.encoding.sse import DONE, encode_string
from emulator.encoding.template_stream import TemplateStream
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
    ChatOptions,
    build_chat_usage,
    build_head,
    build_logprobs,
    find_finish_reason,
)


def stream_chat(plan: Plan, options: ChatOptions) -> Iterable[Event]:
    """Yield one chunk per token; of a response with tool calls, only the first call."""
    choice = plan.choices[0]
    head = b"data: %b," % dump_json(build_head(plan, options, "chat.completion.chunk"))[:-1]
    call = None if has_only(choice) else _find_call(choice)
    due = last_due(choice, plan.due)
    ending: list[Event] = [(due, DONE, 0, Mark.DONE)]
    if options.usage:
        counts = b'%b"choices":[],"usage":%b}\n\n' % (head, dump_json(build_chat_usage(plan, options)))
        ending.insert(0, (due, counts, 0, USAGE))
    if call is None:
        has_logprobs = options.logprobs and choice.logprobs
        return (
            chain(_stream_logprobs(choice, head, options), ending)
            if has_logprobs
            else _stream_text(choice, head, options, ending)
        )
    call_id = draw_uuid(plan.key, "call") if options.call_id is None else options.call_id
    return chain(_stream_call(choice, *call, head, encode_string(call_id), options.limit), ending)


_AFTER_TEXT = b'},"logprobs":%b,"finish_reason":%b}],"usage":null}\n\n'
_NULL = b"null"


_CONTENT = b'"choices":[{"index":0,"delta":{"role":"assistant","content":'


def _stream_text(choice: Choice, head: bytes, options: ChatOptions, ending: Sequence[Event]) -> TemplateStream:
    before, last, tokens = head + _CONTENT, choice.count - 1, choice.sequence.quoted
    closing: list[Event] = []
    if choice.count:
        after = _AFTER_TEXT % (_NULL, encode_string(find_finish_reason(choice, options.limit)))
        closing = [(choice.due[last], b"".join((before, tokens[last], after)), choice.count, FINISH)]
    return TemplateStream(
        opening=(),
        tokens=tokens[:-1],
        due=choice.due[:-1],
        before=before,
        after=(_AFTER_TEXT % (_NULL, _NULL),),
        ending=(*closing, *ending),
        silent=True,
    )


def _stream_logprobs(choice: Choice, head: bytes, options: ChatOptions) -> Iterator[Event]:
    """Yield a text with log-probabilities."""
    total = choice.count
    for number, entry in enumerate(choice.logprobs or (), 1):
        finish, mark = (
            (encode_string(find_finish_reason(choice, options.limit)), FINISH) if number == total else (_NULL, PLAIN)
        )
        after = _AFTER_TEXT % (dump_json(build_logprobs((entry,), options.top)), finish)
        yield (
            choice.due[number - 1],
            b"".join((head, _CONTENT, encode_string(choice.tokens[number - 1]), after)),
            number,
            mark,
        )


def _find_call(choice: Choice) -> tuple[ToolCallStarted, TextRun] | None:
    """Find the first tool call and its arguments."""
    for opened, run in pairwise(iterate_choice(choice)):
        if isinstance(opened, ToolCallStarted) and isinstance(run, TextRun):
            return opened, run
    return None


_CALL_CHUNK = (
    b'%b"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":%b,"type":"function",'
    b'"function":{"name":%b,"arguments":%b}}]},"logprobs":null,"finish_reason":%b}],"usage":null}\n\n'
)


def _stream_call(
    choice: Choice, opened: ToolCallStarted, run: TextRun, head: bytes, call_id: bytes, limit: int
) -> Iterator[Event]:
    """Yield a tool call: the name with the opening brace, then the arguments by token."""
    start = run.start
    if start >= len(choice.tokens):
        return
    texts = [choice.tokens[start].removeprefix("{"), *choice.tokens[start + 1 : run.end]]
    while len(texts) > 1 and not texts[-1]:
        texts.pop()  # the end-of-sequence token has no text
    named = _CALL_CHUNK % (head, call_id, encode_string(opened.name), encode_string("{"), _NULL)
    yield opened.due, named, start if texts[0] else start + 1, PLAIN
    for position, text in enumerate(texts[:-1], start):
        if text:
            chunk = _CALL_CHUNK % (head, call_id, _NULL, encode_string(text), _NULL)
            yield choice.due[position], chunk, position + 1, PLAIN
    last = _CALL_CHUNK % (
        head,
        call_id,
        _NULL,
        encode_string(texts[-1]),
        encode_string(find_finish_reason(choice, limit)),
    )
    yield choice.due[-1], last, len(choice.tokens), FINISH
