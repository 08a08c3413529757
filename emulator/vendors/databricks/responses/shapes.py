"""A response object, and what a request wants it to repeat.

Sources: Databricks, "Foundation model REST API reference", Responses API; databricks-ai-bridge fixtures for
``usage``; openai-python for the fields its client expects.
"""

from __future__ import annotations

from collections.abc import Iterator

from emulator.core.json import JSON
from emulator.core.plan import Choice, Plan, Span, Usage
from emulator.core.record import record
from emulator.core.seed import draw_hex
from emulator.dialects.openai import shape_logprob
from emulator.vendors.databricks.reply import Reply, draw_opaque
from emulator.vendors.databricks.request import Query


@record(frozen=True, slots=True, kw_only=True, eq=False)
class Told:
    """What a response repeats of its request, and how it is sent.

    Fields:
        usage_names: ``both`` adds the names chat has.
        stream_usage: the stream's last event has usage.
        events, done: ``event:`` lines; a closing ``[DONE]``.
        summary: reasoning items show their text; ``encrypted``: and an encrypted form of it.
    """

    echo: dict[str, JSON]
    usage_names: str
    stream_usage: bool
    events: bool
    done: bool
    summary: bool
    encrypted: bool

    @classmethod
    def of(cls, query: Query) -> Told:
        settings = query.settings
        direct = query.request.path.rstrip("/").endswith("/invocations")
        include = query.get("include", ())
        reasoning = query.get("reasoning") or {}
        return cls(
            echo=_read_echo(query),
            usage_names=settings.responses_usage,
            stream_usage=settings.responses_always_usage
            or bool((query.get("stream_options") or {}).get("include_usage")),
            events=settings.responses_events == "always" or (settings.responses_events == "by-route" and not direct),
            done=settings.responses_done == "always" or (settings.responses_done == "by-route" and direct),
            summary=reasoning.get("summary") is not None or query.family != "gpt",
            encrypted="reasoning.encrypted_content" in include,
        )


def _read_echo(query: Query) -> dict[str, JSON]:
    """The request's own fields in the order of a response object, with their defaults."""
    reasoning = query.get("reasoning") or {}
    return {
        "instructions": query.get("instructions"),
        "max_output_tokens": query.get("max_output_tokens"),
        "max_tool_calls": query.get("max_tool_calls"),
        "parallel_tool_calls": query.get("parallel_tool_calls", True),
        "previous_response_id": None,
        "prompt_cache_key": query.get("prompt_cache_key"),
        "prompt_cache_retention": query.get("prompt_cache_retention"),
        "reasoning": {"effort": reasoning.get("effort", "medium"), "summary": reasoning.get("summary")},
        "safety_identifier": query.get("safety_identifier"),
        "store": False,
        "temperature": query.get("temperature", 1.0),
        "text": query.get("text", {"format": {"type": "text"}}),
        "tool_choice": query.get("tool_choice", "auto"),
        "tools": query.get("tools", []),
        "top_logprobs": query.get("top_logprobs", 0),
        "top_p": query.get("top_p", 1.0),
        "truncation": query.get("truncation", "disabled"),
        "user": query.get("user"),
        "metadata": query.get("metadata", {}),
    }


def status_of(plan: Plan) -> str:
    """``incomplete`` where the model did not come to its own end."""
    cut = any(choice.finish_reason in ("length", "content_filter") for choice in plan.choices)
    return "incomplete" if cut else "completed"


def shape_response(plan: Plan, reply: Reply, *, status: str, output: list[JSON], usage: bool) -> dict[str, JSON]:
    """The response object at one moment of its life."""
    told: Told = reply.extra
    reason = None
    if status == "incomplete":
        filtered = any(choice.finish_reason == "content_filter" for choice in plan.choices)
        reason = {"reason": "content_filter" if filtered else "max_output_tokens"}
    return {
        "id": draw_response_id(plan.key),
        "object": "response",
        "created_at": int(plan.created),
        "status": status,
        "error": None,
        "incomplete_details": reason,
        "model": reply.model,
        "output": output,
        **told.echo,
        "usage": shape_usage(plan.usage, told.usage_names) if usage else None,
    }


