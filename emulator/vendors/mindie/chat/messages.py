"""Parse and validate ``messages`` and ``tools`` of the chat route, in the server's order.

Source: MindIE-LLM, ``single_req_vllm_openai_infer_interface.cpp``.
"""

import re
from collections.abc import Sequence

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, as_array, as_object
from emulator.core.requests import Message, Tool
from emulator.protocols.openai.messages import ToolChoice, parse_message, parse_tool, parse_tool_choice
from emulator.vendors.mindie.decoder import Fields, count_units, format_value, refusal
from emulator.vendors.mindie.generate.inputs import count_encoded, fetch_media, has_media, lacks_text, validate_elements

MAX_JSON_GROWTH = 8  # longest re-encoding of a JSON number, in characters per character of the body
_ABNORMAL = "Check open ai req parameter error"
_FUNCTION_NAME = re.compile(r"[a-zA-Z0-9_\u4e00-\u9fa5-]{1,64}")
_BAD_NAME = (
    "The name of function must be a-z, A-Z, 0-9, common chinese characters, underscores and dashe "
    "within max length of 64, unexpected function name: "
)


def join_parts(messages: JSON) -> JSON:
    """Return ``messages`` with text part lists joined to strings, up to the first message with a medium."""
    if not isinstance(messages, list):
        return messages
    joined = list(messages)
    for position, message in enumerate(joined):
        parts = message.get("content") if isinstance(message, dict) else None
        if not isinstance(parts, list):
            continue
        if any(isinstance(part, dict) and has_media(part) for part in parts):
            break
        texts = [
            part["text"] for part in parts if isinstance(part, dict) and part.get("type") == "text" if "text" in part
        ]
        if not all(isinstance(text, str) for text in texts):
            raise refusal(_ABNORMAL, "messages")
        joined[position] = {**as_object(message), "content": "".join(texts)}
    return joined


def parse_messages(messages: JSON, limit: int, body_size: int, *, tools: bool) -> tuple[Message, ...]:
    """Parse ``messages``: at least one, at most ``limit`` characters of JSON in total.

    Args:
        body_size: bytes of the body, an upper bound for those characters.
        tools: the request offers tools; the server then applies other checks with other texts.
    """
    if messages is None:
        text = "Request param messages is null" if tools else "Request param contains not messages or messages null"
        raise refusal(text, "messages")
    if not isinstance(messages, list) or not messages:
        raise refusal(f"Request param messages {'is ' if tools else ''}not arr or arr is empty", "messages")
    for message in messages:
        _validate_message(message, tools=tools)
    if body_size * MAX_JSON_GROWTH > limit:
        _validate_length(messages, limit, "]" if tools else "")
    _fetch_media(messages)
    return tuple([parse_message({**m, "tool_calls": _calls(m)} if "tool_calls" in m else m) for m in messages])


def _fetch_media(messages: list[JSON]) -> None:
    """Raise if a medium cannot be fetched. The server fetches media before it fills in the template.

    If the first message has no content, the tokenizer takes the messages themselves for media.
    Source: MindIE-LLM, ``mindie_llm/tokenizer/tokenizer.py`` (download_url).
    """
    lists = [as_object(message).get("content") for message in messages]
    lists = [content for content in lists if isinstance(content, list)]
    if lists and "content" not in as_object(messages[0]):
        fetch_media(messages)
    for content in lists:
        fetch_media(as_array(content), sounds=True)
    if any(lacks_text(as_array(content)) for content in lists):
        raise refusal("[Tokenizer] encode failed. 'text'", "messages")


def _validate_length(messages: list[JSON], limit: int, bracket: str) -> None:
    length = count_units(format_value(messages))
    contents = [as_object(message).get("content") for message in messages]
    encoded = [count_encoded(part) for content in contents if isinstance(content, list) for part in content]
    if length - sum(encoded) > limit:
        text = f"Messages len not in (0, {limit}{bracket}, but the length of inputs is {length}"
        raise refusal(text, "messages")


def _calls(message: Fields) -> list[JSON]:
    """Return the validated tool calls of an assistant message; calls of other roles are ignored."""
    calls = message["tool_calls"]
    return calls if message["role"] == "assistant" and isinstance(calls, list) else []


def _validate_message(message: JSON, *, tools: bool) -> None:
    if not isinstance(message, dict) or message.get("role") is None:
        raise refusal("Request param contains not role or role null", "role")
    role = message["role"]
    if tools and role not in ("system", "assistant", "user", "tool"):
        raise refusal("Request param contains role must be system, assistant, user or tool", "role")
    if role == "assistant":
        _validate_assistant(message)
        return
    if role == "tool":
        _validate_tool_message(message)
    _validate_content(message.get("content"), role, tools=tools)


def _validate_content(content: JSON, role: JSON, *, tools: bool) -> None:
    if content is None:
        raise refusal("Request param contains not content or content null", "content")
    if tools:
        _validate_text(content, role)
    elif isinstance(content, list):
        if not content:
            raise refusal("Inputs arr is empty", "content")
        validate_elements(content)
    elif not isinstance(content, str):
        raise refusal("The type of inputs is abnormal", "content")


