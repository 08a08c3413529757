"""``messages`` and ``tools`` of the chat route, checked in the server's order.

Source: MindIE-LLM, ``single_req_vllm_openai_infer_interface.cpp``.
"""

import re
from collections.abc import Mapping

from emulator.core.call import Message, Tool
from emulator.core.json import JSON
from emulator.dialects.openai import ToolChoice, read_message, read_tool
from emulator.vendors.mindie.decoder import count_units, refuse, show
from emulator.vendors.mindie.generate.inputs import check_elements, count_encoded

_Fields = Mapping[str, JSON]
_GROWTH = 8  # a number may take that many times as many characters when it is written again
_FUNCTION_NAME = re.compile(r"[a-zA-Z0-9_\u4e00-\u9fa5-]{1,64}")
_BAD_NAME = (
    "The name of function must be a-z, A-Z, 0-9, common chinese characters, underscores and dashe "
    "within max length of 64, unexpected function name: "
)


def read_messages(fields: _Fields, most: int, sent: int) -> tuple[Message, ...]:
    """``messages``, at least one, together at most ``most`` characters of JSON.

    Args:
        sent: bytes of the body, which bound those characters.
    """
    messages = fields.get("messages")
    if messages is None:
        raise refuse("Request param contains not messages or messages null", "messages")
    if not isinstance(messages, list) or not messages:
        raise refuse("Request param messages not arr or arr is empty", "messages")
    for message in messages:
        _check_message(message)
    if sent * _GROWTH > most:
        _check_length(messages, most)
    return tuple([read_message({**m, "tool_calls": _calls(m)} if "tool_calls" in m else m) for m in messages])


def _check_length(messages: list[JSON], most: int) -> None:
    length = count_units(show(messages))
    parts = [part for m in messages if isinstance(m.get("content"), list) for part in m["content"]]
    if length - sum(map(count_encoded, parts)) > most:
        raise refuse(f"Messages len not in (0, {most}, but the length of inputs is {length}", "messages")


def _calls(message: _Fields) -> list[JSON]:
    """Calls of an assistant, which have been checked; nobody looks at another's."""
    calls = message["tool_calls"]
    return calls if message["role"] == "assistant" and isinstance(calls, list) else []


def _check_message(message: JSON) -> None:
    if not isinstance(message, dict) or message.get("role") is None:
        raise refuse("Request param contains not role or role null", "role")
    if message["role"] == "tool":
        _check_tool_message(message)
    if message["role"] == "assistant":
        _check_assistant(message)
        return
    content = message.get("content")
    if content is None:
        raise refuse("Request param contains not content or content null", "content")
    if isinstance(content, list):
        if not content:
            raise refuse("Inputs arr is empty", "content")
        check_elements(content)
    elif not isinstance(content, str):
        raise refuse("The type of inputs is abnormal", "content")


def _check_tool_message(message: _Fields) -> None:
    call_id = message.get("tool_call_id")
    if call_id is None:
        raise refuse("Request param contains not tool_call_id or tool_call_id null while role is tool", "tool_call_id")
    if not isinstance(call_id, str):
        raise refuse("The type of tool_call_id is abnormal", "tool_call_id")
    if not call_id:
        raise refuse("Request param tool_call_id len should not be 0 while role is tool", "tool_call_id")


def _check_assistant(message: _Fields) -> None:
    """With tool calls the content may be anything."""
    if message.get("tool_calls") is not None:
        calls = message["tool_calls"]
        for call in calls if isinstance(calls, list) else [calls]:
            _check_call(call)
        return
    content = message.get("content")
    if content is None:
        raise refuse("Request param contains not content or content null", "content")
    if not isinstance(content, str):
        raise refuse('Request param "content" arguments expected to be a string', "content")
    if not content:
        raise refuse('Request param "content" should not be empty', "content")


def _check_call(call: JSON) -> None:
    if not isinstance(call, dict) or call.get("id") is None:
        raise refuse("Tool call param contains no id.", "tool_calls")
    if not isinstance(call["id"], str):
        raise refuse('Tool call param "id" arguments expected to be a string', "tool_calls")
    if call.get("type") != "function":
        raise refuse("The type of the tool. Currently, only function is supported.", "tool_calls")
    _check_called(call.get("function"))


def _check_called(function: JSON) -> None:
    if not isinstance(function, dict):
        raise refuse("Tool call param contains no function that the model called.", "tool_calls")
    for key, words in (("name", "function name"), ("arguments", "function arguments")):
        if function.get(key) is None:
            raise refuse(f"Tool call param contains no {words}", "tool_calls")
        if not isinstance(function[key], str):
            raise refuse(f"Tool call param {words} expected to be a string", "tool_calls")
        if key == "name" and not _FUNCTION_NAME.fullmatch(function[key]):
            raise refuse(_BAD_NAME + function[key], "tool_calls")


def read_tools(fields: _Fields) -> tuple[tuple[Tool, ...], ToolChoice, str | None]:
    """The tools on offer, whether one must be called, and which."""
    choice, name = _read_choice(fields.get("tool_choice"))
    tools = fields.get("tools")
    if not tools:
        return (), "none", None
    if not isinstance(tools, list):
        raise refuse("Tools not array", "tools")
    for tool in tools:
        _check_tool(tool)
    if choice == "none":
        return (), "none", None
    offered = tuple(read_tool(tool) for tool in tools)
    if name is not None:
        offered = tuple(tool for tool in offered if tool.name == name)
    return offered, choice if offered else "none", name


def _read_choice(choice: JSON) -> tuple[ToolChoice, str | None]:
    if choice is None:
        return "auto", None
    if isinstance(choice, str):
        if choice not in ("none", "auto", "required"):
            raise refuse("Parameter tool_choice string not in [none, auto, required]", "tool_choice")
        return choice, None  # type: ignore[return-value]
    if not isinstance(choice, dict):
        raise refuse("Parameter tool_choice not string or object", "tool_choice")
    _check_tool(choice)
    return "required", str(choice["function"]["name"])


def _check_tool(tool: JSON) -> None:
    if not isinstance(tool, dict) or "type" not in tool:
        raise refuse("Tool param invalid, tool type not exist", "tools")
    kind = tool["type"]
    if kind is None:
        raise refuse("Tool param invalid tool type", "tools")
    if not isinstance(kind, str):
        raise refuse("Tool param invalid tool string type", "tools")
    if kind != "function":
        raise refuse("Tool param not function type", "tools")
    if "function" not in tool:
        raise refuse("Tool param invalid, tool function not exist", "tools")
    _check_function(tool["function"])


def _check_function(function: JSON) -> None:
    if not isinstance(function, dict):
        raise refuse("Tool param invalid function object", "tools")
    if "name" not in function:
        raise refuse("Function object invalid, function name not exist", "tools")
    if not isinstance(function["name"], str):
        raise refuse("Function object invalid name type", "tools")
    if not _FUNCTION_NAME.fullmatch(function["name"]):
        raise refuse(_BAD_NAME + function["name"], "tools")
