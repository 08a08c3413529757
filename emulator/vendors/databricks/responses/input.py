"""Parse ``input`` of a Responses request: convert its items and content blocks to messages.

Sources: Databricks, "Foundation model REST API reference", Responses API; databricks-langchain and databricks-ai-bridge
for what the service refuses (``status``, long ids, ids of the wrong kind).
"""

from emulator.core.json import JSON, Object, as_text, dump_text
from emulator.core.requests import Message, ToolCall
from emulator.protocols.openai.responses import OTHER_ITEMS
from emulator.vendors.databricks.decoder import (
    ANY,
    OBJECT,
    STRING,
    STRINGS,
    Many,
    Shape,
    error_parameter,
    error_type,
    fits,
)
from emulator.vendors.databricks.request import ParsedRequest
from emulator.vendors.databricks.responses.custom_tools import CUSTOM_ITEMS, parse_custom_item

_MAX_ID = 64
_ROLES = ("user", "assistant", "system", "developer")
_LIST = Many(ANY)
# Fields of blocks and items: name, shape, and whether it is required.
_BLOCKS: dict[str, tuple[tuple[str, Shape, bool], ...]] = {
    "input_text": (("text", STRING, True),),
    "output_text": (("text", STRING, True), ("annotations", _LIST, False)),
    "input_image": (("image_url", STRING, True),),
    "input_file": (("file_id", STRING, False), ("filename", STRING, False), ("file_data", STRING, False)),
    "refusal": (("refusal", STRING, True),),
}
_CALL = (("call_id", STRING, True), ("name", STRING, True), ("arguments", ANY, True))
_RESULT = (("call_id", STRING, True), ("output", ANY, True))
_PREFIXES = {"message": "msg_", "function_call": "fc_"}
# Items of tools and features that are accepted and ignored.
_IGNORED = frozenset(OTHER_ITEMS) - {
    "computer_call", "computer_call_output", "file_search_call", "code_interpreter_call", "compaction",
}  # fmt: skip


def parse_input(parsed: ParsedRequest) -> tuple[Message, ...]:
    """Return the conversation of ``instructions`` and ``input``."""
    messages: list[Message] = []
    if instructions := parsed.get_text("instructions"):
        messages.append(Message(role="system", text=instructions))
    given = parsed.body["input"]
    if isinstance(given, str):
        return (*messages, Message(role="user", text=given))
    for position, item in enumerate(parsed.get_array("input")):
        messages += _parse_item(parsed, item, f"input[{position}]")
    return tuple(messages)


def _parse_item(parsed: ParsedRequest, item: JSON, where: str) -> list[Message]:
    if not isinstance(item, dict):
        raise error_type(where, OBJECT, item)
    kind = item.get("type")
    if kind is None and ("role" in item or "content" in item):
        kind = "message"
    if not isinstance(kind, str):
        raise error_parameter(f"Missing required parameter: '{where}.type'.", where)
    _validate_envelope(item, kind, where)
    if kind == "message":
        return _parse_message(parsed, item, where)
    if kind in ("function_call", "function_call_output"):
        return [_parse_call(parsed, item, kind, where)]
    if kind in CUSTOM_ITEMS and parsed.settings.responses_tool_types == "known":
        return [parse_custom_item(item, kind, where)]
    if kind in _IGNORED and parsed.settings.responses_tool_types == "known":
        return []
    raise error_parameter(f"Invalid value: '{kind}'. It is not a supported type of an input item.", f"{where}.type")


def _validate_envelope(item: Object, kind: str, where: str) -> None:
    if item.get("status") is not None:
        raise error_parameter(f"Unknown parameter: '{where}.status'.", f"{where}.status")
    name = item.get("id")
    if name is None:
        return
    if not isinstance(name, str):
        raise error_type(f"{where}.id", STRING, name)
    if len(name) > _MAX_ID:
        text = (
            f"Invalid '{where}.id': string too long. Expected a string with maximum length {_MAX_ID},"
            f" but got a string with length {len(name)} instead."
        )
        raise error_parameter(text, f"{where}.id")
    prefix = _PREFIXES.get(kind, "")
    if not name.startswith(prefix):
        text = f"Invalid '{where}.id': '{name}'. Expected an ID that begins with '{prefix.rstrip('_')}'."
        raise error_parameter(text, f"{where}.id")


