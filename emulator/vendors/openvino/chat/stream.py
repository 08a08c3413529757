"""Render streaming responses of chat and completions from byte templates.

Source: model_server, src/llm/apis/openai_completions.cpp, serializeStreamingChunk, and
src/llm/http_llm_calculator.cc; 2026.x: src/llm/servable.cpp.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Self

from emulator.core.cache import clear_with_all
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Batch, BatchedEvents, Event, Mark
from emulator.core.plan import Choice, Plan
from emulator.encoding import sse
from emulator.encoding.template_stream import Rendered, join_batches, render_chunks
from emulator.protocols.choice_events import TextRun, ToolCallStarted, first_due, has_only, iterate_choice, last_due
from emulator.vendors.openvino.chat.shapes import draw_id, finish_reason, render_usage
from emulator.vendors.openvino.decoder import quote, quote_long
from emulator.vendors.openvino.release import Release

PLAIN = Mark.PLAIN
_LAST_TEXT = Mark.FINISH | Mark.JOINED
_USAGE = Mark.USAGE | Mark.JOINED
_MAX_CUT = 64  # cached chunk lists, one per token sequence
_LAG = 2  # tokens held back: of the latest three only the first is sent

_REASONING = (b'"delta":{"reasoning_content":', b"}")

Around = tuple[bytes, bytes]
Chunk = tuple[int, str, int]
"""Text between the position of the token with which it is sent and the number of tokens sent by then.

