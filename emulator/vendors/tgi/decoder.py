"""Deserialize a JSON body as serde does, Rust's library: fields in document order, the first mismatch is reported.

The types of all requests are built from its functions.

Source: serde_json 1, ``src/de.rs`` and ``src/error.rs``; serde_path_to_error 0.1; axum 0.6 and 0.7, ``src/json.rs`` and
``src/extract/rejection.rs``.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, TypeVar

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, parse_json
from emulator.vendors.tgi.json_positions import (
    UNKNOWN,
    Path,
    Repeating,
    blank_string,
    end_first,
    find_parser_state,
    find_too_deep,
    format_position,
    format_prefix,
    is_far,
    is_invalid_unicode,
    keep_repeated,
    place_error,
)
from emulator.vendors.tgi.rust_text import format_float, format_plain_float

T = TypeVar("T")
Type = Callable[[JSON], T]
Members = Mapping[str, object]
MAX_U32 = 2**32 - 1
MAX_U64 = 2**64 - 1
_TOO_LARGE = "number out of range"
_BUFFERED = [(name,) for name in ("messages", "tools", "tool_choice", "response_format", "prompt", "instances")]
_FLOAT = re.compile(r"(invalid type: floating point `)([^`]*)")  # as old releases of serde write it: Display
_MAX_MENDED = 16  # strings of unknown fields that are no Unicode, in one body
_MAX_UNDERFLOW = 2.0**-150  # the largest that rounds to 0 in single precision

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
_PARAMETER = rf"""; *{_TOKEN}+=(?:{_TOKEN}*|"[^"\x00-\x1f\x7f]*")"""
_MEDIA = re.compile(rf"application/((?!\+){_TOKEN}+)(?:{_PARAMETER})*(?:; *)?", re.IGNORECASE)


@fast_dataclass(slots=True, eq=False)
class Mismatch(Exception):
    """Value that does not fit its type.

    Fields:
        inside: the error position is the end of the value, else its start.
        ahead: bytes behind the start at which it is.
        within: steps below ``path`` to the value at which the error is.
        where: ``key``: the error is behind the first key of the value; ``after``: it has no position but that of the
            list or object around the value.
        syntax: the parser itself fails, so the body is no valid JSON for it.
        path: path of the value; each enclosing container adds a step.
        repeated: names of the field that occurs twice.
    """

    text: str
    inside: bool = True
    path: Path = ()
    repeated: Sequence[str] = ()
    where: Literal["", "key", "after"] = ""
    syntax: bool = False
    ahead: int = 0
    within: Path = ()


