"""A chat answer in one piece.

Sources: litellm and databricks-langchain test fixtures; docs.databricks.com, "Query reasoning models";
databricks-ai-bridge for lists of content parts.
"""

from __future__ import annotations

from typing import Any

from emulator.core.json import JSON, dump_json
from emulator.core.plan import Plan
from emulator.core.seed import draw_uuid
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireResponse, WireStream
from emulator.dialects.openai import shape_logprob
from emulator.dialects.sse import quote
from emulator.vendors.databricks.chat.shapes import is_plain, shape_call, shape_text, shape_thought, thinks_aloud
from emulator.vendors.databricks.chat.stream import stream_chat
from emulator.vendors.databricks.reply import Reply, answer_headers, dump_usage, shape_usage


class ChatCodec:
    """Words chat plans."""

    def render(self, plan: Plan, call: Call, service: Service[Any, Any]) -> WireResponse:
        reply: Reply = call.context
        if is_plain(plan, reply):
            return WireResponse(200, _fill(plan, reply, service.settings.chat_object), answer_headers(call, service))
        body = {
            "id": f"chatcmpl_{draw_uuid(plan.key, 'chat')}",
            "object": service.settings.chat_object,
            "created": int(plan.created),
            "model": reply.model,
            "choices": [_shape_choice(plan, number, reply) for number in range(len(plan.choices))],
            "usage": shape_usage(plan.usage, reply),
        }
        return WireResponse(200, dump_json(body), answer_headers(call, service))

    def stream(self, plan: Plan, call: Call, service: Service[Any, Any]) -> WireStream:
        return WireStream(stream_chat(plan, call.context), answer_headers(call, service, stream=True))


def _fill(plan: Plan, reply: Reply, name: str) -> bytes:
    """The usual answer, which is what :func:`_shape_choice` and :func:`shape_usage` make of it."""
    choice = plan.choices[0]
    tail = b',"refusal":null,"annotations":null}' if reply.family == "gpt" else b"}"
    return (
        b'{"id":"chatcmpl_%b","object":"%b","created":%d,"model":%b,"choices":[{"index":0,"message":'
        b'{"role":"assistant","content":%b%b,"finish_reason":"%b","logprobs":null}],"usage":%b}'
    ) % (
        draw_uuid(plan.key, "chat").encode(),
        name.encode(),
        plan.created,
        quote(reply.model),
        dump_json("".join(choice.tokens)),
        tail,
        choice.finish_reason.encode(),
        dump_usage(plan.usage, reply),
    )


def _shape_choice(plan: Plan, number: int, reply: Reply) -> JSON:
    choice = plan.choices[number]
    logprobs = None
    if choice.logprobs is not None:
        logprobs = {"content": [shape_logprob(entry) for entry in choice.logprobs]}
    shape: dict[str, JSON] = {
        "index": number,
        "message": _shape_message(plan, number, reply),
        "finish_reason": choice.finish_reason,
        "logprobs": logprobs,
    }
    if reply.extra:
        shape["extra_fields"] = reply.extra
    return shape


def _shape_message(plan: Plan, number: int, reply: Reply) -> JSON:
    choice = plan.choices[number]
    calls = [
        shape_call(plan.key, number, index, span, "".join(choice.tokens[span.start : span.end]), reply)
        for index, span in enumerate(s for s in choice.spans if s.kind == "tool_call")
    ]
    text = choice.text()
    refusal = choice.text("refusal")
    if reply.family != "gpt":
        text, refusal = text + refusal, ""
    thought = choice.text("reasoning") if thinks_aloud(reply) else ""
    message: dict[str, JSON] = {"role": "assistant", "content": text or (None if calls or refusal else "")}
    if reply.listed or thought:
        parts = [shape_thought(plan.key, number, thought, reply)] if thought else []
        parts += [shape_text(plan.key, number, text, reply)] if text or not calls else []
        message["content"] = parts
    if calls:
        message["tool_calls"] = calls
    if reply.family == "gpt":
        message |= {"refusal": refusal or None, "annotations": None}
    return message
