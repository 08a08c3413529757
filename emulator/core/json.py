"""JSON as the wire has it: one strict parser, one compact encoder, so one set of bytes."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

try:
    import orjson
except ModuleNotFoundError:  # where the client is installed without what the server needs
    orjson = None  # type: ignore[assignment]

if TYPE_CHECKING:
    JSON = bool | int | float | str | None | Sequence["JSON"] | Mapping[str, "JSON"]
else:
    JSON = Any  # pydantic takes such a value as it is; it would walk through a recursive type

Object = dict[str, JSON]


def as_object(value: JSON) -> Object:
    """An object that was checked before; anything else is our own mistake, a TypeError."""
    if isinstance(value, dict):
        return value
    raise TypeError(f"not an object: {type(value).__name__}")


def as_array(value: JSON) -> list[JSON]:
    """An array that was checked before; anything else is our own mistake, a TypeError."""
    if isinstance(value, list):
        return value
    raise TypeError(f"not an array: {type(value).__name__}")


def as_text(value: JSON) -> str:
    """A string that was checked before; anything else is our own mistake, a TypeError."""
    if isinstance(value, str):
        return value
    raise TypeError(f"not a string: {type(value).__name__}")


def as_integer(value: JSON) -> int:
    """A whole number that was checked before; anything else is our own mistake, a TypeError."""
    if isinstance(value, int):
        return value
    raise TypeError(f"not an integer: {type(value).__name__}")


def as_number(value: JSON) -> float:
    """A number that was checked before, as it is; anything else is our own mistake, a TypeError."""
    if isinstance(value, int | float):
        return value
    raise TypeError(f"not a number: {type(value).__name__}")


_GOES_ON = bytes(range(0x80, 0xC0))  # bytes of UTF-8 that begin no character
_NARROW = bytes(range(0xF0))  # bytes of UTF-8 in characters that take two bytes at most
_HALF = re.compile(rb"\\u[dD][89abAB]")  # the first of two escapes for a wider one
_ESCAPED = 5  # bytes that an escape has beside its character
_PIECE = 1024**2  # bytes
_WIDEST = 4  # bytes
_LONGEST_DEEP = 4 * 1024**2  # bytes; what is nested beyond the fast parser takes several times its room
_NOT_FOR_IT = ("surrogates", "depth")  # what the fast encoder says of lone ones and of more than 254 levels
_NO_TEXT = re.compile("[\ud800-\udfff]")  # halves of surrogate pairs
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # it never goes back, and takes what is not closed


def parse_json(body: bytes | str) -> JSON:
    """Parse one JSON document.

    Strict: no NaN or Infinity, no trailing text, valid UTF-8, no lone surrogates. Integers keep
    every digit (up to 4300), a float beyond the range of doubles is infinite. Nesting is bounded only
    by the interpreter's stack.

    Raises:
        ValueError: the text is not JSON; the message says what and where.
    """
    value: JSON
    try:
        value = from_json(body, allow_inf_nan=False, cache_strings="none")  # a cache of them lies all over the memory
        return value
    except ValueError as error:
        if "recursion limit" not in str(error):
            raise
    if len(body) > _LONGEST_DEEP:
        raise ValueError("nested too deeply")
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
        to_text = json.dumps(value, ensure_ascii=False)
        to_text.encode()  # a lone surrogate is not text
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


class TooMuch(ValueError):
    """JSON of more values, or of longer texts, than may be."""


def check_json(body: bytes, values: int, texts: int) -> None:
    """Refuse JSON of more values than may be, or whose texts would take more bytes, before any of it is read.

    Raises:
        TooMuch: there are more.
    """
    _check_values(body, values)
    if len(body) > texts // _WIDEST and _measure(body) > texts:
        size = 0
        for text in _STRING.finditer(body):
            size += _measure(text[0])
            if size > texts:
                raise TooMuch(f"texts of more than {texts} bytes")


def _measure(text: bytes) -> int:
    """Bytes that a text takes at most once it is read: each character as many as the widest of them."""
    escapes = text.count(b"\\u")
    width = 1 if not escapes else _WIDEST if _HALF.search(text) else 2
    if text.isascii():
        return width * (len(text) - escapes * _ESCAPED)
    count = 0
    for at in range(0, len(text), _PIECE):
        begun = text[at : at + _PIECE].translate(None, _GOES_ON)
        count += len(begun)
        width = max(width, _WIDEST if begun.translate(None, _NARROW) else 2)
    return width * (count - escapes * _ESCAPED)


def _check_values(body: bytes, most: int) -> None:
    if len(body) <= most or body.count(b",") < most:
        return
    count = at = 0
    for text in _STRING.finditer(body):
        count += body.count(b",", at, text.start())
        at = text.end()
        if count >= most:
            break
    if count + body.count(b",", at) >= most:
        raise TooMuch(f"more than {most} values")


def _refuse_constant(name: str) -> JSON:
    raise ValueError(f"{name} is not JSON")


def dump_json(value: JSON) -> bytes:
    """Encode compactly, keys in insertion order, non-ASCII text as raw UTF-8, whatever :func:`parse_json` takes.

    What is no text, such as bytes of a header that are no UTF-8, becomes U+FFFD.
    """
    try:
        return to_json(value)
    except ValueError as error:
        if not any(reason in str(error) for reason in _NOT_FOR_IT):
            raise
    return _NO_TEXT.sub("\ufffd", "".join(_write(value))).encode()


class _Written(str):
    """JSON that is written already."""

    __slots__ = ()


def _write(value: JSON) -> Iterator[str]:
    """Parts of the compact text, whatever the depth: what is still to come waits in a list and not on the stack."""
    waiting: list[JSON] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, _Written):
            yield item
        elif isinstance(item, Mapping):
            names = [f"{'{' if not at else ','}{json.dumps(name, ensure_ascii=False)}:" for at, name in enumerate(item)]
            waiting.append(_Written("}" if names else "{}"))
            for name, inner in reversed([*zip(names, item.values(), strict=True)]):
                waiting += (inner, _Written(name))
        elif isinstance(item, list | tuple):
            waiting.append(_Written("]" if item else "[]"))
            for at, inner in reversed([*enumerate(item)]):
                waiting += (inner, _Written("," if at else "["))
        elif isinstance(item, str):
            yield json.dumps(item, ensure_ascii=False)
        else:  # 1e16 is no 1e+16
            yield to_json(item).decode()


def dump_string(text: str) -> bytes:
    """As :func:`dump_json`, of a string alone; at a fifth of its cost.

    It is a copy: what the library gives holds 4 KiB, however short it is, and texts are remembered.
    """
    return b"".join((orjson.dumps(text), b""))


def dump_text(value: JSON) -> str:
    """The same text as :func:`dump_json`, as ``str``."""
    return dump_json(value).decode()


_CANONICAL = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def canonical_json(value: JSON) -> bytes:
    """Encode with sorted keys: equal for bodies that differ only in key order."""
    if orjson is not None:
        try:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError:  # integers of more than 64 bits, or nested too deeply for it
            pass
    return _CANONICAL.encode(value).encode()
