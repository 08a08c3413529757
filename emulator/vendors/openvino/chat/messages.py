"""Parse and validate messages, and apply the chat template.

Source: model_server, src/llm/apis/openai_completions.cpp, parseMessages; src/llm/text_processor.cpp
and src/llm/servable.cpp.
"""

from emulator.core.json import JSON, Object, as_array, as_object
from emulator.core.requests import Message, ToolCall
from emulator.protocols.openai.messages import parse_tool_call
from emulator.vendors.openvino.chat.checks import Checks, find_checks
from emulator.vendors.openvino.chat.media import load_picture, load_sound, validate_picture, validate_sound
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import Fields

_STRUCTURE = "Invalid message structure"
_EMPTY_PROMPT = "Final prompt after applying chat template is empty"


def parse_messages(fields: Fields) -> tuple[Message, ...]:
    """Parse ``messages``, members in document order; the first invalid one is reported."""
    if "messages" not in fields.body:
        raise refusal("Messages missing in request")
    messages = fields.body["messages"]
    if not isinstance(messages, list):
        raise refusal("Messages are not an array")
    if not messages and fields.release.since(2025, 0):
        raise refusal("Messages array cannot be empty")
    return tuple(
        [
            Message(role=message["role"], text=message["content"])
            if _is_simple(message)
            else _parse_message(fields, message)
            for message in messages
        ]
    )


def _is_simple(message: JSON) -> bool:
    """Return whether a message is only a role and a text, as nearly all are."""
    return (
        type(message) is dict
        and len(message) == 2
        and type(message.get("role")) is str
        and type(message.get("content")) is str
    )


def _parse_message(fields: Fields, message: JSON) -> Message:
    if not isinstance(message, dict):
        raise refusal("Message is not a JSON object")
    rule = fields.release.message_rule
    text, media = "", 0
    for name, value in message.items():
        if isinstance(value, str):
            text = value if name == "content" else text
        elif name == "content" and isinstance(value, list) and rule != "strings":
            text, media = _parse_parts(fields, value)
        elif rule != "role":
            raise refusal(_STRUCTURE if rule == "strings" else f"{_STRUCTURE} - content should be string or array")
        elif name == "content" and find_checks(fields.release.version).content == "shown":
            text = "" if value is None else str(value)
    _validate_required(message, rule)
    role, call_id = message.get("role"), message.get("tool_call_id")
    return Message(
        role=role if isinstance(role, str) else "",
        text=text,
        tool_calls=_parse_calls(fields, message.get("tool_calls")),
        tool_call_id=call_id if isinstance(call_id, str) else None,
        media=media,
    )


def _validate_required(message: Object, rule: str) -> None:
    has_role = isinstance(message.get("role"), str)
    if rule == "both" and not (has_role and "content" in message):
        raise refusal("Every message must have both 'content' and 'role' fields")
    if rule == "role" and not has_role:
        raise refusal("Every message must have 'role' field")


def _parse_calls(fields: Fields, calls: JSON) -> tuple[ToolCall, ...]:
    """Parse ``tool_calls``; releases that do not validate them skip invalid ones."""
    if not isinstance(calls, list):
        return ()
    checked = find_checks(fields.release.version).tool_calls
    found = []
    for call in calls:
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            found.append(_fill_arguments(parse_tool_call(call)))
        elif checked:
            problem = "have a 'function' object" if isinstance(call, dict) else "be an object"
            raise refusal(f"Each tool_call must {problem}")
    return tuple(found)


def _fill_arguments(call: ToolCall) -> ToolCall:
    return call if call.arguments else ToolCall(call.id, call.name, "{}")


def _parse_parts(fields: Fields, parts: list[JSON]) -> tuple[str, int]:
    """Return the text of a content array and the number of its media."""
    if not parts and not fields.release.empty_content:
        raise refusal(f"{_STRUCTURE} - content array is empty")
    checks = find_checks(fields.release.version)
    texts = []
    media = 0
    for element in parts:
        part, kind = _validate_part(element)
        if kind == "text":
            text = part.get("text")
            if not isinstance(text, str):
                raise refusal(f"{_STRUCTURE} - content text missing")
            texts.append(text)
        elif kind == "image_url":
            fields.pictures.append(validate_picture(fields, part))
            media += 1
        elif kind == "input_audio" and checks.sounds:
            fields.sounds.append(validate_sound(part))
            media += 1
        else:
            raise refusal("Unsupported content type")
    return join_texts(texts, checks), media


def join_texts(texts: list[str], checks: Checks) -> str:
    """Join text parts with line breaks, or keep the last; leading empty parts add no line."""
    if checks.texts == "last":
        return texts[-1] if texts else ""
    joined = ""
    for text in texts:
        joined = f"{joined}\n{text}" if joined else text
    return joined


def _validate_part(part: JSON) -> tuple[Object, str]:
    """Return a part and its type; raise if it has none."""
    if not isinstance(part, dict):
        raise refusal(f"{_STRUCTURE} - content array should contain objects")
    kind = part.get("type")
    if not isinstance(kind, str):
        raise refusal(f"{_STRUCTURE} - content object type missing")
    return part, kind


def take_media(fields: Fields, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages with the media the model takes: all for a vision or omni graph, else none.

    Raises:
        EmulatedError: a text graph refuses images since 2025.1, a vision graph restricted tags in a text.
    """
    checks = find_checks(fields.release.version)
    if fields.parsed.profile.kind in ("vision", "omni"):
        _validate_tags(fields, messages)
        if checks.pictures == "deferred":
            for url in fields.pictures:
                load_picture(fields, url)
        if fields.parsed.profile.kind == "omni":
            for sound in fields.sounds:
                load_sound(sound)
        return messages
    if fields.pictures and checks.media:
        raise refusal("This servable supports only text input, but image_url has been provided", word=checks.media)
    if not fields.pictures and not fields.sounds:
        return messages
    return tuple([_without_media(message) for message in messages])


def _validate_tags(fields: Fields, messages: tuple[Message, ...]) -> None:
    """Raise if a text has a restricted tag: in 2025.1 in any string of a message, later in its content."""
    texts = [message.text for message in messages]
    if not fields.release.since(2025, 2):
        texts += [
            text for m in as_array(fields.body["messages"]) for text in as_object(m).values() if type(text) is str
        ]
    if fields.release.since(2025, 1) and any(["<ov_genai_image_" in text for text in texts]):
        raise refusal("Message contains restricted <ov_genai_image> tag")


def _without_media(message: Message) -> Message:
    """Return the message without media, which a text model ignores."""
    return Message(
        role=message.role, text=message.text, tool_calls=message.tool_calls, tool_call_id=message.tool_call_id
    )


def apply_template(fields: Fields, messages: tuple[Message, ...]) -> None:
    """Raise if the template renders no prompt; ``chat_template: stock`` is the one used without a template file.

    Raises:
        EmulatedError: with the template's text, or for an empty prompt.
    """
    if fields.parsed.profile.stock_template:
        if len(messages) != 1:
            raise refusal("This servable accepts only single message requests")
        if not messages[0].text:
            raise refusal(_EMPTY_PROMPT)
    if not fields.release.since(2025, 2) and _lack_content(as_array(fields.body["messages"])):
        raise refusal(_EMPTY_PROMPT if messages else "There are no messages to apply for chat")


def _lack_content(messages: list[JSON]) -> bool:
    """Return whether no message has ``content``; since 2025.2 absent content is empty text."""
    return not any("content" in as_object(message) for message in messages)
