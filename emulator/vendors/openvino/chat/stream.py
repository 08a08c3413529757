"""Answers of chat and completions event by event: templates of bytes, filled in chunk by chunk.

Source: model_server, src/llm/apis/openai_completions.cpp, serializeStreamingChunk, and
src/llm/http_llm_calculator.cc; 2026.x: src/llm/servable.cpp.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Self

from emulator.core.cache import clear_with_all
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Batch, BatchedEvents, Event, Mark
from emulator.core.plan import Choice, Plan
from emulator.encoding import sse
from emulator.encoding.template_stream import join, render_chunks
from emulator.protocols.choice_events import TextRun, ToolCallStarted, first_due, is_only, iterate_choice, last_due
from emulator.vendors.openvino.chat.shapes import draw_id, finish_reason, render_usage
from emulator.vendors.openvino.decoder import quote, quote_long
from emulator.vendors.openvino.release import Release

PLAIN = Mark.PLAIN
_LAST_TEXT = Mark.FINISH | Mark.JOINED
_USAGE = Mark.USAGE | Mark.JOINED
_MOST_CUT = 64  # answers whose chunks are kept as they came last
_LAG = 2  # tokens still to come before one is sent: of the latest three only the first

_REASONING = (b'"delta":{"reasoning_content":', b"}")

Around = tuple[bytes, bytes]
Cut = Generator[Event, None, str]


@fast_dataclass(frozen=True, slots=True, eq=False)
class ChunkTemplate:
    """The chunks of one stream, all but their text.

    Fields:
        finish: the reason the last chunk gives.
        around: what stands around the answer's text.
        opening: what a chunk before any text says; ``b""``: there is none.
        empty: the last delta if no text is left; ``b""``: the usual one, with empty text, or none at all.
        tail: what follows the list of choices, up to ``usage``.
        ending: the same to the end of the event.
        usage: the event with the token counts; ``b""``: there is none.
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

    def cut(self, choice: Choice, run: TextRun, before: bytes, after: bytes, opening: str = "") -> Cut:
        """The chunks of a run, as the release cuts them."""
        how = cut_at_blanks if self.release.chunk_split == "blank" else cut_with_lag
        return how(choice, run, before, after, opening)

    def first(self) -> bytes:
        """The chunk before any text."""
        return b'data: {"choices":[{"index":0,%b,"finish_reason":null}%b}\n\n' % (self.opening, self.tail)

    def wrap(self, around: Around, finish: bytes = b"null") -> Around:
        """What stands before and after a chunk's text."""
        before, after = around
        if self.release.finish_reason_last:
            prefix = b'data: {"choices":[{"index":0,"logprobs":null,' + before
            return prefix, b'%b,"finish_reason":%b}%b' % (after, finish, self.ending)
        prefix = b'data: {"choices":[{"finish_reason":%b,"index":0,"logprobs":null,%b' % (finish, before)
        return prefix, after + b"}" + self.ending

    def last(self, around: Around, rest: str) -> bytes:
        """The last chunk: what text is left, and the reason; that of 2024.2 has no text at all."""
        if self.release.closing_chunk:
            head = b'data: {"choices":[{"finish_reason":%b,"index":0,"logprobs":null' % self.finish
            return head + (b"," + self.empty if self.empty else b"") + b"}" + self.ending
        if not rest and self.empty:
            return b"".join(self.wrap((self.empty, b""), self.finish))
        before, after = self.wrap(around, self.finish)
        return before + quote_long(rest) + after


def takes_a_second_step(choice: Choice) -> bool:
    """The first step gives no text: neither a whole line nor all there is.

    A text of one token that came to its natural end takes a second step, for the end.
    """
    tokens = choice.tokens
    if not tokens or tokens[0].endswith("\n"):
        return False
    return len(tokens) > 1 or (choice.finish_reason != "length" and choice.stopped_by is None)


