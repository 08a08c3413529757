"""Parse JSON as RapidJSON does, for bodies that the strict reader of ``core/json.py`` refuses or reads otherwise.

Parsing stops at a NUL. Invalid UTF-8 and deep nesting are accepted; of equal keys the first counts; a number beyond the
range of doubles makes the document invalid. Source: Tencent/rapidjson at 973dc9c, include/rapidjson/reader.h
(ParseNumber, ParseStringToStream) and document.h (FindMember); model_server, src/utils/rapidjson_utils.cpp
(parseJsonWithDepthLimit).
"""

import json
import re
from math import isinf

from emulator.core.json import JSON, Object, as_text

_TOKEN = re.compile(
    r"""(?:(?P<sign>[{}\[\],:])
    |"(?P<text>[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+)"
    |(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    |(?P<word>true|false|null)|(?P<end>$))""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"-?([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?)([0-9]+))?")
_BLANKS = frozenset(" \t\r\n")
_TOO_BIG = "Error: Number too big to be stored in double. Offset: 0"  # the offset is unverified
_EXPONENT = "Miss exponent in number."
_WORDS: dict[str, JSON] = {"true": True, "false": False, "null": None}
_EXACT = 0x1FFFFF_FFFFFFFF  # digits of a fraction count one by one up to this value
_SIGNIFICANT = 17  # digits of a double
_LONG = 300  # digits; a longer whole number may exceed doubles
MAX_DEPTH = 20_000
"""Nesting limit for releases without one, limited by their stack."""


class TooDeepError(ValueError):
    """Nesting beyond the limit, even if the rest is invalid; its text is unverified."""

    def __init__(self) -> None:
        super().__init__("Error: Terminate parsing due to Handler error. Offset: 0")


def parse_json(body: bytes, limit: int = 0) -> JSON:
    """Parse one document; ``limit``: maximum nesting, 0 for :data:`MAX_DEPTH`.

    Raises:
        ValueError: the document is invalid; :class:`TooDeepError`: it is nested too deeply.
    """
    text = body.partition(b"\0")[0].decode("utf-8", "replace")
    if text.startswith("\ufeff"):
        raise ValueError("Error: Invalid value. Offset: 0")
    return _Reader(limit or MAX_DEPTH).parse(text)


class _Reader:
    """State of one parse; a container is attached to its parent when it opens.

    Fields:
        expected: next token: ``value``, ``key``, ``colon``, or ``after`` a value.
        empty: the innermost container has just opened and may close.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._root: list[JSON] = []
        self._open: list[Object | list[JSON]] = []
        self._key = ""
        self._expected = "value"
        self._empty = False

    def parse(self, text: str) -> JSON:
        position = 0
        while True:
            position = _skip_blanks(text, position)
            token = _TOKEN.match(text, position)
            kind = (token.lastgroup if token else None) or ""
            found = token[kind] if token and kind else ""
            if self._expected == "after" and not self._open and kind == "end":
                return self._root[0]
            if not self._accept(kind, found):
                raise self._build_error(text, position)
            position = token.end() if token else position

    def _accept(self, kind: str, found: str) -> bool:
        """Process one token; return whether it is valid here."""
        if self._expected == "after":
            return bool(self._open) and kind == "sign" and self._accept_separator(found)
        if self._empty and kind == "sign" and found == self._closing():
            return self._close()
        if self._expected == "key":
            return kind == "text" and self._accept_key(found)
        if self._expected == "colon":
            return found == ":" and self._accept_colon(kind)
        return self._accept_value(kind, found)

    def _closing(self) -> str:
        return "}" if isinstance(self._open[-1], dict) else "]"

    def _close(self) -> bool:
        self._open.pop()
        self._expected, self._empty = "after", False
        return True

    def _accept_colon(self, kind: str) -> bool:
        self._expected = "value"
        return kind == "sign"

    def _accept_separator(self, sign: str) -> bool:
        if sign == self._closing():
            return self._close()
        if sign == ",":
            self._expected = "key" if isinstance(self._open[-1], dict) else "value"
        return sign == ","

    def _accept_key(self, found: str) -> bool:
        self._key = _parse_text(found)
        self._expected, self._empty = "colon", False
        return True

    def _accept_value(self, kind: str, found: str) -> bool:
        opened: Object | list[JSON] | None = None
        if kind in ("", "end") or (kind == "sign" and found not in "{["):
            return False
        if kind == "sign":
            opened = {} if found == "{" else []
        value: JSON = _parse_scalar(kind, found) if opened is None else opened
        parent = self._open[-1] if self._open else self._root
        if isinstance(parent, dict):
            parent.setdefault(self._key, value)
        else:
            parent.append(value)
        self._expected, self._empty = "after", False
        if opened is not None:
            self._open.append(opened)
            if len(self._open) > self._limit:
                raise TooDeepError
            self._expected, self._empty = "key" if found == "{" else "value", True
        return True

    def _build_error(self, text: str, position: int) -> ValueError:
        """Return the reader's error at the offset where parsing stopped; within strings the offset is unverified."""
        reason = "Invalid value."
        if self._expected == "after":
            reason = "The document root must not be followed by other values."
            if self._open:
                of = "} after an object member" if isinstance(self._open[-1], dict) else "] after an array element"
                reason = _find_number_error(text, position) or f"Missing a comma or {of}."
        elif text[position : position + 1] == '"':
            reason = "Missing a closing quotation mark in string."
        elif self._expected in ("key", "colon"):
            name = "Missing a name for object member."
            reason = name if self._expected == "key" else "Missing a colon after a name of object member."
        elif not self._root and position == len(text):
            reason = "The document is empty."
        return ValueError(f"Error: {reason} Offset: {len(text[:position].encode())}")


def _find_number_error(text: str, position: int) -> str:
    """Return the error of a number cut before a fraction or exponent; empty if there is none."""
    if position and text[position - 1].isdigit():
        return {".": "Miss fraction part in number.", "e": _EXPONENT, "E": _EXPONENT}.get(
            text[position : position + 1], ""
        )
    return ""


def _skip_blanks(text: str, position: int) -> int:
    while text[position : position + 1] in _BLANKS:
        position += 1
    return position


def _parse_scalar(kind: str, found: str) -> JSON:
    if kind == "text":
        return _parse_text(found)
    return parse_number(found) if kind == "number" else _WORDS[found]


def _parse_text(found: str) -> str:
    """Parse a string without its quotation marks.

    Raises:
        ValueError: an escape is invalid, or half of a surrogate pair.
    """
    if "\\" not in found:
        return found
    try:
        text = as_text(json.loads(f'"{found}"'))
        text.encode()
    except ValueError:
        raise ValueError("Error: Invalid escape character in string. Offset: 0") from None  # unverified
    return text


def parse_number(found: str) -> int | float:
    """Parse a number literal; without fraction or exponent it is an integer.

    Raises:
        ValueError: the number or its exponent is beyond the range of doubles, even if the mantissa is 0.
    """
    parts = _NUMBER.fullmatch(found)
    assert parts is not None
    whole, fraction, sign, exponent = parts.groups(default="")
    power = exponent.lstrip("0")
    if sign != "-" and int(power[:7] or 0) > 308 + _count_digits(whole, fraction):
        raise ValueError(_TOO_BIG)
    if not fraction and not exponent and len(whole) < _LONG:
        return int(found)
    number = float(found)
    if isinf(number):
        raise ValueError(_TOO_BIG)
    return number if fraction or exponent else int(found)


def _count_digits(whole: str, fraction: str) -> int:
    """Return how many digits of a fraction the reader evaluates."""
    value, significant, count = int(whole[:_SIGNIFICANT]), 0, 0
    for digit in fraction:
        if significant >= _SIGNIFICANT or (value > _EXACT and significant + len(whole) >= _SIGNIFICANT):
            break
        value = value * 10 + int(digit)
        significant += value > 0
        count += 1
    return count