The last one is the rest, at position -1.
"""


@fast_dataclass(frozen=True, slots=True, eq=False)
class ChunkTemplate:
    """Constant bytes of the chunks of one stream.

    Fields:
        finish: finish reason of the last chunk.
        around: bytes before and after the text of a chunk.
        opening: delta of a chunk before any text; ``b""``: no such chunk.
        empty: last delta if no text is left; ``b""``: empty text, or no delta.
        tail: bytes from the end of the choices to ``usage``.
        ending: bytes from the end of the choices to the end of the event.
        usage: event with the token counts; ``b""``: no such event.
    """

    release: Release
    finish: bytes
    around: Around
    opening: bytes
    empty: bytes
    tail: bytes
    ending: bytes
    usage: bytes

    @classmethod
    def make(
        cls,
        plan: Plan,
        choice: Choice,
        release: Release,
        *,
        kind: bytes,
        model: str,
        usage: bool,
        around: Around,
        opening: bytes,
        empty: bytes = b"",
    ) -> Self:
        tail = b'],"created":%d,"model":%b,"object":"%b.chunk"' % (int(plan.created), quote(model), kind)
        return cls(
            release,
            finish_reason(choice, release),
            around,
            opening,
            empty,
            tail,
            tail + (b',"usage":null}\n\n' if usage else b"}\n\n"),
            b'data: {"choices":[%b,%b}\n\n' % (tail, render_usage(plan.usage)) if usage else b"",
        )

    def cut(self, choice: Choice, run: TextRun, opening: str = "") -> Iterator[Chunk]:
        """Yield the chunks of a run, split as the release does."""
        return (cut_at_blanks if self.release.chunk_split == "blank" else cut_with_lag)(choice, run, opening)

    def first(self) -> bytes:
        """Encode the chunk before any text."""
        return b'data: {"choices":[{"index":0,%b,"finish_reason":null}%b}\n\n' % (self.opening, self.tail)

    def wrap(self, around: Around, finish: bytes = b"null") -> Around:
        """Return the bytes before and after the text of a chunk."""
        before, after = around
        if self.release.finish_reason_last:
            prefix = b'data: {"choices":[{"index":0,"logprobs":null,' + before
            return prefix, b'%b,"finish_reason":%b}%b' % (after, finish, self.ending)
        prefix = b'data: {"choices":[{"finish_reason":%b,"index":0,"logprobs":null,%b' % (finish, before)
        return prefix, after + b"}" + self.ending

    def last(self, around: Around, rest: str) -> bytes:
        """Encode the last chunk: remaining text and finish reason; in 2024.2 without text."""
        if self.release.closing_chunk:
            head = b'data: {"choices":[{"finish_reason":%b,"index":0,"logprobs":null' % self.finish
            return head + (b"," + self.empty if self.empty else b"") + b"}" + self.ending
        if not rest and self.empty:
            return b"".join(self.wrap((self.empty, b""), self.finish))
        before, after = self.wrap(around, self.finish)
        return before + quote_long(rest) + after


def has_second_step(choice: Choice) -> bool:
    """Return whether the first decoding step sends no text: neither a whole line nor the whole response.

    A text of one token that ends by itself takes a second step, for the end-of-sequence token.
    """
    tokens = choice.tokens
    if not tokens or tokens[0].endswith("\n"):
        return False
    return len(tokens) > 1 or (choice.finish_reason != "length" and choice.stopped_by is None)


@fast_dataclass(frozen=True, slots=True, eq=False)
class TextStream(BatchedEvents):
    """Events of a stream with one choice; its last text goes out together with all later events."""

    plan: Plan
    choice: Choice
    template: ChunkTemplate
    echo: str = ""

    def __iter__(self) -> Iterator[Event]:
        yield from self._open()
        around, rest = yield from _stream_texts(self.plan, self.choice, self.template, self.echo)
        yield from self._close(around, rest)

    def batches(self, head: bytes = b"", tail: bytes = b"") -> Iterator[Batch] | None:
        choice, template = self.choice, self.template
        if last_due(choice, self.plan.due) > 0.0 or self.echo or not (choice.segments and has_only(choice)):
            return None
        texts, rest = _cut_whole(choice, template)
        before, after = template.wrap(template.around)
        ending = self._close(template.around, rest)

        def render_some(start: int, end: int, front: bytes, back: bytes) -> Rendered:
            return render_chunks(before, texts, start, end, after, front, back)

        return join_batches(self._open(), render_some, len(texts), ending, head, tail)

    def _open(self) -> Iterator[Event]:
        if self.template.opening:
            yield first_due(self.choice, self.plan.due), self.template.first(), 0, PLAIN

    def _close(self, around: Around, rest: str) -> Iterator[Event]:
        due, tokens = last_due(self.choice, self.plan.due), self.choice.count
        yield due, self.template.last(around, rest), tokens, _LAST_TEXT
        if self.template.usage:
            yield due, self.template.usage, tokens, _USAGE
        yield due, sse.DONE, tokens, Mark.DONE


def _cut_whole(choice: Choice, template: ChunkTemplate) -> tuple[Sequence[bytes], str]:
    """Return the chunk texts of a response that is one text, and the rest; cached per token sequence."""
    tokens = choice.tokens
    key = (id(tokens), template.release.chunk_split)
    known = _cut.get(key)
    if known is None:
        if len(_cut) >= _MAX_CUT:
            del _cut[next(iter(_cut))]
        *chunks, (_, rest, _) = template.cut(choice, TextRun("text", 0, choice.count))
        known = _cut[key] = tokens, [quote(text) for _, text, _ in chunks], rest
    return known[1:]


# Tokens are kept alive, so that their id stays unique.
_cut: dict[tuple[int, str], tuple[Sequence[str], Sequence[bytes], str]] = {}
clear_with_all(_cut.clear)


def _stream_texts(
    plan: Plan, choice: Choice, template: ChunkTemplate, echo: str
) -> Generator[Event, None, tuple[Around, str]]:
    """Yield ``echo``, reasoning, text and tool calls in order; return the remaining text and its frame."""
    around, rest = template.around, echo
    before, after = template.wrap(around)
    call: ToolCallStarted | None = None
    for step in iterate_choice(choice, plan.due):
        if isinstance(step, ToolCallStarted):
            call = step
        elif isinstance(step, TextRun):
            if rest and step.start:
                yield choice.due[step.start - 1], before + quote(rest) + after, step.start, PLAIN
                rest = ""
            if call is not None and step.start < step.end:
                yield call.due, _encode_call_start(plan, template, call), step.start, PLAIN
            around = _surround(step, call, template)
            call = None
            before, after = template.wrap(around)
            rest = yield from send_chunks(choice, template.cut(choice, step, rest), before, after)
    return around, rest


def _surround(run: TextRun, call: ToolCallStarted | None, template: ChunkTemplate) -> Around:
    """Return the bytes around the text of a run, or around the arguments of its tool call."""
    if call is not None:
        return b'"delta":{"tool_calls":[{"index":%d,"function":{"arguments":' % call.number, b"}}]}"
    return _REASONING if run.kind == "reasoning" else template.around


def _encode_call_start(plan: Plan, template: ChunkTemplate, call: ToolCallStarted) -> bytes:
    """Encode the first delta of a tool call: id and name."""
    identity = quote(draw_id(plan, call.id, 0, call.number))
    item = b'{"id":%b,"type":"function","index":%d,"function":{"name":' % (identity, call.number)
    before, after = template.wrap((b'"delta":{"tool_calls":[' + item, b"}}]}"))
    return before + quote(call.name) + after


def send_chunks(choice: Choice, chunks: Iterable[Chunk], before: bytes, after: bytes) -> Generator[Event, None, str]:
    """Yield the events of chunks; return the rest."""
    rest = ""
    for position, text, count in chunks:
        if position < 0:
            rest = text
        else:
            yield choice.due[position], before + quote(text) + after, count, PLAIN
    return rest


def cut_at_blanks(choice: Choice, run: TextRun, opening: str = "") -> Iterator[Chunk]:
    """Yield chunks that end after a blank or a line. The first chunk starts with ``opening``.

    Source: model_server 2025.0, src/llm/llmnoderesources.hpp, TextStreamer.
    """
    waiting = opening
    held = len(opening)
    for position, token in enumerate(choice.tokens[run.start : run.end], run.start):
        if not token:
            continue
        waiting += token
        end = len(waiting) if token[-1] == "\n" else waiting.rfind(" ") + 1
        if end and end >= held:
            chunk, waiting = waiting[:end], waiting[end:]
            yield position, chunk, position if waiting else position + 1
            held = 0
    yield -1, waiting, 0


def cut_with_lag(choice: Choice, run: TextRun, opening: str = "") -> Iterator[Chunk]:
    """Yield a token once the second after it is there, or a line ends.

    A token that completes no character delays due tokens; ``opening`` counts as a token before the first.
    Source: openvino.genai, src/cpp/src/text_streamer.cpp, TextStreamer::write (delay_n_tokens is 3).
    """
    tokens = choice.tokens
    sent = run.start - 1 if opening else run.start
    for position, token in enumerate(tokens[run.start : run.end], run.start):
        if not token:
            continue
        end = position + 1 if token[-1] == "\n" else position + 1 - _LAG
        if end > sent:
            if opening or end - sent > 1:
                ready = opening + "".join(tokens[max(sent, run.start) : end])
                opening = ""
            else:
                ready = tokens[sent]
            if ready:
                yield position, ready, end
            sent = end
    yield -1, opening + "".join(tokens[max(sent, run.start) : run.end]), 0