@fast_dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct.

    Fields:
        listed: a struct that is written as a list must have it, too.
        alias: another name of a field before, which has no place in such a list.
    """

    name: str
    type: Type[object]
    required: bool = False
    listed: bool = False
    alias: bool = False


def read(request: Request, target: Type[T], *, old: bool = False) -> T:
    """Deserialize the body as ``target``; ``old``: with the words of 0.9.4, where ``1000.0`` is ``1000``.

    Raises:
        EmulatedError: 415 without a JSON content type, 400 for invalid JSON, 422 for a mismatch.
    """
    validate_type(request)
    try:
        return _read(request, target)
    except EmulatedError as error:
        if old and error.message is not None:
            text = _FLOAT.sub(lambda found: found[1] + format_plain_float(float(found[2])), error.message)
            raise replace(error, message=text) from None
        raise


def _read(request: Request, target: Type[T]) -> T:
    body, raw = _parse_first(request, target)
    _validate_depth(request.path, raw, target)
    try:
        return target(keep_repeated(body, raw))
    except Mismatch as mismatch:
        raise _build_mismatch_error(mismatch, raw) from None


def _validate_depth(path: str, raw: bytes, target: Type[object]) -> None:
    """Raise if a value is nested too deeply; values of unknown fields may be, as they are skipped.

    Source: serde_json 1.0.140, ``src/de.rs`` (check_recursion, ignore_value).
    """
    if not (found := find_too_deep(raw)):
        return
    error = f"recursion limit exceeded{found}"
    reached = find_parser_state(raw, error).path
    is_read = reached[:1] in _BUFFERED or reached[:2] == ("parameters", "grammar")
    if path == "/invocations" or (is_read and not is_skipped(reached, target)):
        raise _build_broken_error(raw, error, target)


def validate_type(request: Request) -> None:
    """Raise unless the content type is JSON's, or has its suffix, and well-formed.

    Source: axum 0.7.9, ``src/json.rs`` (json_content_type); mime 0.3, ``src/parse.rs``.

    Raises:
        EmulatedError: 415.
    """
    kind = request.headers.get("Content-Type", "")
    if kind == "application/json":
        return
    found = _MEDIA.fullmatch(kind.strip(" \t"))
    subtype = found[1].lower() if found else ""
    main, plus, suffix = subtype.rpartition("+")
    if (main if plus else suffix) != "json" and suffix != "json":
        raise _refusal(415, "Expected request with `Content-Type: application/json`")


def _build_mismatch_error(mismatch: Mismatch, raw: bytes) -> EmulatedError:
    path, text = mismatch.path, mismatch.text
    where = mismatch.where
    inside, repeated, ahead = mismatch.inside, mismatch.repeated, mismatch.ahead
    found = format_position(raw, path + mismatch.within, inside=inside, repeated=repeated, where=where, ahead=ahead)
    if mismatch.syntax:
        return _build_syntax_error(f"{text}{found}", path)
    return _refusal(
        422, f"Failed to deserialize the JSON body into the target type: {format_prefix(path)}{text}{found}"
    )


def _parse_first(request: Request, target: Type[object]) -> tuple[JSON, bytes]:
    """Return the first document of the body, and its bytes; anything after it is ignored."""
    raw = request.body
    try:
        return request.json(), raw
    except ValueError as error:
        text = str(error)
    for _ in range(_MAX_MENDED):
        if text.startswith("trailing characters"):
            raw = raw[: end_first(raw)]
        elif is_invalid_unicode(text) and is_skipped(find_parser_state(raw, text).path, target):
            raw = blank_string(raw, text)
        else:
            break
        try:
            return parse_json(raw), raw
        except ValueError as error:
            text = str(error)
    raise _build_broken_error(raw, text, target)


def _build_broken_error(raw: bytes, error: str, target: Type[object]) -> EmulatedError:
    """Return the error of invalid JSON, or of a mismatch before it: serde reads the body in one pass."""
    reached = find_parser_state(raw, error)
    try:
        target(keep_repeated(parse_json(reached.whole), reached.whole))
    except Mismatch as mismatch:
        ends = mismatch.inside and not mismatch.repeated  # reported only at the end of its value
        if not (ends and reached.is_open(mismatch.path)):
            return _build_mismatch_error(mismatch, raw if mismatch.where == "after" else reached.whole)
    except ValueError:
        pass  # no value was complete
    path = reached.path
    error = place_error(raw, error, is_skipped=is_skipped(path, target))
    return _build_syntax_error(error, () if is_far(raw, error) else cut_at_unknown(path, target))


def _build_syntax_error(text: str, path: Path) -> EmulatedError:
    return _refusal(400, f"Failed to parse the request body as JSON: {format_prefix(path)}{text}")


def _refusal(status: int, text: str) -> EmulatedError:
    """Return the error of a request that fails before its handler: plain text."""
    return EmulatedError(ErrorKind.INVALID_REQUEST, message=text, status=status, details={"rejected": True})


def unexpected(value: JSON) -> str:
    """Format a value as serde does in ``invalid type`` errors."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"boolean `{'true' if value else 'false'}`"
    if isinstance(value, int) and -(2**63) <= value <= MAX_U64:
        return f"integer `{value}`"
    if isinstance(value, int | float):
        return f"floating point `{format_float(float(value))}`"
    if isinstance(value, str):
        return f"string {json.dumps(value, ensure_ascii=False)}"
    return "sequence" if isinstance(value, list) else "map"


def mismatch(value: JSON, expected: str) -> Mismatch:
    """Return the error of a value that is not of the type ``expected``."""
    if _is_too_large(value):
        return Mismatch(_TOO_LARGE, syntax=True)
    text = f"invalid type: {unexpected(value)}, expected {expected}"
    return Mismatch(text, inside=not isinstance(value, list | dict))


def string(value: JSON) -> str:
    if not isinstance(value, str):
        raise mismatch(value, "a string")
    return value


def boolean(value: JSON) -> bool:
    if not isinstance(value, bool):
        raise mismatch(value, "a boolean")
    return value


def anything(value: JSON) -> JSON:
    """Return the value; a number beyond all doubles is none."""
    _validate_numbers(value)
    return value


