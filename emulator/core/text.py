"""Text helpers: integers of any length, HTTP reason phrases, and escaping of untrusted text."""

from __future__ import annotations

import json
from http import HTTPStatus

_MOST = 4_000
_BEYOND: int = 10**_MOST


def read_whole(digits: str) -> int:
    """The number; one of more than 4,000 digits is 10^4000 or its negative, beyond all that may be meant.

    Raises:
        ValueError: it is none.
    """
    if len(digits) <= _MOST:
        return int(digits)
    return -_BEYOND if digits.startswith("-") else _BEYOND


_OVERRIDDEN = {
    413: "Request Entity Too Large",
    414: "Request-URI Too Long",
    416: "Requested Range Not Satisfiable",
    422: "Unprocessable Entity",
}
_PHRASES = {status.value: status.phrase for status in HTTPStatus} | _OVERRIDDEN


def reason_phrase(status: int) -> str:
    """``404`` → ``Not Found``; a number without a phrase is ``Unknown``."""
    return _PHRASES.get(status, "Unknown")


_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape(text: str) -> str:
    """``a\\x1b[2Jb``: without letters that end a line, move the cursor, turn what follows or are not seen at all.

    These are C0, DEL and C1, separators, formatting letters and halves of surrogate pairs, each as Python writes it.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _spell(letter) for letter in text)


def escape_json(text: str) -> str:
    """JSON in one line, with the same letters as JSON writes them."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)


def _spell(letter: str) -> str:
    known, code = _NAMED.get(letter), ord(letter)
    if known is not None:
        return known
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
