"""Build a response of the Messages API, whole or as a stream.

Source: docs.anthropic.com, "Messages" and "Streaming Messages".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Headers, Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, dump_json, parse_json
from emulator.core.plan import Choice, Plan, SegmentKind, Usage
from emulator.core.rng import draw_alphanumeric
from emulator.protocols.choice_events import (
    DONE,
    FINISH,
    PLAIN,
    USAGE,
    ChoiceStarted,
    TextRun,
    ToolCallStarted,
    collect_message,
    first_token_due,
    iterate_choice,
    last_token_due,
    token_events,
)

_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_DELTAS: dict[SegmentKind, tuple[str, str]] = {
    "reasoning": ("thinking_delta", "thinking"),
    "text": ("text_delta", "text"),
    "refusal": ("text_delta", "text"),
    "tool_call": ("input_json_delta", "partial_json"),
}


@fast_dataclass(frozen=True, slots=True, eq=False)
class MessagesCodec(ABC):
    """Codec of messages; a vendor adds its headers."""

    model: str

    @abstractmethod
    def build_headers(self, plan: Plan, request: Request, *, stream: bool = False) -> Headers:
        """Return the headers of a response."""

    def count_cached(self, plan: Plan, request: Request) -> Plan:
        """Return the plan with the prompt tokens that were read from or written to a cache."""
        return plan

    def render(self, plan: Plan, request: Request) -> Response:
        body = build_message(self.count_cached(plan, request), self.model)
        return Response(200, dump_json(body), self.build_headers(plan, request))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        events = stream_message(self.count_cached(plan, request), self.model)
        return StreamingResponse(events, self.build_headers(plan, request, stream=True))


def build_message(plan: Plan, model: str) -> Object:
    choice = plan.choices[0]
    message = collect_message(choice)
    content: list[JSON] = []
    if message.reasoning:
        content.append({"type": "thinking", "thinking": message.reasoning, "signature": _draw_signature(plan)})
    if message.text or message.refusal or not message.calls:
        content.append({"type": "text", "text": message.text + message.refusal})
    for call in message.calls:
        name = call.id or _draw_call_id(plan, call.number)
        block: Object = {"type": "tool_use", "id": name, "name": call.name}
        content.append(block | _parse_arguments(call.arguments))
    return {
        **_build_head(plan, model),
        "content": content,
        **_build_stop(choice),
        "usage": build_usage(plan.usage, plan.usage.completion_tokens),
    }


def stream_message(plan: Plan, model: str) -> Iterator[Event]:
    """Yield the message as server-sent events."""
    choice = plan.choices[0]
    head: Object = {**_build_head(plan, model), "content": [], "stop_reason": None, "stop_sequence": None}
    start: Object = {"type": "message_start", "message": {**head, "usage": build_usage(plan.usage, 1)}}
    yield first_token_due(plan), _encode_event("message_start", start), 0, PLAIN
    yield first_token_due(plan), _encode_event("ping", {"type": "ping"}), 0, PLAIN
    yield from _BlockWriter(plan, choice).stream()
    usage = {"output_tokens": plan.usage.completion_tokens}
    delta: Object = {"type": "message_delta", "delta": _build_stop(choice), "usage": usage}
    yield last_token_due(plan), _encode_event("message_delta", delta), len(choice.tokens), FINISH | USAGE
    yield last_token_due(plan), _encode_event("message_stop", {"type": "message_stop"}), 0, DONE


@fast_dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Content block in progress; ``number`` is -1 before the first."""

    number: int
    kind: SegmentKind | None = None


