"""Server-sent events, and JSON text for templates that are filled in token by token."""

from collections.abc import Callable

from emulator.core.cache import Cache
from emulator.core.json import JSON, dump_json

DONE = b"data: [DONE]\n\n"
_MOST = 1 << 14  # texts that are remembered
_LONGEST = 64  # characters of one of them


def frame(value: JSON) -> bytes:
    """One event: ``data: `` and compact JSON and a blank line."""
    return b"data: %b\n\n" % dump_json(value)


class _Quoted(Cache[str, bytes]):
    """Texts as JSON; forgets them all once they are too many."""

    def __missing__(self, text: str) -> bytes:
        quoted = dump_json(text)
        if len(text) <= _LONGEST:
            if len(self) >= _MOST:
                self.clear()
            self[text] = quoted
        return quoted


quote: Callable[[str], bytes] = _Quoted().__getitem__
"""A text as a JSON string in UTF-8; tokens repeat, so remembering them pays."""
