"""Parse ``input`` of a Responses request: a text, or the items of a conversation.

Source: model_server, src/llm/apis/openai_responses.cpp.
"""

from dataclasses import field

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object
from emulator.core.requests import Message, ToolCall
from emulator.vendors.openvino.chat.checks import find_checks
from emulator.vendors.openvino.chat.media import validate_picture
from emulator.vendors.openvino.chat.messages import join_texts
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import Fields

_TEXTS = ("input_text", "output_text")


def parse_input(fields: Fields) -> tuple[Message, ...]:
    """Parse the conversation; tool calls are merged with the assistant's next message."""
    if "input" not in fields.body:
        raise refusal("input missing in request")
    value = fields.body["input"]
    if isinstance(value, str):
        if not value:
            raise refusal("input cannot be empty")
        return (Message(role="user", text=value),)
    if not isinstance(value, list):
        raise refusal("input is not a string or array")
    if not value:
        raise refusal("input array must not be empty")
    turns = _Turns()
    for item in value:
        _parse_item(fields, item, turns)
    turns.flush()
    return tuple(turns.messages)


@fast_dataclass(slots=True)
class _Turns:
    """Messages parsed so far.

    Fields:
        calls: tool calls of the assistant that await its message.
        thought: there is reasoning of the assistant that awaits its message.
    """

    messages: list[Message] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    thought: bool = False

    def flush(self, text: str = "", media: int = 0) -> None:
        """Append an assistant message with the pending tool calls or reasoning, if there are any."""
        if self.calls or self.thought:
            self.messages.append(Message(role="assistant", text=text, tool_calls=tuple(self.calls), media=media))
        self.calls, self.thought = [], False


def _parse_item(fields: Fields, item: JSON, turns: _Turns) -> None:
    if not isinstance(item, dict):
        raise refusal("input array items must be objects")
    kind = item.get("type")
    if kind == "function_call":
        turns.calls.append(_parse_call(item))
    elif kind == "function_call_output":
        turns.flush()
        text = _find_text(item, "output") or ""
        turns.messages.append(Message(role="tool", text=text, tool_call_id=_find_text(item, "call_id")))
    elif kind == "reasoning":
        turns.thought = turns.thought or _has_reasoning(item)
    else:
        _parse_message(fields, item, turns)


def _parse_message(fields: Fields, item: Object, turns: _Turns) -> None:
    role = item.get("role")
    if not isinstance(role, str):
        raise refusal("input item role is missing or invalid")
    if role != "assistant":
        turns.flush()
    if "content" not in item:
        raise refusal("input item is missing required content field")
    text, media = _parse_content(fields, item["content"])
    if role == "assistant" and turns.calls:
        turns.flush(text, media)
        return
    turns.thought = False
    turns.messages.append(Message(role=role, text=text, media=media))


def _has_reasoning(item: Object) -> bool:
    """Return whether there is text in ``content`` or ``summary``."""
    parts = [part for key in ("content", "summary") if isinstance(found := item.get(key), list) for part in found]
    return any(isinstance(part, dict) and isinstance(part.get("text"), str) and part["text"] for part in parts)


def _find_text(item: Object, key: str) -> str | None:
    value = item.get(key)
    return value if isinstance(value, str) else None


def _parse_call(item: Object) -> ToolCall:
    """Parse a tool call; ``call_id`` takes precedence over ``id``, even if it is empty."""
    call_id = _find_text(item, "call_id")
    tool_call_id = _find_text(item, "id") if call_id is None else call_id
    if not tool_call_id:
        raise refusal("function_call item is missing required call_id (or id) field")
    name, arguments = _find_text(item, "name"), _find_text(item, "arguments")
    if not name:
        raise refusal("function_call item is missing required name field")
    if arguments is None:
        raise refusal("function_call item is missing required arguments field")
    return ToolCall(tool_call_id, name, arguments)


def _parse_content(fields: Fields, content: JSON) -> tuple[str, int]:
    if isinstance(content, str):
        return content, 0
    if not isinstance(content, list):
        raise refusal("input item content must be a string or array")
    if not content:
        raise refusal("input item content array must not be empty")
    texts = [text for part in content if (text := _parse_part(fields, part)) is not None]
    checks = find_checks(fields.release.version)
    # 2026.2 joins the text parts of a chat message but keeps only the last of an item
    joined = join_texts(texts, checks) if checks.pictures == "deferred" else texts[-1] if texts else ""
    return joined, len(content) - len(texts)


def _parse_part(fields: Fields, part: JSON) -> str | None:
    """Return the text of a part; ``None`` for an image or a sound."""
    if not isinstance(part, dict):
        raise refusal("input content items must be objects")
    kind = part.get("type")
    if not isinstance(kind, str):
        raise refusal("input content item type is missing or invalid")
    if kind in _TEXTS:
        text = part.get("text")
        if not isinstance(text, str):
            raise refusal(f"{kind} requires a valid text field")
        return text
    if kind == "input_image":
        _validate_image(fields, part)
    elif kind == "input_audio" and find_checks(fields.release.version).sounds:
        _validate_audio(fields, part)
    else:
        raise refusal(f"unsupported input content item type: {kind}")
    return None


def _validate_image(fields: Fields, part: Object) -> None:
    if "image_url" not in part:
        raise refusal("input_image requires image_url field")
    image = part["image_url"]
    if not isinstance(image, str | dict):
        raise refusal("input_image.image_url must be a string or object")
    url = image if isinstance(image, str) else image.get("url")
    if not isinstance(url, str):
        raise refusal("input_image.image_url.url is missing or invalid")
    fields.pictures.append(validate_picture(fields, {"image_url": {"url": url}}))


def _validate_audio(fields: Fields, part: Object) -> None:
    audio = part.get("input_audio")
    if not isinstance(audio, dict):
        raise refusal("input_audio requires input_audio object field")
    if not isinstance(audio.get("data"), str):
        raise refusal("input_audio.data is missing or invalid")
    fields.sounds.append(audio)
