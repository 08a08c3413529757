"""Read text, token counts and the role of each event out of recorded responses, whatever the vendor's format.

Replays, ``emulator diff``, ``emulator import`` and ``emulator fit`` read recordings by it.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from emulator.core.http import Mark
from emulator.core.json import JSON, Object, parse_json

_EVENT_END = re.compile(rb"\r?\n\r?\n")
_COUNTS = (
    ("prompt_tokens", ("prompt_tokens", "input_tokens", "prefill_tokens", "promptTokenCount")),
    ("completion_tokens", ("completion_tokens", "output_tokens", "generated_tokens", "candidatesTokenCount")),
)
NO_COUNTS: Mapping[str, int] = MappingProxyType({})


class EventContent(NamedTuple):
    """Content of one event: the text it adds, its counts, and its role."""

    text: str
    counts: Mapping[str, int]
    mark: Mark


def split_events(data: bytes) -> list[bytes]:
    """Split a stream after the empty line of each event; joined, the parts are the stream."""
    if b"\r" not in data:  # ten times as fast as the expression
        *whole, rest = data.split(b"\n\n")
        return [*[part + b"\n\n" for part in whole], *([rest] if rest else [])]
    parts, at = [], 0
    for found in _EVENT_END.finditer(data):
        parts.append(data[at : found.end()])
        at = found.end()
    return [*parts, data[at:]] if at < len(data) else parts


def read_event(event: bytes) -> EventContent:
    """Return the content of one event of a stream."""
    text, counts, mark = "", NO_COUNTS, Mark.PLAIN
    for line in event.splitlines():
        payload = line[5:].strip() if line.startswith(b"data:") else line.strip()
        if payload == b"[DONE]":
            mark |= Mark.DONE
        value = _parse_object(payload) if payload[:1] == b"{" else None
        if value:
            text += _read_text(value)
            if b"oken" in payload or b"\\u" in payload:  # of every name of a count; most events have none
                counts = {**counts, **read_counts(value)}
            if _has_usage(value):  # to join two enum members takes a microsecond
                mark |= Mark.USAGE
            if _is_last(value):
                mark |= Mark.FINISH
    return EventContent(text, counts, mark)


def _parse_object(payload: bytes) -> Object:
    """Parse a JSON object; return an empty one in place of anything else."""
    try:
        value = parse_json(payload)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def read_whole(body: bytes) -> EventContent:
    """Return the content of a response that is one JSON document."""
    try:
        value = parse_json(body)
    except ValueError:
        return EventContent("", NO_COUNTS, Mark.PLAIN)
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return EventContent("", NO_COUNTS, Mark.PLAIN)
    return EventContent(_read_text(value), read_counts(value), Mark.PLAIN)


def _read_text(value: Object) -> str:
    kind = value.get("type")
    delta = value.get("delta")
    if isinstance(delta, str):  # Responses API
        return delta if kind == "response.output_text.delta" else ""
    if isinstance(delta, dict) and isinstance(delta.get("text"), str):  # Anthropic
        return str(delta["text"])
    for name in ("generated_text", "text_output"):
        if isinstance(value.get(name), str):
            return str(value[name])
    token = value.get("token")
    if isinstance(token, dict) and isinstance(token.get("text"), str):  # TGI
        return "" if token.get("special") is True else str(token["text"])
    return "".join(_read_choices(value))


def _read_choices(value: Object) -> Iterator[str]:
    for choice in _first(value.get("choices")):
        for member in (choice.get("delta"), choice.get("message")):
            if isinstance(member, dict):
                yield from _read_content(member.get("content"))
        if isinstance(choice.get("text"), str):
            yield str(choice["text"])
    yield from _read_candidates(value)


def _read_candidates(value: Object) -> Iterator[str]:
    """Yield the texts of formats without choices: Gemini, Responses, Anthropic."""
    for candidate in _first(value.get("candidates")):
        content = candidate.get("content")
        if isinstance(content, dict):
            yield from _read_content(content.get("parts"))
    for item in _items(value.get("output")):
        yield from _read_content(item.get("content"))
    if value.get("type") == "message":
        yield from _read_content(value.get("content"))


def _read_content(content: JSON) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in _items(content):
        if isinstance(part.get("text"), str):
            yield str(part["text"])


def _items(value: JSON) -> Iterator[Object]:
    return (item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict))


def _first(value: JSON) -> list[Object]:
    """Return the first of several alternatives, whose tokens are counted."""
    return [item for item in _items(value) if item.get("index", 0) == 0][:1]


def _list_usages(value: Object) -> Iterator[Object]:
    response = value.get("response")
    for holder in (value, response if isinstance(response, dict) else {}, value.get("details"), value.get("message")):
        if isinstance(holder, dict):
            yield holder
            for name in ("usage", "usageMetadata"):
                usage = holder.get(name)
                if isinstance(usage, dict):
                    yield usage


def read_counts(value: Object) -> dict[str, int]:
    """Return prompt and completion tokens, as far as a JSON document states them."""
    counts: dict[str, int] = {}
    for usage in _list_usages(value):
        for name, names in _COUNTS:
            for other in names:
                number = usage.get(other)
                if isinstance(number, int) and not isinstance(number, bool):
                    counts[name] = number
    return counts


def _has_usage(value: Object) -> bool:
    return isinstance(value.get("usage"), dict) or isinstance(value.get("usageMetadata"), dict)


def _is_last(value: Object) -> bool:
    choices = [*_items(value.get("choices")), *_items(value.get("candidates"))]
    if any(choice.get("finish_reason") or choice.get("finishReason") for choice in choices):
        return True
    return value.get("type") in ("message_delta", "response.completed") or isinstance(value.get("details"), dict)
