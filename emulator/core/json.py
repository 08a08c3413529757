"""JSON as the wire has it: one strict parser, one compact encoder, so one set of bytes."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson
from pydantic_core import from_json, to_json

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
        value = from_json(body, allow_inf_nan=False)
        return value
    except ValueError as error:
        if "recursion limit" not in str(error):
            raise
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
        to_text = json.dumps(value, ensure_ascii=False)
        to_text.encode()  # a lone surrogate is not text
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


class TooManyValues(ValueError):
    """JSON of more values than may be."""


def check_values(body: bytes, most: int) -> None:
    """Refuse JSON of more values than may be, before any of them is read.

    Raises:
        TooManyValues: there are more.
    """
    if len(body) <= most or body.count(b",") < most:
        return
    count = at = 0
    for text in _STRING.finditer(body):
        count += body.count(b",", at, text.start())
        at = text.end()
        if count >= most:
            break
    if count + body.count(b",", at) >= most:
        raise TooManyValues(f"more than {most} values")


def _refuse_constant(name: str) -> JSON:
    raise ValueError(f"{name} is not JSON")


def dump_json(value: JSON) -> bytes:
    """Encode compactly, keys in insertion order, non-ASCII text as raw UTF-8."""
    return to_json(value)


def dump_string(text: str) -> bytes:
    """As :func:`dump_json`, of a string alone; at a fifth of its cost."""
    return orjson.dumps(text)


def dump_text(value: JSON) -> str:
    """The same text as :func:`dump_json`, as ``str``."""
    return to_json(value).decode()


_CANONICAL = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def canonical_json(value: JSON) -> bytes:
    """Encode with sorted keys: equal for bodies that differ only in key order."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # integers of more than 64 bits, or nested too deeply for it
        return _CANONICAL.encode(value).encode()