def draw_response_id(key: bytes) -> str:
    """The service encrypts the id, so it is longer than OpenAI's own."""
    return "resp_" + draw_opaque(key, "response")


def shape_usage(usage: Usage, names: str) -> JSON:
    """OpenAI's names; the reference repeats those of chat."""
    shape: dict[str, JSON] = {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }
    if names == "both":
        shape["prompt_tokens"] = usage.prompt_tokens
        shape["completion_tokens"] = usage.completion_tokens
        shape["reasoning_tokens"] = usage.reasoning_tokens
    return shape


def group_spans(choice: Choice) -> Iterator[tuple[str, Span]]:
    """Output items of a choice, each with the tokens it covers; neighbouring texts are one message."""
    waiting: Span | None = None
    for span in choice.spans:
        if waiting is not None and waiting.kind == span.kind == "text":
            waiting = Span("text", waiting.start, span.end)
            continue
        if waiting is not None:
            yield waiting.kind, waiting
        waiting = span
    if waiting is not None:
        yield waiting.kind, waiting


def shape_output(plan: Plan, reply: Reply) -> list[JSON]:
    """``output``: a reasoning item, a message, calls, in the order they were said."""
    if not plan.choices:
        return []
    choice = plan.choices[0]
    spans = list(group_spans(choice))
    cut = status_of(plan) == "incomplete"
    return [
        shape_item(plan, reply, number, span, status="incomplete" if cut and number == len(spans) - 1 else "completed")
        for number, (_, span) in enumerate(spans)
    ]


def shape_item(
    plan: Plan, reply: Reply, number: int, span: Span, *, status: str, empty: bool = False
) -> dict[str, JSON]:
    """One output item; ``empty`` as it is when a stream announces it."""
    choice = plan.choices[0]
    text = "" if empty else "".join(choice.tokens[span.start : span.end])
    if span.kind == "tool_call":
        return {
            "type": "function_call",
            "id": item_id(plan.key, number, span),
            "call_id": span.id or f"call_{draw_hex(plan.key, 'call', number, digits=24)}",
            "name": span.name,
            "arguments": text,
            "status": status,
        }
    if span.kind == "reasoning":
        return _shape_reasoning(plan, reply, number, span, text)
    content = [] if empty else [shape_content(choice, span, text)]
    return {
        "id": item_id(plan.key, number, span),
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": content,
    }


def _shape_reasoning(plan: Plan, reply: Reply, number: int, span: Span, text: str) -> dict[str, JSON]:
    told: Told = reply.extra
    summary = [{"type": "summary_text", "text": text}] if text and told.summary else []
    item: dict[str, JSON] = {"type": "reasoning", "id": item_id(plan.key, number, span), "summary": summary}
    if told.encrypted:
        item["encrypted_content"] = draw_opaque(plan.key, "encrypted")
    return item


def shape_content(choice: Choice, span: Span, text: str) -> JSON:
    """The one content block of a message."""
    if span.kind == "refusal":
        return {"type": "refusal", "refusal": text}
    block: dict[str, JSON] = {"type": "output_text", "text": text, "annotations": []}
    if choice.logprobs is not None:
        block["logprobs"] = [shape_logprob(entry) for entry in choice.logprobs[span.start : span.end]]
    return block


def item_id(key: bytes, number: int, span: Span) -> str:
    """``msg_``, ``fc_`` or ``rs_`` and 48 hex digits."""
    prefix = {"tool_call": "fc", "reasoning": "rs"}.get(span.kind, "msg")
    return f"{prefix}_{draw_hex(key, 'item', number)}{draw_hex(key, 'item', number, 'end', digits=16)}"
