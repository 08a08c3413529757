"""Chat answers as server-sent events, one tuple of due time and bytes for each.

Source: Azure/azure-sdk-assets, recorded streams of serverless endpoints and of Azure OpenAI. Clients of this API
read ``data: `` lines with one space and bare line feeds only, and nothing else between events.
"""

from collections.abc import Iterator
from heapq import merge
from operator import itemgetter

from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, Plan, Span
from emulator.core.record import record
from emulator.core.vendor import Call
from emulator.dialects.sse import DONE, frame, quote
from emulator.vendors.azure.catalogue import model_name
from emulator.vendors.azure.chat.shapes import (
    THINK,
    Shown,
    answer_id,
    draw_call_id,
    dump_detailed_usage,
    dump_sorted_usage,
    fingerprint,
    list_calls,
    read_finish,
    shape_logprobs,
)

Event = tuple[float, bytes]
_NULL = b"null"


@record(frozen=True, slots=True, eq=False)
class _Frame:
    """A chunk around its delta; ``tail`` closes the choices and carries id, time and model."""

    plan: Plan
    choice: Choice
    index: int
    shown: Shown
    head: bytes
    tail: bytes

    def chunk(self, delta: bytes, finish: bytes = _NULL, logprobs: bytes = _NULL, usage: bytes = b"") -> bytes:
        return b'%b%b},"finish_reason":%b,"index":%d,"logprobs":%b}],%b%b}\n\n' % (
            self.head, delta, finish, self.index, logprobs, self.tail, usage,
        )  # fmt: skip


def stream_chat(plan: Plan, call: Call) -> Iterator[Event]:
    """All events of an answer; the choices of ``n`` above 1 run side by side."""
    shown: Shown = call.context
    tail = _write_tail(plan, call, shown)
    head = b'data: {"choices":[{%b"delta":{' % (b'"content_filter_results":{},' if shown.filtered else b"")
    frames = [_Frame(plan, choice, index, shown, head, tail) for index, choice in enumerate(plan.choices)]
    end = max((last_due(frame.choice, plan), frame.index) for frame in frames)
    if shown.openai and shown.filtered:
        yield first_due(plan), _PROMPT_SEEN
    say = _say_openai if shown.openai else _say_serverless
    streams = [say(frame, last=frame.index == end[1]) for frame in frames]
    yield from streams[0] if len(streams) == 1 else merge(*streams, key=itemgetter(0))
    if shown.openai and shown.usage:
        yield end[0], b'data: {"choices":[],%b,"usage":%b}\n\n' % (tail, dump_detailed_usage(plan))
    yield end[0], DONE


_PROMPT_SEEN = frame(
    {
        "choices": [],
        "created": 0,
        "id": "",
        "model": "",
        "object": "",
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}],
    }
)


def _write_tail(plan: Plan, call: Call, shown: Shown) -> bytes:
    name = model_name(call.deployment)
    tail: JSON = {
        "created": int(plan.created),
        "id": answer_id(plan, openai=shown.openai),
        "model": name,
        "object": "chat.completion.chunk",
    }
    if shown.openai:
        tail["system_fingerprint"] = fingerprint(name)
    return dump_json(tail)[1:-1]


def first_due(plan: Plan) -> float:
    return min((choice.due[0] for choice in plan.choices if len(choice.due)), default=plan.due)


def last_due(choice: Choice, plan: Plan) -> float:
    return choice.due[-1] if len(choice.due) else plan.due


