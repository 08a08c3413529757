"""A response as a stream of typed events.

Source: openai-python, ``types/responses``; databricks-ai-bridge fixtures for streams without ``event:`` lines.
"""

from __future__ import annotations

from collections.abc import Iterator

from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, Plan, Span
from emulator.dialects.openai import shape_logprob
from emulator.dialects.sse import DONE, quote
from emulator.vendors.databricks.reply import Reply
from emulator.vendors.databricks.responses.shapes import (
    Told,
    group_spans,
    item_id,
    shape_content,
    shape_item,
    shape_output,
    shape_response,
    status_of,
)

Event = tuple[float, bytes]


class _Writer:
    """Numbers and frames events."""

    def __init__(self, named: bool) -> None:
        self.number = 0
        self._named = named

    def event(self, kind: str, fields: dict[str, JSON]) -> bytes:
        body = dump_json({"type": kind, "sequence_number": self.number, **fields})
        self.number += 1
        return b"%bdata: %b\n\n" % (self.name(kind), body)

    def name(self, kind: str) -> bytes:
        return b"event: %b\n" % kind.encode() if self._named else b""

    def deltas(self, kind: str, place: dict[str, JSON], choice: Choice, span: Span, tail: bytes) -> Iterator[Event]:
        """One event a token, from a template; tokens without text have none."""
        before = b'%bdata: {"type":"%b","sequence_number":' % (self.name(kind), kind.encode())
        after = b"," + dump_json(place)[1:-1] + b',"delta":'
        tokens, due, number = choice.tokens, choice.due, self.number
        for position in range(span.start, span.end):
            token = tokens[position]
            if token:
                yield due[position], b"%b%d%b%b%b}\n\n" % (before, number, after, quote(token), tail)
                number += 1
        self.number = number


def stream_response(plan: Plan, reply: Reply) -> Iterator[Event]:
    """Created, in progress, every output item, and the end with the whole response."""
    told: Told = reply.extra
    writer = _Writer(told.events)
    choice = plan.choices[0]
    first = choice.due[0] if len(choice.due) else 0.0
    last = choice.due[-1] if len(choice.due) else 0.0
    opening = shape_response(plan, reply, status="in_progress", output=[], usage=False)
    yield first, writer.event("response.created", {"response": opening})
    yield first, writer.event("response.in_progress", {"response": opening})
    for number, (kind, span) in enumerate(group_spans(choice)):
        yield from _stream_item(writer, plan, reply, number, kind, span)
    status = status_of(plan)
    output = shape_output(plan, reply)
    whole = shape_response(plan, reply, status=status, output=output, usage=told.stream_usage)
    yield last, writer.event(f"response.{status}", {"response": whole})
    if told.done:
        yield last, DONE


def _stream_item(writer: _Writer, plan: Plan, reply: Reply, number: int, kind: str, span: Span) -> Iterator[Event]:
    """An item from its announcement to its end."""
    choice = plan.choices[0]
    start, end = _times(choice, span)
    announced = shape_item(plan, reply, number, span, status="in_progress", empty=True)
    yield start, writer.event("response.output_item.added", {"output_index": number, "item": announced})
    place: dict[str, JSON] = {"item_id": item_id(plan.key, number, span), "output_index": number}
    text = "".join(choice.tokens[span.start : span.end])
    if kind == "tool_call":
        yield from writer.deltas("response.function_call_arguments.delta", place, choice, span, b"")
        done = {**place, "name": span.name, "arguments": text}
        yield end, writer.event("response.function_call_arguments.done", done)
    elif kind == "reasoning":
        yield from _stream_summary(writer, reply, place, choice, span, text)
    else:
        yield from _stream_content(writer, place, choice, span, text)
    cut = status_of(plan) == "incomplete" and span.end == len(choice.tokens)
    item = shape_item(plan, reply, number, span, status="incomplete" if cut else "completed")
    yield end, writer.event("response.output_item.done", {"output_index": number, "item": item})


def _times(choice: Choice, span: Span) -> tuple[float, float]:
    """When a span's first and last tokens are due."""
    due = choice.due
    if not len(due):
        return 0.0, 0.0
    return due[min(span.start, len(due) - 1)], due[max(span.end - 1, 0)]


def _stream_content(writer: _Writer, place: dict[str, JSON], choice: Choice, span: Span, text: str) -> Iterator[Event]:
    """The one content part of a message."""
    start, end = _times(choice, span)
    place = {**place, "content_index": 0}
    empty = shape_content(choice, Span(span.kind, span.start, span.start), "")
    yield start, writer.event("response.content_part.added", {**place, "part": empty})
    name, field = ("refusal", "refusal") if span.kind == "refusal" else ("output_text", "text")
    logprobs: list[JSON] = []
    if span.kind == "refusal":
        yield from writer.deltas("response.refusal.delta", place, choice, span, b"")
    elif choice.logprobs is None:
        yield from writer.deltas("response.output_text.delta", place, choice, span, b',"logprobs":[]')
    else:
        for position in range(span.start, span.end):
            entry = shape_logprob(choice.logprobs[position])
            logprobs.append(entry)
            fields = {**place, "delta": choice.tokens[position], "logprobs": [entry]}
            yield choice.due[position], writer.event("response.output_text.delta", fields)
    done = {**place, field: text, **({} if span.kind == "refusal" else {"logprobs": logprobs})}
    yield end, writer.event(f"response.{name}.done", done)
    yield end, writer.event("response.content_part.done", {**place, "part": shape_content(choice, span, text)})


def _stream_summary(
    writer: _Writer, reply: Reply, place: dict[str, JSON], choice: Choice, span: Span, text: str
) -> Iterator[Event]:
    """A reasoning item's summary, if the client is shown one."""
    told: Told = reply.extra
    if not told.summary or not text:
        return
    start, end = _times(choice, span)
    place = {**place, "summary_index": 0}
    empty = {"type": "summary_text", "text": ""}
    yield start, writer.event("response.reasoning_summary_part.added", {**place, "part": empty})
    yield from writer.deltas("response.reasoning_summary_text.delta", place, choice, span, b"")
    yield end, writer.event("response.reasoning_summary_text.done", {**place, "text": text})
    part = {"type": "summary_text", "text": text}
    yield end, writer.event("response.reasoning_summary_part.done", {**place, "part": part})
