"""Validate ``messages`` of a chat: a role, and either content or tool calls.

Source: text-generation-inference, ``router/src/lib.rs`` (Message).
"""

from collections.abc import Sequence

from emulator.core.json import JSON, Object, as_array, as_object, as_text
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.decoder import Field
from emulator.vendors.tgi.images import join_chunks
from emulator.vendors.tgi.json_positions import Repeating
from emulator.vendors.tgi.rust_text import format_json
from emulator.vendors.tgi.tools import TOOL_CALL, show_call

_URL = serde.struct("Url", (Field("url", serde.string, required=True),))
_CHUNKS = {
    "text": (("type", "text"), serde.struct("MessageChunk", (Field("text", serde.string, required=True),))),
    "image_url": (("type", "image_url"), serde.struct("MessageChunk", (Field("image_url", _URL, required=True),))),
}


def _parse_chunk(value: JSON) -> Object:
    """Parse one part; its tag ``type`` is the first item where it is a list."""
    kind = value.get("type") if isinstance(value, dict) else value[0] if isinstance(value, list) and value else None
    if not isinstance(kind, str) or kind not in _CHUNKS:
        raise serde.Mismatch("data did not match any variant of untagged enum MessageContent")
    names, parse = _CHUNKS[kind]
    part = name_items(value, names)
    parse(part)
    return {**part, "image_url": name_items(part["image_url"], ("url",))} if kind == "image_url" else part


def name_items(value: JSON, names: Sequence[str]) -> Object:
    """Return a struct that was read as a list by the names of its fields."""
    return value if isinstance(value, dict) else dict(zip(names, as_array(value), strict=False))


def _parse_call(value: JSON) -> Object:
    TOOL_CALL(value)
    call = name_items(value, ("id", "type", "function"))
    return {**call, "function": name_items(call["function"], ("description", "name", "arguments"))}


def format_message(message: Object) -> str:
    """Format what the template gets of a parsed message: its text, with images as Markdown, or its tool calls.

    Source: text-generation-inference, ``router/src/lib.rs:1294-1319`` (TextMessage).
    """
    content = join_chunks(message.get("content"))
    calls = message.get("tool_calls")
    if isinstance(content, str):
        return content
    shown: list[JSON] = []
    for call in map(as_object, as_array(calls)):
        shown.append({"id": call["id"], **show_call(as_text(call["type"]), as_object(call["function"]))})
    return format_json(shown)


_CONTENT: serde.Type[object] = serde.untagged("MessageContent", serde.string, serde.sequence(_parse_chunk))
_MESSAGE = serde.struct(
    "Message", (Field("role", serde.string, required=True), Field("name", serde.option(serde.string))), flat=False
)
_BODY = serde.untagged(
    "MessageBody",
    serde.struct("Content", (Field("content", _CONTENT, required=True),)),
    serde.struct("Tool", (Field("tool_calls", serde.sequence(_parse_call), required=True),)),
    flattened=True,
)


def message(value: JSON) -> Object:
    """Validate one message and return it; tool calls next to content are neither validated nor kept."""
    found = value if isinstance(value, dict) else {}
    plain = isinstance(found.get("role"), str) and isinstance(found.get("content"), str)
    if not plain or "name" in found or isinstance(found, Repeating):
        _MESSAGE(value)
    if plain and not isinstance(found, Repeating):
        return {**found, "tool_calls": None} if "tool_calls" in found else found
    body: Object = dict(_BODY(value))  # type: ignore[arg-type]  # its fields are JSON
    return {**found, "tool_calls": None, **body}
