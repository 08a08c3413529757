"""Deserialize a body as serde does: fields in document order, the first mismatch is reported.

Source: serde_json 1, ``src/de.rs`` and ``src/error.rs``; serde_path_to_error 0.1; axum 0.6 and 0.7,
``src/json.rs`` and ``src/extract/rejection.rs``.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, parse_json
from emulator.vendors.tgi.json_positions import (
    Path,
    Repeating,
    end_first,
    find_begun,
    is_far,
    keep_repeated,
    lead,
    place,
)

T = TypeVar("T")
Type = Callable[[JSON], T]
Members = Mapping[str, object]
MAX_U32 = 2**32 - 1
MAX_U64 = 2**64 - 1
_TOO_LARGE = "number out of range"

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
_PARAMETER = rf"""; *{_TOKEN}+=(?:{_TOKEN}*|"[^"\x00-\x1f\x7f]*")"""
_MEDIA = re.compile(rf"application/((?!\+){_TOKEN}+)(?:{_PARAMETER})*(?:; *)?", re.IGNORECASE)


@dataclass(slots=True, eq=False)
class Mismatch(Exception):
    """Value that does not fit its type.

    Fields:
        inside: the error position is the end of the value, else its start.
        path: path of the value; each enclosing container adds a step.
        repeated: names of the field that occurs twice.
    """

    text: str
    inside: bool = True
    path: Path = ()
    repeated: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct."""

    name: str
    type: Type[object]
    required: bool = False


def read(request: Request, target: Type[T]) -> T:
    """Deserialize the body as ``target``.

    Raises:
        EmulatedError: 415 without a JSON content type, 400 for invalid JSON, 422 for a mismatch.
    """
    validate_type(request)
    body, raw = _parse_first(request, target)
    try:
        return target(keep_repeated(body, raw))
    except Mismatch as mismatch:
        raise _build_mismatch_error(mismatch, raw) from None


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
    path = mismatch.path
    found = place(raw, path, inside=mismatch.inside, repeated=mismatch.repeated)
    if mismatch.text == _TOO_LARGE:
        return _build_syntax_error(f"{_TOO_LARGE} at {found}", path)
    return _refusal(
        422, f"Failed to deserialize the JSON body into the target type: {lead(path)}{mismatch.text} at {found}"
    )


def _parse_first(request: Request, target: Type[object]) -> tuple[JSON, bytes]:
    """Return the first document of the body, and its bytes; anything after it is ignored."""
    raw = request.body
    try:
        return request.json(), raw
    except ValueError as error:
        text = str(error)
        if not text.startswith("trailing characters"):
            raise _build_broken_error(raw, text, target) from None
    first = raw[: end_first(raw)]
    return parse_json(first), first


def _build_broken_error(raw: bytes, error: str, target: Type[object]) -> EmulatedError:
    """Return the error of invalid JSON, or of a mismatch before it: serde reads the body in one pass."""
    begun = find_begun(raw, error)
    try:
        target(keep_repeated(parse_json(begun.whole), begun.whole))
    except Mismatch as mismatch:
        ends = mismatch.inside and not mismatch.repeated  # reported only at the end of its value
        if not (ends and begun.is_open(mismatch.path)):
            return _build_mismatch_error(mismatch, begun.whole)
    except ValueError:
        pass  # no value was complete
    return _build_syntax_error(error, () if is_far(raw, error) else begun.path)


def _build_syntax_error(text: str, path: Path) -> EmulatedError:
    return _refusal(400, f"Failed to parse the request body as JSON: {lead(path)}{text}")


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
        return f"floating point `{value if isinstance(value, float) else f'{value}.0'}`"
    if isinstance(value, str):
        return f"string {json.dumps(value, ensure_ascii=False)}"
    return "sequence" if isinstance(value, list) else "map"


def mismatch(value: JSON, expected: str) -> Mismatch:
    """Return the error of a value that is not of the type ``expected``."""
    if _is_too_large(value):
        return Mismatch(_TOO_LARGE)
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
    return value


def f32(value: JSON) -> float:
    """Deserialize a number; one beyond single precision becomes infinite."""
    if isinstance(value, float) and -1e39 < value < 1e39:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise mismatch(value, "f32")
    if _is_too_large(value):
        raise Mismatch(_TOO_LARGE)
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
    return lambda value: None if value is None else inner(value)


def at(step: str | int, inner: Type[T], value: JSON) -> T:
    """Deserialize a nested value; a mismatch gets ``step`` in front of its path."""
    try:
        return inner(value)
    except Mismatch as fault:
        fault.path = (step, *fault.path)
        raise


def sequence(inner: Type[T]) -> Type[Sequence[T]]:
    """Return the type ``Vec<T>``."""

    def parse_sequence(value: JSON) -> Sequence[T]:
        if not isinstance(value, list):
            raise mismatch(value, "a sequence")
        return [at(index, inner, item) for index, item in enumerate(value)]

    return parse_sequence


def struct(name: str, fields: Sequence[Field], *, flat: bool = False) -> Type[Members]:
    """Return a struct type that ignores unknown fields; its value has only the fields present.

    Args:
        flat: also accept a sequence of the field values in declaration order.
    """
    known = {field.name: field.type for field in fields}
    required = tuple(field.name for field in fields if field.required)
    return partial(_parse_struct, name, known, required, fields if flat else ())


def build(make: Callable[..., T], members: Type[Members]) -> Type[T]:
    """Return the type of ``make``, called with the fields of a struct; absent fields have its defaults."""
    return lambda value: make(**members(value))


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
        elif field.required:
            counted = "element" if len(fields) == 1 else "elements"
            raise Mismatch(f"invalid length {index}, expected struct {name} with {len(fields)} {counted}")
    return found


def untagged(name: str, *choices: Type[T]) -> Type[T]:
    """Return an untagged enum type: the first variant that fits."""

    def parse_untagged(value: JSON) -> T:
        for choice in choices:
            try:
                return choice(value)
            except Mismatch:
                continue
        raise Mismatch(f"data did not match any variant of untagged enum {name}")

    return parse_untagged
