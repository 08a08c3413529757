"""``/v3/responses``, since 2026.2: what it takes.

Source: model_server, src/llm/apis/openai_responses.cpp.
"""

from __future__ import annotations

from emulator.core.call import Message, ToolCall
from emulator.core.json import JSON
from emulator.core.record import record
from emulator.vendors.openvino.errors import refuse
from emulator.vendors.openvino.numbers import is_uint32
from emulator.vendors.openvino.request import Accepted
from emulator.vendors.openvino.text.fields import Fields, read_limit
from emulator.vendors.openvino.text.logprobs import promote
from emulator.vendors.openvino.text.media import check_picture

IGNORED = frozenset(("max_tokens", "max_completion_tokens"))
_TEXTS = ("input_text", "output_text", "text")


@record(frozen=True, slots=True)
class Echoed:
    """What an answer repeats of its request."""

    tools: JSON
    tool_choice: JSON
    temperature: float | None
    top_p: float | None
    min_p: float | None
    max_output_tokens: int | None


def check_start(accepted: Accepted) -> None:
    """What is looked at before the fields that all endpoints share.

    Raises:
        EmulatedError: options of a stream, or more answers than one in it.
    """
    if "stream_options" in accepted.body:
        refuse("stream_options is not supported in Responses API.")
    count = accepted.body.get("n", 1)
    if accepted.stream and is_uint32(count) and count > 1:
        refuse("n greater than 1 is not supported for Responses API streaming")


def echo_request(read: Fields) -> Echoed:
    """What the answer will repeat; without tools the choice is ``none``."""
    tools = read.body.get("tools") or []
    numbers = {name: promote(read.numbers[name]) for name in ("temperature", "top_p", "min_p") if name in read.numbers}
    return Echoed(
        tools=tools,
        tool_choice=read.body.get("tool_choice", "auto") if tools else "none",
        temperature=numbers.get("temperature"),
        top_p=numbers.get("top_p"),
        min_p=numbers.get("min_p"),
        max_output_tokens=read.max_tokens,
    )


def read_max_output_tokens(read: Fields) -> None:
    """The limit of this endpoint.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    limit = read_limit(read, "max_output_tokens", inclusive=read.release.max_tokens_limit_is_default)
    if limit == 0:
        refuse("max_output_tokens value should be greater than 0")
    if limit is not None:
        read.max_tokens = limit


def read_effort(read: Fields) -> str | None:
    """``reasoning.effort``.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    reasoning = read.body.get("reasoning", {})
    if not isinstance(reasoning, dict):
        refuse("reasoning is not an object")
    effort = reasoning.get("effort")
    if effort is not None and not isinstance(effort, str):
        refuse("reasoning.effort is not a string")
    if effort not in (None, "low", "medium", "high"):
        refuse("reasoning.effort must be one of: low, medium, high")
    return effort


def read_input(read: Fields) -> tuple[Message, ...]:
    """The conversation.

    Raises:
        EmulatedError: the first item that fails.
    """
    if "input" not in read.body:
        refuse("input missing in request")
    value = read.body["input"]
    if isinstance(value, str):
        if not value:
            refuse("input cannot be empty")
        return (Message(role="user", text=value),)
    if not isinstance(value, list):
        refuse("input is not a string or array")
    if not value:
        refuse("input array must not be empty")
    return tuple([_read_item(read, item) for item in value])


def _read_item(read: Fields, item: JSON) -> Message:
    if not isinstance(item, dict):
        refuse("input array items must be objects")
    kind = item.get("type")
    if kind == "function_call":
        return _read_call(item)
    if kind == "function_call_output":
        output = item.get("output")
        return Message(role="tool", text=output if isinstance(output, str) else "", tool_call_id=_name(item, "call_id"))
    if kind == "reasoning":
        return Message(role="assistant")
    role = item.get("role")
    if not isinstance(role, str):
        refuse("input item role is missing or invalid")
    if "content" not in item:
        refuse("input item is missing required content field")
    text, media = _read_content(read, item["content"])
    return Message(role=role, text=text, media=media)


def _name(item: dict[str, JSON], key: str) -> str | None:
    value = item.get(key)
    return value if isinstance(value, str) else None


def _read_call(item: dict[str, JSON]) -> Message:
    identity = _name(item, "call_id") or _name(item, "id")
    if identity is None:
        refuse("function_call item is missing required call_id (or id) field")
    for key in ("name", "arguments"):
        if not isinstance(item.get(key), str):
            refuse(f"function_call item is missing required {key} field")
    return Message(role="assistant", tool_calls=(ToolCall(identity, item["name"], item["arguments"]),))


def _read_content(read: Fields, content: JSON) -> tuple[str, int]:
    if isinstance(content, str):
        return content, 0
    if not isinstance(content, list):
        refuse("input item content must be a string or array")
    if not content:
        refuse("input item content array must not be empty")
    texts = [text for part in content if (text := _read_part(read, part)) is not None]
    return "\n".join(texts), len(content) - len(texts)


def _read_part(read: Fields, part: JSON) -> str | None:
    """The text of a part; a picture has none."""
    if not isinstance(part, dict):
        refuse("input content items must be objects")
    kind = part.get("type")
    if not isinstance(kind, str):
        refuse("input content item type is missing or invalid")
    if kind in _TEXTS:
        text = part.get("text")
        if not isinstance(text, str):
            refuse("input_text requires a valid text field")
        return text
    if kind != "input_image":
        refuse(f"unsupported input content item type: {kind}")
    _check_image(read, part)
    return None


def _check_image(read: Fields, part: dict[str, JSON]) -> None:
    if "image_url" not in part:
        refuse("input_image requires image_url field")
    image = part["image_url"]
    if not isinstance(image, str | dict):
        refuse("input_image.image_url must be a string or object")
    url = image if isinstance(image, str) else image.get("url")
    if not isinstance(url, str):
        refuse("input_image.image_url.url is missing or invalid")
    check_picture(read, {"image_url": {"url": url}})
