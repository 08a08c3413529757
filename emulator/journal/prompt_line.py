"""Find the first line of a request's prompt, by which people tell calls apart in the console and in lists.

``core/conversation.py`` reads whole messages.
"""

from __future__ import annotations

from collections.abc import Iterator

from emulator.core.json import JSON, parse_json

_MAX_BODY = 64 * 1024  # bytes; longer bodies are not parsed for a line
_MAX_LINE = 200  # characters
_FIELDS = ("messages", "contents", "input", "inputs", "prompt", "text_input", "query", "text")


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
    for name in _FIELDS:
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
