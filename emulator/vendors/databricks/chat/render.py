"""Codec of chat completions: it renders whole responses; ``stream.py`` has the events of streams.

Sources: litellm and databricks-langchain test fixtures; docs.databricks.com, "Query reasoning models";
databricks-ai-bridge for lists of content parts.
"""

from __future__ import annotations

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, dump_json, dump_string
from emulator.core.plan import Plan
from emulator.encoding.template import SAMPLE, SAMPLE_TEXT, Template
from emulator.protocols.choice_events import collect_message, list_logprobs
from emulator.protocols.openai.messages import build_logprob
from emulator.vendors.databricks.chat.shapes import (
    build_call,
    build_text,
    build_thought,
    build_usage,
    count_cached,
    draw_id,
    has_reasoning_parts,
    is_plain,
    list_values,
)
from emulator.vendors.databricks.chat.stream import stream_chat
from emulator.vendors.databricks.headers import answer_headers
from emulator.vendors.databricks.profile import RenderOptions
from emulator.vendors.databricks.settings import DatabricksSettings


@fast_dataclass(frozen=True, slots=True, eq=False)
class ChatCodec:
    """Codec of chat responses.

    Fields:
        served: the served entity that answers.
        include_usage: whether the request wants usage in the stream; ``None``: it does not say.
        marked: the request marks content for the cache.
    """

    settings: DatabricksSettings
    style: RenderOptions
    served: str
    include_usage: bool | None
    marked: bool = False

    def render(self, plan: Plan, request: Request) -> Response:
        style, name = self.style, self.settings.chat_object
        plan = count_cached(plan, style, request.attempt, marked=self.marked)
        if is_plain(plan, style):
            values = list_values(plan, style, dump_string(plan.choices[0].sequence.text))
            body = _build_template(style, name).fill(values)
        else:
            body = dump_json(_build_answer(plan, style, name))
        return Response(200, body, answer_headers(request, self.settings, self.served))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        plan = count_cached(plan, self.style, request.attempt, marked=self.marked)
        events = stream_chat(plan, self.style, include_usage=self.include_usage)
        return StreamingResponse(events, answer_headers(request, self.settings, self.served, stream=True))


@lru(1024)
def _build_template(style: RenderOptions, name: str) -> Template:
    """Return the byte template of an endpoint's plain text responses."""
    values = list_values(SAMPLE, style, dump_json(SAMPLE_TEXT))
    return Template(dump_json(_build_answer(SAMPLE, style, name)), values)


def _build_answer(plan: Plan, style: RenderOptions, name: str) -> Object:
    return {
        "id": draw_id(plan.key),
        "object": name,
        "created": int(plan.created),
        "model": style.model,
        "choices": [_build_choice(plan, number, style) for number in range(len(plan.choices))],
        "usage": build_usage(plan.usage, style),
    }


def _build_choice(plan: Plan, number: int, style: RenderOptions) -> Object:
    choice = plan.choices[number]
    logprobs: JSON = None
    if choice.logprobs is not None:
        logprobs = {"content": [build_logprob(entry) for entry in list_logprobs(choice)]}
    shape: Object = {
        "index": number,
        "message": _build_message(plan, number, style),
        "finish_reason": choice.finish_reason,
        "logprobs": logprobs,
    }
    if style.safety:
        shape["extra_fields"] = style.safety
    return shape


def _build_message(plan: Plan, number: int, style: RenderOptions) -> Object:
    message_content = collect_message(plan.choices[number])
    calls = [build_call(plan.key, number, call, call.arguments, style) for call in message_content.calls]
    text, refusal = message_content.text, message_content.refusal
    if style.family != "gpt":
        text, refusal = text + refusal, ""
    reasoning = message_content.reasoning if has_reasoning_parts(style) else ""
    message: Object = {"role": "assistant", "content": text or (None if calls or refusal else "")}
    if style.listed or reasoning:
        parts = [build_thought(plan.key, number, reasoning, style)] if reasoning else []
        parts += [build_text(plan.key, number, text, style)] if text or not calls else []
        message["content"] = parts
    if calls:
        message["tool_calls"] = calls
    if style.family == "gpt":
        message |= {"refusal": refusal or None, "annotations": None}
    return message
