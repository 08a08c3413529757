"""A response object and its output items.

Sources: openai-python, ``types/responses``; Databricks, "Foundation model REST API reference", Responses API, and
databricks-ai-bridge fixtures for ``usage``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Literal

from emulator.core.json import JSON, Object
from emulator.core.plan import Choice, Plan, SpanKind, Usage
from emulator.core.record import record
from emulator.core.seed import draw_hex, draw_opaque
from emulator.dialects.openai import shape_logprob
from emulator.dialects.walk import CallOpened, Run, walk

Status = Literal["queued", "in_progress", "completed", "incomplete"]
OWN_FIELDS = frozenset(
    {"id", "object", "created_at", "status", "error", "incomplete_details", "model", "output", "usage"}
)
"""The fields of a response that repeat nothing of its request."""


@record(frozen=True, slots=True, kw_only=True, eq=False)
class ResponseOptions:
    """What a response repeats of its request, and how it is sent.

    Fields:
        model: the endpoint's.
        draw_id: the response's id, from the key of the answer.
        chat_usage: ``usage`` also has the names it has in chat.
        stream_usage: the stream's last event has usage.
        events, done: ``event:`` lines; a closing ``[DONE]``.
        summary: reasoning items show their text; ``encrypted``: and an encrypted form of it.
        queued: the response waits in the background before anyone begins with it.
        customs: the tools whose argument is a text, by name.
        findings: what is known of the whole answer once it has ended, and ``null`` before; ``filtered``: of one that
            the content filter has ended.
    """

    model: str
    draw_id: Callable[[bytes], str]
    echo: Object
    chat_usage: bool
    stream_usage: bool
    events: bool
    done: bool
    summary: bool
    encrypted: bool
    queued: bool = False
    customs: frozenset[str] = frozenset()
    findings: Object = field(default_factory=dict)
    filtered: Object = field(default_factory=dict)


@record(frozen=True, slots=True, eq=False)
class Item:
    """One item of ``output``: the tokens it has, ``tokens[start:end]``, and of a call the tool and a fixed id."""

    number: int
    kind: SpanKind
    start: int
    end: int
    name: str = ""
    id: str = ""


def list_items(choice: Choice) -> list[Item]:
    """The output items of a choice; neighbouring texts are one message."""
    items: list[Item] = []
    call: CallOpened | None = None
    for step in walk(choice):
        if isinstance(step, CallOpened):
            call = step
        elif isinstance(step, Run):
            if step.kind == "tool_call" and call is not None:
                items.append(Item(len(items), step.kind, step.start, step.end, call.name, call.id))
            elif items and items[-1].kind == step.kind == "text":
                items[-1] = replace(items[-1], end=step.end)
            else:
                items.append(Item(len(items), step.kind, step.start, step.end))
    return items


def status_of(plan: Plan) -> Status:
    """``incomplete`` where the model did not come to its own end."""
    cut = any(choice.finish_reason in ("length", "content_filter") for choice in plan.choices)
    return "incomplete" if cut else "completed"


def shape_response(plan: Plan, options: ResponseOptions, *, status: Status, output: list[JSON], usage: bool) -> Object:
    """The response object at one moment of its life."""
    reason: JSON = None
    found = options.findings
    if status == "incomplete":
        filtered = any(choice.finish_reason == "content_filter" for choice in plan.choices)
        found = options.filtered if filtered and options.filtered else found
        reason = {"reason": "content_filter" if filtered else "max_output_tokens"}
    return {
        "id": options.draw_id(plan.key),
        "object": "response",
        "created_at": int(plan.created),
        "status": status,
        "error": None,
        "incomplete_details": reason,
        "model": options.model,
        "output": output,
        **options.echo,
        **(found if status in ("completed", "incomplete") else dict.fromkeys(found)),
        "usage": shape_usage(plan.usage, options) if usage else None,
    }


def shape_usage(usage: Usage, options: ResponseOptions) -> Object:
    """OpenAI's names; the reference repeats those of chat."""
    shape: Object = {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }
    if options.chat_usage:
        shape["prompt_tokens"] = usage.prompt_tokens
        shape["completion_tokens"] = usage.completion_tokens
        shape["reasoning_tokens"] = usage.reasoning_tokens
    return shape


def shape_output(plan: Plan, options: ResponseOptions) -> list[JSON]:
    """``output``: a reasoning item, a message, calls, in the order they were said."""
    if not plan.choices:
        return []
    items = list_items(plan.choices[0])
    statuses: list[Status] = ["completed"] * len(items)
    statuses[-1:] = [status_of(plan)] if items else []
    return [shape_item(plan, options, item, status=status) for item, status in zip(items, statuses, strict=True)]


def shape_item(plan: Plan, options: ResponseOptions, item: Item, *, status: Status) -> Object:
    """One output item; while it is in progress it has no content yet."""
    choice = plan.choices[0]
    empty = status == "in_progress"
    text = "" if empty else read_text(choice, item)
    if item.kind == "reasoning":
        return _shape_reasoning(plan, options, item, text)
    name = item_id(plan.key, item, options)
    if item.kind == "tool_call":
        custom = item.name in options.customs
        return {
            "type": "custom_tool_call" if custom else "function_call",
            "id": name,
            "call_id": item.id or f"call_{draw_hex(plan.key, 'call', item.number, digits=24)}",
            "name": item.name,
            "input" if custom else "arguments": text,
            "status": status,
        }
    content: list[JSON] = [] if empty else [shape_content(choice, item, text)]
    return {"id": name, "type": "message", "role": "assistant", "status": status, "content": content}


def _shape_reasoning(plan: Plan, options: ResponseOptions, item: Item, text: str) -> Object:
    summary: list[JSON] = [{"type": "summary_text", "text": text}] if text and options.summary else []
    shape: Object = {"type": "reasoning", "id": item_id(plan.key, item, options), "summary": summary}
    if options.encrypted:
        shape["encrypted_content"] = draw_opaque(plan.key, "encrypted")
    return shape


def shape_content(choice: Choice, item: Item, text: str) -> Object:
    """The one content block of a message."""
    if item.kind == "refusal":
        return {"type": "refusal", "refusal": text}
    block: Object = {"type": "output_text", "text": text, "annotations": []}
    if choice.logprobs is not None:
        block["logprobs"] = [shape_logprob(entry) for entry in choice.logprobs[item.start : item.end]]
    return block


def read_text(choice: Choice, item: Item) -> str:
    """What an item says."""
    return "".join(choice.tokens[item.start : item.end])


def item_id(key: bytes, item: Item, options: ResponseOptions) -> str:
    """``msg_``, ``fc_``, ``ctc_`` or ``rs_`` and 48 hex digits."""
    prefix = {"tool_call": "fc", "reasoning": "rs"}.get(item.kind, "msg")
    if item.name in options.customs:
        prefix = "ctc"
    return f"{prefix}_{draw_hex(key, 'item', item.number)}{draw_hex(key, 'item', item.number, 'end', digits=16)}"
