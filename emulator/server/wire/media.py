"""Which answers a browser might run as a page."""

from __future__ import annotations

import re
from functools import lru_cache

_TYPE = re.compile(r"[\t ]*([a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+)[\t ]*(?:;[^,]*)?")
_INERT = re.compile(
    r"application/(?:json|[a-z0-9!#$&^_.+-]+\+json|jsonl|x-ndjson|octet-stream|openmetrics-text)"
    r"|text/(?:plain|event-stream|csv)"
    r"|(?:audio|video|image)/(?!svg)[a-z0-9!#$&^_.+-]+(?<!\+xml)"
)


@lru_cache(maxsize=256)
def is_inert(content_type: str) -> bool:
    """No browser runs a script of an answer of this type, nor takes the answer for one of another type that it would.

    The types are few on purpose: HTML, XML, ``multipart``, what is unknown, and what is no type are not among them.
    Source: MIME Sniffing Standard, section 7: ``text/plain`` is taken for bytes at most, images, sound and films for
    others of their kind, and a missing type, ``*/*``, ``unknown/unknown`` and ``application/unknown`` for HTML where
    the body looks like it. A list of types, with a comma, is none.
    """
    found = _TYPE.fullmatch(content_type.lower())
    return found is not None and _INERT.fullmatch(found[1]) is not None
