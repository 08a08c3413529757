"""JSON as RapidJSON reads it, as the server sets it up: what the strict reader takes otherwise.

It stops at a NUL; it takes bytes that are no UTF-8 and any nesting (or so many levels); of equal keys the first counts;
a number beyond the range of doubles is no JSON, whoever uses it. Source: Tencent/rapidjson at 973dc9c,
include/rapidjson/reader.h (ParseNumber, ParseStringToStream) and document.h (FindMember); model_server,
src/utils/rapidjson_utils.cpp (parseJsonWithDepthLimit).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import isinf

from emulator.core.json import JSON, Object, as_text

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:(?P<sign>[{}\[\],:])
    |"(?P<text>[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*)"
    |(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    |(?P<word>true|false|null)|(?P<end>$))""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"-?([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?)([0-9]+))?")
_WORDS: dict[str, JSON] = {"true": True, "false": False, "null": None}
_EXACT = 0x1FFFFF_FFFFFFFF  # up to there digits of a fraction count one by one
_SIGNIFICANT = 17  # digits
_LONG = 300  # digits: from there on a whole number may be too big
_DIGITS = bytes.maketrans(b"123456789E", b"000000000e")
_MANY = b"0" * _LONG


class TooDeepError(ValueError):
    """More levels than are allowed, however the text goes on."""


def has_big_numbers(text: bytes) -> bool:
    """A number may be too big: an exponent of three digits, or so many digits. Cheap to rule out."""
    digits = text.translate(_DIGITS, b"+")
    return b"e000" in digits or _MANY in digits


def read_json(body: bytes, limit: int = 0) -> JSON:
    """One document; ``limit``: of the levels, 0 for none.

    Raises:
        ValueError: it is none; :class:`TooDeepError` where the levels are too many.
    """
    text = body.partition(b"\0")[0].decode("utf-8", "replace")
    if text.startswith("\ufeff"):
        raise ValueError("a byte order mark")
    return _Reader(limit).read(text)


class _Reader:
    """One reading; a container is where it belongs as soon as it opens.

    Fields:
        expected: what may come: ``value``, ``key``, or the ``after`` of a value.
        empty: the innermost container has just opened, so that it may close.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._root: list[JSON] = []
        self._open: list[Object | list[JSON]] = []
        self._key = ""
        self._expected = "value"
        self._empty = False

    def read(self, text: str) -> JSON:
        for kind, found in _list_tokens(text):
            if self._expected == "after":
                if not self._open:
                    _expect(kind == "end", "text behind the document")
                    break
                self._go_on(found if kind == "sign" else "")
            elif self._empty and kind == "sign" and found == self._closing():
                self._close()
            elif self._expected == "key":
                self._take_key(kind, found)
            elif self._expected == "colon":
                _expect(kind == "sign" and found == ":", "a colon is missing")
                self._expected = "value"
            else:
                self._take_value(kind, found)
        return self._root[0]

    def _closing(self) -> str:
        return "}" if isinstance(self._open[-1], dict) else "]"

    def _close(self) -> None:
        self._open.pop()
        self._expected, self._empty = "after", False

    def _go_on(self, sign: str) -> None:
        if sign == self._closing():
            self._close()
            return
        _expect(sign == ",", "a comma is missing")
        self._expected = "key" if isinstance(self._open[-1], dict) else "value"

    def _take_key(self, kind: str, found: str) -> None:
        _expect(kind == "text", "a key is missing")
        self._key = _read_text(found)
        self._expected, self._empty = "colon", False

    def _take_value(self, kind: str, found: str) -> None:
        opened: Object | list[JSON] | None = None
        if kind == "sign":
            _expect(found in "{[", "a value is missing")
            opened = {} if found == "{" else []
        value: JSON = _read_plain(kind, found) if opened is None else opened
        place = self._open[-1] if self._open else self._root
        if isinstance(place, dict):
            place.setdefault(self._key, value)
        else:
            place.append(value)
        self._expected, self._empty = "after", False
        if opened is not None:
            self._open.append(opened)
            if self._limit and len(self._open) > self._limit:
                raise TooDeepError
            self._expected, self._empty = "key" if found == "{" else "value", True


def _expect(holds: bool, reason: str) -> None:
    if not holds:
        raise ValueError(reason)


def _list_tokens(text: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each token, the end among them."""
    position = 0
    while True:
        token = _TOKEN.match(text, position)
        if token is None or token.lastgroup is None:
            raise ValueError(f"no JSON at {position}")
        yield token.lastgroup, token[token.lastgroup]
        position = token.end()


def _read_plain(kind: str, found: str) -> JSON:
    if kind == "text":
        return _read_text(found)
    if kind == "number":
        return read_number(found)
    _expect(kind == "word", "a value is missing")
    return _WORDS[found]


def _read_text(found: str) -> str:
    """A string without its quotation marks.

    Raises:
        ValueError: an escape that is none, or half of a surrogate pair.
    """
    if "\\" not in found:
        return found
    text = as_text(json.loads(f'"{found}"'))
    text.encode()
    return text


def read_number(found: str) -> int | float:
    """A number as its literal has it: whole without a fraction or an exponent.

    Raises:
        ValueError: it is beyond the range of doubles, or its exponent is, whatever stands before it.
    """
    parts = _NUMBER.fullmatch(found)
    assert parts is not None
    whole, fraction, sign, exponent = parts.groups(default="")
    power = exponent.lstrip("0")
    if sign != "-" and int(power[:7] or 0) > 308 + _count_digits(whole, fraction):
        raise ValueError("too big an exponent")
    if not fraction and not exponent and len(whole) < _LONG:
        return int(found)
    number = float(found)
    _expect(not isinf(number), "too big a number")
    return number if fraction or exponent else int(found)


def _count_digits(whole: str, fraction: str) -> int:
    """How many digits of a fraction the reader looks at."""
    value, significant, count = int(whole[:_SIGNIFICANT]), 0, 0
    for digit in fraction:
        if significant >= _SIGNIFICANT or (value > _EXACT and significant + len(whole) >= _SIGNIFICANT):
            break
        value = value * 10 + int(digit)
        significant += value > 0
        count += 1
    return count
