"""Parse the common chat request: texts, a token limit and a stream flag.

Every vendor accepts what these functions parse, with the same result. Any other request gets an empty result and
goes to the vendor's full parser.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeVar

from emulator.core.cache import BoundedCache
from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.http import Request
from emulator.core.json import Object
from emulator.core.requests import Message, Sampling

FIELDS = frozenset({"model", "messages", "max_tokens", "stream"})
ROLES = frozenset({"system", "user", "assistant"})
_MAX_INTEGER = 2**31 - 1  # integer limit of every decoder

_MAX_CACHED = 1024
_SPACED = re.compile(rb'"[ \t\r\n]+:')

K = TypeVar("K")
V = TypeVar("V")
Texts = tuple[Message, ...]


def parse_body(request: Request, most: int = INLINE_BYTES) -> Object | None:
    """Return the members of a short body that has no others than :data:`FIELDS`; ``None`` for any other body."""
    if len(request.body) > min(most, INLINE_BYTES):
        return None
    try:
        body = request.json()
    except ValueError:
        return None
    if type(body) is not dict or not FIELDS.issuperset(body) or type(body.get("model", "")) is not str:
        return None
    return body


def parse_limit(body: Object, most: int | None = None) -> int | None:
    """Return ``max_tokens`` up to ``most``; 0 if absent, ``None`` if the full parser must decide."""
    wanted = body.get("max_tokens", 0)
    if type(wanted) is not int or (wanted == 0 and "max_tokens" in body):
        return None
    return wanted if 0 <= wanted <= (_MAX_INTEGER if most is None else most) else None


def parse_texts(body: Object) -> Texts:
    """Return the messages: optional system texts, then user and assistant texts, a user's last; else ``()``."""
    parsed: list[Message] = []
    role = None
    messages = body.get("messages")
    for message in messages if type(messages) is list else ():
        if type(message) is not dict or len(message) != 2:
            return ()
        role, content = message.get("role"), message.get("content")
        if type(content) is not str or not content:
            return ()
        if not (role == "user" or role == "assistant" or (role == "system" and not parsed)):
            return ()
        parsed.append(Message(role, content))
    return tuple(parsed) if role == "user" else ()


def has_each_key_once(text: bytes, count: int) -> bool:
    """Return whether a JSON text has exactly ``count`` keys; false if in doubt."""
    keys = text.count(b'":')
    return keys == count and (keys == text.count(b":") or _SPACED.search(text) is None)


class Samplings(BoundedCache[int | None, Sampling]):
    """Cache of the default sampling by token limit; cleared when full."""

    max_entries = _MAX_CACHED

    def __init__(self, default: Sampling) -> None:
        super().__init__()
        self._usual = default

    def __missing__(self, limit: int | None) -> Sampling:
        return self.keep(limit, replace(self._usual, max_tokens=limit))


SAMPLINGS = Samplings(Sampling())


class FastParserCache(BoundedCache[K, V]):
    """Cache of parsers; cleared when full."""

    max_entries = _MAX_CACHED
