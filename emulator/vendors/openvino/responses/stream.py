"""Answers of ``/v3/responses`` as a stream of typed events.

Source: model_server, src/llm/apis/openai_responses.cpp, serializeStreamingChunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from emulator.core.http import Event, Mark
from emulator.core.json import Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.encoding import sse
from emulator.protocols.choice_events import ChoiceFinished, ChoiceStarted, TextRun, ToolCallStarted, iterate_choice
from emulator.vendors.openvino.chat.shapes import draw_id
from emulator.vendors.openvino.chat.stream import cut_with_lag
from emulator.vendors.openvino.decoder import quote
from emulator.vendors.openvino.media.audio_files import Voice
from emulator.vendors.openvino.responses.shapes import (
    Echoed,
    frame_answer,
    shape_answer,
    shape_call,
    shape_message,
    shape_summary,
    shape_text,
    shape_thoughts,
)

_LAST = Mark.FINISH | Mark.USAGE | Mark.JOINED


@dataclass(slots=True, eq=False)
class ResponseStream:
    """One stream: events are numbered from 1, items from 0."""

    plan: Plan
    echoed: Echoed
    voice: Voice | None = None
    sequence: int = 0
    item: int = -1

    def events(self) -> Iterator[Event]:
        plan, choice = self.plan, self.plan.choices[0]
        call: ToolCallStarted | None = None
        for step in iterate_choice(choice, plan.due):
            if isinstance(step, TextRun):
                self.item += 1
                yield from self._write_item(choice, step, call)
                call = None
            elif isinstance(step, ToolCallStarted):
                call = step
            elif isinstance(step, ChoiceStarted):
                members: Object = {"response": frame_answer(plan, self.echoed, "in_progress", [])}
                yield self._event(step.due, 0, "response.created", members)
                yield self._event(step.due, 0, "response.in_progress", members)
            elif isinstance(step, ChoiceFinished):
                if self.voice is not None:
                    sound: Object = {
                        "delta": Voice(pcm=True, writes=True).say(choice.text()).decode()
                    }  # never a WAV file
                    yield self._event(step.due, step.tokens, "response.audio.delta", sound)
                whole = shape_answer(plan, self.echoed)
                yield self._event(step.due, step.tokens, f"response.{whole['status']}", {"response": whole}, _LAST)
                if self.voice is not None:  # it has no number of its own
                    yield step.due, sse.frame({"type": "response.audio.done", "sequence_number": 0}), step.tokens, _LAST
                yield step.due, sse.DONE, step.tokens, Mark.DONE

    def _event(self, due: float, tokens: int, kind: str, members: Object, mark: Mark = Mark.PLAIN) -> Event:
        self.sequence += 1
        return due, sse.frame({"type": kind, "sequence_number": self.sequence, **members}), tokens, mark

    def _write_item(self, choice: Choice, run: TextRun, call: ToolCallStarted | None) -> Iterator[Event]:
        if call is not None:
            return self._write_call(choice, run, call)
        return self._write_thoughts(choice, run) if run.kind == "reasoning" else self._write_message(choice, run)

    def _write_message(self, choice: Choice, run: TextRun) -> Iterator[Event]:
        start, end, text = _bounds(choice, run, self.plan)
        before, after = run.start, run.end
        index: Object = {"output_index": self.item}
        place: Object = index | {"content_index": 0, "item_id": "msg-0"}
        added, part = shape_message(0, "in_progress", []), shape_text(text)
        yield self._event(start, before, "response.output_item.added", index | {"item": added})
        yield self._event(start, before, "response.content_part.added", place | {"part": shape_text("")})
        yield from self._write_deltas(choice, run, "response.output_text.delta", place)
        yield self._event(end, after, "response.output_text.done", place | {"text": text})
        yield self._event(end, after, "response.content_part.done", place | {"part": part})
        done = shape_message(0, "completed", [part])
        yield self._event(end, after, "response.output_item.done", index | {"item": done})

    def _write_thoughts(self, choice: Choice, run: TextRun) -> Iterator[Event]:
        start, end, text = _bounds(choice, run, self.plan)
        before, after = run.start, run.end
        index: Object = {"output_index": self.item}
        place: Object = index | {"summary_index": 0, "item_id": "rs-0"}
        yield self._event(start, before, "response.output_item.added", index | {"item": shape_thoughts(0, "")})
        yield self._event(start, before, "response.reasoning_summary_part.added", place | {"part": shape_summary("")})
        yield from self._write_deltas(choice, run, "response.reasoning_summary_text.delta", place)
        yield self._event(end, after, "response.reasoning_summary_text.done", place | {"text": text})
        yield self._event(end, after, "response.reasoning_summary_part.done", place | {"part": shape_summary(text)})
        yield self._event(end, after, "response.output_item.done", index | {"item": shape_thoughts(0, text)})

    def _write_call(self, choice: Choice, run: TextRun, call: ToolCallStarted) -> Iterator[Event]:
        start, end, text = _bounds(choice, run, self.plan)
        before, after = run.start, run.end
        identity = draw_id(self.plan, call.id, 0, call.number)
        index: Object = {"output_index": self.item}
        place: Object = {"item_id": identity, "output_index": self.item, "call_id": identity}
        added = shape_call(identity, call.name, "", "in_progress")
        yield self._event(start, before, "response.output_item.added", index | {"item": added})
        yield from self._write_deltas(choice, run, "response.function_call_arguments.delta", place)
        yield self._event(end, after, "response.function_call_arguments.done", place | {"arguments": text})
        done = shape_call(identity, call.name, text, "completed")
        yield self._event(end, after, "response.output_item.done", index | {"item": done})

    def _write_deltas(self, choice: Choice, run: TextRun, kind: str, place: Object) -> Iterator[Event]:
        """The text bit by bit: one template, the number and the text filled in."""
        before = b'data: {"type":"%b","sequence_number":' % kind.encode()
        middle = b",%b" % dump_json(place)[1:-1] + b',"delta":'
        sequence = self.sequence
        for due, text, tokens, mark in _cut_all(choice, run):
            sequence += 1
            yield due, b"%b%d%b%b}\n\n" % (before, sequence, middle, text), tokens, mark
        self.sequence = sequence


def _cut_all(choice: Choice, run: TextRun) -> Iterator[Event]:
    """A run in pieces, to its end."""
    rest = yield from cut_with_lag(choice, run, b"", b"")
    if rest:
        yield choice.due[run.end - 1], quote(rest), run.end, Mark.PLAIN


def _bounds(choice: Choice, run: TextRun, plan: Plan) -> tuple[float, float, str]:
    """When the first and the last token of a run are due, and its text."""
    text = "".join(choice.tokens[run.start : run.end])
    if run.start == run.end:
        moment = choice.due[run.start - 1] if run.start else plan.due
        return moment, moment, text
    return choice.due[run.start], choice.due[run.end - 1], text
