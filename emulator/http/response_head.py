"""The head of a response and the framing of its body, byte for byte."""

from __future__ import annotations

import re
from email.utils import formatdate
from functools import lru_cache

from emulator.core.http import Headers
from emulator.core.text import reason_phrase
from emulator.core.units import LAST
from emulator.core.vendor import AnyVendor

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


_PAIR = ": ".join
LAST_CHUNK = b"0\r\n\r\n"
WITHOUT_BODY = (204, 304)  # statuses whose answers end with their head
_TYPE_NAME = len("content-type")
_EMPTY = "Content-Length: 0\r\n"
# The control plane has the same origin: a page among the answers of vendors must not run there.
_ALONE = "Content-Security-Policy: sandbox\r\nX-Content-Type-Options: nosniff\r\n"


@lru_cache(maxsize=4)
def _date(second: int) -> str:
    return formatdate(min(second, LAST), usegmt=True)


def encode_head(
    vendor: AnyVendor,
    status: int,
    headers: Headers,
    framing: str,
    now: float,
    *,
    keep_alive: bool = True,
    modern: bool = True,
    dated: bool = False,
) -> bytes:
    """What comes before the body, in the vendor's way; ``modern``: to a client of HTTP/1.1.

    ``dated``: a date is among the headers.

    Raises:
        ValueError: a header would end its line or the head.
    """
    if not modern:  # to HTTP/1.0 the end of the connection may be all that ends the body
        headers = tuple([pair for pair in headers if pair[0].lower() != "connection"])
    pairs = [*map(_PAIR, headers), ""]
    _check_lines(pairs)
    lines = "\r\n".join(pairs)
    own = f"{framing}Date: {_date(int(now))}\r\n" if vendor.date and not dated else framing
    if keep_alive != modern and "\nconnection:" not in f"\n{lines}".lower():
        own += "Connection: keep-alive\r\n" if keep_alive else "Connection: close\r\n"
    if _may_be_page(status, headers, framing):
        own += _ALONE
    if vendor.lower_case:
        own = own.lower()
    return f"HTTP/1.1 {status} {reason_phrase(status)}\r\n{lines}{own}\r\n".encode("utf-8", "surrogateescape")


def check_headers(headers: Headers) -> None:
    """Find out early what :func:`encode_head` would raise.

    Raises:
        ValueError: a header would end its line or the head.
    """
    _check_lines([*map(_PAIR, headers)])


def _check_lines(lines: list[str]) -> None:
    text = "".join(lines)
    if "\n" in text or "\r" in text or "\0" in text:
        raise ValueError("a header of an answer has a line break or NUL")


def _may_be_page(status: int, headers: Headers, framing: str) -> bool:
    """A browser might take the answer for a page that runs scripts; of several types it may believe any."""
    if status in WITHOUT_BODY or framing == _EMPTY:
        return False
    typed = False
    for name, value in headers:
        if len(name) == _TYPE_NAME and name.lower() == "content-type":
            if typed or not is_inert(value):
                return True
            typed = True
    return not typed


def identify_response(key: bytes) -> tuple[str, str]:
    """The header that says which answer it is."""
    return "x-emulator-request-id", key.hex()


def frame(status: int, length: int | None) -> str:
    """How the head says where the body ends: after so many bytes, or, without a length, with the last chunk.

    An answer that can have no body says nothing of it (RFC 9110, section 8.6, and RFC 9112, section 6.1).
    """
    if status in WITHOUT_BODY:
        return ""
    return "Transfer-Encoding: chunked\r\n" if length is None else f"Content-Length: {length}\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk of a body."""
    return b"%x\r\n%b\r\n" % (len(data), data)
