"""The ``input`` of a request: a text, or the items of a conversation.

Source: model_server, src/llm/apis/openai_responses.cpp.
"""

from __future__ import annotations

from emulator.core.call import Message, ToolCall
from emulator.core.json import JSON, Object, as_text
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import Fields
from emulator.vendors.openvino.text.media import check_picture

_TEXTS = ("input_text", "output_text", "text")


def read_input(read: Fields) -> tuple[Message, ...]:
    """The conversation.

    Raises:
        EmulatedError: the first item that fails.
    """
    if "input" not in read.body:
        raise refusal("input missing in request")
    value = read.body["input"]
    if isinstance(value, str):
        if not value:
            raise refusal("input cannot be empty")
        return (Message(role="user", text=value),)
    if not isinstance(value, list):
        raise refusal("input is not a string or array")
    if not value:
        raise refusal("input array must not be empty")
    return tuple([_read_item(read, item) for item in value])


def _read_item(read: Fields, item: JSON) -> Message:
    if not isinstance(item, dict):
        raise refusal("input array items must be objects")
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
        raise refusal("input item role is missing or invalid")
    if "content" not in item:
        raise refusal("input item is missing required content field")
    text, media = _read_content(read, item["content"])
    return Message(role=role, text=text, media=media)


def _name(item: Object, key: str) -> str | None:
    value = item.get(key)
    return value if isinstance(value, str) else None


def _read_call(item: Object) -> Message:
    identity = _name(item, "call_id") or _name(item, "id")
    if identity is None:
        raise refusal("function_call item is missing required call_id (or id) field")
    for key in ("name", "arguments"):
        if not isinstance(item.get(key), str):
            raise refusal(f"function_call item is missing required {key} field")
    return Message(
        role="assistant", tool_calls=(ToolCall(identity, as_text(item["name"]), as_text(item["arguments"])),)
    )


def _read_content(read: Fields, content: JSON) -> tuple[str, int]:
    if isinstance(content, str):
        return content, 0
    if not isinstance(content, list):
        raise refusal("input item content must be a string or array")
    if not content:
        raise refusal("input item content array must not be empty")
    texts = [text for part in content if (text := _read_part(read, part)) is not None]
    return "\n".join(texts), len(content) - len(texts)


def _read_part(read: Fields, part: JSON) -> str | None:
    """The text of a part; a picture has none."""
    if not isinstance(part, dict):
        raise refusal("input content items must be objects")
    kind = part.get("type")
    if not isinstance(kind, str):
        raise refusal("input content item type is missing or invalid")
    if kind in _TEXTS:
        text = part.get("text")
        if not isinstance(text, str):
            raise refusal("input_text requires a valid text field")
        return text
    if kind != "input_image":
        raise refusal(f"unsupported input content item type: {kind}")
    _check_image(read, part)
    return None


def _check_image(read: Fields, part: Object) -> None:
    if "image_url" not in part:
        raise refusal("input_image requires image_url field")
    image = part["image_url"]
    if not isinstance(image, str | dict):
        raise refusal("input_image.image_url must be a string or object")
    url = image if isinstance(image, str) else image.get("url")
    if not isinstance(url, str):
        raise refusal("input_image.image_url.url is missing or invalid")
    check_picture(read, {"image_url": {"url": url}})
