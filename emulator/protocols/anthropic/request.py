"""Validate and parse a request of Anthropic's Messages API, for Azure and Databricks.

Source: docs.anthropic.com, "Messages"; error texts as the service and its pydantic models word them, those of single
fields unverified.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from emulator.core.json import JSON, Object, dump_text
from emulator.core.requests import ChatRequest, Message, Sampling, Tool, ToolCall
from emulator.protocols.anthropic.rules import (
    error_parameter,
    validate_breakpoints,
    validate_calls,
    validate_content,
    validate_end,
    validate_names,
    validate_results,
    validate_stops,
    validate_thinking,
)
from emulator.protocols.openai.options import is_plain as is_plain_message
from emulator.protocols.shapes import ANTHROPIC_SHAPES, Misfit

ToolChoice = Literal["none", "auto", "required"]

_TYPES: Mapping[str, tuple[type, ...]] = {
    "model": (str,),
    "messages": (list,),
    "max_tokens": (int,),
    "system": (str, list),
    "temperature": (float, int),
    "top_p": (float, int),
    "top_k": (int,),
    "stop_sequences": (list,),
    "stream": (bool,),
    "tools": (list,),
    "tool_choice": (dict,),
    "thinking": (dict,),
    "metadata": (dict,),
    "output_config": (dict,),
    "output_format": (dict,),
    "service_tier": (str,),
    "container": (str, dict),
    "context_management": (dict,),
    "mcp_servers": (list,),
    "inference_geo": (str,),
    "cache_control": (dict,),
}
_TYPE_NAMES: Mapping[type, str] = {
    str: "string",
    list: "list",
    int: "integer",
    float: "number",
    bool: "boolean",
    dict: "dictionary",
}
_SHAPE_NAMES = {
    "string": "string",
    "array": "list",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "object": "dictionary",
}
_BOUNDS = {
    "min": "String should have at least {limit} character",
    "max": "String should have at most {limit} characters",
    "pattern": "String should match pattern '{limit}'",
}
_MEDIA = ("image", "document")
_CHOICES: Mapping[str, ToolChoice] = {"auto": "auto", "any": "required", "none": "none", "tool": "required"}


def validate_fields(body: Mapping[str, JSON], *, counts: bool = False) -> None:
    """Raise for the first field that is unknown, missing, mistyped or out of bounds.

    ``counts``: the request only counts tokens, so ``max_tokens`` is optional.
    """
    for name in ("model", "messages", *(() if counts else ("max_tokens",))):
        if body.get(name) is None:
            raise error_parameter(f"{name}: Field required", name)
    for name, value in body.items():
        types = _TYPES.get(name)
        if types is None:
            raise error_parameter(f"{name}: Extra inputs are not permitted", name)
        if value is not None and (not isinstance(value, types) or (isinstance(value, bool) and bool not in types)):
            raise error_parameter(f"{name}: Input should be a valid {_TYPE_NAMES[types[0]]}", name)
    _validate_number(body, "max_tokens", 1, None)
    _validate_number(body, "temperature", 0, 1)
    _validate_number(body, "top_p", 0, 1)
    _validate_number(body, "top_k", 0, None)
    if not is_plain(body):
        _validate_objects(body)


def _validate_objects(body: Mapping[str, JSON]) -> None:
    """Raise for the first member that does not fit, then for fields that contradict one another."""
    found = ANTHROPIC_SHAPES.find_misfit("messages", {"max_tokens": 1, **body})
    if found is not None:
        raise error_parameter(_format_misfit(found), str(found.path[0]))
    validate_stops(_list(body.get("stop_sequences")))
    validate_names(_list(body.get("tools")))
    validate_thinking(body)
    validate_breakpoints(body)


def is_plain(body: Mapping[str, JSON]) -> bool:
    """Return whether a body has messages of a text alone and no object besides."""
    for name, value in body.items():
        if name == "messages":
            if not all(map(is_plain_message, _list(value))):
                return False
        elif isinstance(value, dict | list):
            return False
    return body.get("service_tier") is None


def _format_misfit(found: Misfit) -> str:
    """Format a misfit as pydantic does, with the kinds of objects in the path."""
    where = ".".join(str(part) for part in found.path)
    if found.kind == "unknown":
        return f"{where}: Extra inputs are not permitted"
    if found.kind == "missing":
        return f"{where}: Field required"
    if found.kind == "type":
        return f"{where}: Input should be a valid {_SHAPE_NAMES[found.expected[0]]}"
    if found.kind in _BOUNDS:
        return f"{where}: {_BOUNDS[found.kind].format(limit=found.limit)}"
    values = [f"'{value}'" for value in found.expected]
    if found.kind == "enum":
        listed = values[0] if len(values) == 1 else f"{', '.join(values[:-1])} or {values[-1]}"
        return f"{where}: Input should be {listed}"
    holder, _, tag = where.rpartition(".")
    text = f"Input tag '{found.value}' found using '{tag}' does not match any of the expected tags: {', '.join(values)}"
    return f"{holder}: {text}"


def _validate_number(body: Mapping[str, JSON], name: str, low: float, high: float | None) -> None:
    value = body.get(name)
    if not isinstance(value, int | float):
        return
    if value < low:
        raise error_parameter(f"{name}: Input should be greater than or equal to {low:g}", name)
    if high is not None and value > high:
        raise error_parameter(f"{name}: Input should be less than or equal to {high:g}", name)


def validate_sampling(body: Mapping[str, JSON]) -> None:
    """Raise if a sampling parameter is set, as the newest models do; unverified."""
    for name in ("temperature", "top_p", "top_k"):
        if body.get(name) is not None:
            raise error_parameter(f"{name} is not supported with this model.", name)


def parse_chat_request(body: Mapping[str, JSON], *, parallel: bool) -> ChatRequest:
    """Parse all but the sampling of validated fields; ``parallel``: several tools may be called at once."""
    tools = _parse_tools(body)
    choice, name = _parse_tool_choice(body, tools)
    schema = _parse_schema(body)
    return ChatRequest(
        messages=_parse_messages(body),
        tools=tools,
        tool_choice=choice,
        tool_name=name,
        parallel=parallel,
        format="text" if schema is None else "json_schema",
        schema=schema,
        reasoning=_parse_effort(body),
    )


def parse_sampling(body: Mapping[str, JSON], limit: int | None) -> Sampling:
    parameters = tuple([(name, body[name]) for name in ("temperature", "top_p", "top_k") if body.get(name) is not None])
    greedy = body.get("temperature") == 0 or body.get("top_k") == 1
    return Sampling(max_tokens=limit, greedy=greedy, parameters=parameters, stop=_parse_stops(body))


def _parse_messages(body: Mapping[str, JSON]) -> tuple[Message, ...]:
    """Return the conversation of ``system`` and ``messages``."""
    system = _parse_text(body.get("system"), "system")
    messages = [Message(role="system", text=system)] if system else []
    listed = body.get("messages")
    if not isinstance(listed, list) or not listed:
        raise error_parameter("messages: at least one message is required", "messages")
    called: frozenset[str] = frozenset()
    for position, message in enumerate(listed):
        where = f"messages.{position}"
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
            raise error_parameter(f"{where}.role: Input should be 'user' or 'assistant'", "messages")
        is_answer = message["role"] == "assistant"
        is_last = position == len(listed) - 1
        validate_content(message.get("content"), where, is_final_answer=is_answer and is_last)
        blocks = _list_blocks(message.get("content"), f"{where}.content")
        validate_results(blocks, called, where)
        if is_answer:
            validate_calls(blocks, where)
        if is_answer and is_last:
            validate_end(blocks)
        messages += _parse_turn(str(message["role"]), blocks, where)
        called = frozenset(str(block.get("id")) for block in blocks if block["type"] == "tool_use")
    return tuple(messages)


def _list_blocks(content: JSON, where: str) -> list[Object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        raise error_parameter(
            f"{where}: Field required" if content is None else f"{where}: Input should be a valid list"
        )
    blocks = [block for block in content if isinstance(block, dict) and isinstance(block.get("type"), str)]
    if len(blocks) < len(content):
        raise error_parameter(f"{where}.0.type: Field required", "messages")
    return blocks


def _parse_turn(role: str, blocks: Sequence[Mapping[str, JSON]], where: str) -> Iterator[Message]:
    """Yield each tool result of a turn as a message, then the turn's own message."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    media = 0
    for number, block in enumerate(blocks):
        kind, place = block["type"], f"{where}.content.{number}"
        if kind == "tool_result":
            text = _parse_text(block.get("content"), place)
            yield Message(role="tool", text=text, tool_call_id=str(block.get("tool_use_id")))
        elif kind == "tool_use":
            calls.append(ToolCall(str(block.get("id")), str(block.get("name")), dump_text(block.get("input") or {})))
        elif kind == "text":
            texts.append(_parse_block_text(block, place))
        elif kind in _MEDIA:
            media += 1
        elif kind not in ("thinking", "redacted_thinking"):
            raise error_parameter(
                f"{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            )
    if texts or calls or media:
        yield Message(role=role, text="".join(texts), tool_calls=tuple(calls), media=media)


def _parse_block_text(block: Mapping[str, JSON], where: str) -> str:
    text = block.get("text")
    if not isinstance(text, str):
        raise error_parameter(f"{where}.text.text: Field required", "messages")
    if not text:
        raise error_parameter("messages: text content blocks must be non-empty", "messages")
    return text


def _parse_text(content: JSON, where: str) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    blocks = _list_blocks(content, where)
    if where == "system" and any(block.get("text") == "" for block in blocks):
        raise error_parameter("system: text content blocks must be non-empty", "system")
    return "".join(str(block.get("text", "")) for block in blocks if block["type"] == "text")


def _parse_tools(body: Mapping[str, JSON]) -> tuple[Tool, ...]:
    """Return the client's tools; tools that the service runs itself are ignored."""
    tools: list[Tool] = []
    for number, tool in enumerate(_list(body.get("tools"))):
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
            raise error_parameter(f"tools.{number}.custom.name: Field required", "tools")
        if tool.get("type") not in (None, "custom"):
            continue
        schema = tool.get("input_schema")
        if not isinstance(schema, dict):
            raise error_parameter(f"tools.{number}.custom.input_schema: Field required", "tools")
        tools.append(Tool(name=tool["name"], description=str(tool.get("description") or ""), parameters=schema))
    return tuple(tools)


def _parse_tool_choice(body: Mapping[str, JSON], tools: Sequence[Tool]) -> tuple[ToolChoice, str | None]:
    """Return ``tool_choice`` and the name of the tool if it names one."""
    given = body.get("tool_choice")
    if not isinstance(given, dict):
        return ("auto" if tools else "none"), None
    choice = _CHOICES.get(str(given.get("type")))
    if choice is None:
        raise error_parameter(
            "tool_choice: Input tag does not match any of the expected tags: 'any', 'auto', 'none', 'tool'"
        )
    if choice == "required" and not tools:
        raise error_parameter("tool_choice: may only be specified while providing `tools`", "tool_choice")
    if given["type"] != "tool":
        return choice, None
    name = given.get("name")
    if not isinstance(name, str):
        text = "Field required" if "name" not in given else "Input should be a valid string"
        raise error_parameter(f"tool_choice.tool.name: {text}", "tool_choice")
    if name not in [tool.name for tool in tools]:
        raise error_parameter(f"tool_choice: Tool '{name}' not found in provided tools", "tool_choice")
    return choice, str(name)


def _parse_stops(body: Mapping[str, JSON]) -> tuple[str, ...]:
    """Return the stop sequences that are not empty."""
    return tuple(text for text in _list(body.get("stop_sequences")) if isinstance(text, str) and text)


def _parse_effort(body: Mapping[str, JSON]) -> str | None:
    """Return the reasoning effort; ``None`` if thinking is disabled."""
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") == "disabled":
        return None
    if thinking.get("type") == "enabled":
        budget, max_tokens = thinking.get("budget_tokens"), body.get("max_tokens")
        if not isinstance(budget, int) or budget < 1024:
            text = "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
            raise error_parameter(text, "thinking")
        if isinstance(max_tokens, int) and budget >= max_tokens:
            raise error_parameter("`max_tokens` must be greater than `thinking.budget_tokens`.", "thinking")
        return "low" if budget <= 2048 else "high"
    if thinking.get("type") != "adaptive":
        raise error_parameter(
            "thinking: Input tag does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'"
        )
    config = body.get("output_config")
    return str(config.get("effort") or "medium") if isinstance(config, dict) else "medium"


def _parse_schema(body: Mapping[str, JSON]) -> JSON:
    """Return the JSON Schema of the answer; ``None`` if there is none."""
    config = body.get("output_config")
    given = config.get("format") if isinstance(config, dict) else body.get("output_format")
    if not isinstance(given, dict) or given.get("type") != "json_schema":
        return None
    return given.get("schema")


def _list(value: JSON) -> Sequence[JSON]:
    return value if isinstance(value, list) else ()
