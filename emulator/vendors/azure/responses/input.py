"""Parse ``input`` of a Responses request, the items of a conversation, to messages.

Source: openai-python, ``types/responses/response_input_item_param.py``.
"""

from collections.abc import Sequence

from emulator.core.errors import EmulatedError
from emulator.core.json import JSON, Object, as_array, dump_text
from emulator.core.requests import Message, ToolCall
from emulator.core.rng import draw_hex
from emulator.protocols.openai.responses import OTHER_ITEMS
from emulator.vendors.azure.errors import refusals

Place = tuple[str | int, ...]

_ROLES = ("assistant", "system", "developer", "user")
_TEXTS = ("input_text", "output_text", "summary_text")
_PARTS = (
    "input_text", "input_image", "output_text", "refusal", "input_file", "computer_screenshot", "summary_text",
)  # fmt: skip
_MEDIA = ("input_image", "input_file", "input_audio")
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_KINDS = ("message", *_CALLS, *_OUTPUTS, *OTHER_ITEMS)
_PREFIXES = {
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "reasoning": "rs",
}


def list_items(given: str | Sequence[Object]) -> list[Object]:
    """Return ``input`` as items; a text becomes a message."""
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": given}]}]
    return [_complete(item) for item in given]


def _complete(item: Object) -> Object:
    """Return a message in the form in which the service lists it."""
    if item.get("type", "message") != "message":
        return item
    content = item.get("content")
    if isinstance(content, str):
        kind = "output_text" if item.get("role") == "assistant" else "input_text"
        content = [
            {"type": kind, "text": content, **({"annotations": [], "logprobs": []} if kind == "output_text" else {})}
        ]
    return {"type": "message", **item, "content": content}


def identify(items: Sequence[Object], key: bytes) -> list[Object]:
    """Return items with the ids and states that the service assigns."""
    return [_identify(item, key, number) for number, item in enumerate(items)]


def _identify(item: Object, key: bytes, number: int) -> Object:
    kind = item.get("type")
    prefix = _PREFIXES.get(str(kind), "msg")
    given = item.get("id")
    drawn = f"{prefix}_{draw_hex(key, 'input', number)}{draw_hex(key, 'input', number, 1, digits=16)}"
    name = given if isinstance(given, str) and given else drawn
    state = {"status": "completed"} if kind in ("message", *_CALLS, *_OUTPUTS) else {}
    fields: Object = {field: value for field, value in item.items() if value is not None and field != "id"}
    if isinstance(fields.get("content"), list):
        fields["content"] = [_complete_part(part) for part in as_array(fields["content"])]
    return {"id": name, **state, **fields}


def _complete_part(part: JSON) -> JSON:
    """Return a part in the form in which the service lists it: an image has a detail."""
    if isinstance(part, dict) and part.get("type") == "input_image":
        return {**part, "detail": part.get("detail") or "auto"}
    return part


def parse_items(items: Sequence[Object]) -> list[Message]:
    """Return the conversation."""
    return [message for position, item in enumerate(items) for message in _parse_item(item, ("input", position))]


def validate_calls(items: Sequence[Object]) -> None:
    """Raise for a call without output or an output without a call.

    Source: openai/openai-python issue threads.
    """
    waiting: dict[str, str] = {}
    for item in items:
        kind, name = str(item.get("type")), str(item.get("call_id"))
        if kind in _CALLS:
            waiting[name] = kind
        elif kind in _OUTPUTS and waiting.pop(name, None) is None:
            what = kind.replace("_", " ")
            raise refusals.contradicts(f"No tool call found for {what} with call_id {name}.", "input")
    if waiting:
        name, kind = next(iter(waiting.items()))
        raise refusals.contradicts(f"No tool output found for {kind.replace('_', ' ')} {name}.", "input")


def _parse_item(item: Object, place: Place) -> list[Message]:
    kind = None if item.get("type") is None else _require(item, "type", place)
    if kind == "message":
        return [_parse_message(item, place)]
    if kind in _CALLS:
        arguments = _require(item, _CALLS[kind], place)
        call = ToolCall(_require(item, "call_id", place), _require(item, "name", place), arguments)
        return [Message(role="assistant", tool_calls=(call,))]
    if kind in _OUTPUTS:
        return [Message(role="tool", text=_parse_output(item, place), tool_call_id=_require(item, "call_id", place))]
    if kind not in OTHER_ITEMS:
        raise _error_enum(kind, (*place, "type"), _KINDS)
    return []


def _require(item: Object, name: str, place: Place) -> str:
    value = item.get(name)
    if isinstance(value, str):
        return value
    raise _error_missing((*place, name), item) if value is None else _error_type((*place, name), value, "string_type")


def _parse_output(item: Object, place: Place) -> str:
    output = item.get("output")
    if output is None:
        raise _error_missing((*place, "output"), item)
    return output if isinstance(output, str) else dump_text(output)


def _parse_message(item: Object, place: Place) -> Message:
    role = item.get("role")
    if role not in _ROLES:
        raise _error_enum(role, (*place, "role"), _ROLES)
    content = item.get("content")
    if not isinstance(content, list):
        raise (
            _error_missing((*place, "content"), item) if content is None else _error_type((*place, "content"), content)
        )
    parts = [_parse_part(part, (*place, "content", position)) for position, part in enumerate(content)]
    return Message(role=str(role), text="\n".join(filter(None, parts)), media=parts.count(None))


def _parse_part(part: JSON, place: Place) -> str | None:
    """Return the text of a part; ``None`` for an image, a file or audio."""
    if not isinstance(part, dict):
        raise _error_type(place, part, "dict_type")
    kind = part.get("type")
    if kind in _TEXTS:
        return _require(part, "text", place)
    if kind == "refusal":
        return _require(part, "refusal", place)
    if kind not in _MEDIA:
        raise _error_enum(kind, (*place, "type"), _PARTS)
    url = part.get("image_url")
    if isinstance(url, str) and not url.startswith(("http://", "https://", "data:")):
        text = (
            f"Invalid '{_format_path(place)}.image_url'. Expected a valid URL, but got a value with an invalid format."
        )
        raise refusals.contradicts(text, f"{_format_path(place)}.image_url", "invalid_value")
    return None


def _format_path(place: Place) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def _error_missing(place: Place, item: Object) -> EmulatedError:
    return refusals.breaks_schema([{"type": "missing", "loc": place, "msg": "Field required", "input": item}])


def _error_type(place: Place, value: JSON, kind: str = "list_type") -> EmulatedError:
    return refusals.breaks_schema([{"type": kind, "loc": place, "msg": "Input has the wrong type", "input": value}])


def _error_enum(value: JSON, place: Place, known: Sequence[str]) -> EmulatedError:
    if value is None:
        return _error_missing(place, {})
    expected = ", ".join([f"'{name}'" for name in known[:-1]]) + f", and '{known[-1]}'"
    context = {"expected": expected}
    return refusals.breaks_schema(
        [{"type": "enum", "loc": place, "msg": f"Input should be {expected}", "input": value, "ctx": context}]
    )
