"""Strict JSON parser and compact JSON encoder, used for every request and response."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

try:
    import orjson
except ModuleNotFoundError:  # the client can be installed without the server's dependencies
    orjson = None  # type: ignore[assignment]

if TYPE_CHECKING:
    JSON = bool | int | float | str | None | Sequence["JSON"] | Mapping[str, "JSON"]
else:
    JSON = Any  # pydantic keeps such a value unchecked; it would traverse a recursive type

Object = dict[str, JSON]


def as_object(value: JSON) -> Object:
    """Narrow a value validated before to an object; raise ``TypeError`` for anything else."""
    if isinstance(value, dict):
        return value
    raise TypeError(f"not an object: {type(value).__name__}")


def as_array(value: JSON) -> list[JSON]:
    """Narrow a value validated before to an array; raise ``TypeError`` for anything else."""
    if isinstance(value, list):
        return value
    raise TypeError(f"not an array: {type(value).__name__}")


def as_text(value: JSON) -> str:
    """Narrow a value validated before to a string; raise ``TypeError`` for anything else."""
    if isinstance(value, str):
        return value
    raise TypeError(f"not a string: {type(value).__name__}")


def as_integer(value: JSON) -> int:
    """Narrow a value validated before to an integer; raise ``TypeError`` for anything else."""
    if isinstance(value, int):
        return value
    raise TypeError(f"not an integer: {type(value).__name__}")


def as_number(value: JSON) -> float:
    """Narrow a value validated before to a number, unconverted; raise ``TypeError`` for anything else."""
    if isinstance(value, int | float):
        return value
    raise TypeError(f"not a number: {type(value).__name__}")


_CONTINUATION = bytes(range(0x80, 0xC0))  # continuation bytes of UTF-8
_NARROW = bytes(range(0xF0))  # UTF-8 bytes of characters that take at most two bytes in a Python string
_HIGH_SURROGATE = re.compile(rb"\\u[dD][89abAB]")  # first of two escapes of a four-byte character
_ESCAPE_OVERHEAD = 5  # bytes of a ``\uXXXX`` escape in addition to one per character
_BLOCK = 1024**2  # bytes
_MAX_WIDTH = 4  # bytes of a character in a Python string
_MAX_DEEP = 4 * 1024**2  # bytes; the parser for deeply nested JSON takes several times the memory of the fast one
_UNSUPPORTED = ("surrogates", "depth")  # in errors of the fast encoder: lone surrogates, more than 254 levels
_SURROGATE = re.compile("[\ud800-\udfff]")
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # without backtracking; includes an unclosed string


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
        value = from_json(body, allow_inf_nan=False, cache_strings="none")  # cached strings would fragment the memory
        return value
    except ValueError as error:
        if "recursion limit" not in str(error):
            raise
    if len(body) > _MAX_DEEP:
        raise ValueError("nested too deeply")
    try:
        value = json.loads(body, parse_constant=_reject_constant)
        json.dumps(value, ensure_ascii=False).encode()  # raises for a lone surrogate
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


class TooMuch(ValueError):
    """JSON document with too many values or too long texts."""


def check_json(body: bytes, values: int, texts: int) -> None:
    """Raise if a JSON document has too many values, or texts that take too many bytes; runs before parsing.

    Raises:
        TooMuch: a limit is exceeded.
    """
    _check_values(body, values)
    if len(body) > texts // _MAX_WIDTH and _measure(body) > texts:
        size = 0
        for text in _STRING.finditer(body):
            size += _measure(text[0])
            if size > texts:
                raise TooMuch(f"texts of more than {texts} bytes")


def _measure(text: bytes) -> int:
    """Return the maximum bytes of a text as a Python string, which stores all characters as wide as the widest."""
    escapes = text.count(b"\\u")
    width = 1 if not escapes else _MAX_WIDTH if _HIGH_SURROGATE.search(text) else 2
    if text.isascii():
        return width * (len(text) - escapes * _ESCAPE_OVERHEAD)
    count = 0
    for at in range(0, len(text), _BLOCK):
        begun = text[at : at + _BLOCK].translate(None, _CONTINUATION)
        count += len(begun)
        width = max(width, _MAX_WIDTH if begun.translate(None, _NARROW) else 2)
    return width * (count - escapes * _ESCAPE_OVERHEAD)


def _check_values(body: bytes, limit: int) -> None:
    if len(body) <= limit or body.count(b",") < limit:
        return
    count = at = 0
    for text in _STRING.finditer(body):
        count += body.count(b",", at, text.start())
        at = text.end()
        if count >= limit:
            break
    if count + body.count(b",", at) >= limit:
        raise TooMuch(f"more than {limit} values")


def _reject_constant(name: str) -> JSON:
    raise ValueError(f"{name} is not JSON")


def dump_json(value: JSON) -> bytes:
    """Encode a value that :func:`parse_json` may return: compact, keys in insertion order, non-ASCII text as UTF-8.

    A lone surrogate, such as a byte of a header that is not valid UTF-8, becomes U+FFFD.
    """
    try:
        return to_json(value)
    except ValueError as error:
        if not any(reason in str(error) for reason in _UNSUPPORTED):
            raise
    return _SURROGATE.sub("\ufffd", "".join(_write(value))).encode()


class _Encoded(str):
    """Text that is already JSON."""

    __slots__ = ()


def _write(value: JSON) -> Iterator[str]:
    """Yield the parts of the compact text without recursion, so that any depth of nesting is encoded."""
    waiting: list[JSON] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, _Encoded):
            yield item
        elif isinstance(item, Mapping):
            names = [f"{'{' if not at else ','}{json.dumps(name, ensure_ascii=False)}:" for at, name in enumerate(item)]
            waiting.append(_Encoded("}" if names else "{}"))
            for name, inner in reversed([*zip(names, item.values(), strict=True)]):
                waiting += (inner, _Encoded(name))
        elif isinstance(item, list | tuple):
            waiting.append(_Encoded("]" if item else "[]"))
            for at, inner in reversed([*enumerate(item)]):
                waiting += (inner, _Encoded("," if at else "["))
        elif isinstance(item, str):
            yield json.dumps(item, ensure_ascii=False)
        else:  # ``json`` would write 1e16 as 1e+16
            yield to_json(item).decode()


def dump_string(text: str) -> bytes:
    """Encode a string as :func:`dump_json` does, at a fifth of its cost.

    The result is a copy, because orjson's bytes hold 4 KiB of memory however short they are, and texts are cached.
    """
    return b"".join((orjson.dumps(text), b""))


def dump_text(value: JSON) -> str:
    """Return the JSON of :func:`dump_json` as ``str``."""
    return dump_json(value).decode()


def format_value(value: JSON) -> str:
    """Return a value for a message: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else dump_text(value)


def quote_value(value: JSON) -> str:
    """Return a value for a message: a string in quotation marks, anything else as JSON."""
    return repr(value) if isinstance(value, str) else dump_text(value)


_CANONICAL = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def canonical_json(value: JSON) -> bytes:
    """Encode with sorted keys, so that values that differ only in key order are encoded equally."""
    if orjson is not None:
        try:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError:  # integers of more than 64 bits, or more than 254 levels
            pass
    return _CANONICAL.encode(value).encode()
