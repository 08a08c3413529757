"""The conversation of a chat request: what a message holds, and in which order messages come."""

from __future__ import annotations

from emulator.core.json import JSON
from emulator.vendors.databricks.decoder import ANY, OBJECT, STRING, Many, Shape, Struct, either, mistyped, refuse
from emulator.vendors.databricks.request import Query
from emulator.vendors.databricks.tools import CACHE_CONTROL

_CALL: dict[str, Shape] = {"id": STRING, "type": STRING, "function": Struct({"name": STRING, "arguments": STRING})}
_OPAQUE = ("image_url", "citations", "summary", "source", "file")
_PART = Struct({"type": STRING, "text": STRING, **{name: ANY for name in _OPAQUE}})
_MESSAGE: dict[str, Shape] = {"role": STRING, "tool_call_id": STRING, "name": STRING}
MESSAGES = Many(Struct({**_MESSAGE, "content": STRING, "tool_calls": Many(Struct(_CALL))}))
LISTED = Many(Struct({**_MESSAGE, "content": either(STRING, Many(_PART)), "tool_calls": Many(Struct(_CALL))}))
_CACHED_PART = Struct({**_PART.fields, "cache_control": CACHE_CONTROL})
_CACHED_CALL = Struct({**_CALL, "cache_control": CACHE_CONTROL})
CACHED = Many(
    Struct(
        {
            **_MESSAGE,
            "content": either(STRING, Many(_CACHED_PART)),
            "tool_calls": Many(_CACHED_CALL),
            "cache_control": CACHE_CONTROL,
        }
    )
)
_ROLES = ("system", "user", "assistant", "tool")
_MEDIA = ("image_url", "document", "file", "input_audio", "audio_url", "video_url")


def check_messages(query: Query, messages: list[JSON]) -> None:
    """Every message by itself, then their order.

    Raises:
        EmulatedError: the first message that is refused.
    """
    some = query.family == "claude"  # where no text may be empty
    answers = False
    for position, message in enumerate(messages):
        if _is_plain(message, position) and (message["content"] or not some):
            continue
        if not isinstance(message, dict):
            raise mistyped("messages", Struct(), message)
        role = message.get("role")
        if role not in _roles(query):
            raise refuse(f"Bad request: messages[{position}].role must be one of {', '.join(_ROLES)}", "messages")
        if role == "system" and position:
            raise refuse('Bad request: the "system" role can only be used once, as the first message', "messages")
        _check_calls(query, message, position)
        _check_content(query, message, position)
        answers = answers or role == "tool"
    if answers or query.settings.alternate_roles:
        _check_order(query, messages)


def _is_plain(message: JSON, position: int) -> bool:
    """Whether a message is a text and no more, of one of the two who talk or of the system that lets them."""
    if type(message) is not dict or len(message) != 2 or type(message.get("content")) is not str:
        return False
    role = message.get("role")
    return role == "user" or role == "assistant" or (role == "system" and not position)


def _roles(query: Query) -> tuple[str, ...]:
    return (*_ROLES, "developer") if query.family == "gpt" else _ROLES


def _check_calls(query: Query, message: dict[str, JSON], position: int) -> None:
    role = message["role"]
    calls = message.get("tool_calls")
    if calls and role != "assistant":
        raise refuse('Bad request: tool_calls are only allowed in messages with role "assistant"', "messages")
    for call in calls or ():
        _check_call(query, call, f"messages[{position}].tool_calls")
    answered = message.get("tool_call_id")
    if role == "tool" and not answered:
        raise refuse(f'Bad request: messages[{position}] with role "tool" needs a tool_call_id', "messages")
    if role != "tool" and answered:
        raise refuse('Bad request: tool_call_id is only allowed in messages with role "tool"', "messages")


