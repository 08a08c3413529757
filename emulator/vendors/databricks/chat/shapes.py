"""Parts of a chat message that an answer in one piece and a stream share."""

from __future__ import annotations

from emulator.core.json import JSON
from emulator.core.plan import Plan, Span
from emulator.core.seed import draw_hex
from emulator.vendors.databricks.reply import Reply, draw_opaque


def is_plain(plan: Plan, reply: Reply) -> bool:
    """Whether an answer is one text and nothing else, of an endpoint that sends it as a string."""
    if not reply.plain or len(plan.choices) != 1:
        return False
    choice = plan.choices[0]
    return len(choice.spans) == 1 and choice.spans[0].kind == "text" and choice.logprobs is None


def thinks_aloud(reply: Reply) -> bool:
    """Whether thoughts are part of ``content``."""
    return reply.lists and reply.reasoning != "hidden"


def shape_thought(key: bytes, number: int, text: str, reply: Reply) -> JSON:
    summary = {"type": "summary_text", "text": text}
    if reply.family == "claude":
        summary["signature"] = sign(key, number)
    return {"type": "reasoning", "summary": [summary]}


def shape_text(key: bytes, number: int, text: str, reply: Reply) -> JSON:
    part = {"type": "text", "text": text}
    return {**part, "thoughtSignature": sign(key, number)} if reply.signed else part


def shape_call(key: bytes, number: int, index: int, span: Span, arguments: str, reply: Reply) -> dict[str, JSON]:
    shape: dict[str, JSON] = {
        "id": span.id or f"call_{draw_hex(key, 'call', number, index, digits=24)}",
        "type": "function",
        "function": {"name": span.name, "arguments": arguments},
    }
    return {**shape, "thoughtSignature": sign(key, number)} if reply.signed else shape


def sign(key: bytes, number: int) -> str:
    return draw_opaque(key, "signature", number)