def _say_serverless(frame: _Frame, *, last: bool) -> Iterator[Event]:
    """Role, texts, then one chunk with all tool calls, the finish reason and the token counts."""
    choice, plan, shown = frame.choice, frame.plan, frame.shown
    yield choice.due[0] if len(choice.due) else plan.due, frame.chunk(b'"content":"","role":"assistant"')
    for span in choice.spans:
        if span.kind == "reasoning":
            yield from _think(frame, span)
        elif span.kind != "tool_call":
            yield from _speak(frame, span, b'"content":')
    calls = [
        {"function": {"arguments": arguments, "name": name}, "id": call_id, "index": position, "type": "function"}
        for position, (call_id, name, arguments) in enumerate(list_calls(choice, plan, frame.index, shown))
    ]
    delta = b'"tool_calls":%b' % dump_json(calls) if calls else b'"content":""'
    usage = b',"usage":%b' % dump_sorted_usage(plan) if last and shown.usage else b""
    yield last_due(choice, plan), frame.chunk(delta, quote(choice.finish_reason), usage=usage)


def _say_openai(frame: _Frame, *, last: bool) -> Iterator[Event]:
    choice, plan = frame.choice, frame.plan
    silent = not any(span.kind in ("text", "reasoning") for span in choice.spans) and bool(choice.spans)
    content = b"null" if silent else b'""'
    first = choice.due[0] if len(choice.due) else plan.due
    yield first, frame.chunk(b'"content":%b,"refusal":null,"role":"assistant"' % content)
    position = 0
    for span in choice.spans:
        if span.kind == "tool_call":
            yield from _call(frame, span, position)
            position += 1
        elif span.kind == "reasoning":
            yield from _think(frame, span)
        else:
            yield from _speak(frame, span, b'"refusal":' if span.kind == "refusal" else b'"content":')
    yield last_due(choice, plan), frame.chunk(b"", quote(read_finish(choice, frame.shown)))


def _speak(frame: _Frame, span: Span, field: bytes) -> Iterator[Event]:
    """One chunk per token that has a text."""
    choice = frame.choice
    if choice.logprobs is not None:
        yield from _speak_with_logprobs(frame, span, field)
        return
    before, after = frame.chunk(field + b"\0").split(b"\0")
    due = choice.due
    for position in range(span.start, span.end):
        token = choice.tokens[position]
        if token:
            yield due[position], before + quote(token) + after


def _speak_with_logprobs(frame: _Frame, span: Span, field: bytes) -> Iterator[Event]:
    """The same with log-probabilities; a token without text waits for the one that completes its character."""
    choice = frame.choice
    entries = choice.logprobs or ()
    start = span.start
    for position in range(span.start, span.end):
        token = choice.tokens[position]
        if token:
            logprobs = dump_json(shape_logprobs(entries[start : position + 1]))
            start = position + 1
            yield choice.due[position], frame.chunk(field + quote(token), logprobs=logprobs)


def _think(frame: _Frame, span: Span) -> Iterator[Event]:
    """Thoughts in a field of their own or, inline, between tags in the content."""
    if not frame.shown.inline:
        yield from _speak(frame, span, b'"reasoning_content":')
        return
    if span.start == span.end:
        return
    due = frame.choice.due
    yield due[span.start], frame.chunk(b'"content":' + quote(THINK[0]))
    yield from _speak(frame, span, b'"content":')
    yield due[span.end - 1], frame.chunk(b'"content":' + quote(THINK[1]))


def _call(frame: _Frame, span: Span, position: int) -> Iterator[Event]:
    """A tool call as OpenAI models stream it: its head, then its arguments token by token."""
    choice = frame.choice
    call_id = span.id or draw_call_id(frame.plan, frame.index, position, frame.shown)
    head = {"index": position, "id": call_id, "type": "function", "function": {"name": span.name, "arguments": ""}}
    first = choice.due[span.start] if span.start < len(choice.due) else last_due(choice, frame.plan)
    yield first, frame.chunk(b'"tool_calls":[%b]' % dump_json(head))
    opening = b'"tool_calls":[{"index":%d,"function":{"arguments":\0}}]' % position
    before, after = frame.chunk(opening).split(b"\0")
    for at in range(span.start, span.end):
        token = choice.tokens[at]
        if token:
            yield choice.due[at], before + quote(token) + after
