"""JSON as the wire has it: one strict parser, one compact encoder, so one set of bytes."""

import json
from typing import Any

from pydantic_core import from_json, to_json

JSON = Any  # a parsed JSON value; the only place where ``Any`` is allowed


def parse_json(body: bytes | str) -> JSON:
    """Parse one JSON document.

    Strict: no NaN or Infinity, no trailing text, valid UTF-8, no lone surrogates. Integers keep
    every digit (up to 4300), a float beyond the range of doubles is infinite. Nesting is bounded only
    by the interpreter's stack.

    Raises:
        ValueError: the text is not JSON; the message says what and where.
    """
    try:
        return from_json(body, allow_inf_nan=False)
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


def _refuse_constant(name: str) -> JSON:
    raise ValueError(f"{name} is not JSON")


def dump_json(value: JSON) -> bytes:
    """Encode compactly, keys in insertion order, non-ASCII text as raw UTF-8."""
    return to_json(value)


def dump_text(value: JSON) -> str:
    """The same text as :func:`dump_json`, as ``str``."""
    return to_json(value).decode()


_CANONICAL = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def canonical_json(value: JSON) -> bytes:
    """Encode with sorted keys: equal for bodies that differ only in key order."""
    return _CANONICAL.encode(value).encode()