def _parse_message(parsed: ParsedRequest, item: Object, where: str) -> list[Message]:
    role = item.get("role")
    roles = _ROLES if parsed.settings.responses_system_roles else _ROLES[:2]
    if not isinstance(role, str) or role not in roles:
        raise error_parameter(f"Bad request: {where}.role must be one of {', '.join(roles)}", f"{where}.role")
    content = item.get("content")
    if content is None:
        raise error_parameter(f"Missing required parameter: '{where}.content'.", f"{where}.content")
    if isinstance(content, str):
        return [Message(role=role, text=content)]
    if not isinstance(content, list):
        raise error_type(f"{where}.content", STRINGS, content)
    texts: list[str | None] = []
    others: list[Message] = []
    for position, block in enumerate(content):
        inner = f"{where}.content[{position}]"
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in ("function_call", "function_call_output"):
            others.append(_parse_call(parsed, block, kind, inner))
        else:
            texts.append(_parse_block(block, kind, inner))
    if others and not texts:
        return others
    return [Message(role=role, text="\n".join(filter(None, texts)), media=texts.count(None)), *others]


def _parse_block(block: JSON, kind: JSON, where: str) -> str | None:
    """Return a block's text; ``None`` for an image or file."""
    if not isinstance(block, dict):
        raise error_type(where, OBJECT, block)
    fields = _BLOCKS.get(kind) if isinstance(kind, str) else None
    if fields is None:
        names = ", ".join(f"'{name}'" for name in _BLOCKS)
        raise error_parameter(f"Invalid value for '{where}.type'. Supported values are: {names}.", f"{where}.type")
    _validate_fields(block, fields, where)
    if kind == "input_file" and not (block.get("file_id") or block.get("file_data")):
        raise error_parameter(f"Missing required parameter: '{where}.file_data'.", where)
    if kind in ("input_image", "input_file"):
        _validate_source(block, where)
        return None
    return str(block.get("text", block.get("refusal", "")))


def _validate_source(block: Object, where: str) -> None:
    """Validate sources: an image is a URL or a data URL; a file's data is a data URL."""
    url = block.get("image_url")
    if url is not None and not as_text(url).startswith(("http://", "https://", "data:")):
        raise error_parameter(
            f"Invalid '{where}.image_url'. Expected a valid URL, but got a value with an invalid format."
        )
    data = block.get("file_data")
    if data is not None and not as_text(data).startswith("data:"):
        raise error_parameter(f"Invalid '{where}.file_data'. Expected a base64-encoded data URL.")


def _validate_fields(holder: Object, fields: tuple[tuple[str, Shape, bool], ...], where: str) -> None:
    for name, shape, is_required in fields:
        value = holder.get(name)
        if value is None:
            if is_required:
                raise error_parameter(f"Missing required parameter: '{where}.{name}'.", f"{where}.{name}")
        elif not fits(value, shape):
            raise error_type(f"{where}.{name}", shape, value)


def _parse_call(parsed: ParsedRequest, item: Object, kind: str, where: str) -> Message:
    """Parse a call or its output; arguments and outputs are text or JSON."""
    if kind == "function_call" and parsed.settings.require_function_call_id and not item.get("id"):
        raise error_parameter(f"Missing required parameter: '{where}.id'.", f"{where}.id")
    field = "arguments" if kind == "function_call" else "output"
    _validate_fields(item, _CALL if kind == "function_call" else _RESULT, where)
    value = item[field]
    if not isinstance(value, str | dict) and not (field == "output" and isinstance(value, list)):
        raise error_type(f"{where}.{field}", STRING, value)
    text = value if isinstance(value, str) else dump_text(value)
    call_id = as_text(item["call_id"])
    if kind == "function_call":
        return Message(role="assistant", tool_calls=(ToolCall(call_id, as_text(item["name"]), text),))
    return Message(role="tool", text=text, tool_call_id=call_id)
