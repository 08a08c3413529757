"""Validate ``messages`` of a chat: a role, and either content or tool calls.

Source: text-generation-inference, ``router/src/lib.rs`` (Message).
"""

from emulator.core.json import JSON, Object
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.decoder import Field
from emulator.vendors.tgi.json_positions import Repeating
from emulator.vendors.tgi.tools import TOOL_CALL

_URL = serde.struct("Url", (Field("url", serde.string, required=True),))
_CHUNKS = {
    "text": serde.struct("MessageChunk", (Field("text", serde.string, required=True),)),
    "image_url": serde.struct("MessageChunk", (Field("image_url", _URL, required=True),)),
}


def _parse_chunk(value: JSON) -> serde.Members:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind not in ("text", "image_url"):
        raise serde.Mismatch("data did not match any variant of untagged enum MessageContent")
    return _CHUNKS[kind](value)


_CONTENT: serde.Type[object] = serde.untagged("MessageContent", serde.string, serde.sequence(_parse_chunk))
_MESSAGE = serde.struct(
    "Message", (Field("role", serde.string, required=True), Field("name", serde.option(serde.string)))
)
_BODY = serde.untagged(
    "MessageBody",
    serde.struct("Content", (Field("content", _CONTENT, required=True),)),
    serde.struct("Tool", (Field("tool_calls", serde.sequence(TOOL_CALL), required=True),)),
)


def message(value: JSON) -> Object:
    """Validate one message and return it; tool calls next to content are neither validated nor kept."""
    found = value if isinstance(value, dict) else {}
    plain = isinstance(found.get("role"), str) and isinstance(found.get("content"), str)
    if not plain or "name" in found or isinstance(found, Repeating):
        _MESSAGE(value)
    plain = (plain and not isinstance(found, Repeating)) or "content" in _BODY(value)
    return {**found, "tool_calls": None} if plain and "tool_calls" in found else found
