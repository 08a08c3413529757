"""Build the parts that complete and streamed chat responses share: ids, reasoning, tool calls, ``usage``.

Completions and Responses have the same ``usage`` and ids.
"""

from __future__ import annotations

from dataclasses import replace

from emulator.core.json import Object, dump_json
from emulator.core.plan import Plan, Usage
from emulator.core.rng import draw_hex, draw_opaque, format_uuid, prepare_key
from emulator.protocols.choice_events import MessageToolCall, ToolCallStarted, has_only
from emulator.protocols.openai.messages import MIN_CACHED_PROMPT, count_cached_blocks
from emulator.vendors.databricks.profile import RenderOptions

_derive_id = prepare_key(..., "chat")


def is_plain(plan: Plan, style: RenderOptions) -> bool:
    """Return whether a response is one text that the endpoint sends as a string."""
    if not style.plain or len(plan.choices) != 1:
        return False
    choice = plan.choices[0]
    return bool(choice.segments) and has_only(choice) and choice.logprobs is None


def has_reasoning_parts(style: RenderOptions) -> bool:
    """Return whether reasoning is part of ``content``."""
    return style.lists and style.reasoning != "hidden"


def draw_id(key: bytes) -> str:
    """Return the ``id`` of a chat response and its chunks."""
    return f"chatcmpl_{format_uuid(_derive_id(key))}"


def build_thought(key: bytes, number: int, text: str, style: RenderOptions) -> Object:
    """Return a reasoning part of ``content``; ``summary_encrypted_text`` is in databricks-ai-bridge's schema."""
    if style.encrypted:
        hidden: Object = {"type": "summary_encrypted_text", "data": draw_opaque(key, "thought", number)}
        return {"type": "reasoning", "summary": [hidden]}
    summary: Object = {"type": "summary_text", "text": text}
    if style.family == "claude":
        summary["signature"] = sign(key, number)
    return {"type": "reasoning", "summary": [summary]}


def build_text(key: bytes, number: int, text: str, style: RenderOptions) -> Object:
    part: Object = {"type": "text", "text": text}
    return {**part, "thoughtSignature": sign(key, number)} if style.signed else part


def build_call(
    key: bytes, number: int, call: MessageToolCall | ToolCallStarted, arguments: str, style: RenderOptions
) -> Object:
    """Return an item of ``tool_calls``."""
    shape: Object = {
        "id": call.id or f"call_{draw_hex(key, 'call', number, call.number, digits=24)}",
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
    return {**shape, "thoughtSignature": sign(key, number)} if style.signed else shape


def sign(key: bytes, number: int) -> str:
    """Return the signature of a choice's reasoning."""
    return draw_opaque(key, "signature", number)


def draw_response_id(key: bytes) -> str:
    """Return a response id; the service encrypts it, so it is longer than OpenAI's own."""
    return "resp_" + draw_opaque(key, "response")


def build_usage(usage: Usage, style: RenderOptions) -> Object:
    """Return ``usage`` of chat and completions.

    Reasoning tokens are at the top level, as in the reference, and in the details, as clients read them. Claude and GPT
    endpoints add the cache counts.
    """
    shape = build_counts(usage.prompt_tokens, usage.completion_tokens)
    if usage.reasoning_tokens or style.reasoning not in ("", "on-request"):
        shape["reasoning_tokens"] = usage.reasoning_tokens
        shape["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    if style.family == "gpt":
        shape["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    elif style.family == "claude":
        shape["cache_creation_input_tokens"] = usage.stored_tokens
        shape["cache_read_input_tokens"] = usage.cached_tokens
    return shape


def build_counts(prompt: int, completion: int) -> Object:
    """Return ``usage`` of an unfinished response, or of one without further counts."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def count_cached(plan: Plan, style: RenderOptions, attempt: int, *, marked: bool) -> Plan:
    """Return the plan with the cached tokens of its prompt, from the second request on.

    GPT endpoints cache every long prompt, by blocks; Claude's only what is marked with ``cache_control``.
    """
    if style.family == "gpt":
        return count_cached_blocks(plan, attempt)
    usage = plan.usage
    if usage.prompt_tokens < MIN_CACHED_PROMPT or style.family != "claude" or not marked:
        return plan
    if attempt:
        return replace(plan, usage=replace(usage, cached_tokens=usage.prompt_tokens))
    return replace(plan, usage=replace(usage, stored_tokens=usage.prompt_tokens))


def encode_usage(usage: Usage, style: RenderOptions) -> bytes:
    """Encode :func:`build_usage`."""
    if usage.reasoning_tokens or style.reasoning or style.family in ("gpt", "claude"):
        return dump_json(build_usage(usage, style))
    return encode_counts(usage.prompt_tokens, usage.completion_tokens)


def encode_counts(prompt: int, completion: int) -> bytes:
    """Encode :func:`build_counts`; each chunk of a completion has counts, so a template would cost too much."""
    return b'{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}' % (prompt, completion, prompt + completion)


def list_values(plan: Plan, style: RenderOptions, text: bytes = b"") -> tuple[int | bytes, ...]:
    """Return the values for the template of plain text responses of an endpoint, in the order of its slots."""
    return (
        draw_id(plan.key).encode(),
        int(plan.created),
        plan.choices[0].finish_reason.encode(),
        encode_usage(plan.usage, style),
        plan.usage.prompt_tokens,
        text,
    )