@fast_dataclass(frozen=True, slots=True, eq=False)
class TextStream(BatchedEvents):
    """The one choice of a stream; its last text goes out together with all that follows."""

    plan: Plan
    choice: Choice
    template: ChunkTemplate
    echo: str = ""

    def __iter__(self) -> Iterator[Event]:
        yield from self._open()
        around, rest = yield from _stream_texts(self.plan, self.choice, self.template, self.echo)
        yield from self._close(around, rest)

    def batches(self) -> Iterator[Batch] | None:
        choice, template = self.choice, self.template
        if last_due(choice, self.plan.due) > 0.0 or self.echo or not (choice.segments and is_only(choice)):
            return None
        texts, rest = _cut_whole(choice, template)
        before, after = template.wrap(template.around)
        ending = self._close(template.around, rest)
        return join(
            self._open(), lambda start, end: render_chunks(before, texts, start, end, after), len(texts), ending
        )

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
    """The texts of the chunks of an answer that is one text, and the rest; found out once of tokens that come again."""
    tokens = choice.tokens
    place = (id(tokens), template.release.chunk_split)
    known = _cut.get(place)
    if known is None:
        if len(_cut) >= _MOST_CUT:
            del _cut[next(iter(_cut))]
        known = _cut[place] = tokens, *_gather(template.cut(choice, TextRun("text", 0, choice.count), b"", b""))
    return known[1:]


_cut: dict[tuple[int, str], tuple[Sequence[str], Sequence[bytes], str]] = {}  # tokens are held: no others have their id
clear_with_all(_cut.clear)


def _gather(cut: Cut) -> tuple[list[bytes], str]:
    """What a cut yields, without its times, and gives back."""
    texts: list[bytes] = []
    try:
        while True:
            texts.append(next(cut)[1])
    except StopIteration as end:
        rest: str = end.value
    return texts, rest


def _stream_texts(
    plan: Plan, choice: Choice, template: ChunkTemplate, echo: str
) -> Generator[Event, None, tuple[Around, str]]:
    """``echo``, thoughts, text and tool calls, one after the other; gives back what is left of the last of them."""
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
                yield call.due, _announce(plan, template, call), step.start, PLAIN
            around = _surround(step, call, template)
            call = None
            before, after = template.wrap(around)
            rest = yield from template.cut(choice, step, before, after, rest)
    return around, rest


def _surround(run: TextRun, call: ToolCallStarted | None, template: ChunkTemplate) -> Around:
    """What stands around the text of a run, or around the arguments of its call."""
    if call is not None:
        return b'"delta":{"tool_calls":[{"index":%d,"function":{"arguments":' % call.number, b"}}]}"
    return _REASONING if run.kind == "reasoning" else template.around


def _announce(plan: Plan, template: ChunkTemplate, call: ToolCallStarted) -> bytes:
    """The first delta of a tool call: id and name."""
    identity = quote(draw_id(plan, call.id, 0, call.number))
    item = b'{"id":%b,"type":"function","index":%d,"function":{"name":' % (identity, call.number)
    before, after = template.wrap((b'"delta":{"tool_calls":[' + item, b"}}]}"))
    return before + quote(call.name) + after


def cut_at_blanks(choice: Choice, run: TextRun, before: bytes, after: bytes, opening: str = "") -> Cut:
    """Chunks end after a blank or a line; gives back the rest. ``opening`` goes out with the first of them, whole.

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
            yield choice.due[position], before + quote(chunk) + after, position if waiting else position + 1, PLAIN
            held = 0
    return waiting


def cut_with_lag(choice: Choice, run: TextRun, before: bytes, after: bytes, opening: str = "") -> Cut:
    """A token is sent when the second after it is there, or a line ends; gives back the rest.

    One that completes no character keeps what is due with it waiting; ``opening`` is as a token before the first.
    Source: openvino.genai, src/cpp/src/text_streamer.cpp, TextStreamer::write (delay_n_tokens is 3).
    """
    tokens, due = choice.tokens, choice.due
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
                yield due[position], before + quote(ready) + after, end, PLAIN
            sent = end
    return opening + "".join(tokens[max(sent, run.start) : run.end])
