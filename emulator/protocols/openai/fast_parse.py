"""The usual chat request of OpenAI's form: who said what, how many tokens the answer may have, whether it streams.

What is read here is read the same way by every vendor, and refused by none; whatever is not is left to the vendor's
own checks, and so is what only they can tell.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeVar

from emulator.core.cache import Cache
from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.http import Request
from emulator.core.json import Object
from emulator.core.requests import Message, Sampling

FIELDS = frozenset({"model", "messages", "max_tokens", "stream"})
ROLES = frozenset({"system", "user", "assistant"})
_BIGGEST = 2**31 - 1  # what every decoder takes for an integer

_MOST = 1024
_SPACED = re.compile(rb'"[ \t\r\n]+:')

K = TypeVar("K")
V = TypeVar("V")
Texts = tuple[Message, ...]


def read_body(request: Request, most: int = INLINE_BYTES) -> Object | None:
    """The members of a short body, if it has no others than :data:`FIELDS`."""
    if len(request.body) > min(most, INLINE_BYTES):
        return None
    try:
        body = request.json()
    except ValueError:
        return None
    if type(body) is not dict or not FIELDS.issuperset(body) or type(body.get("model", "")) is not str:
        return None
    return body


def read_limit(body: Object, most: int | None = None) -> int | None:
    """``max_tokens`` of no more than so many; 0 if it is left out, ``None`` if it is for others to judge."""
    wanted = body.get("max_tokens", 0)
    if type(wanted) is not int or (wanted == 0 and "max_tokens" in body):
        return None
    return wanted if 0 <= wanted <= (_BIGGEST if most is None else most) else None


def read_texts(body: Object) -> Texts:
    """What the two who talk have said, the user last, after what the system said that lets them; else nothing."""
    said: list[Message] = []
    role = None
    messages = body.get("messages")
    for message in messages if type(messages) is list else ():
        if type(message) is not dict or len(message) != 2:
            return ()
        role, content = message.get("role"), message.get("content")
        if type(content) is not str or not content:
            return ()
        if not (role == "user" or role == "assistant" or (role == "system" and not said)):
            return ()
        said.append(Message(role, content))
    return tuple(said) if role == "user" else ()


def has_each_key_once(text: bytes, count: int) -> bool:
    """JSON has so many keys, all of them different: cheap to see, and without a doubt."""
    keys = text.count(b'":')
    return keys == count and (keys == text.count(b":") or _SPACED.search(text) is None)


class Samplings(Cache[int | None, Sampling]):
    """How tokens are chosen where nothing is said but how many there may be; forgets all once it knows too many."""

    def __init__(self, usual: Sampling) -> None:
        super().__init__()
        self._usual = usual

    def __missing__(self, limit: int | None) -> Sampling:
        if len(self) >= _MOST:
            self.clear()
        sampling = self[limit] = replace(self._usual, max_tokens=limit)
        return sampling


SAMPLINGS = Samplings(Sampling())


class FastParserCache(Cache[K, V]):
    """What was found out once; forgets all once it knows too much."""

    def keep(self, key: K, value: V) -> V:
        if len(self) >= _MOST:
            self.clear()
        self[key] = value
        return value
