"""Answers of chat and completions event by event: templates of bytes, filled in chunk by chunk.

Source: model_server, src/llm/apis/openai_completions.cpp, serializeStreamingChunk, and
src/llm/http_llm_calculator.cc; 2026.x: src/llm/servable.cpp.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from emulator.core.plan import Choice, Plan, Span
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireStream
from emulator.dialects.sse import DONE
from emulator.vendors.openvino.decoder import quote, quote_long
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.settings import OpenVinoSettings
from emulator.vendors.openvino.text.shapes import finish_reason, render_usage
from emulator.vendors.openvino.text.spans import call_id, flatten, is_plain
from emulator.vendors.openvino.text.split import split_at_blanks, split_with_lag

Events = Iterator[tuple[float, bytes]]
Last = Generator[tuple[float, bytes], None, bytes]
_CONTENT = (b'"delta":{"content":', b"}")
_REASONING = (b'"delta":{"reasoning_content":', b"}")
_TEXT = (b'"text":', b"")


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One chunk's surroundings: all of it but the delta.

    Fields:
        finish: the reason the last chunk gives.
        tail: what follows the list of choices, up to ``usage``.
        ending: the same to the end of the event.
        empty: the last delta if no text is left; ``b""``: the usual one, with empty text.
    """

    release: Release
    finish: bytes
    tail: bytes
    ending: bytes
    empty: bytes

    def wrap(self, before: bytes, after: bytes, finish: bytes = b"null") -> tuple[bytes, bytes]:
        """What stands before and after a chunk's text."""
        if self.release.finish_reason_last:
            prefix = b'data: {"choices":[{"index":0,"logprobs":null,' + before
            return prefix, b'%b,"finish_reason":%b}%b' % (after, finish, self.ending)
        prefix = b'data: {"choices":[{"finish_reason":%b,"index":0,"logprobs":null,%b' % (finish, before)
        return prefix, after + b"}" + self.ending

    def close(self, around: tuple[bytes, bytes], rest: str) -> bytes:
        """The last chunk: what text is left, and the reason."""
        if not rest and self.empty:
            prefix, suffix = self.wrap(self.empty, b"", self.finish)
            return prefix + suffix
        prefix, suffix = self.wrap(*around, self.finish)
        return prefix + quote_long(rest) + suffix


def stream_chat(plan: Plan, call: Call, service: Service[OpenVinoSettings, None]) -> WireStream:
    """``chat.completion.chunk`` events."""
    events = _stream(plan, call, service.settings.release, chat=True)
    return WireStream(events, service.settings.stream_headers)


def stream_completion(plan: Plan, call: Call, service: Service[OpenVinoSettings, None]) -> WireStream:
    """``text_completion.chunk`` events: the name is the server's own."""
    events = _stream(plan, call, service.settings.release, chat=False)
    return WireStream(events, service.settings.stream_headers)


def _stream(plan: Plan, call: Call, release: Release, *, chat: bool) -> Events:
    """The one choice of a stream; its last text goes out together with all that follows."""
    usage = call.context.include_usage
    kind = b"chat.completion" if chat else b"text_completion"
    tail = b'],"created":%d,"model":%b,"object":"%b.chunk"' % (int(plan.created), quote(call.deployment.name), kind)
    ending = tail + (b',"usage":null}\n\n' if usage else b"}\n\n")
    choice = plan.choices[0]
    empty = b'"delta":{}' if chat and release.empty_delta else b""
    frame = Frame(release, finish_reason(choice, release), tail, ending, empty)
    if release.handshake and _starts_slowly(choice) and not call.deployment.traits.get("stateful"):
        opening = b'"delta":{"role":"assistant","content":null}' if chat else b'"text":""'
        yield choice.due[0], b'data: {"choices":[{"index":0,%b,"finish_reason":null}%b}\n\n' % (opening, tail)
    if chat and release.tools == "streamed" and not is_plain(choice):
        last = yield from _stream_spans(plan, choice, frame)
    else:
        last = yield from _stream_text(choice, frame, _CONTENT if chat else _TEXT, call.context.echo)
    if usage:
        last += b'data: {"choices":[%b,%b}\n\n' % (tail, render_usage(plan.usage))
    yield (choice.due[-1] if len(choice.due) else plan.due), last + DONE


def _starts_slowly(choice: Choice) -> bool:
    """The first step gave no text: neither a whole line nor all there is.

    A text of one token that came to its natural end takes a second step, for the end.
    """
    tokens = choice.tokens
    if not tokens or tokens[0].endswith("\n"):
        return False
    return len(tokens) > 1 or (choice.finish_reason != "length" and choice.stopped_by is None)


def _stream_text(choice: Choice, frame: Frame, around: tuple[bytes, bytes], opening: str) -> Last:
    tokens, due = (choice.tokens, choice.due) if is_plain(choice) else flatten(choice)
    prefix, suffix = frame.wrap(*around)
    split = split_at_blanks if frame.release.chunk_split == "blank" else split_with_lag
    rest = yield from split(tokens, due, prefix, suffix, opening)
    if rest and frame.release.closing_chunk:
        yield (due[-1] if len(due) else 0.0), prefix + quote(rest) + suffix
        rest = ""
    return frame.close(around, rest)


def _stream_spans(plan: Plan, choice: Choice, frame: Frame) -> Last:
    """Thoughts, text and tool calls one after the other, each flushed at its end."""
    last = frame.close(_CONTENT, "")
    calls = 0
    for number, span in enumerate(choice.spans):
        around = _REASONING if span.kind == "reasoning" else _CONTENT
        tokens, due = choice.tokens[span.start : span.end], choice.due[span.start : span.end]
        if span.kind == "tool_call":
            around = b'"delta":{"tool_calls":[{"index":%d,"function":{"arguments":' % calls, b"}}]}"
            if tokens:
                yield due[0], _announce(plan, frame, calls, span)
            calls += 1
        prefix, suffix = frame.wrap(*around)
        rest = yield from split_with_lag(tokens, due, prefix, suffix)
        if number == len(choice.spans) - 1:
            last = frame.close(around, rest)
        elif rest:
            yield due[-1], prefix + quote(rest) + suffix
    return last


def _announce(plan: Plan, frame: Frame, call: int, span: Span) -> bytes:
    """The first delta of a tool call: id and name."""
    item = b'{"id":%b,"type":"function","index":%d,"function":{"name":' % (call_id(plan, span, 0, call), call)
    prefix, suffix = frame.wrap(b'"delta":{"tool_calls":[' + item, b"}}]}")
    return prefix + quote(span.name) + suffix