def _validate_numbers(value: JSON) -> None:
    """Raise at the first number that exceeds the range of doubles, wherever it is."""
    if isinstance(value, dict):
        for key, inner in value.items():
            at(key, _validate_numbers, inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            at(index, _validate_numbers, inner)
    elif _is_too_large(value):
        raise Mismatch(_TOO_LARGE, syntax=True)


def f32(value: JSON) -> float:
    """Deserialize a number; one beyond single precision becomes infinite, one below it 0."""
    if isinstance(value, float) and -1e39 < value < 1e39:
        return value if abs(value) > _MAX_UNDERFLOW else 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise mismatch(value, "f32")
    if _is_too_large(value):
        raise Mismatch(_TOO_LARGE, syntax=True)
    return min(max(value, -1e39), 1e39) * 1.0


def _is_too_large(value: JSON) -> bool:
    """Return whether a number exceeds the range of doubles, which serde rejects."""
    return isinstance(value, int | float) and abs(value) > sys.float_info.max


def _parse_integer(name: str, low: int, high: int, value: JSON) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value <= MAX_U64:
        raise mismatch(value, name)
    if not low <= value <= high:
        raise Mismatch(f"invalid value: integer `{value}`, expected {name}")
    return value


u32: Type[int] = partial(_parse_integer, "u32", 0, MAX_U32)
u64: Type[int] = partial(_parse_integer, "u64", 0, MAX_U64)
usize: Type[int] = partial(_parse_integer, "usize", 0, MAX_U64)
i32: Type[int] = partial(_parse_integer, "i32", -(2**31), 2**31 - 1)


def option(inner: Type[T]) -> Type[T | None]:
    """Return the type ``Option<T>``; null is ``None``."""
    return partial(_parse_option, inner)


def _parse_option(inner: Type[T], value: JSON) -> T | None:
    return None if value is None else inner(value)


def at(step: str | int, inner: Type[T], value: JSON) -> T:
    """Deserialize a nested value; a mismatch gets ``step`` in front of its path."""
    try:
        return inner(value)
    except Mismatch as fault:
        fault.path = (step, *fault.path)
        raise


def sequence(inner: Type[T]) -> Type[Sequence[T]]:
    """Return the type ``Vec<T>``."""
    return partial(_parse_sequence, inner)


def _parse_sequence(inner: Type[T], value: JSON) -> Sequence[T]:
    if not isinstance(value, list):
        raise mismatch(value, "a sequence")
    return [at(index, inner, item) for index, item in enumerate(value)]


def struct(name: str, fields: Sequence[Field], *, flat: bool = True) -> Type[Members]:
    """Return a struct type that ignores unknown fields; its value has only the fields present.

    Args:
        flat: also accept a sequence of the field values in declaration order, as any struct without flattened fields.
    """
    known = {field.name: field.type for field in fields}
    required = tuple(field.name for field in fields if field.required)
    listed = [field for field in fields if not field.alias]
    return partial(_parse_struct, name, known, required, listed if flat else ())


def build(make: Callable[..., T], members: Type[Members]) -> Type[T]:
    """Return the type of ``make``, called with the fields of a struct; absent fields have its defaults."""
    return partial(_build, members, make)


def _build(members: Type[Members], make: Callable[..., T], value: JSON) -> T:
    return make(**members(value))


def cut_at_unknown(path: Path, target: Type[object]) -> Path:
    """Return a path up to the first field that its struct does not have: what is inside is skipped, not read."""
    return path[: _count_known(path, target) + 1]


def is_skipped(path: Path, target: Type[object]) -> bool:
    """Return whether a path leads into a field that its struct does not have."""
    return _count_known(path, target) < len(path)


def _count_known(path: Path, target: Type[object]) -> int:
    """Return the number of steps of a path before the first field that its struct does not have."""
    inner: object = target
    for length, step in enumerate(path):
        while isinstance(inner, partial) and inner.func not in (_parse_struct, _parse_sequence):
            inner = inner.args[0]
        if not isinstance(inner, partial):
            break
        if inner.func is _parse_sequence:
            inner = inner.args[0]
        elif not isinstance(step, str) or step == UNKNOWN:
            break
        elif step not in inner.args[1]:
            return length
        else:
            inner = inner.args[1][step]
    return len(path)


def _parse_struct(
    name: str, known: Mapping[str, Type[object]], required: Sequence[str], flat: Sequence[Field], value: JSON
) -> Members:
    if not isinstance(value, dict):
        if flat and isinstance(value, list):
            return _parse_flat(name, flat, value)
        raise mismatch(value, f"struct {name}")
    _validate_unique(known, value)
    found: dict[str, object] = {}
    key = ""
    try:
        for key, inner in value.items():
            if key in known:
                found[key] = known[key](inner)
    except Mismatch as fault:
        fault.path = (key, *fault.path)
        raise
    for key in required:
        if key not in value:
            raise Mismatch(f"missing field `{key}`")
    return found


def _validate_unique(known: Mapping[str, Type[object]], value: Mapping[str, JSON]) -> None:
    """Raise if a known field occurs twice; unknown ones may. Values before the repetition are deserialized first."""
    if not isinstance(value, Repeating):
        return
    seen = set()
    for key, inner in value.pairs:
        if key in seen:
            raise Mismatch(f"duplicate field `{key}`", repeated=(key,))
        if key in known:
            at(key, known[key], inner)
            seen.add(key)


def _parse_flat(name: str, fields: Sequence[Field], value: Sequence[JSON]) -> Members:
    """Deserialize a struct from a sequence of its field values."""
    found: dict[str, object] = {}
    for index, field in enumerate(fields):
        if index < len(value):
            found[field.name] = at(index, field.type, value[index])
        elif field.required or field.listed:
            counted = "element" if len(fields) == 1 else "elements"
            raise Mismatch(f"invalid length {index}, expected struct {name} with {len(fields)} {counted}")
    if len(value) > len(fields):
        raise Mismatch("trailing characters", inside=False, syntax=True, ahead=1, within=(len(fields),))
    return found


def untagged(name: str, *choices: Type[T], flattened: bool = False) -> Type[T]:
    """Return an untagged enum type: the first variant that fits. Its value is read whole before.

    Args:
        flattened: the fields are those of the struct around it.
    """

    def parse_untagged(value: JSON) -> T:
        _validate_numbers(value)
        for choice in choices:
            try:
                return choice(value)
            except Mismatch:
                continue
        raise Mismatch(f"data did not match any variant of untagged enum {name}", where="" if flattened else "after")

    return parse_untagged
