"""Encode server-sent events (SSE) and JSON strings.

The renderers of all vendors encode streams and texts by it.
"""

from collections.abc import Callable

from emulator.core.cache import BoundedCache
from emulator.core.json import JSON, dump_json

DONE = b"data: [DONE]\n\n"
_MAX_TEXT = 64  # characters of a cached text


def encode_event(value: JSON) -> bytes:
    """Return one event: ``data: ``, compact JSON, a blank line."""
    return b"data: %b\n\n" % dump_json(value)


class _QuoteCache(BoundedCache[str, bytes]):
    """Cache of texts encoded as JSON; cleared when full."""

    max_entries = 1 << 14

    def __missing__(self, text: str) -> bytes:
        quoted = dump_json(text)
        return self.keep(text, quoted) if len(text) <= _MAX_TEXT else quoted


encode_string: Callable[[str], bytes] = _QuoteCache().__getitem__
"""Encode a text as a JSON string in UTF-8. Tokens repeat, so the result is cached."""
