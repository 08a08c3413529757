"""The parts of an answer that faults know by name, in the field names of all vendors."""

from __future__ import annotations

import re
from collections.abc import Callable

from emulator.core.delivery import Delivery
from emulator.faults.json_text import KeyPath, Member, find_members

# TGI and MindIE count under `details`.
_COUNTS = frozenset({"generated_tokens", "prompt_tokens", "input_length"})
_FINISH = frozenset({"finish_reason", "stop_reason"})
_TYPES = frozenset({"response.completed", "response.incomplete", "response.failed", "message_stop"})
_DONE = re.compile(rb'\A\s*data: ?\[DONE\]|"type": ?"message_stop"')


def is_usage(path: KeyPath) -> bool:
    """The token counts: a member ``usage``, or the counts among ``details``."""
    return path[-1] == "usage" or (path[-1] in _COUNTS and "details" in path)


def is_finish(path: KeyPath) -> bool:
    """Why the answer ends."""
    return path[-1] in _FINISH


def is_id(path: KeyPath) -> bool:
    """The answer's own id, not that of a tool call or an item."""
    return path in (("id",), ("response", "id"), ("message", "id"), ("response_id",))


def is_done(data: bytes) -> bool:
    """An event that says that the stream is over."""
    return _DONE.search(data) is not None


def find_usage(delivery: Delivery) -> int:
    """Where the final token counts begin: their event, or in an answer in one piece their member."""
    places = _find_members(delivery, lambda member, value: is_usage(member.path) and value != b"null")
    if delivery.streamed:
        return places[-1] if places else delivery.size
    return places[0] if places else delivery.size


def find_finish(delivery: Delivery) -> int:
    """Where the answer says why it ends: the event, or in an answer in one piece the member."""
    says = _ends_stream if delivery.streamed else _ends
    places = _find_members(delivery, says)
    return places[0] if places else find_done(delivery)


def find_done(delivery: Delivery) -> int:
    """Where the mark of the end begins; the end of the body if it has none."""
    body = delivery.body
    if not delivery.streamed:
        return len(body)
    return next((span.start for span in delivery.events() if is_done(body[span.start : span.end])), len(body))


def _ends(member: Member, value: bytes) -> bool:
    return is_finish(member.path) and value != b"null"


def _ends_stream(member: Member, value: bytes) -> bool:
    """The event has a finish reason, is TGI's last, which repeats the whole text, or has the type of a last one."""
    if member.path == ("type",):
        return value.strip(b'"').decode() in _TYPES
    return value != b"null" and (is_finish(member.path) or member.path[-1] == "generated_text")


def _find_members(delivery: Delivery, wanted: Callable[[Member, bytes], bool]) -> list[int]:
    """Where the events of a stream with such a member begin, or in an answer in one piece the members themselves."""
    places = []
    body = delivery.body
    for span in delivery.events():
        data = body[span.start : span.end]
        found = [member for member in find_members(data) if wanted(member, data[member.value : member.end])]
        if found:
            places.append(span.start if delivery.streamed else span.start + min(member.start for member in found))
    return places
