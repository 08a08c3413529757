"""What vendors share of OpenAI's chats: parsers of messages, tools and formats, log-probabilities, cached tokens."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from emulator.core.http import FieldNames
from emulator.core.json import JSON, as_array, as_object
from emulator.core.plan import Logprob, Plan
from emulator.core.requests import Message, Tool, ToolCall

ToolChoice = Literal["none", "auto", "required"]
Format = Literal["text", "json_object", "json_schema"]

_CHOICES: Mapping[str, ToolChoice] = {"none": "none", "auto": "auto", "required": "required"}
FIELDS = FieldNames(
    text=frozenset({"content", "reasoning_content", "refusal", "text", "arguments", "input"}),
    usage=(("usage",),),
    finish=(("finish_reason",), ("stop_reason",)),
    id=(("id",), ("response", "id"), ("message", "id"), ("response_id",)),
    generated=("completion_tokens", "output_tokens"),
    counts=("total_tokens", "prompt_tokens", "input_tokens"),
)


def parse_content(content: JSON) -> tuple[str, int]:
    """Return the text of a message's content and the number of its media parts."""
    if isinstance(content, str):
        return content, 0
    found_texts = []
    media = 0
    for part in content if isinstance(content, list) else ():
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            found_texts.append(text)
        elif isinstance(part, dict) and part.get("type") not in ("text", "reasoning"):
            media += 1
    return "\n".join(found_texts), media


def parse_message(message: Mapping[str, JSON]) -> Message:
    """Parse an item of ``messages``."""
    content = message.get("content")
    if len(message) == 2 and isinstance(content, str) and "role" in message:
        return Message(str(message["role"]), content)
    text, media = parse_content(content)
    tool_call_id = message.get("tool_call_id")
    calls = message.get("tool_calls")
    return Message(
        role=str(message.get("role", "")),
        text=text,
        media=media,
        tool_calls=tuple([parse_tool_call(as_object(call)) for call in as_array(calls)]) if calls else (),
        tool_call_id=tool_call_id if isinstance(tool_call_id, str) else None,
    )


def parse_tool_call(call: Mapping[str, JSON]) -> ToolCall:
    """Parse an item of an assistant message's ``tool_calls``."""
    function = _get_object(call, "function")
    return ToolCall(str(call.get("id", "")), str(function.get("name", "")), str(function.get("arguments", "")))


def parse_tool(tool: Mapping[str, JSON]) -> Tool:
    """Parse an item of ``tools``, nested as in chat or flat as in Responses."""
    function = _get_object(tool, "function") or tool
    parameters = function.get("parameters")
    return Tool(
        name=str(function.get("name", "")),
        description=str(function.get("description") or ""),
        parameters=parameters if isinstance(parameters, dict) else None,
    )


def _get_object(value: Mapping[str, JSON], name: str) -> Mapping[str, JSON]:
    """Return an object member; empty if absent."""
    found = value.get(name)
    return as_object(found) if found else {}


def parse_tool_choice(choice: JSON, *, tools: bool) -> tuple[ToolChoice, str | None]:
    """Return ``tool_choice`` and the tool it names; by default ``auto`` with tools and ``none`` without."""
    if isinstance(choice, dict):
        return "required", str((choice.get("function") or choice).get("name", ""))
    if isinstance(choice, str) and choice in _CHOICES:
        return _CHOICES[choice], None
    return ("auto" if tools else "none"), None


def parse_format(value: JSON) -> tuple[Format, JSON]:
    """Return the kind of ``response_format`` and, for ``json_schema``, the schema."""
    kind = value.get("type", "text") if isinstance(value, dict) else "text"
    if kind == "json_schema":
        return "json_schema", _get_object(as_object(value), "json_schema").get("schema") or {}
    return ("json_object", None) if kind == "json_object" else ("text", None)


def build_logprob(entry: Logprob) -> JSON:
    """Return an item of ``logprobs.content``; the ``bytes`` of all items joined are the text in UTF-8."""
    return {
        "token": entry.token,
        "logprob": entry.logprob,
        "bytes": list(entry.token.encode()),
        "top_logprobs": [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in entry.top],
    }


MIN_CACHED_PROMPT = 1024
"""Minimum length of a cached prompt, in tokens."""
_BLOCK = 128  # tokens


def count_cached_blocks(plan: Plan, attempt: int) -> Plan:
    """Return the plan with cached prompt tokens, in whole blocks, if a long prompt is repeated."""
    usage = plan.usage
    if not attempt or usage.prompt_tokens < MIN_CACHED_PROMPT:
        return plan
    return replace(plan, usage=replace(usage, cached_tokens=usage.prompt_tokens // _BLOCK * _BLOCK))
