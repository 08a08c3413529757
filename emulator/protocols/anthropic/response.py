"""Build a response of Anthropic's Messages API, whole or as a stream, and its errors.

Source: docs.anthropic.com, "Messages" and "Streaming Messages".
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

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
class MessageOptions:
    """Rendering options of a message.

    Fields:
        geo: ``inference_geo``: where the model runs.
        ttl: time to live of what the request writes to the cache.
    """

    model: str
    geo: str
    ttl: str


def parse_options(body: Mapping[str, JSON], model: str) -> MessageOptions:
    """Return the options of a validated request; of several times to live the longest."""
    geo = body.get("inference_geo")
    return MessageOptions(model, geo if isinstance(geo, str) else "global", "1h" if _has_hour(body) else "5m")


def _has_hour(body: Mapping[str, JSON]) -> bool:
    """Return whether a ``cache_control`` lasts for an hour."""
    waiting: list[JSON] = [dict(body)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            control = value.get("cache_control")
            if isinstance(control, dict) and control.get("ttl") == "1h":
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False


@fast_dataclass(frozen=True, slots=True, eq=False)
class MessagesCodec(ABC):
    """Codec of messages; a vendor adds its headers."""

    options: MessageOptions

    @abstractmethod
    def build_headers(self, plan: Plan, request: Request, *, stream: bool = False) -> Headers:
        """Return the headers of a response."""

    def count_cached(self, plan: Plan, request: Request) -> Plan:
        """Return the plan with the prompt tokens that were read from or written to a cache."""
        return plan

    def render(self, plan: Plan, request: Request) -> Response:
        body = build_message(self.count_cached(plan, request), self.options)
        return Response(200, dump_json(body), self.build_headers(plan, request))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        events = stream_message(self.count_cached(plan, request), self.options)
        return StreamingResponse(events, self.build_headers(plan, request, stream=True))


def build_message(plan: Plan, options: MessageOptions) -> Object:
    """Return the whole message; an empty answer has no content.

    Source: docs.anthropic.com, "Handling stop reasons" (empty responses).
    """
    choice = plan.choices[0]
    message = collect_message(choice)
    content: list[JSON] = []
    if message.reasoning:
        content.append({"type": "thinking", "thinking": message.reasoning, "signature": _draw_signature(plan)})
    if message.text or message.refusal:
        content.append({"type": "text", "text": message.text + message.refusal})
    for call in message.calls:
        name = call.id or _draw_call_id(plan, call.number)
        content.append(_build_call(name, call.name, _parse_arguments(call.arguments)))
    return {
        **_build_head(plan, options.model),
        "content": content,
        **_build_stop(choice),
        "usage": build_usage(plan.usage, plan.usage.completion_tokens, options) | _count_thinking(plan.usage),
    }


def stream_message(plan: Plan, options: MessageOptions) -> Iterator[Event]:
    """Yield the message as server-sent events."""
    choice = plan.choices[0]
    stop: Object = {"stop_reason": None, "stop_sequence": None, "stop_details": None}
    head: Object = {**_build_head(plan, options.model), "content": [], **stop}
    start: Object = {"type": "message_start", "message": {**head, "usage": build_usage(plan.usage, 1, options)}}
    yield first_token_due(plan), _encode_event("message_start", start), 0, PLAIN
    yield from _BlockWriter(plan, choice).stream()
    usage = _count_tokens(plan.usage, plan.usage.completion_tokens) | _count_thinking(plan.usage)
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
                yield from self._begin("tool_call", _build_call(name, step.name, {"input": {}}), step.due, step.tokens)
            elif isinstance(step, TextRun):
                if any(self._choice.tokens[step.start : step.end]):
                    yield from self._run(step)
            elif not isinstance(step, ChoiceStarted):
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
        if self._number == 0:
            yield due, _encode_event("ping", {"type": "ping"}), tokens, PLAIN

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


def build_usage(usage: Usage, output: int, options: MessageOptions) -> Object:
    """Return ``usage``. Source: the package ``anthropic``, ``types/usage.py``."""
    hour = options.ttl == "1h"
    return {
        **_count_tokens(usage, output),
        "cache_creation": {
            "ephemeral_5m_input_tokens": 0 if hour else usage.stored_tokens,
            "ephemeral_1h_input_tokens": usage.stored_tokens if hour else 0,
        },
        "service_tier": "standard",
        "inference_geo": options.geo,
    }


def _count_tokens(usage: Usage, output: int) -> Object:
    """Return the counts; ``input_tokens`` excludes prompt tokens that were read from or written to the cache."""
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens - usage.stored_tokens,
        "cache_creation_input_tokens": usage.stored_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": output,
    }


def _count_thinking(usage: Usage) -> Object:
    """Return ``output_tokens_details``, which the start of a stream lacks.

    Source: recorded answers of claude-opus-4-8 and claude-opus-5, with and without thinking; on Azure and Databricks
    unverified.
    """
    return {"output_tokens_details": {"thinking_tokens": usage.reasoning_tokens}}


def encode_error(kind: str, message: str, request: Request) -> bytes:
    """Encode an error event of a stream."""
    return _encode_event("error", build_error(kind, message, request))


def draw_request_id(request: Request) -> str:
    """Return the id of a request, which errors repeat and the header ``request-id`` has."""
    return f"req_011C{draw_alphanumeric(request.key, 20, 'request')}"


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


def build_error(kind: str, message: str, request: Request) -> Object:
    """Return an error body. Source: docs.anthropic.com, "Errors"."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": draw_request_id(request)}


def _build_head(plan: Plan, model: str) -> Object:
    name = f"msg_01{draw_alphanumeric(plan.key, 22, 'message')}"
    return {"id": name, "type": "message", "role": "assistant", "model": model}


def _build_stop(choice: Choice) -> Object:
    if choice.stopped_by is not None:
        return {"stop_reason": "stop_sequence", "stop_sequence": choice.stopped_by, "stop_details": None}
    reason = _STOPS[choice.finish_reason]
    details: JSON = {"type": "refusal", "category": None, "explanation": None} if reason == "refusal" else None
    return {"stop_reason": reason, "stop_sequence": None, "stop_details": details}


def _build_call(name: str, tool: str, arguments: Object) -> Object:
    return {"type": "tool_use", "id": name, "name": tool, **arguments, "caller": {"type": "direct"}}


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
