"""Read messages and prompt out of a request body, whichever vendor's format it has.

Tests read them of recorded requests, and functions that write replies of the call that they answer. The console and
lists show the first line of the prompt, which tells calls apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from emulator.core.json import JSON, parse_json

if TYPE_CHECKING:
    Body = Any  # tests index it without a check of each type
else:
    Body = JSON

_TEXTS = ("text", "content", "parts", "input_text", "output_text")
_MAX_BODY = 64 * 1024  # bytes; longer bodies are not parsed for a line
_MAX_LINE = 200  # characters
_PROMPT_MEMBERS = ("messages", "contents", "input", "inputs", "prompt", "text_input", "query", "text")


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


def find_prompt_line(body: bytes) -> str:
    """Return the first line of the user's last message, or of the prompt or input; empty if there is none."""
    if not body.startswith(b"{") or len(body) > _MAX_BODY:
        return ""
    try:
        document = parse_json(body)
    except ValueError:
        return ""
    if not isinstance(document, dict):
        return ""
    for name in _PROMPT_MEMBERS:
        lines = (line.strip() for text in _find_texts(document.get(name)) for line in text[:4096].splitlines())
        if line := next(filter(None, lines), ""):
            return line[:_MAX_LINE]
    return ""


def _find_texts(value: JSON) -> Iterator[str]:
    """Yield the texts of a prompt, a list of messages, a content or its parts; of messages those of the last user."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name in ("content", "parts", "text", "data"):
            yield from _find_texts(value.get(name))
    elif isinstance(value, list):
        asked = [item for item in value if isinstance(item, dict) and item.get("role") == "user"]
        for item in asked[-1:] or value[:8]:
            yield from _find_texts(item)
