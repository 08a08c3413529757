"""Server-sent events, and JSON text for templates that are filled in token by token."""

from functools import lru_cache

from emulator.core.json import JSON, dump_json

DONE = b"data: [DONE]\n\n"


def frame(value: JSON) -> bytes:
    """One event: ``data: `` and compact JSON and a blank line."""
    return b"data: %b\n\n" % dump_json(value)


@lru_cache(maxsize=65536)
def quote(text: str) -> bytes:
    """``text`` as a JSON string in UTF-8; tokens repeat, so remembering them pays."""
    return dump_json(text)