def _check_call(query: Query, call: JSON, where: str) -> None:
    if not isinstance(call, dict) or not call.get("id"):
        raise refuse(f"Bad request: {where} need an id", "messages")
    if call.get("type") != "function":
        raise refuse(f'Bad request: the only supported type of {where} is "function"', "messages")
    function = call.get("function")
    if not isinstance(function, dict) or not function.get("name"):
        raise refuse(f"Bad request: {where} need a function with a name", "messages")
    if function.get("arguments") is None:
        raise refuse(f"Bad request: {where} need a function with arguments", "messages")
    check_cache_control(query, call)
    signature = any(name in call for name in ("thoughtSignature", "thought_signature", "extra_content"))
    if query.traits.get("thought_signature") and not signature:
        name = function["name"]
        raise refuse(f"Function call is missing a thought_signature in functionCall parts. Function call: {name}")


def check_cache_control(query: Query, holder: dict[str, JSON]) -> None:
    """``cache_control`` is a string in the reference and an object everywhere else."""
    value = holder.get("cache_control")
    allowed = query.settings.cache_control
    if isinstance(value, str) and allowed == "object":
        raise mistyped("cache_control", OBJECT, value)
    if isinstance(value, dict) and allowed == "string":
        raise mistyped("cache_control", STRING, value)


def _check_content(query: Query, message: dict[str, JSON], position: int) -> None:
    content = message.get("content")
    if message.get("tool_calls"):
        if content and query.settings.strict_tool_call_content:
            raise refuse("Bad request: a message with tool_calls must not have content", "messages")
    elif content is None:
        raise refuse(f"Bad request: messages[{position}].content is required", "messages")
    elif query.family == "claude" and content in ("", []):
        raise refuse("messages: text content blocks must be non-empty", "messages")
    check_cache_control(query, message)
    for part in content if isinstance(content, list) else ():
        _check_part(query, part)


def _check_part(query: Query, part: JSON) -> None:
    if not isinstance(part, dict):
        raise mistyped("messages.content", Struct(), part)
    kind = part.get("type")
    if kind == "text":
        text = part.get("text")
        if not isinstance(text, str):
            raise refuse('Bad request: a content part of type "text" needs a text', "messages")
        if query.family == "claude" and not text:
            raise refuse("messages: text content blocks must be non-empty", "messages")
    elif kind in _MEDIA:
        _check_media(query, part, str(kind))
    elif kind != "reasoning":
        raise refuse(f"Bad request: unsupported content part type {kind!r}", "messages")
    check_cache_control(query, part)


def _check_media(query: Query, part: dict[str, JSON], kind: str) -> None:
    """Pictures are for models that see; sounds and films for Gemini."""
    heard = kind in ("input_audio", "audio_url", "video_url")
    if not query.traits.get("vision") or (heard and query.family != "gemini"):
        name = query.deployment.name
        raise refuse(f"Bad request: {name} does not support content parts of type {kind!r}", "messages")
    if kind != "image_url":
        return
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else None
    if not isinstance(url, str) or not url.startswith(("http://", "https://", "data:")):
        raise refuse("Bad request: image_url.url must be an http(s) URL or a data URI", "messages")


def _check_order(query: Query, messages: list[JSON]) -> None:
    previous = None
    for message in messages:
        role = message["role"]
        if role == "tool":
            _check_result(query, previous)
        previous = message
    if query.settings.alternate_roles:
        roles = [m["role"] for m in messages if m["role"] not in ("system", "developer")]
        if roles != [("user", "assistant")[i % 2] for i in range(len(roles))] or len(roles) % 2 == 0:
            raise refuse("Bad request: roles must alternate between user and assistant and end with user", "messages")


def _check_result(query: Query, previous: JSON) -> None:
    """A tool's result follows the call; open models take no second one after it. Source: litellm splits them."""
    if previous is not None and previous["role"] == "tool":
        if query.settings.one_tool_result and query.family in ("open", "gpt-oss"):
            raise refuse("Bad request: only one tool message may follow a message with tool_calls", "messages")
    elif previous is None or not previous.get("tool_calls"):
        text = 'Bad request: a message with role "tool" must follow a message with tool_calls'
        raise refuse(text, "messages")
