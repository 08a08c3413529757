"""Answers of ``/v3/responses``: in one piece, and as a stream of typed events.

Source: model_server, src/llm/apis/openai_responses.cpp, serializeResponsesUnaryResponse and serializeStreamingChunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, Plan, Span
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest, WireResponse, WireStream
from emulator.dialects.sse import DONE
from emulator.vendors.openvino.decoder import quote
from emulator.vendors.openvino.responses.parse import Echoed
from emulator.vendors.openvino.settings import OpenVinoSettings
from emulator.vendors.openvino.text.spans import draw_id
from emulator.vendors.openvino.text.split import split_with_lag

Events = Iterator[tuple[float, bytes]]
Item = dict[str, JSON]


class ResponsesCodec:
    """Items of thoughts, calls and a message."""

    def render(self, plan: Plan, call: Call, service: Service[OpenVinoSettings, None]) -> WireResponse:
        return WireResponse(200, dump_json(_list_whole(plan, call)), service.settings.json_headers)

    def stream(self, plan: Plan, call: Call, service: Service[OpenVinoSettings, None]) -> WireStream:
        return WireStream(_Stream(plan, call).events(), service.settings.stream_headers)


RESPONSES = ResponsesCodec()


def word_failed(text: str, request: WireRequest, service: Service[OpenVinoSettings, None]) -> bytes:
    """The event that ends a stream whose generation failed; its number, which nobody knows here, is 0: unverified."""
    created = int(service.clock.now())
    body: JSON = request.json()
    response = {
        "id": f"resp-{created}",
        "object": "response",
        "created_at": created,
        "error": {"code": "server_error", "message": text},
        "model": body.get("model"),
        "status": "failed",
        "output": [],
    }
    event = {"type": "response.failed", "sequence_number": 0, "response": response}
    return b"data: %b\n\n" % dump_json(event) + DONE


def _list_whole(plan: Plan, call: Call) -> Item:
    """The finished answer; one cut off says so."""
    output = [item for index, choice in enumerate(plan.choices) for item in _list_items(plan, index, choice)]
    cut = any(choice.finish_reason == "length" for choice in plan.choices)
    usage = {
        "input_tokens": plan.usage.prompt_tokens,
        "output_tokens": plan.usage.completion_tokens,
        "total_tokens": plan.usage.total_tokens,
    }
    return _frame_answer(plan, call, "incomplete" if cut else "completed", output) | {"usage": usage}


def _frame_answer(plan: Plan, call: Call, status: str, output: list[Item]) -> Item:
    echoed: Echoed = call.context
    created = int(plan.created)
    answer: Item = {"id": f"resp-{created}", "object": "response", "created_at": created}
    if status == "completed":
        answer["completed_at"] = created
    if status == "incomplete":
        answer["incomplete_details"] = {"reason": "max_tokens"}
    answer |= {"error": None, "model": call.deployment.name, "status": status}
    answer |= {"parallel_tool_calls": True, "store": True}
    answer |= _given("temperature", echoed.temperature) | {"text": {"format": {"type": "text"}}}
    answer |= {"tool_choice": echoed.tool_choice, "tools": echoed.tools}
    answer |= _given("top_p", echoed.top_p) | _given("min_p", echoed.min_p)
    answer |= {"truncation": "disabled", "metadata": {}} | _given("max_output_tokens", echoed.max_output_tokens)
    return answer | {"output": output}


def _given(name: str, value: float | None) -> Item:
    return {} if value is None else {name: value}


def _list_items(plan: Plan, index: int, choice: Choice) -> list[Item]:
    """Thoughts, calls, and the message unless it is empty."""
    items: list[Item] = []
    reasoning = choice.text("reasoning")
    if reasoning:
        items.append(_thoughts(index, reasoning))
    for number, span in enumerate(s for s in choice.spans if s.kind == "tool_call"):
        text = "".join(choice.tokens[span.start : span.end])
        items.append(_call_item(draw_id(plan, span, index, number), span.name, text, "completed"))
    text = choice.text() + choice.text("refusal")
    if text:
        items.append(_message(index, "completed", [_text_part(text)]))
    return items


def _thoughts(index: int, text: str) -> Item:
    return {"id": f"rs-{index}", "type": "reasoning", "summary": [_summary(text)] if text else []}


def _summary(text: str) -> Item:
    return {"type": "summary_text", "text": text}


def _call_item(identity: str, name: str, arguments: str, status: str) -> Item:
    head = {"id": identity, "type": "function_call", "status": status}
    return head | {"call_id": identity, "name": name, "arguments": arguments}


def _message(index: int, status: str, content: list[Item]) -> Item:
    return {"id": f"msg-{index}", "type": "message", "role": "assistant", "status": status, "content": content}


def _text_part(text: str) -> Item:
    return {"type": "output_text", "text": text, "annotations": []}


@dataclass(slots=True, eq=False)
class _Stream:
    """One stream: events are numbered from 1, items from 0."""

    plan: Plan
    call: Call
    sequence: int = 0
    output: int = -1
    tools: int = 0
    items: list[Item] = field(default_factory=list)

    def event(self, kind: str, members: Item) -> bytes:
        self.sequence += 1
        return b"data: %b\n\n" % dump_json({"type": kind, "sequence_number": self.sequence, **members})

    def events(self) -> Events:
        plan, choice = self.plan, self.plan.choices[0]
        start = choice.due[0] if len(choice.due) else plan.due
        head = _frame_answer(plan, self.call, "in_progress", [])
        yield start, self.event("response.created", {"response": head})
        yield start, self.event("response.in_progress", {"response": head})
        for span in choice.spans:
            self.output += 1
            write = {"reasoning": self.write_thoughts, "tool_call": self.write_call}.get(span.kind, self.write_message)
            yield from write(choice, span)
        whole = _list_whole(plan, self.call)
        end = choice.due[-1] if len(choice.due) else plan.due
        yield end, self.event(f"response.{whole['status']}", {"response": whole}) + DONE

    def write_message(self, choice: Choice, span: Span) -> Events:
        start, end, text = _bounds(choice, span, self.plan)
        place = {"output_index": self.output, "content_index": 0, "item_id": "msg-0"}
        index = {"output_index": self.output}
        yield start, self.event("response.output_item.added", index | {"item": _message(0, "in_progress", [])})
        yield start, self.event("response.content_part.added", place | {"part": _text_part("")})
        yield from self.write_deltas(choice, span, "response.output_text.delta", place)
        yield end, self.event("response.output_text.done", place | {"text": text})
        yield end, self.event("response.content_part.done", place | {"part": _text_part(text)})
        item = _message(0, "completed", [_text_part(text)])
        yield end, self.event("response.output_item.done", index | {"item": item})

    def write_thoughts(self, choice: Choice, span: Span) -> Events:
        start, end, text = _bounds(choice, span, self.plan)
        place = {"output_index": self.output, "summary_index": 0, "item_id": "rs-0"}
        index = {"output_index": self.output}
        yield start, self.event("response.output_item.added", index | {"item": _thoughts(0, "")})
        yield start, self.event("response.reasoning_summary_part.added", place | {"part": _summary("")})
        yield from self.write_deltas(choice, span, "response.reasoning_summary_text.delta", place)
        yield end, self.event("response.reasoning_summary_text.done", place | {"text": text})
        yield end, self.event("response.reasoning_summary_part.done", place | {"part": _summary(text)})
        yield end, self.event("response.output_item.done", index | {"item": _thoughts(0, text)})

    def write_call(self, choice: Choice, span: Span) -> Events:
        start, end, text = _bounds(choice, span, self.plan)
        identity = draw_id(self.plan, span, 0, self.tools)
        self.tools += 1
        place = {"item_id": identity, "output_index": self.output, "call_id": identity}
        index = {"output_index": self.output}
        item = _call_item(identity, span.name, "", "in_progress")
        yield start, self.event("response.output_item.added", index | {"item": item})
        yield from self.write_deltas(choice, span, "response.function_call_arguments.delta", place)
        yield end, self.event("response.function_call_arguments.done", place | {"arguments": text})
        item = _call_item(identity, span.name, text, "completed")
        yield end, self.event("response.output_item.done", index | {"item": item})

    def write_deltas(self, choice: Choice, span: Span, kind: str, place: Item) -> Events:
        """The text bit by bit: one template, the number and the text filled in."""
        prefix = b'data: {"type":"%b","sequence_number":' % kind.encode()
        middle = b",%b" % dump_json(place)[1:-1] + b',"delta":'
        tokens, due = choice.tokens[span.start : span.end], choice.due[span.start : span.end]
        rest = ""
        chunks = split_with_lag(tokens, due, b"", b"")
        while True:
            try:
                moment, text = next(chunks)
            except StopIteration as stop:
                rest = stop.value
                break
            self.sequence += 1
            yield moment, b"%b%d%b%b}\n\n" % (prefix, self.sequence, middle, text)
        if rest:
            self.sequence += 1
            yield due[-1], b"%b%d%b%b}\n\n" % (prefix, self.sequence, middle, quote(rest))


def _bounds(choice: Choice, span: Span, plan: Plan) -> tuple[float, float, str]:
    """When the first and the last token of a span are due, and its text."""
    text = "".join(choice.tokens[span.start : span.end])
    if span.start == span.end:
        moment = choice.due[span.start - 1] if span.start else plan.due
        return moment, moment, text
    return choice.due[span.start], choice.due[span.end - 1], text
