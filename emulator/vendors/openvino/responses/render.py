"""Codec of ``/v3/responses``: whole responses, and streams of events with ``type`` and ``sequence_number``.

Source: model_server, src/llm/apis/openai_responses.cpp, serializeStreamingChunk.
"""

from collections.abc import Iterator
from dataclasses import replace

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Mark, Request, Response, StreamingResponse
from emulator.core.json import Object, dump_json
from emulator.core.plan import Choice, Plan, SegmentKind
from emulator.encoding import sse
from emulator.protocols.choice_events import ChoiceFinished, ChoiceStarted, TextRun, ToolCallStarted, iterate_choice
from emulator.vendors.openvino.chat.shapes import draw_id, merge_into_text
from emulator.vendors.openvino.chat.stream import cut_with_lag, send_chunks
from emulator.vendors.openvino.decoder import quote
from emulator.vendors.openvino.media.audio_files import Voice
from emulator.vendors.openvino.responses.shapes import (
    RequestEcho,
    build_call,
    build_envelope,
    build_message,
    build_response,
    build_summary,
    build_text,
    build_thoughts,
)
from emulator.vendors.openvino.settings import OpenVinoSettings

_LAST = Mark.FINISH | Mark.USAGE | Mark.JOINED


@fast_dataclass(frozen=True, slots=True)
class ResponsesCodec:
    """Codec of the Responses API.

    Fields:
        separate_kinds: kinds of segments that are parsed out of the text.
        markup: format of a tool call in the text.
        voice: the response has audio.
    """

    settings: OpenVinoSettings
    echo: RequestEcho
    separate_kinds: frozenset[SegmentKind]
    markup: str
    voice: Voice | None

    def render(self, plan: Plan, request: Request) -> Response:
        response = build_response(self._join_segments(plan), self.echo, self.voice)
        return Response(200, dump_json(response), self.settings.json_headers)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        stream = _Stream(self._join_segments(plan), self.echo, self.voice)
        return StreamingResponse(stream.events(), self.settings.stream_headers)

    def _join_segments(self, plan: Plan) -> Plan:
        choices = tuple([merge_into_text(choice, self.separate_kinds, self.markup) for choice in plan.choices])
        return plan if choices == plan.choices else replace(plan, choices=choices)


