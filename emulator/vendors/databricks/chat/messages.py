"""Validate the messages of a chat request and their order."""

from emulator.core.json import JSON, Object, as_array, as_object, quote_value
from emulator.vendors.databricks.decoder import OBJECT, STRING, Struct, error_parameter, error_type
from emulator.vendors.databricks.request import ParsedRequest

_ROLES = ("system", "user", "assistant", "tool")
_MEDIA = ("image_url", "document", "file", "input_audio", "audio_url", "video_url")


def validate_messages(parsed: ParsedRequest, messages: list[JSON]) -> None:
    """Validate every message, then their order."""
    never_empty = parsed.family == "claude"
    answers = False
    for position, message in enumerate(messages):
        if not isinstance(message, dict):
            raise error_type("messages", Struct(), message)
        if _is_plain(message, position) and (message["content"] or not never_empty):
            continue
        role = message.get("role")
        if role not in _list_roles(parsed):
            raise error_parameter(
                f"Bad request: messages[{position}].role must be one of {', '.join(_ROLES)}", "messages"
            )
        if role == "system" and position:
            raise error_parameter(
                'Bad request: the "system" role can only be used once, as the first message', "messages"
            )
        _validate_calls(parsed, message, position)
        _validate_content(parsed, message, position)
        answers = answers or role == "tool"
    if answers or parsed.settings.alternate_roles:
        _validate_order(parsed, messages)


def _is_plain(message: Object, position: int) -> bool:
    """Return whether a message is one text of a user, an assistant or the leading system."""
    if len(message) != 2 or type(message.get("content")) is not str:
        return False
    role = message.get("role")
    return role == "user" or role == "assistant" or (role == "system" and not position)


def _list_roles(parsed: ParsedRequest) -> tuple[str, ...]:
    return (*_ROLES, "developer") if parsed.family == "gpt" else _ROLES


def _validate_calls(parsed: ParsedRequest, message: Object, position: int) -> None:
    role = message["role"]
    calls = as_array(message.get("tool_calls") or [])
    if calls and role != "assistant":
        raise error_parameter('Bad request: tool_calls are only allowed in messages with role "assistant"', "messages")
    for call in calls:
        _validate_call(parsed, call, f"messages[{position}].tool_calls")
    answered = message.get("tool_call_id")
    if role == "tool" and not answered:
        raise error_parameter(f'Bad request: messages[{position}] with role "tool" needs a tool_call_id', "messages")
    if role != "tool" and answered:
        raise error_parameter('Bad request: tool_call_id is only allowed in messages with role "tool"', "messages")


def _validate_call(parsed: ParsedRequest, call: JSON, where: str) -> None:
    if not isinstance(call, dict) or not call.get("id"):
        raise error_parameter(f"Bad request: {where} need an id", "messages")
    if call.get("type") != "function":
        raise error_parameter(f'Bad request: the only supported type of {where} is "function"', "messages")
    function = call.get("function")
    if not isinstance(function, dict) or not function.get("name"):
        raise error_parameter(f"Bad request: {where} need a function with a name", "messages")
    if function.get("arguments") is None:
        raise error_parameter(f"Bad request: {where} need a function with arguments", "messages")
    _validate_cache_control(parsed, call)
    signature = any(name in call for name in ("thoughtSignature", "thought_signature", "extra_content"))
    if parsed.traits.get("thought_signature") and not signature:
        name = function["name"]
        raise error_parameter(
            f"Function call is missing a thought_signature in functionCall parts. Function call: {name}"
        )


def _validate_cache_control(parsed: ParsedRequest, holder: Object) -> None:
    """Validate the type of ``cache_control``: a string in the reference, an object everywhere else."""
    value = holder.get("cache_control")
    allowed = parsed.settings.cache_control
    if isinstance(value, str) and allowed == "object":
        raise error_type("cache_control", OBJECT, value)
    if isinstance(value, dict) and allowed == "string":
        raise error_type("cache_control", STRING, value)


def _validate_content(parsed: ParsedRequest, message: Object, position: int) -> None:
    content = message.get("content")
    if message.get("tool_calls"):
        if content and parsed.settings.strict_tool_call_content:
            raise error_parameter("Bad request: a message with tool_calls must not have content", "messages")
    elif content is None:
        raise error_parameter(f"Bad request: messages[{position}].content is required", "messages")
    elif parsed.family == "claude" and content in ("", []):
        raise error_parameter("messages: text content blocks must be non-empty", "messages")
    _validate_cache_control(parsed, message)
    for part in content if isinstance(content, list) else ():
        _validate_part(parsed, part)


def _validate_part(parsed: ParsedRequest, part: JSON) -> None:
    if not isinstance(part, dict):
        raise error_type("messages.content", Struct(), part)
    kind = part.get("type")
    if kind == "text":
        text = part.get("text")
        if not isinstance(text, str):
            raise error_parameter('Bad request: a content part of type "text" needs a text', "messages")
        if parsed.family == "claude" and not text:
            raise error_parameter("messages: text content blocks must be non-empty", "messages")
    elif kind in _MEDIA:
        _validate_media(parsed, part, str(kind))
    elif kind != "reasoning":
        raise error_parameter(f"Bad request: unsupported content part type {quote_value(kind)}", "messages")
    _validate_cache_control(parsed, part)


def _validate_media(parsed: ParsedRequest, part: Object, kind: str) -> None:
    """Validate media: images need a vision model; audio and video need Gemini."""
    is_audio_or_video = kind in ("input_audio", "audio_url", "video_url")
    if not parsed.traits.get("vision") or (is_audio_or_video and parsed.family != "gemini"):
        name = parsed.deployment.name
        text = f"Bad request: {name} does not support content parts of type {quote_value(kind)}"
        raise error_parameter(text, "messages")
    if kind != "image_url":
        return
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else None
    if not isinstance(url, str) or not url.startswith(("http://", "https://", "data:")):
        raise error_parameter("Bad request: image_url.url must be an http(s) URL or a data URI", "messages")


def _validate_order(parsed: ParsedRequest, messages: list[JSON]) -> None:
    objects = [as_object(message) for message in messages]
    previous: Object = {}
    for message in objects:
        if message["role"] == "tool":
            _validate_result(parsed, previous)
        previous = message
    if parsed.settings.alternate_roles:
        roles = [m["role"] for m in objects if m["role"] not in ("system", "developer")]
        if roles != [("user", "assistant")[i % 2] for i in range(len(roles))] or len(roles) % 2 == 0:
            raise error_parameter(
                "Bad request: roles must alternate between user and assistant and end with user", "messages"
            )


def _validate_result(parsed: ParsedRequest, previous: Object) -> None:
    """Validate the place of a tool result; open models accept only one in a row. Source: litellm splits them."""
    if previous.get("role") == "tool":
        if parsed.settings.one_tool_result and parsed.family in ("open", "gpt-oss"):
            raise error_parameter("Bad request: only one tool message may follow a message with tool_calls", "messages")
    elif not previous.get("tool_calls"):
        text = 'Bad request: a message with role "tool" must follow a message with tool_calls'
        raise error_parameter(text, "messages")
