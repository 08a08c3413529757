"""Codec of ``/v3/responses``: whole responses, and streams of events with ``type`` and ``sequence_number``.

Source: model_server, src/llm/apis/openai_responses.cpp, serializeResponsesUnaryResponse and serializeStreamingChunk.
"""

from collections.abc import Iterator
from dataclasses import replace

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Mark, Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, as_array, as_object, as_text, dump_json
from emulator.core.plan import Choice, Plan, SegmentKind
from emulator.encoding import sse
from emulator.protocols.choice_events import (
    ChoiceFinished,
    ChoiceStarted,
    TextRun,
    ToolCallStarted,
    collect_message,
    iterate_choice,
)
from emulator.vendors.openvino.chat.shapes import draw_id, merge_into_text
from emulator.vendors.openvino.chat.stream import cut_with_lag, send_chunks
from emulator.vendors.openvino.decoder import quote
from emulator.vendors.openvino.media.audio_files import Voice
from emulator.vendors.openvino.settings import OpenVinoSettings

_LAST = Mark.FINISH | Mark.USAGE | Mark.JOINED


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class RequestEcho:
    """Members of the request that the response repeats."""

    model: str
    tools: JSON
    tool_choice: JSON
    temperature: float | None
    top_p: float | None
    min_p: float | None
    max_output_tokens: int | None


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


def build_response(plan: Plan, echo: RequestEcho, voice: Voice | None = None) -> Object:
    """Build a finished response, ``incomplete`` if cut off; with a ``voice``, its first message has audio."""
    output = [item for index, choice in enumerate(plan.choices) for item in _build_items(plan, index, choice)]
    if voice is not None:
        _add_sound(output, voice)
    cut = any(choice.finish_reason == "length" for choice in plan.choices)
    usage: JSON = {
        "input_tokens": plan.usage.prompt_tokens,
        "output_tokens": plan.usage.completion_tokens,
        "total_tokens": plan.usage.total_tokens,
    }
    return build_envelope(plan, echo, "incomplete" if cut else "completed", output) | {"usage": usage}


def _add_sound(output: list[Object], voice: Voice) -> None:
    for item in output:
        if item["type"] == "message":
            content = as_array(item["content"])
            text = as_text(as_object(content[0])["text"])
            sound: Object = {"type": "output_audio", "data": voice.say(text).decode()}
            item["content"] = [*(content if voice.writes else []), sound]
            return


def build_envelope(plan: Plan, echo: RequestEcho, status: str, output: list[Object]) -> Object:
    """Build a response object in any status."""
    created = int(plan.created)
    response: Object = {"id": f"resp-{created}", "object": "response", "created_at": created}
    if status == "completed":
        response["completed_at"] = created
    if status == "incomplete":
        response["incomplete_details"] = {"reason": "max_tokens"}
    response |= {"error": None, "model": echo.model, "status": status}
    response |= {"parallel_tool_calls": True, "store": True}
    response |= _build_optional("temperature", echo.temperature)
    response["text"] = {"format": {"type": "text"}}
    response["tool_choice"] = echo.tool_choice
    response["tools"] = echo.tools
    response |= _build_optional("top_p", echo.top_p) | _build_optional("min_p", echo.min_p)
    response["truncation"] = "disabled"
    response["metadata"] = {}
    response |= _build_optional("max_output_tokens", echo.max_output_tokens)
    response["output"] = output
    return response


def _build_optional(name: str, value: float | None) -> Object:
    return {} if value is None else {name: value}


def _build_items(plan: Plan, index: int, choice: Choice) -> list[Object]:
    """Build reasoning, tool calls, and the message unless it is empty."""
    collected = collect_message(choice)
    items: list[Object] = []
    if collected.reasoning:
        items.append(build_thoughts(index, collected.reasoning))
    for call in collected.calls:
        items.append(build_call(draw_id(plan, call.id, index, call.number), call.name, call.arguments, "completed"))
    text = collected.text + collected.refusal
    if text:
        items.append(build_message(index, "completed", [build_text(text)]))
    return items


def build_thoughts(index: int, text: str) -> Object:
    return {"id": f"rs-{index}", "type": "reasoning", "summary": [build_summary(text)] if text else []}


def build_summary(text: str) -> Object:
    return {"type": "summary_text", "text": text}


def build_call(call_id: str, name: str, arguments: str, status: str) -> Object:
    head: Object = {"id": call_id, "type": "function_call", "status": status}
    return head | {"call_id": call_id, "name": name, "arguments": arguments}


def build_message(index: int, status: str, content: list[Object]) -> Object:
    return {"id": f"msg-{index}", "type": "message", "role": "assistant", "status": status, "content": content}


def build_text(text: str) -> Object:
    return {"type": "output_text", "text": text, "annotations": []}


def render_failed(text: str, model: str | None, created: int, number: int) -> bytes:
    """Encode the event that ends a failed stream; ``number``: its sequence number."""
    response: Object = {
        "id": f"resp-{created}",
        "object": "response",
        "created_at": created,
        "error": {"code": "server_error", "message": text},
        "model": model,
        "status": "failed",
        "output": [],
    }
    return sse.encode_event({"type": "response.failed", "sequence_number": number, "response": response}) + sse.DONE
