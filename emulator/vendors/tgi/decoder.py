"""Reading a body as serde reads it into structs: field by field in the order they stand, first mismatch wins.

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

_JSON_TYPE = re.compile(r"application/(?:[\w.+-]+\+)?json")


@dataclass(slots=True, eq=False)
class Mismatch(Exception):
    """A value that does not fit its type.

    Fields:
        inside: the fault was found at the end of the value.
        path: where it stands; every container on the way adds its step.
        repeated: the names of the field that the value has twice.
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
    """The body as ``target``.

    Raises:
        EmulatedError: 415 without a JSON content type, 400 if it is no JSON, 422 if it does not fit.
    """
    kind = request.headers.get("Content-Type", "")
    if kind != "application/json" and not _JSON_TYPE.fullmatch(kind.partition(";")[0].strip().lower()):
        raise _refusal(415, "Expected request with `Content-Type: application/json`")
    body, raw = _parse(request, target)
    try:
        return target(keep_repeated(body, raw))
    except Mismatch as mismatch:
        raise _misfit(mismatch, raw) from None


def _misfit(mismatch: Mismatch, raw: bytes) -> EmulatedError:
    path = mismatch.path
    found = place(raw, path, inside=mismatch.inside, repeated=mismatch.repeated)
    if mismatch.text == _TOO_LARGE:
        return _no_json(f"{_TOO_LARGE} at {found}", path)
    return _refusal(
        422, f"Failed to deserialize the JSON body into the target type: {lead(path)}{mismatch.text} at {found}"
    )


def _parse(request: Request, target: Type[object]) -> tuple[JSON, bytes]:
    """The body's first document, and its bytes: what comes after it nobody reads."""
    raw = request.body
    try:
        return request.json(), raw
    except ValueError as error:
        text = str(error)
        if not text.startswith("trailing characters"):
            raise _refuse_broken(raw, text, target) from None
    first = raw[: end_first(raw)]
    return parse_json(first), first


def _refuse_broken(raw: bytes, error: str, target: Type[object]) -> EmulatedError:
    """A body that is no JSON, or in which a value before that does not fit: it is read once, from the front."""
    begun = find_begun(raw, error)
    try:
        target(keep_repeated(parse_json(begun.whole), begun.whole))
    except Mismatch as mismatch:
        ends = mismatch.inside and not mismatch.repeated  # it is seen only at the end of its value
        if not (ends and begun.is_open(mismatch.path)):
            return _misfit(mismatch, begun.whole)
    except ValueError:
        pass  # nothing was read before
    return _no_json(error, () if is_far(raw, error) else begun.path)


def _no_json(text: str, path: Path) -> EmulatedError:
    return _refusal(400, f"Failed to parse the request body as JSON: {lead(path)}{text}")


def _refusal(status: int, text: str) -> EmulatedError:
    """A request that never reaches a handler: plain text."""
    return EmulatedError(ErrorKind.INVALID_REQUEST, message=text, status=status, details={"rejected": True})


def unexpected(value: JSON) -> str:
    """A value as serde names it."""
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
    """A value of another type than ``expected``."""
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
    """A number; one beyond single precision becomes infinite."""
    if isinstance(value, float) and -1e39 < value < 1e39:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise mismatch(value, "f32")
    if _is_too_large(value):
        raise Mismatch(_TOO_LARGE)
    return min(max(value, -1e39), 1e39) * 1.0


def _is_too_large(value: JSON) -> bool:
    """A number no double can hold, which serde takes for none."""
    return isinstance(value, int | float) and abs(value) > sys.float_info.max


def _integer(name: str, low: int, high: int, value: JSON) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value <= MAX_U64:
        raise mismatch(value, name)
    if not low <= value <= high:
        raise Mismatch(f"invalid value: integer `{value}`, expected {name}")
    return value


u32: Type[int] = partial(_integer, "u32", 0, MAX_U32)
u64: Type[int] = partial(_integer, "u64", 0, MAX_U64)
usize: Type[int] = partial(_integer, "usize", 0, MAX_U64)
i32: Type[int] = partial(_integer, "i32", -(2**31), 2**31 - 1)


def option(inner: Type[T]) -> Type[T | None]:
    """``Option<T>``: null is none."""
    return lambda value: None if value is None else inner(value)


def at(step: str | int, inner: Type[T], value: JSON) -> T:
    """A value that stands inside another."""
    try:
        return inner(value)
    except Mismatch as fault:
        fault.path = (step, *fault.path)
        raise


def sequence(inner: Type[T]) -> Type[Sequence[T]]:
    """``Vec<T>``."""

    def read_sequence(value: JSON) -> Sequence[T]:
        if not isinstance(value, list):
            raise mismatch(value, "a sequence")
        return [at(index, inner, item) for index, item in enumerate(value)]

    return read_sequence


def struct(name: str, fields: Sequence[Field], *, flat: bool = False) -> Type[Members]:
    """A struct that ignores unknown fields; it gives those that are there.

    Args:
        flat: a sequence of the fields' values, in their order, also makes one.
    """
    known = {field.name: field.type for field in fields}
    required = tuple(field.name for field in fields if field.required)
    return partial(_read_struct, name, known, required, fields if flat else ())


def build(make: Callable[..., T], members: Type[Members]) -> Type[T]:
    """What is made of a struct's fields; one that is not there has the default of ``make``."""
    return lambda value: make(**members(value))


def _read_struct(
    name: str, known: Mapping[str, Type[object]], required: Sequence[str], flat: Sequence[Field], value: JSON
) -> Members:
    if not isinstance(value, dict):
        if flat and isinstance(value, list):
            return _read_flat(name, flat, value)
        raise mismatch(value, f"struct {name}")
    _refuse_repeated(known, value)
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


def _refuse_repeated(known: Mapping[str, Type[object]], value: Mapping[str, JSON]) -> None:
    """A field may come once, one that nobody knows as often as it likes; what stands before it is read first."""
    if not isinstance(value, Repeating):
        return
    seen = set()
    for key, inner in value.pairs:
        if key in seen:
            raise Mismatch(f"duplicate field `{key}`", repeated=(key,))
        if key in known:
            at(key, known[key], inner)
            seen.add(key)


def _read_flat(name: str, fields: Sequence[Field], value: Sequence[JSON]) -> Members:
    """A struct from the values of its first fields."""
    found: dict[str, object] = {}
    for index, field in enumerate(fields):
        if index < len(value):
            found[field.name] = at(index, field.type, value[index])
        elif field.required:
            counted = "element" if len(fields) == 1 else "elements"
            raise Mismatch(f"invalid length {index}, expected struct {name} with {len(fields)} {counted}")
    return found


def untagged(name: str, *choices: Type[T]) -> Type[T]:
    """An untagged enum: the first variant that fits."""

    def read_untagged(value: JSON) -> T:
        for choice in choices:
            try:
                return choice(value)
            except Mismatch:
                continue
        raise Mismatch(f"data did not match any variant of untagged enum {name}")

    return read_untagged
