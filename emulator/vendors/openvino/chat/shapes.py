"""Parts that streaming and complete text responses share: usage, finish reason, ids, markup of tool calls.

Source: model_server, src/llm/apis/openai_completions.cpp, serializeUnaryResponse; no release sends an ``id``.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import get_args

from emulator.core.plan import Choice, Plan, Segment, SegmentKind, Usage
from emulator.core.rng import draw_alphanumeric
from emulator.encoding.floats import format_float
from emulator.protocols import choice_events as markups
from emulator.protocols.choice_events import collect_message, has_only
from emulator.vendors.openvino.decoder import promote, quote, quote_long
from emulator.vendors.openvino.profile import MARKUPS
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.settings import OpenVinoSettings

_KINDS: Set[SegmentKind] = frozenset(get_args(SegmentKind))
_MARKED: Set[SegmentKind] = frozenset(("reasoning", "tool_call"))


def finish_reason(choice: Choice, release: Release) -> bytes:
    """Encode the finish reason by the names the release has."""
    reason: str = choice.finish_reason
    if (reason == "tool_calls" and not release.tool_calls_reason) or (reason == "length" and not release.length_reason):
        reason = "stop"
    return b'"%b"' % reason.encode()


def render_usage(usage: Usage) -> bytes:
    """Encode the member ``usage``."""
    return b'"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}' % (
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.total_tokens,
    )


def render_body(
    plan: Plan, choices: list[bytes], kind: bytes, *, model: str, prompt: str, settings: OpenVinoSettings
) -> bytes:
    """Encode a non-streaming response; ``prompt``: included if the response is verbose."""
    release = settings.release
    return b'{"choices":[%b],"created":%d,"model":%b,"object":"%b"%b%b}' % (
        b",".join(choices),
        int(plan.created),
        quote(model),
        kind,
        b"," + render_usage(plan.usage) if release.unary_usage else b"",
        _render_verbose(plan, prompt) if settings.verbose_response and release.since(2026, 3) else b"",
    )


def _render_verbose(plan: Plan, prompt: str) -> bytes:
    """Encode ``__verbose``; its prompt is the last turn's, without the template: unverified."""
    content = collect_message(plan.choices[0]).text if plan.choices else ""
    return b',"__verbose":{"prompt":%b,"content":%b}' % (quote_long(prompt), quote_long(content))


def format_logprob(value: float) -> bytes:
    """Format a float as a promoted double; positive values, which no log-probability has, are null."""
    if value > 0:
        return b"null"
    return format_float(promote(value)).encode()


def draw_id(plan: Plan, fixed: str, choice: int, call: int) -> str:
    """Return the id of a tool call: ``fixed`` by the scenario, or nine characters of 0-9A-Za-z.

    Source: model_server, src/llm/io_processing/utils.cpp, generateRandomId.
    """
    return fixed or draw_alphanumeric(plan.key, 9, "tool_call", choice, call)


def merge_into_text(choice: Choice, separate_kinds: Set[SegmentKind] = frozenset(), markup: str = "llama3") -> Choice:
    """Join segments into the text, as a model writes them, except for ``separate_kinds``."""
    if has_only(choice) or not _MARKED - separate_kinds:
        return choice
    joined = markups.merge_into_text(choice, _KINDS - separate_kinds, lambda segment: _find_markup(segment, markup))
    if choice.finish_reason == "tool_calls" and "tool_call" not in separate_kinds:
        return replace(joined, finish_reason="stop")
    return joined


def _find_markup(segment: Segment, markup: str) -> tuple[str, str]:
    """Return the texts that enclose reasoning or a tool call."""
    if segment.kind == "reasoning":
        return markups.THINK
    if segment.kind == "tool_call":
        opening, closing = MARKUPS[markup]
        return opening % quote(segment.name).decode(), closing
    return "", ""
