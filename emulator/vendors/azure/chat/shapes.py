"""Pieces of a chat answer that it has in one piece and as events alike."""

from collections.abc import Sequence
from functools import lru_cache

from emulator import __version__
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, FinishReason, Logprob, Plan
from emulator.core.record import record
from emulator.core.seed import derive, draw_alphanumeric, draw_hex
from emulator.dialects.openai import shape_logprob

THINK = ("<think>\n", "\n</think>\n\n")


@record(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the answer to one chat call shows.

    Fields:
        openai: in the form of Azure OpenAI.
        usage: token counts at the end of a stream.
        named_tool: the request forced one tool by name.
        filtered: what the content filter saw stands beside the answer.
        mistral: ids of tool calls have Mistral's form.
        inline: thoughts stand in the content, between tags.
    """

    openai: bool = False
    usage: bool = True
    named_tool: bool = False
    filtered: bool = False
    mistral: bool = False
    inline: bool = False


@lru_cache(maxsize=64)
def fingerprint(model: str) -> str:
    """``system_fingerprint``: changes with the emulator, as the real one does with its backend."""
    return f"fp_{draw_hex(derive('fingerprint', __version__, model), digits=10)}"


def answer_id(plan: Plan, *, openai: bool) -> str:
    return f"chatcmpl-{draw_alphanumeric(plan.key, 29, 'chat')}" if openai else draw_hex(plan.key, "chat")


def read_text(choice: Choice, shown: Shown) -> str:
    """The content of an answer in one piece; a filtered one has none."""
    if choice.finish_reason == "content_filter":
        return ""
    spans = choice.spans
    if len(spans) == 1 and spans[0].kind == "text":
        return "".join(choice.tokens)
    text = choice.text("text") if shown.openai else choice.text("text") + choice.text("refusal")
    thoughts = choice.text("reasoning") if shown.inline else ""
    return f"{THINK[0]}{thoughts}{THINK[1]}{text}" if thoughts else text


def read_thoughts(choice: Choice, shown: Shown) -> bytes:
    """The member ``reasoning_content`` of a message, if its model has any, with a comma before it."""
    if shown.inline or (len(choice.spans) == 1 and choice.spans[0].kind == "text"):
        return b""
    thoughts = choice.text("reasoning")
    return b',"reasoning_content":%b' % dump_json(thoughts) if thoughts else b""


def read_finish(choice: Choice, shown: Shown) -> FinishReason:
    """Azure OpenAI ends the call of a named tool with ``stop``. Source: Azure/azure-sdk-assets, recorded answers."""
    if shown.openai and shown.named_tool and choice.finish_reason == "tool_calls":
        return "stop"
    return choice.finish_reason


def list_calls(choice: Choice, plan: Plan, index: int, shown: Shown) -> list[tuple[str, str, str]]:
    """Id, name and arguments of each tool call of a choice."""
    calls: list[tuple[str, str, str]] = []
    if len(choice.spans) == 1 and choice.spans[0].kind == "text":
        return calls
    for position, span in enumerate(s for s in choice.spans if s.kind == "tool_call"):
        call_id = span.id or draw_call_id(plan, index, position, shown)
        calls.append((call_id, span.name, "".join(choice.tokens[span.start : span.end])))
    return calls


def draw_call_id(plan: Plan, index: int, position: int, shown: Shown) -> str:
    """Nine characters from Mistral, ``call_`` and 24 from all others."""
    if shown.mistral:
        return draw_alphanumeric(plan.key, 9, "call", index, position)
    return f"call_{draw_alphanumeric(plan.key, 24, 'call', index, position)}"


def shape_logprobs(entries: Sequence[Logprob]) -> JSON:
    return {"content": [shape_logprob(entry) for entry in entries]}


def dump_logprobs(choice: Choice) -> bytes:
    """``logprobs`` of the spoken tokens, ``null`` where none were asked for."""
    if choice.logprobs is None:
        return b"null"
    spoken = [s for s in choice.spans if s.kind in ("text", "refusal")]
    return dump_json(shape_logprobs([entry for s in spoken for entry in choice.logprobs[s.start : s.end]]))


def count_usage(plan: Plan) -> JSON:
    """``usage`` in the order of the documentation."""
    usage = plan.usage
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


def dump_sorted_usage(plan: Plan) -> bytes:
    """``usage`` of a serverless endpoint: keys in alphabetical order."""
    usage = plan.usage
    return b'{"completion_tokens":%d,"prompt_tokens":%d,"total_tokens":%d}' % (
        usage.completion_tokens,
        usage.prompt_tokens,
        usage.total_tokens,
    )


def dump_detailed_usage(plan: Plan) -> bytes:
    """``usage`` of Azure OpenAI."""
    usage = plan.usage
    return (
        b'{"completion_tokens":%d,"completion_tokens_details":{"accepted_prediction_tokens":0,"audio_tokens":0,'
        b'"reasoning_tokens":%d,"rejected_prediction_tokens":0},"prompt_tokens":%d,'
        b'"prompt_tokens_details":{"audio_tokens":0,"cached_tokens":0},"total_tokens":%d}'
    ) % (usage.completion_tokens, usage.reasoning_tokens, usage.prompt_tokens, usage.total_tokens)
