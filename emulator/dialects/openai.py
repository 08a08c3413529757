"""The OpenAI wire format as several vendors speak it: from validated JSON to an ask, and shared shapes.

Validation is each vendor's own: these readers take what a vendor has already accepted.
"""

from typing import Literal

from emulator.core.call import Message, Tool, ToolCall
from emulator.core.json import JSON
from emulator.core.plan import Logprob

ToolChoice = Literal["none", "auto", "required"]
Format = Literal["text", "json_object", "json_schema"]


def read_content(content: JSON) -> tuple[str, int]:
    """The text of a message's content, and how many media came with it."""
    if isinstance(content, str):
        return content, 0
    texts = []
    media = 0
    for part in content if isinstance(content, list) else ():
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            texts.append(text)
        elif isinstance(part, dict) and part.get("type") not in ("text", "reasoning"):
            media += 1
    return "\n".join(texts), media


def read_message(message: JSON) -> Message:
    """One entry of ``messages``."""
    text, media = read_content(message.get("content"))
    tool_call_id = message.get("tool_call_id")
    return Message(
        role=str(message.get("role", "")),
        text=text,
        media=media,
        tool_calls=tuple(read_tool_call(call) for call in message.get("tool_calls") or ()),
        tool_call_id=tool_call_id if isinstance(tool_call_id, str) else None,
    )


def read_tool_call(call: JSON) -> ToolCall:
    """One entry of an assistant message's ``tool_calls``."""
    function = call.get("function") or {}
    return ToolCall(str(call.get("id", "")), str(function.get("name", "")), str(function.get("arguments", "")))


def read_tool(tool: JSON) -> Tool:
    """One entry of ``tools``, nested as in chat or flat as in Responses."""
    function = tool.get("function") or tool
    parameters = function.get("parameters")
    return Tool(
        name=str(function.get("name", "")),
        description=str(function.get("description") or ""),
        parameters=parameters if isinstance(parameters, dict) else None,
    )


def read_tool_choice(choice: JSON, *, tools: bool) -> tuple[ToolChoice, str | None]:
    """``tool_choice`` and the one tool it names; absent, it is ``auto`` with tools and ``none`` without."""
    if isinstance(choice, dict):
        return "required", str((choice.get("function") or choice).get("name", ""))
    if choice in ("none", "auto", "required"):
        return choice, None
    return ("auto" if tools else "none"), None


def read_stop(stop: JSON) -> tuple[str, ...]:
    """``stop``: absent, a string or a list of strings."""
    if stop is None:
        return ()
    return (stop,) if isinstance(stop, str) else tuple(stop)


def read_format(value: JSON) -> tuple[Format, JSON]:
    """``response_format`` as a kind and, for ``json_schema``, the schema."""
    kind = value.get("type", "text") if isinstance(value, dict) else "text"
    if kind == "json_schema":
        return "json_schema", (value.get("json_schema") or {}).get("schema") or {}
    return ("json_object", None) if kind == "json_object" else ("text", None)


def shape_logprob(entry: Logprob) -> JSON:
    """``logprobs.content[]`` of a chat answer; ``bytes`` of all entries joined are the text in UTF-8."""
    return {
        "token": entry.token,
        "logprob": entry.logprob,
        "bytes": list(entry.token.encode()),
        "top_logprobs": [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in entry.top],
    }
