"""Answers that are more than text: thoughts and tool calls, read apart or left in the text."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.core.plan import Choice, Plan, Span
from emulator.core.seed import draw_alphanumeric
from emulator.vendors.openvino.decoder import quote


def is_plain(choice: Choice) -> bool:
    """The answer is one stretch of text."""
    return len(choice.spans) == 1 and choice.spans[0].kind == "text"


def flatten(choice: Choice) -> tuple[Sequence[str], Sequence[float]]:
    """All tokens as text, as a model writes them whose output nobody parses; with when each is due."""
    tokens = list(choice.tokens)
    for span in choice.spans:
        if span.start == span.end:
            continue
        first, last = span.start, span.end - 1
        if span.kind == "reasoning":
            tokens[first] = "<think>\n" + tokens[first]
            tokens[last] += "\n</think>\n\n"
        elif span.kind == "tool_call":
            tokens[first] = f'{{"name": {quote(span.name).decode()}, "parameters": {tokens[first]}'
            tokens[last] += "}"
    return tokens, choice.due


def call_id(plan: Plan, span: Span, choice: int, call: int) -> bytes:
    """A tool call's id as JSON: nine characters out of 0-9A-Za-z, unless a scenario says another.

    Source: model_server, src/llm/io_processing/utils.cpp, generateRandomId.
    """
    return quote(draw_id(plan, span, choice, call))


def draw_id(plan: Plan, span: Span, choice: int, call: int) -> str:
    """The same as text."""
    return span.id or draw_alphanumeric(plan.key, 9, "tool_call", choice, call)
