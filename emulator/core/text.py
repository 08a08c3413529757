"""Text helpers: integers of any length, HTTP reason phrases, and text for logs and terminals: escapes, colour."""

import json
import os
from collections.abc import Mapping
from http import HTTPStatus
from typing import TextIO

_MAX_DIGITS = 4_000  # ``int`` refuses more than 4,300
_BEYOND: int = 10**_MAX_DIGITS


def parse_integer(digits: str) -> int:
    """Parse an integer; one of more than 4,000 digits becomes 10^4000 or its negative, beyond every valid value.

    Raises:
        ValueError: the text is no integer.
    """
    if len(digits) <= _MAX_DIGITS:
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
    """Return the reason phrase of an HTTP status: ``404`` → ``Not Found``; ``Unknown`` if it has none."""
    return _PHRASES.get(status, "Unknown")


_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape(text: str) -> str:
    """Escape every non-printable character as Python does, so that untrusted text is safe in logs and terminals.

    These are C0, DEL and C1 controls, separators, formatting characters and lone surrogates: ``a\\x1b[2Jb``.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _spell(letter) for letter in text)


def escape_json(text: str) -> str:
    """Escape every non-printable character of one line of JSON as ``\\uXXXX``."""
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


def wants_colour(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether to colour text: on a terminal or with ``FORCE_COLOR``, and never with ``NO_COLOR``."""
    if environment.get("NO_COLOR"):
        return False
    return bool(environment.get("FORCE_COLOR")) or stream.isatty()