def _validate_text(content: JSON, role: JSON) -> None:
    """Raise unless content is a string, as requests with tools require; only a tool's content may be empty."""
    if not isinstance(content, str):
        raise refusal(_ABNORMAL, "content")
    if role != "tool" and not content:
        raise refusal("Request param content len should not be 0", "content")


def _validate_tool_message(message: Fields) -> None:
    call_id = message.get("tool_call_id")
    if call_id is None:
        raise refusal("Request param contains not tool_call_id or tool_call_id null while role is tool", "tool_call_id")
    if not isinstance(call_id, str):
        raise refusal("The type of tool_call_id is abnormal", "tool_call_id")
    if not call_id:
        raise refusal("Request param tool_call_id len should not be 0 while role is tool", "tool_call_id")


def _validate_assistant(message: Fields) -> None:
    """Raise if an assistant message is invalid; with tool calls its content may be anything."""
    if message.get("tool_calls") is not None:
        for call in _list_items(message["tool_calls"]):
            _validate_call(call)
        return
    content = message.get("content")
    if content is None:
        raise refusal("Request param contains not content or content null", "content")
    if not isinstance(content, str):
        raise refusal('Request param "content" arguments expected to be a string', "content")
    if not content:
        raise refusal('Request param "content" should not be empty', "content")


def _list_items(value: JSON) -> Sequence[JSON]:
    """Return what a loop of the server's JSON library visits: elements, members' values, or the value itself."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else [value]


def _validate_call(call: JSON) -> None:
    if not isinstance(call, dict) or call.get("id") is None:
        raise refusal("Tool call param contains no id.", "tool_calls")
    if not isinstance(call["id"], str):
        raise refusal('Tool call param "id" arguments expected to be a string', "tool_calls")
    if call.get("type") != "function":
        raise refusal("The type of the tool. Currently, only function is supported.", "tool_calls")
    _validate_called(call.get("function"))


def _validate_called(function: JSON) -> None:
    if not isinstance(function, dict):
        raise refusal("Tool call param contains no function that the model called.", "tool_calls")
    for key, words in (("name", "function name"), ("arguments", "function arguments")):
        if function.get(key) is None:
            raise refusal(f"Tool call param contains no {words}", "tool_calls")
        if not isinstance(function[key], str):
            raise refusal(f"Tool call param {words} expected to be a string", "tool_calls")
        if key == "name" and not _FUNCTION_NAME.fullmatch(function[key]):
            raise refusal(_BAD_NAME + function[key], "tool_calls")


@fast_dataclass(frozen=True, slots=True)
class Tools:
    """Offered tools, the tool choice and the chosen tool; ``given``: the request contains tools."""

    offered: tuple[Tool, ...] = ()
    choice: ToolChoice = "none"
    name: str | None = None
    given: bool = True


def parse_tools(fields: Fields) -> Tools:
    choice, name = _parse_choice(fields.get("tool_choice"))
    tools = fields.get("tools")
    if tools in (None, [], {}):
        return Tools(given=False)
    if not isinstance(tools, list):
        raise refusal("Tools not array", "tools")
    for tool in tools:
        _validate_tool(tool)
    if choice == "none":
        return Tools()
    offered = tuple(parse_tool(tool) for tool in tools)
    if name is not None:
        offered = tuple(tool for tool in offered if tool.name == name)
    return Tools(offered, choice if offered else "none", name)


def _parse_choice(choice: JSON) -> tuple[ToolChoice, str | None]:
    if isinstance(choice, str):
        if choice not in ("none", "auto", "required"):
            raise refusal("Parameter tool_choice string not in [none, auto, required]", "tool_choice")
    elif isinstance(choice, dict):
        _validate_tool(choice)
    elif choice is not None:
        raise refusal("Parameter tool_choice not string or object", "tool_choice")
    return parse_tool_choice(choice, tools=True)


def _validate_tool(tool: JSON) -> None:
    if not isinstance(tool, dict) or "type" not in tool:
        raise refusal("Tool param invalid, tool type not exist", "tools")
    kind = tool["type"]
    if kind is None:
        raise refusal("Tool param invalid tool type", "tools")
    if not isinstance(kind, str):
        raise refusal("Tool param invalid tool string type", "tools")
    if kind != "function":
        raise refusal("Tool param not function type", "tools")
    if "function" not in tool:
        raise refusal("Tool param invalid, tool function not exist", "tools")
    _validate_function(tool["function"])


def _validate_function(function: JSON) -> None:
    if not isinstance(function, dict):
        raise refusal("Tool param invalid function object", "tools")
    if "name" not in function:
        raise refusal("Function object invalid, function name not exist", "tools")
    if not isinstance(function["name"], str):
        raise refusal("Function object invalid name type", "tools")
    if not _FUNCTION_NAME.fullmatch(function["name"]):
        raise refusal(_BAD_NAME + function["name"], "tools")
