"""The conversation: what the server accepts as a message, and what the chat template makes of it.

Source: model_server, src/llm/apis/openai_completions.cpp, parseMessages; src/llm/text_processor.cpp.
"""

from __future__ import annotations

from emulator.core.call import Message, ToolCall
from emulator.core.json import JSON, Object, as_array, as_object
from emulator.dialects.openai import read_tool_call
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import Fields
from emulator.vendors.openvino.text.media import check_audio, check_picture

_STRUCTURE = "Invalid message structure"
_EMPTY_PROMPT = "Final prompt after applying chat template is empty"


def read_messages(read: Fields) -> tuple[Message, ...]:
    """Check ``messages``, members in document order; the first failure wins.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    if "messages" not in read.body:
        raise refusal("Messages missing in request")
    messages = read.body["messages"]
    if not isinstance(messages, list):
        raise refusal("Messages are not an array")
    if not messages:
        raise refusal("Messages array cannot be empty")
    guarded = _guards_tags(read)
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
        raise refusal("Message is not a JSON object")
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
            raise refusal(_STRUCTURE if rule == "strings" else f"{_STRUCTURE} - content should be string or array")
    _check_required(message, rule)
    role, call_id = message.get("role"), message.get("tool_call_id")
    return Message(
        role=role if isinstance(role, str) else "",
        text=text,
        tool_calls=calls,
        tool_call_id=call_id if isinstance(call_id, str) else None,
        media=media,
    )


def _check_required(message: Object, rule: str) -> None:
    has_role = isinstance(message.get("role"), str)
    if rule == "both" and not (has_role and "content" in message):
        raise refusal("Every message must have both 'content' and 'role' fields")
    if rule == "role" and not has_role:
        raise refusal("Every message must have 'role' field")


def _read_other(name: str, value: JSON) -> tuple[ToolCall, ...]:
    """A member that is not a string, where releases since 2025.2 pass over most."""
    if name == "content" and value is not None:
        raise refusal(f"{_STRUCTURE} - content should be string or array")
    if name != "tool_calls" or not isinstance(value, list):
        return ()
    for call in value:
        if not isinstance(call, dict):
            raise refusal("Each tool_call must be an object")
        if not isinstance(call.get("function"), dict):
            raise refusal("Each tool_call must have a 'function' object")
    return tuple(_default_arguments(read_tool_call(call)) for call in value)


def _default_arguments(call: ToolCall) -> ToolCall:
    return call if call.arguments else ToolCall(call.id, call.name, "{}")


def _read_parts(read: Fields, parts: list[JSON]) -> tuple[str, int]:
    """The text of a content array, and how many media came with it: before 2025.2 its last text only."""
    if not parts and not read.release.empty_content:
        raise refusal(f"{_STRUCTURE} - content array is empty")
    texts = []
    media = 0
    for element in parts:
        part, kind = _check_part(element)
        if kind == "text":
            text = part.get("text")
            if not isinstance(text, str):
                raise refusal(f"{_STRUCTURE} - content text missing")
            _check_tags(read, text)
            texts.append(text)
        elif kind == "image_url":
            check_picture(read, part)
            media += 1
        elif kind == "input_audio" and read.release.since(2026, 3):
            check_audio(part)
            media += 1
        else:
            raise refusal("Unsupported content type")
    if read.release.since(2025, 2):
        return "\n".join(texts), media
    return (texts[-1] if texts else ""), media


def _check_part(part: JSON) -> tuple[Object, str]:
    """A part and its type."""
    if not isinstance(part, dict):
        raise refusal(f"{_STRUCTURE} - content array should contain objects")
    kind = part.get("type")
    if not isinstance(kind, str):
        raise refusal(f"{_STRUCTURE} - content object type missing")
    return part, kind


def _check_tags(read: Fields, text: str) -> None:
    if "<ov_genai_image_" in text and _guards_tags(read):
        raise refusal("Message contains restricted <ov_genai_image> tag")


def _guards_tags(read: Fields) -> bool:
    return read.accepted.servable.kind == "vision" and read.release.since(2025, 2)


def apply_template(read: Fields, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """What the template lets through; a graph's ``chat_template: stock`` is the one used without a template file.

    Raises:
        EmulatedError: the template's own error, or an empty prompt.
    """
    servable = read.accepted.servable
    if servable.kind != "vision" and any([message.media for message in messages]):
        check_media(read, messages)
        messages = tuple([_without_media(message) for message in messages])
    if servable.stock_template:
        if len(messages) != 1:
            raise refusal("This servable accepts only single message requests")
        if not messages[0].text:
            raise refusal(_EMPTY_PROMPT)
    if not read.release.since(2025, 2) and _have_no_content(as_array(read.body["messages"])):
        raise refusal(_EMPTY_PROMPT)
    return messages


def _have_no_content(messages: list[JSON]) -> bool:
    """Nothing to fill a template with; since 2025.2 what is missing is empty text."""
    return not any("content" in as_object(message) for message in messages)


def check_media(read: Fields, messages: tuple[Message, ...]) -> None:
    """A text graph takes no pictures, since 2025.1.

    Raises:
        EmulatedError: there are some.
    """
    text_only = read.accepted.servable.kind != "vision" and read.release.since(2025, 1)
    if text_only and any(message.media for message in messages):
        raise refusal("This servable supports only text input, but image_url has been provided")


def _without_media(message: Message) -> Message:
    """Pictures are decoded, and then a text model has no use for them."""
    return Message(
        role=message.role, text=message.text, tool_calls=message.tool_calls, tool_call_id=message.tool_call_id
    )
