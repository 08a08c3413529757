"""JSON as the server's C++ reader sees it, its classes of numbers, and JSON text as it is written."""

from __future__ import annotations

import re
from math import copysign, inf, isfinite
from struct import pack, unpack
from typing import TypeGuard

from emulator.core.cache import lru
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, TooMuch, dump_json, dump_string
from emulator.protocols.openai.fast_parse import has_each_key_once
from emulator.vendors.openvino.rapidjson import TooDeepError, has_big_numbers, read_json
from emulator.vendors.openvino.release import Release

_LONGEST_ODD = 8 * 1024**2  # bytes
UINT32 = 2**32
_UINT64 = 2**64
_INT32 = 2**31
_INT64 = 2**63
_CONTROL = re.compile(rb"(?<!\\)((?:\\\\)*\\u00)([01][a-f])")


def body_refusal(reason: str) -> EmulatedError:
    """The front door cannot read the body."""
    return EmulatedError(ErrorKind.INVALID_REQUEST, message=f"The file is not valid json - {reason}")


def load_body(request: Request, limit: int = 0) -> JSON:
    """The body, where of equal keys the first counts; ``limit``: of the levels, 0 for none.

    The common reader does it, and where it and the server's may differ, a slower one does it again; not where a body
    is so long that it would take several times its room.

    Raises:
        EmulatedError: ``INVALID_REQUEST``, the body is not JSON, or nested too deeply.
    """
    text = request.body
    try:
        body = request.json()
        odd = len(text) <= _LONGEST_ODD and type(body) is dict and _is_odd(text, dump_json(body))
    except TooMuch:
        raise body_refusal("Cannot parse JSON body") from None
    except (ValueError, RecursionError):
        if len(text) > _LONGEST_ODD:
            raise body_refusal("Cannot parse JSON body") from None
        odd = True
    if not odd and not (limit and text.count(b"{") + text.count(b"[") > limit):
        return body
    try:
        return read_json(text, limit)
    except TooDeepError:
        raise body_refusal("JSON body exceeds maximum nesting depth" if limit else "Cannot parse JSON body") from None
    except ValueError:
        raise body_refusal("Cannot parse JSON body") from None


def _is_odd(text: bytes, written: bytes) -> bool:
    """A key may have come twice, or a number may be too big: cheap to rule out, where a second parse is not.

    ``written`` is the body once more, from what was read: with fewer keys if one came twice.
    """
    return not has_each_key_once(text, written.count(b'":')) or b"\\u00" in text or has_big_numbers(text)


def may_stream(path: str, release: Release) -> bool:
    """The server looks at ``stream`` only where the path says so; 2024.2 everywhere."""
    if not release.since(2025, 0):
        return True
    return "completions" in path or (release.responses_endpoint and "responses" in path)


def is_uint32(value: JSON) -> TypeGuard[int]:
    """An integer literal from 0 to 4294967295.

    A literal with a fraction or an exponent is never an integer; a boolean is never a number. Source: rapidjson,
    include/rapidjson/document.h (IsUint, IsInt, IsDouble), and model_server's use of them.
    """
    return type(value) is int and 0 <= value < UINT32


def is_uint64(value: JSON) -> TypeGuard[int]:
    """An integer literal from 0 to 2**64 - 1."""
    return type(value) is int and 0 <= value < _UINT64


def is_int32(value: JSON) -> TypeGuard[int]:
    """An integer literal that fits 32 bits with a sign."""
    return type(value) is int and -_INT32 <= value < _INT32


def is_int64(value: JSON) -> TypeGuard[int]:
    """An integer literal that 64 bits hold, with or without a sign."""
    return type(value) is int and -_INT64 <= value < _UINT64


def is_number(value: JSON) -> TypeGuard[float]:
    """A literal with a fraction or exponent, an integer beyond 64 bits (read as a double), or an int32.

    Integers between 32 and 64 bits are neither: the server asks for a double or an int.
    """
    if type(value) is float:
        return True
    return type(value) is int and (-_INT32 <= value < _INT32 or not -_INT64 <= value < _UINT64)


def read_double(value: float) -> float:
    """A number as a C++ double.

    Raises:
        EmulatedError: a literal too big for one was never JSON to the server's reader.
    """
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not isfinite(number):
        raise body_refusal("Cannot parse JSON body")
    return number


def promote(value: float) -> float:
    """A number the server keeps as a float, read back as a double."""
    try:
        (promoted,) = unpack("<f", pack("<f", value))
    except OverflowError:
        return copysign(inf, value)
    return float(promoted)


def quote_long(text: str) -> bytes:
    r"""``text`` as a JSON string in UTF-8, control characters as ``\u001F``: upper-case, unlike most writers.

    Source: rapidjson, include/rapidjson/writer.h, WriteString.
    """
    quoted = dump_string(text)
    if b"\\u00" in quoted:
        return _CONTROL.sub(lambda match: match[1] + match[2].upper(), quoted)
    return quoted


@lru(1 << 14)
def quote(text: str) -> bytes:
    """The same for what comes again, such as a token: remembering it pays."""
    return quote_long(text)
