"""Parts of a chat answer that an answer in one piece and a stream share; its usage is that of completions too."""

from __future__ import annotations

from dataclasses import replace

from emulator.core.json import Object, dump_json
from emulator.core.plan import Plan, Usage
from emulator.core.rng import draw_hex, draw_opaque, format_uuid, prepare_key
from emulator.protocols.choice_events import MessageToolCall, ToolCallStarted, is_only
from emulator.protocols.openai.messages import LEAST, count_blocks
from emulator.vendors.databricks.profile import AnswerStyle

_derive_id = prepare_key(..., "chat")


def is_plain(plan: Plan, style: AnswerStyle) -> bool:
    """Whether an answer is one text and nothing else, of an endpoint that sends it as a string."""
    if not style.plain or len(plan.choices) != 1:
        return False
    choice = plan.choices[0]
    return bool(choice.segments) and is_only(choice) and choice.logprobs is None


def thinks_aloud(style: AnswerStyle) -> bool:
    """Whether thoughts are part of ``content``."""
    return style.lists and style.reasoning != "hidden"


def draw_id(key: bytes) -> str:
    """``id`` of a chat answer and of each chunk of it."""
    return f"chatcmpl_{format_uuid(_derive_id(key))}"


def shape_thought(key: bytes, number: int, text: str, style: AnswerStyle) -> Object:
    """A part of ``content``; ``summary_encrypted_text`` is what databricks-ai-bridge's schema knows beside the text."""
    if style.encrypted:
        hidden: Object = {"type": "summary_encrypted_text", "data": draw_opaque(key, "thought", number)}
        return {"type": "reasoning", "summary": [hidden]}
    summary: Object = {"type": "summary_text", "text": text}
    if style.family == "claude":
        summary["signature"] = sign(key, number)
    return {"type": "reasoning", "summary": [summary]}


def shape_text(key: bytes, number: int, text: str, style: AnswerStyle) -> Object:
    part: Object = {"type": "text", "text": text}
    return {**part, "thoughtSignature": sign(key, number)} if style.signed else part


def shape_call(
    key: bytes, number: int, call: MessageToolCall | ToolCallStarted, arguments: str, style: AnswerStyle
) -> Object:
    """One of ``tool_calls`` of a choice."""
    shape: Object = {
        "id": call.id or f"call_{draw_hex(key, 'call', number, call.number, digits=24)}",
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
    return {**shape, "thoughtSignature": sign(key, number)} if style.signed else shape


def sign(key: bytes, number: int) -> str:
    """The signature of a choice's thoughts."""
    return draw_opaque(key, "signature", number)


def draw_response_id(key: bytes) -> str:
    """The service encrypts the id, so it is longer than OpenAI's own."""
    return "resp_" + draw_opaque(key, "response")


def shape_usage(usage: Usage, style: AnswerStyle) -> Object:
    """``usage`` of chat and completions.

    Reasoning tokens stand at the top level as in the reference, and in the details as clients read them; the
    cache counts are what Claude and GPT endpoints add.
    """
    shape: Object = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }
    if usage.reasoning_tokens or style.reasoning not in ("", "on-request"):
        shape["reasoning_tokens"] = usage.reasoning_tokens
        shape["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    if style.family == "gpt":
        shape["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    elif style.family == "claude":
        shape["cache_creation_input_tokens"] = usage.stored_tokens
        shape["cache_read_input_tokens"] = usage.cached_tokens
    return shape


def count_cached(plan: Plan, style: AnswerStyle, attempt: int, *, marked: bool) -> Plan:
    """The plan with what of its prompt a cache holds, the second time it is asked.

    GPT endpoints remember every long prompt, by blocks; Claude's only what is marked with ``cache_control``.
    """
    if style.family == "gpt":
        return count_blocks(plan, attempt)
    usage = plan.usage
    if usage.prompt_tokens < LEAST or style.family != "claude" or not marked:
        return plan
    if attempt:
        return replace(plan, usage=replace(usage, cached_tokens=usage.prompt_tokens))
    return replace(plan, usage=replace(usage, stored_tokens=usage.prompt_tokens))


def dump_usage(usage: Usage, style: AnswerStyle) -> bytes:
    """:func:`shape_usage` as JSON."""
    if usage.reasoning_tokens or style.reasoning or style.family in ("gpt", "claude"):
        return dump_json(shape_usage(usage, style))
    return dump_counts(usage.prompt_tokens, usage.completion_tokens)


def dump_counts(prompt: int, completion: int) -> bytes:
    """``usage`` while an answer is under way, and of answers with nothing more to count."""
    return b'{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}' % (prompt, completion, prompt + completion)