class _BlockWriter:
    """Writer of a message's content blocks, one after the other."""

    def __init__(self, plan: Plan, choice: Choice) -> None:
        self._plan = plan
        self._choice = choice
        self._open = _Block(-1)

    def stream(self) -> Iterator[Event]:
        for step in iterate_choice(self._choice):
            if isinstance(step, ToolCallStarted):
                name = step.id or _draw_call_id(self._plan, step.number)
                block: Object = {"type": "tool_use", "id": name, "name": step.name, "input": {}}
                yield from self._begin("tool_call", block, step.due, step.tokens)
            elif isinstance(step, TextRun):
                yield from self._run(step)
            elif not isinstance(step, ChoiceStarted):
                if self._open.number < 0:
                    yield from self._begin("text", {"type": "text", "text": ""}, step.due, step.tokens)
                yield from self._end(step.due, step.tokens)

    def _run(self, run: TextRun) -> Iterator[Event]:
        choice = self._choice
        due = choice.due[run.start] if run.start < len(choice.due) else last_token_due(self._plan)
        if run.kind == "reasoning" and self._open.kind != "reasoning":
            block: Object = {"type": "thinking", "thinking": "", "signature": ""}
            yield from self._begin("reasoning", block, due, run.start)
        elif run.kind in ("text", "refusal") and self._open.kind != "text":
            yield from self._begin("text", {"type": "text", "text": ""}, due, run.start)
        kind, member = _DELTAS[run.kind]
        before = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{' % self._number
        before += b'"type":"%b","%b":' % (kind.encode(), member.encode())
        yield from token_events(choice, run, before, b"}}\n\n")

    @property
    def _number(self) -> int:
        return self._open.number

    def _begin(self, kind: SegmentKind, block: Object, due: float, tokens: int) -> Iterator[Event]:
        yield from self._end(due, tokens)
        self._open = _Block(self._number + 1, kind)
        start: Object = {"type": "content_block_start", "index": self._number, "content_block": block}
        yield due, _encode_event("content_block_start", start), tokens, PLAIN

    def _end(self, due: float, tokens: int) -> Iterator[Event]:
        if self._number < 0:
            return
        if self._open.kind == "reasoning":
            signature = {"type": "signature_delta", "signature": _draw_signature(self._plan)}
            delta: Object = {"type": "content_block_delta", "index": self._number, "delta": signature}
            yield due, _encode_event("content_block_delta", delta), tokens, PLAIN
        yield (
            due,
            _encode_event("content_block_stop", {"type": "content_block_stop", "index": self._number}),
            tokens,
            PLAIN,
        )


def build_usage(usage: Usage, output: int) -> Object:
    """Return ``usage``; ``input_tokens`` excludes prompt tokens that were read from or written to the cache."""
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens - usage.stored_tokens,
        "cache_creation_input_tokens": usage.stored_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": output,
    }


def encode_error(kind: str, message: str) -> bytes:
    """Encode an error event of a stream."""
    return _encode_event("error", build_error(kind, message))


_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}


def find_error_type(status: int) -> str:
    """Return the error type for an HTTP status."""
    return _ERRORS.get(status, "api_error")


def build_error(kind: str, message: str) -> Object:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _build_head(plan: Plan, model: str) -> Object:
    name = f"msg_01{draw_alphanumeric(plan.key, 22, 'message')}"
    return {"id": name, "type": "message", "role": "assistant", "model": model}


def _build_stop(choice: Choice) -> Object:
    if choice.stopped_by is not None:
        return {"stop_reason": "stop_sequence", "stop_sequence": choice.stopped_by}
    return {"stop_reason": _STOPS[choice.finish_reason], "stop_sequence": None}


def _parse_arguments(text: str) -> Object:
    """Return a call's ``input``; nothing for arguments that are not JSON, which have no place in the block."""
    try:
        return {"input": parse_json(text or "{}")}
    except ValueError:
        return {}


def _draw_call_id(plan: Plan, number: int) -> str:
    return f"toolu_01{draw_alphanumeric(plan.key, 22, 'call', number)}"


def _draw_signature(plan: Plan) -> str:
    return "".join(draw_alphanumeric(plan.key, 40, "signature", part) for part in range(4))


def _encode_event(name: str, value: JSON) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), dump_json(value))
