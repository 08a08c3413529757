"""Redact credentials in bodies: JSON, forms, multipart, event streams; for recordings, the journal and HAR."""

import re
from collections.abc import Callable
from urllib.parse import quote_plus, unquote_plus

from emulator.core.redaction.document import may_hold
from emulator.core.redaction.values import redact, redact_text

Redaction = Callable[[str], str]

_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"  # UTF-8 byte order mark, which some clients send before JSON
_FIELD = re.compile(r"(?:\A|(?<=[&\r\n]))([^&=\r\n]{1,256})=([^&\r\n]*)")
_PART = re.compile(
    r"(content-disposition:[^\r\n]*?[;\s]name=(?:\"([^\"\r\n]*)\"|([^\";\s]+))[^\r\n]*(?:\r?\n[^\r\n]+)*\r?\n\r?\n)"
    r"(.*?)(?=\r?\n--|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_PARAMETER_START = re.compile(r"[?&;#]")  # of each parameter that a text outside JSON may hold
_EVENT = re.compile(r"(?m)^((?:data|event|id):[ ]?)?(.*)$")


def redact_body(body: bytes) -> bytes:
    """Redact a complete or truncated body by its format; return the same object if it holds no credential."""
    bare = body.lstrip(_BLANK).removeprefix(_BOM).lstrip(_BLANK)
    if bare[:1] in (b"{", b"[", b'"'):
        return _through(body, redact_text)
    if bare[:2] == b"--" and b"isposition" in bare:
        return _through(body, _redact_parts)
    if bare[:5] in (b"data:", b"event"):
        return redact_events(body)
    if bare[:1] == b"<":  # HTML or XML, of which a form would be encoded again
        return _through(body, redact_text)
    if b"=" in bare:
        return _through(body, _redact_form)
    return body


def redact_events(body: bytes) -> bytes:
    """Redact an event stream line by line, so that a broken event affects no other."""
    return _through(body, _redact_lines)


def _redact_lines(text: str) -> str:
    if not may_hold(text) and ("=" not in text or _PARAMETER_START.search(text) is None):
        return text  # so does no line
    return _EVENT.sub(lambda found: f"{found[1] or ''}{redact_text(found[2])}", text)


def _through(body: bytes, redact_all: Redaction) -> bytes:
    text = body.decode("utf-8", "surrogateescape")
    shown = redact_all(text)
    return body if shown == text else shown.encode("utf-8", "surrogateescape")


def _redact_parts(text: str) -> str:
    """Redact ``multipart/form-data`` by the names of its parts."""

    def redact_part(found: re.Match[str]) -> str:
        return f"{found[1]}{redact('field', found[2] or found[3] or '', found[4])}"

    return _PART.sub(redact_part, text)


def _quote(value: str) -> str:
    return "…".join(quote_plus(part, safe="/:?=", errors="surrogateescape") for part in value.split("…"))


def _redact_form(text: str) -> str:
    def redact_field(found: re.Match[str]) -> str:
        value = unquote_plus(found[2], errors="surrogateescape")
        shown = redact("field", unquote_plus(found[1]), value)
        return found[0] if shown == value else f"{found[1]}={_quote(shown)}"

    return _FIELD.sub(redact_field, text)
