"""Read messages and prompt out of a request body, whichever vendor's format it has.

Tests read them of recorded requests, and functions that write replies of the call that they answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from emulator.core.json import JSON

if TYPE_CHECKING:
    Body = Any  # tests index it without a check of each type
else:
    Body = JSON

_TEXTS = ("text", "content", "parts", "input_text", "output_text")


def list_messages(body: JSON) -> list[dict[str, Body]]:
    """Return the messages as the client sent them: chat messages, Responses items or Gemini contents."""
    if not isinstance(body, Mapping):
        return []
    for name in ("messages", "input", "contents", "inputs"):
        found = body.get(name)
        if isinstance(found, list) and found and all(isinstance(item, dict) for item in found):
            return [dict(item) for item in found if isinstance(item, dict)]
    return []


def find_prompt(body: JSON) -> str | None:
    """Return the text of the last message of the user, or the last prompt or input; ``None`` without any."""
    for message in reversed(list_messages(body)):
        if message.get("role") == "user":
            return _join(message)
    if not isinstance(body, Mapping):
        return None
    for name in ("prompt", "input", "inputs"):
        found = body.get(name)
        last = found[-1] if isinstance(found, list) and found else found
        if isinstance(last, str):
            return last
    return None


def _join(node: object) -> str:
    """Return the text of a message or of its parts."""
    if isinstance(node, str):
        return node
    if isinstance(node, list):
        return "".join(map(_join, node))
    if isinstance(node, dict):
        return next((_join(node[name]) for name in _TEXTS if name in node), "")
    return ""