@fast_dataclass(slots=True, eq=False)
class _Stream:
    """Stream of one response: events are numbered from 1, output items from 0.

    Fields:
        voice: the response has audio.
        sequence: number of the last event.
        item: number of the last output item.
    """

    plan: Plan
    echo: RequestEcho
    voice: Voice | None
    sequence: int = 0
    item: int = -1

    def events(self) -> Iterator[Event]:
        plan, choice = self.plan, self.plan.choices[0]
        call: ToolCallStarted | None = None
        for step in iterate_choice(choice, plan.due):
            if isinstance(step, TextRun):
                self.item += 1
                yield from self._stream_item(choice, step, call)
                call = None
            elif isinstance(step, ToolCallStarted):
                call = step
            elif isinstance(step, ChoiceStarted):
                members: Object = {"response": build_envelope(plan, self.echo, "in_progress", [])}
                yield self._event(step.due, 0, "response.created", members)
                yield self._event(step.due, 0, "response.in_progress", members)
            elif isinstance(step, ChoiceFinished):
                if self.voice is not None:  # raw PCM in every format
                    sound: Object = {"delta": Voice(pcm=True, writes=True).say(choice.text()).decode()}
                    yield self._event(step.due, step.tokens, "response.audio.delta", sound)
                whole = build_response(plan, self.echo)
                yield self._event(step.due, step.tokens, f"response.{whole['status']}", {"response": whole}, _LAST)
                if self.voice is not None:  # its number is always 0
                    done = sse.encode_event({"type": "response.audio.done", "sequence_number": 0})
                    yield step.due, done, step.tokens, _LAST
                yield step.due, sse.DONE, step.tokens, Mark.DONE

    def _event(self, due: float, tokens: int, kind: str, members: Object, mark: Mark = Mark.PLAIN) -> Event:
        self.sequence += 1
        return due, sse.encode_event({"type": kind, "sequence_number": self.sequence, **members}), tokens, mark

    def _stream_item(self, choice: Choice, run: TextRun, call: ToolCallStarted | None) -> Iterator[Event]:
        if call is not None:
            return self._stream_call(choice, run, call)
        return self._stream_thoughts(choice, run) if run.kind == "reasoning" else self._stream_message(choice, run)

    def _stream_message(self, choice: Choice, run: TextRun) -> Iterator[Event]:
        start, end, text = _find_bounds(choice, run, self.plan)
        before, after = run.start, run.end
        index: Object = {"output_index": self.item}
        position: Object = index | {"content_index": 0, "item_id": "msg-0"}
        added, part = build_message(0, "in_progress", []), build_text(text)
        yield self._event(start, before, "response.output_item.added", index | {"item": added})
        yield self._event(start, before, "response.content_part.added", position | {"part": build_text("")})
        yield from self._stream_deltas(choice, run, "response.output_text.delta", position)
        yield self._event(end, after, "response.output_text.done", position | {"text": text})
        yield self._event(end, after, "response.content_part.done", position | {"part": part})
        done = build_message(0, "completed", [part])
        yield self._event(end, after, "response.output_item.done", index | {"item": done})

    def _stream_thoughts(self, choice: Choice, run: TextRun) -> Iterator[Event]:
        start, end, text = _find_bounds(choice, run, self.plan)
        before, after = run.start, run.end
        index: Object = {"output_index": self.item}
        position: Object = index | {"summary_index": 0, "item_id": "rs-0"}
        yield self._event(start, before, "response.output_item.added", index | {"item": build_thoughts(0, "")})
        yield self._event(
            start, before, "response.reasoning_summary_part.added", position | {"part": build_summary("")}
        )
        yield from self._stream_deltas(choice, run, "response.reasoning_summary_text.delta", position)
        yield self._event(end, after, "response.reasoning_summary_text.done", position | {"text": text})
        yield self._event(end, after, "response.reasoning_summary_part.done", position | {"part": build_summary(text)})
        yield self._event(end, after, "response.output_item.done", index | {"item": build_thoughts(0, text)})

    def _stream_call(self, choice: Choice, run: TextRun, call: ToolCallStarted) -> Iterator[Event]:
        start, end, text = _find_bounds(choice, run, self.plan)
        before, after = run.start, run.end
        call_id = draw_id(self.plan, call.id, 0, call.number)
        index: Object = {"output_index": self.item}
        position: Object = {"item_id": call_id, "output_index": self.item, "call_id": call_id}
        added = build_call(call_id, call.name, "", "in_progress")
        yield self._event(start, before, "response.output_item.added", index | {"item": added})
        yield from self._stream_deltas(choice, run, "response.function_call_arguments.delta", position)
        yield self._event(end, after, "response.function_call_arguments.done", position | {"arguments": text})
        done = build_call(call_id, call.name, text, "completed")
        yield self._event(end, after, "response.output_item.done", index | {"item": done})

    def _stream_deltas(self, choice: Choice, run: TextRun, kind: str, position: Object) -> Iterator[Event]:
        """Yield text deltas from one template."""
        before = b'data: {"type":"%b","sequence_number":' % kind.encode()
        middle = b",%b" % dump_json(position)[1:-1] + b',"delta":'
        sequence = self.sequence
        for due, text, tokens, mark in _cut_all(choice, run):
            sequence += 1
            yield due, b"%b%d%b%b}\n\n" % (before, sequence, middle, text), tokens, mark
        self.sequence = sequence


def _cut_all(choice: Choice, run: TextRun) -> Iterator[Event]:
    """Yield the texts of a run, including the rest."""
    rest = yield from send_chunks(choice, cut_with_lag(choice, run), b"", b"")
    if rest:
        yield choice.due[run.end - 1], quote(rest), run.end, Mark.PLAIN


def _find_bounds(choice: Choice, run: TextRun, plan: Plan) -> tuple[float, float, str]:
    """Return the due times of the first and last token of a run, and its text."""
    text = "".join(choice.tokens[run.start : run.end])
    if run.start == run.end:
        moment = choice.due[run.start - 1] if run.start else plan.due
        return moment, moment, text
    return choice.due[run.start], choice.due[run.end - 1], text
