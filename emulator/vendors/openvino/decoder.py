"""Parse JSON, classify numbers and encode strings as OpenVINO Model Server does with its library rapidjson."""

import re
from math import copysign, inf, isfinite
from struct import pack, unpack
from typing import TypeGuard

from emulator.core.cache import lru
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, TooMuch, dump_json, dump_string
from emulator.protocols.big_numbers import has_big_numbers
from emulator.protocols.openai.options import has_each_key_once
from emulator.vendors.openvino.rapidjson import TooDeepError, parse_json
from emulator.vendors.openvino.release import Release

_MAX_SLOW_BYTES = 8 * 1024**2  # bytes; longer bodies skip the slow reader, which needs several times their size
UINT32 = 2**32
_UINT64 = 2**64
_INT32 = 2**31
_INT64 = 2**63
_CONTROL = re.compile(rb"(?<!\\)((?:\\\\)*\\u00)([01][a-f])")


def body_refusal(reason: str) -> EmulatedError:
    """Return the error of a body that the HTTP layer cannot parse."""
    return EmulatedError(ErrorKind.INVALID_REQUEST, message=f"The file is not valid json - {reason}")


def load_body(request: Request, limit: int = 0) -> JSON:
    """Parse the body; of equal keys the first counts. ``limit``: maximum nesting, 0 for none.

    The fast reader is used first. Where its result may differ from the server's, a slower reader parses again,
    unless the body is longer than 8 MiB.

    Raises:
        EmulatedError: ``INVALID_REQUEST``: the body is not JSON, or nested too deeply.
    """
    text = request.body
    try:
        body = request.json()
        slow = len(text) <= _MAX_SLOW_BYTES and type(body) is dict and _needs_slow_reader(text, dump_json(body))
    except TooMuch:
        raise body_refusal("Cannot parse JSON body") from None
    except (ValueError, RecursionError):
        if len(text) > _MAX_SLOW_BYTES:
            raise body_refusal("Cannot parse JSON body") from None
        slow = True
    if not slow and not (limit and text.count(b"{") + text.count(b"[") > limit):
        return body
    try:
        return parse_json(text, limit)
    except TooDeepError:
        raise body_refusal("JSON body exceeds maximum nesting depth" if limit else "Cannot parse JSON body") from None
    except ValueError:
        raise body_refusal("Cannot parse JSON body") from None


def _needs_slow_reader(text: bytes, written: bytes) -> bool:
    """Return whether a key may be repeated or a number too big; cheaper than a second parse.

    ``written``: the parsed body re-encoded, with fewer keys if one was repeated.
    """
    return not has_each_key_once(text, written.count(b'":')) or b"\\u00" in text or has_big_numbers(text)


def may_stream(path: str, release: Release) -> bool:
    """Return whether the server parses ``stream`` on this path; 2024.2 does on all."""
    if not release.since(2025, 0):
        return True
    return "completions" in path or (release.responses_endpoint and "responses" in path)


def is_uint32(value: JSON) -> TypeGuard[int]:
    """Return whether ``value`` is an integer literal from 0 to 4294967295.

    A literal with a fraction or exponent is no integer, and a boolean is no number. Source: rapidjson,
    include/rapidjson/document.h (IsUint, IsInt, IsDouble), and model_server's use of them.
    """
    return type(value) is int and 0 <= value < UINT32


def is_uint64(value: JSON) -> TypeGuard[int]:
    """Return whether ``value`` is an integer literal from 0 to 2**64 - 1."""
    return type(value) is int and 0 <= value < _UINT64


def is_int32(value: JSON) -> TypeGuard[int]:
    """Return whether ``value`` is an integer literal of 32 signed bits."""
    return type(value) is int and -_INT32 <= value < _INT32


def is_int64(value: JSON) -> TypeGuard[int]:
    """Return whether ``value`` is an integer literal of 64 bits, signed or unsigned."""
    return type(value) is int and -_INT64 <= value < _UINT64


def is_number(value: JSON) -> TypeGuard[float]:
    """Return whether ``value`` has a fraction or exponent, exceeds 64 bits (a double), or is an int32.

    Integers between 32 and 64 bits are excluded: the server asks for a double or an int.
    """
    if type(value) is float:
        return True
    return type(value) is int and (-_INT32 <= value < _INT32 or not -_INT64 <= value < _UINT64)


def parse_double(value: int | float) -> float:
    """Convert a number to a C++ double.

    Raises:
        EmulatedError: the literal exceeds the range of doubles, which makes the body invalid JSON.
    """
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not isfinite(number):
        raise body_refusal("Cannot parse JSON body")
    return number


def promote(value: float) -> float:
    """Round a number to a float and return it as a double."""
    try:
        (promoted,) = unpack("<f", pack("<f", value))
    except OverflowError:
        return copysign(inf, value)
    return float(promoted)


def quote_long(text: str) -> bytes:
    r"""Encode ``text`` as a JSON string in UTF-8, with control characters in upper-case hex (``\u001F``).

    Source: rapidjson, include/rapidjson/writer.h, WriteString.
    """
    quoted = dump_string(text)
    if b"\\u00" in quoted:
        return _CONTROL.sub(lambda match: match[1] + match[2].upper(), quoted)
    return quoted


@lru(1 << 14)
def quote(text: str) -> bytes:
    """Encode ``text`` as :func:`quote_long` does, cached for repeated texts such as tokens."""
    return quote_long(text)
