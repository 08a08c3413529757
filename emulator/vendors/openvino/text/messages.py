"""The conversation: what the server accepts as a message, and what the chat template makes of it.

Source: model_server, src/llm/apis/openai_completions.cpp, parseMessages; src/llm/text_processor.cpp.
"""

from __future__ import annotations

from emulator.core.call import Message, ToolCall
from emulator.core.json import JSON
from emulator.dialects.openai import read_tool_call
from emulator.vendors.openvino.errors import refuse
from emulator.vendors.openvino.text.fields import Fields
from emulator.vendors.openvino.text.media import check_audio, check_picture

_STRUCTURE = "Invalid message structure"
_EMPTY_PROMPT = "Final prompt after applying chat template is empty"


def read_messages(read: Fields) -> tuple[Message, ...]:
    """Check ``messages``, members in document order; the first failure wins.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    if "messages" not in read.body:
        refuse("Messages missing in request")
    messages = read.body["messages"]
    if not isinstance(messages, list):
        refuse("Messages are not an array")
    if not messages:
        refuse("Messages array cannot be empty")
    guarded = read.accepted.kind == "vision" and read.release.message_rule == "role"
    return tuple(
        [
            Message(role=message["role"], text=message["content"])
            if not guarded and _is_simple(message)
            else _read_message(read, message)
            for message in messages
        ]
    )


def _is_simple(message: JSON) -> bool:
    """A role and a text, as nearly all have."""
    return (
        type(message) is dict
        and len(message) == 2
        and type(message.get("role")) is str
        and type(message.get("content")) is str
    )


def _read_message(read: Fields, message: JSON) -> Message:
    if not isinstance(message, dict):
        refuse("Message is not a JSON object")
    rule = read.release.message_rule
    text, media = "", 0
    calls: tuple[ToolCall, ...] = ()
    for name, value in message.items():
        if isinstance(value, str):
            if name == "content":
                text = value
                _check_tags(read, value)
        elif name == "content" and isinstance(value, list) and rule != "strings":
            text, media = _read_parts(read, value)
        elif rule == "role":
            calls = _read_other(name, value) or calls
        else:
            refuse(_STRUCTURE if rule == "strings" else f"{_STRUCTURE} - content should be string or array")
    _check_required(message, rule)
    role, call_id = message.get("role"), message.get("tool_call_id")
    return Message(
        role=role if isinstance(role, str) else "",
        text=text,
        tool_calls=calls,
        tool_call_id=call_id if isinstance(call_id, str) else None,
        media=media,
    )


def _check_required(message: dict[str, JSON], rule: str) -> None:
    has_role = isinstance(message.get("role"), str)
    if rule == "both" and not (has_role and "content" in message):
        refuse("Every message must have both 'content' and 'role' fields")
    if rule == "role" and not has_role:
        refuse("Every message must have 'role' field")


def _read_other(name: str, value: JSON) -> tuple[ToolCall, ...]:
    """A member that is not a string, where releases since 2025.2 pass over most."""
    if name == "content" and value is not None:
        refuse(f"{_STRUCTURE} - content should be string or array")
    if name != "tool_calls" or not isinstance(value, list):
        return ()
    for call in value:
        if not isinstance(call, dict):
            refuse("Each tool_call must be an object")
        if not isinstance(call.get("function"), dict):
            refuse("Each tool_call must have a 'function' object")
    return tuple(_default_arguments(read_tool_call(call)) for call in value)


def _default_arguments(call: ToolCall) -> ToolCall:
    return call if call.arguments else ToolCall(call.id, call.name, "{}")


def _read_parts(read: Fields, parts: list[JSON]) -> tuple[str, int]:
    """The text of a content array, and how many media came with it: 2025.0 keeps its last text only."""
    if not parts and not read.release.empty_content:
        refuse(f"{_STRUCTURE} - content array is empty")
    texts = []
    media = 0
    for part in parts:
        kind = _check_part(part)
        if kind == "text":
            if not isinstance(part.get("text"), str):
                refuse(f"{_STRUCTURE} - content text missing")
            _check_tags(read, part["text"])
            texts.append(part["text"])
        elif kind == "image_url":
            check_picture(read, part)
            media += 1
        elif kind == "input_audio" and read.release.modalities:
            check_audio(part)
            media += 1
        else:
            refuse("Unsupported content type")
    if read.release.message_rule == "role":
        return "\n".join(texts), media
    return (texts[-1] if texts else ""), media


def _check_part(part: JSON) -> str:
    if not isinstance(part, dict):
        refuse(f"{_STRUCTURE} - content array should contain objects")
    kind = part.get("type")
    if not isinstance(kind, str):
        refuse(f"{_STRUCTURE} - content object type missing")
    return kind


def _check_tags(read: Fields, text: str) -> None:
    accepted = read.accepted
    if accepted.kind == "vision" and accepted.release.message_rule == "role" and "<ov_genai_image_" in text:
        refuse("Message contains restricted <ov_genai_image> tag")


def apply_template(read: Fields, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """What the template lets through; a graph's ``chat_template: stock`` is the one used without a template file.

    Raises:
        EmulatedError: the template's own error, or an empty prompt.
    """
    accepted = read.accepted
    if accepted.kind != "vision" and any([message.media for message in messages]):
        check_media(read, messages)
        messages = tuple([_without_media(message) for message in messages])
    if accepted.deployment.traits.get("chat_template") == "stock":
        if len(messages) != 1:
            refuse("This servable accepts only single message requests")
        if not messages[0].text:
            refuse(_EMPTY_PROMPT)
    raw = read.body["messages"]
    if "content" not in raw[0] and read.release.message_rule != "role" and _has_no_content(raw):
        refuse(_EMPTY_PROMPT)
    return messages


def _has_no_content(messages: list[dict[str, JSON]]) -> bool:
    """Nothing to fill a template with; since 2025.2 what is missing is empty text."""
    return not any("content" in message for message in messages)


def check_media(read: Fields, messages: tuple[Message, ...]) -> None:
    """A text graph takes no pictures, since 2025.1.

    Raises:
        EmulatedError: there are some.
    """
    text_only = read.accepted.kind != "vision" and read.release.model_length
    if text_only and any(message.media for message in messages):
        refuse("This servable supports only text input, but image_url has been provided")


def _without_media(message: Message) -> Message:
    """Pictures are decoded, and then a text model has no use for them."""
    return Message(
        role=message.role, text=message.text, tool_calls=message.tool_calls, tool_call_id=message.tool_call_id
    )
