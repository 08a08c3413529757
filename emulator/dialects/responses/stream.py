"""A response as a stream of typed events.

Source: openai-python, ``types/responses``; databricks-ai-bridge fixtures for streams without ``event:`` lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from emulator.core.json import JSON, Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.wire import Event, Mark
from emulator.dialects.openai import shape_logprob
from emulator.dialects.responses.shapes import (
    Item,
    ResponseOptions,
    item_id,
    list_items,
    read_text,
    shape_content,
    shape_item,
    shape_output,
    shape_response,
    status_of,
)
from emulator.dialects.sse import DONE, frame, quote
from emulator.dialects.walk import FINISH, PLAIN, first_due, last_due

_FINISH_WITH_USAGE = Mark.FINISH | Mark.USAGE


class _Writer:
    """Numbers and frames the events of one stream."""

    def __init__(self, plan: Plan, options: ResponseOptions) -> None:
        self.plan = plan
        self.choice = plan.choices[0]
        self.options = options
        self._number = 0

    def event(self, due: float, tokens: int, kind: str, fields: Object, mark: Mark = PLAIN) -> Event:
        data = frame({"type": kind, "sequence_number": self._number, **fields})
        self._number += 1
        return due, self._name(kind) + data, tokens, mark

    def deltas(self, kind: str, place: Object, item: Item, tail: bytes = b"") -> Iterator[Event]:
        """One event a token, from a template; tokens without text have none."""
        before = b'%bdata: {"type":"%b","sequence_number":' % (self._name(kind), kind.encode())
        after = b"," + dump_json(place)[1:-1] + b',"delta":'
        template = before + b"%d" + after + b"%b" + tail + b"}\n\n"  # nothing of ours has a % in it
        tokens, due, number = self.choice.tokens, self.choice.due, self._number
        for position in range(item.start, item.end):
            token = tokens[position]
            if token:
                yield due[position], template % (number, quote(token)), position + 1, PLAIN
                number += 1
        self._number = number

    def _name(self, kind: str) -> bytes:
        return b"event: %b\n" % kind.encode() if self.options.events else b""


def stream_response(plan: Plan, options: ResponseOptions) -> Iterator[Event]:
    """Created, in progress, every output item, and the end with the whole response."""
    writer = _Writer(plan, options)
    choice = writer.choice
    first, last = first_due(choice), last_due(choice)
    opening = shape_response(plan, options, status="in_progress", output=[], usage=False)
    if options.queued:
        queued: Object = {"response": {**opening, "status": "queued"}}
        yield writer.event(0.0, 0, "response.created", queued)
        yield writer.event(0.0, 0, "response.queued", queued)
    else:
        yield writer.event(first, 0, "response.created", {"response": opening})
    yield writer.event(first, 0, "response.in_progress", {"response": opening})
    for item in list_items(choice):
        yield from _stream_item(writer, item)
    status, usage = status_of(plan), options.stream_usage
    whole = shape_response(plan, options, status=status, output=shape_output(plan, options), usage=usage)
    mark = _FINISH_WITH_USAGE if usage else FINISH
    yield writer.event(last, len(choice.tokens), f"response.{status}", {"response": whole}, mark)
    if options.done:
        yield last, DONE, 0, Mark.DONE


def _stream_item(writer: _Writer, item: Item) -> Iterator[Event]:
    """An item from its announcement to its end."""
    plan, options, choice, number = writer.plan, writer.options, writer.choice, item.number
    start, end = _times(choice, item)
    announced = shape_item(plan, options, item, status="in_progress")
    fields: Object = {"output_index": number, "item": announced}
    yield writer.event(start, item.start, "response.output_item.added", fields)
    place: Object = {"item_id": item_id(plan.key, item, options), "output_index": number}
    if item.kind == "tool_call":
        yield from _stream_call(writer, place, item)
    elif item.kind == "reasoning":
        yield from _stream_summary(writer, place, item)
    else:
        yield from _stream_content(writer, place, item)
    ended = shape_item(plan, options, item, status=status_of(plan) if item.end == len(choice.tokens) else "completed")
    yield writer.event(end, item.end, "response.output_item.done", {"output_index": number, "item": ended})


def _times(choice: Choice, item: Item) -> tuple[float, float]:
    """When an item's first and last tokens are due."""
    due = choice.due
    if not len(due):
        return 0.0, 0.0
    return due[min(item.start, len(due) - 1)], due[max(item.end - 1, 0)]


def _stream_call(writer: _Writer, place: Object, item: Item) -> Iterator[Event]:
    """The arguments of a call."""
    _, end = _times(writer.choice, item)
    if item.name in writer.options.customs:
        yield from writer.deltas("response.custom_tool_call_input.delta", place, item)
        whole: Object = {**place, "input": read_text(writer.choice, item)}
        yield writer.event(end, item.end, "response.custom_tool_call_input.done", whole)
        return
    yield from writer.deltas("response.function_call_arguments.delta", place, item)
    done: Object = {**place, "name": item.name, "arguments": read_text(writer.choice, item)}
    yield writer.event(end, item.end, "response.function_call_arguments.done", done)


def _stream_content(writer: _Writer, place: Object, item: Item) -> Iterator[Event]:
    """The one content part of a message."""
    choice = writer.choice
    start, end = _times(choice, item)
    place = {**place, "content_index": 0}
    text = read_text(choice, item)
    empty = shape_content(choice, replace(item, end=item.start), "")
    yield writer.event(start, item.start, "response.content_part.added", {**place, "part": empty})
    if item.kind == "refusal":
        yield from writer.deltas("response.refusal.delta", place, item)
        yield writer.event(end, item.end, "response.refusal.done", {**place, "refusal": text})
    else:
        yield from _stream_text(writer, place, item)
        done: Object = {**place, "text": text, "logprobs": _shape_logprobs(choice, item)}
        yield writer.event(end, item.end, "response.output_text.done", done)
    part = shape_content(choice, item, text)
    yield writer.event(end, item.end, "response.content_part.done", {**place, "part": part})


def _stream_text(writer: _Writer, place: Object, item: Item) -> Iterator[Event]:
    """The text of a message; with log-probabilities also tokens without text have an event."""
    choice = writer.choice
    entries = _shape_logprobs(choice, item)
    if not entries:
        yield from writer.deltas("response.output_text.delta", place, item, b',"logprobs":[]')
    for position, entry in enumerate(entries, item.start):
        fields: Object = {**place, "delta": choice.tokens[position], "logprobs": [entry]}
        yield writer.event(choice.due[position], position + 1, "response.output_text.delta", fields)


def _shape_logprobs(choice: Choice, item: Item) -> list[JSON]:
    return [shape_logprob(entry) for entry in (choice.logprobs or ())[item.start : item.end]]


def _stream_summary(writer: _Writer, place: Object, item: Item) -> Iterator[Event]:
    """A reasoning item's summary, if the client is shown one."""
    text = read_text(writer.choice, item)
    if not writer.options.summary or not text:
        return
    start, end = _times(writer.choice, item)
    place = {**place, "summary_index": 0}
    empty: Object = {"type": "summary_text", "text": ""}
    yield writer.event(start, item.start, "response.reasoning_summary_part.added", {**place, "part": empty})
    yield from writer.deltas("response.reasoning_summary_text.delta", place, item)
    yield writer.event(end, item.end, "response.reasoning_summary_text.done", {**place, "text": text})
    part: Object = {"type": "summary_text", "text": text}
    yield writer.event(end, item.end, "response.reasoning_summary_part.done", {**place, "part": part})
