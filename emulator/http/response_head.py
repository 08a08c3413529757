"""Encode the status line and headers of a response, and the framing of its body (length or chunks).

``writer.py`` and ``schedule.py`` write these bytes in front of the body.
"""

import re
from email.utils import formatdate
from functools import lru_cache
from operator import itemgetter
from time import time

from emulator.core.http import Headers
from emulator.core.json import dump_string
from emulator.core.text import reason_phrase
from emulator.core.units import MAX_TIMESTAMP
from emulator.core.vendor import AnyVendor

_TYPE = re.compile(r"[\t ]*([a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+)[\t ]*(?:;[^,]*)?")
_INERT = re.compile(
    r"application/(?:json|[a-z0-9!#$&^_.+-]+\+json|jsonl|x-ndjson|octet-stream|openmetrics-text)"
    r"|text/(?:plain|event-stream|csv)"
    r"|(?:audio|video|image)/(?!svg)[a-z0-9!#$&^_.+-]+(?<!\+xml)"
)


@lru_cache(maxsize=256)
def is_inert(content_type: str) -> bool:
    """Return whether browsers run no scripts in a response of this type and sniff no other type that could.

    The list is an allowlist: HTML, XML, ``multipart``, unknown and malformed types are not on it.
    Source: MIME Sniffing Standard, section 7: ``text/plain`` is sniffed as binary at most; images, audio and video
    as others of their kind; a missing type, ``*/*``, ``unknown/unknown`` and ``application/unknown`` as HTML where the
    body looks like it. A comma-separated list is malformed.
    """
    found = _TYPE.fullmatch(content_type.lower())
    return found is not None and _INERT.fullmatch(found[1]) is not None


_PAIR = ": ".join
_NAME = itemgetter(0)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
LAST_CHUNK = b"0\r\n\r\n"
WITHOUT_BODY = (204, 304)  # statuses of responses that end with their head
_EMPTY = "Content-Length: 0\r\n"
# The control plane has the same origin: an HTML page in a vendor's response must not run scripts there. Of several
# types a browser may pick any.
_SANDBOX = "Content-Security-Policy: sandbox\r\nX-Content-Type-Options: nosniff\r\n"


@lru_cache(maxsize=256)
def _read_names(names: tuple[str, ...]) -> tuple[int | None, frozenset[str]]:
    """Return the position of the only ``Content-Type`` among header names, and the names in lower case.

    The position is ``None`` without a type, and with several.
    """
    lower = [name.lower() for name in names]
    return lower.index("content-type") if lower.count("content-type") == 1 else None, frozenset(lower)


@lru_cache(maxsize=4)
def _date(second: int) -> str:
    return formatdate(min(second, MAX_TIMESTAMP), usegmt=True)


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
    announces_close: bool = True,
) -> bytes:
    """Return the bytes before the body, in the vendor's format.

    ``modern``: the client speaks HTTP/1.1. ``dated``: a date among ``headers`` takes the place of the vendor's.
    ``announces_close``: a connection that does not stay open says so.

    Raises:
        ValueError: a header has a line break or NUL.
    """
    if not modern:  # for HTTP/1.0 only the end of the connection may end the body
        headers = tuple([pair for pair in headers if pair[0].lower() != "connection"])
    type_at, names = _read_names(tuple(map(_NAME, headers)))
    own = framing
    if vendor.date and not (dated and "date" in names):
        own += f"Date: {_date(int(now))}\r\n"
    if keep_alive != modern and (keep_alive or announces_close) and "connection" not in names:
        own += "Connection: keep-alive\r\n" if keep_alive else "Connection: close\r\n"
    if (type_at is None or not is_inert(headers[type_at][1])) and status not in WITHOUT_BODY and framing != _EMPTY:
        own += _SANDBOX
    if vendor.lower_case:
        own = own.lower()
    phrase = vendor.phrases.get(status) or reason_phrase(status)
    lines = _join_lines([*map(_PAIR, headers), ""])
    return f"HTTP/1.1 {status} {phrase}\r\n{lines}{own}\r\n".encode("utf-8", "surrogateescape")


def encode_control_head(status: int, headers: Headers, framing: str, *, keep_alive: bool, modern: bool) -> bytes:
    """Return the bytes before the body of a response of the control API.

    Raises:
        ValueError: a header has a line break or NUL.
    """
    lines = _join_lines([*map(_PAIR, headers), ""])
    own = f"{framing}Date: {_date(int(time()))}\r\n"
    if keep_alive != modern:
        own += "Connection: keep-alive\r\n" if keep_alive else "Connection: close\r\n"
    return f"HTTP/1.1 {status} {reason_phrase(status)}\r\n{lines}{own}\r\n".encode("utf-8", "surrogateescape")


def _join_lines(lines: list[str]) -> str:
    """Return the lines, each with its line break; control characters in them are percent-encoded.

    Raises:
        ValueError: a line has a line break or NUL.
    """
    text = "".join(lines)
    # JSON of ASCII escapes all of them but DEL, and is written in a quarter of the time that `isprintable` takes
    is_plain = text.isascii() and "\x7f" not in text and len(dump_string(text)) == len(text) + 2
    if not is_plain and _CONTROL.search(text) is not None:
        if "\n" in text or "\r" in text or "\0" in text:
            raise ValueError("a response header has a line break or NUL")
        lines = [_CONTROL.sub(_encode_control, line) for line in lines]
    return "\r\n".join(lines)


def _encode_control(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"


def identify_response(key: bytes) -> tuple[str, str]:
    """Return the response header with the response key."""
    return "x-emulator-request-id", key.hex()


def frame(status: int, length: int | None) -> str:
    """Return the framing headers: ``Content-Length``, or chunked encoding without a length.

    Responses without a body have neither (RFC 9110, section 8.6, and RFC 9112, section 6.1).
    """
    if status in WITHOUT_BODY:
        return ""
    return "Transfer-Encoding: chunked\r\n" if length is None else f"Content-Length: {length}\r\n"


def chunk(data: bytes) -> bytes:
    """Encode one chunk of a body."""
    return b"%x\r\n%b\r\n" % (len(data), data)
