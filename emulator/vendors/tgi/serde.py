"""Reading a body as serde reads it into structs: field by field in the order they stand, first mismatch wins.

Source: serde_json 1, ``src/de.rs`` and ``src/error.rs``; serde_path_to_error 0.1; axum 0.6 and 0.7,
``src/json.rs`` and ``src/extract/rejection.rs``.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.vendor import WireRequest

Path = tuple[str | int, ...]
Type = Callable[[JSON, Path], JSON]
MAX_U32 = 2**32 - 1
MAX_U64 = 2**64 - 1

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}]+")
_MARK = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_SPACE = re.compile(rb"[\s,:]*")


@dataclass(slots=True, eq=False)
class Mismatch(Exception):
    """A value that does not fit its type; ``inside``: the fault was found at the end of the value."""

    text: str
    path: Path
    inside: bool = True


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct; without ``default`` it must be there."""

    name: str
    type: Type
    default: JSON = None
    required: bool = False


def read(request: WireRequest, target: Type) -> JSON:
    """The body as ``target``.

    Raises:
        EmulatedError: 415 without a JSON content type, 400 if it is no JSON, 422 if it does not fit.
    """
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if not re.fullmatch(r"application/(?:[\w.+-]+\+)?json", kind):
        raise reject(415, "Expected request with `Content-Type: application/json`")
    try:
        body = request.json()
    except ValueError as error:
        raise reject(400, f"Failed to parse the request body as JSON: {error}") from None
    try:
        return target(body, ())
    except Mismatch as mismatch:
        place = _place(request.body, mismatch)
        where = f"{_spell(mismatch.path)}: " if mismatch.path else ""
        text = f"Failed to deserialize the JSON body into the target type: {where}{mismatch.text} at {place}"
        raise reject(422, text) from None


def reject(status: int, text: str) -> EmulatedError:
    """A request that never reaches a handler: plain text."""
    kind = ErrorKind.PAYLOAD_TOO_LARGE if status == 413 else ErrorKind.INVALID_REQUEST
    return EmulatedError(kind, message=text, status=status, details={"rejected": True})


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


def mismatch(value: JSON, expected: str, path: Path) -> Mismatch:
    """A value of another type than ``expected``."""
    text = f"invalid type: {unexpected(value)}, expected {expected}"
    return Mismatch(text, path, inside=not isinstance(value, list | dict))


def string(value: JSON, path: Path) -> str:
    if not isinstance(value, str):
        raise mismatch(value, "a string", path)
    return value


def boolean(value: JSON, path: Path) -> bool:
    if not isinstance(value, bool):
        raise mismatch(value, "a boolean", path)
    return value


def anything(value: JSON, path: Path) -> JSON:
    return value


def f32(value: JSON, path: Path) -> float:
    """A number; one beyond single precision becomes infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise mismatch(value, "f32", path)
    return min(max(value, -1e39), 1e39) * 1.0


def _integer(name: str, low: int, high: int, value: JSON, path: Path) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value <= MAX_U64:
        raise mismatch(value, name, path)
    if not low <= value <= high:
        raise Mismatch(f"invalid value: integer `{value}`, expected {name}", path)
    return value


u32: Type = partial(_integer, "u32", 0, MAX_U32)
u64: Type = partial(_integer, "u64", 0, MAX_U64)
usize: Type = partial(_integer, "usize", 0, MAX_U64)
i32: Type = partial(_integer, "i32", -(2**31), 2**31 - 1)


def option(inner: Type) -> Type:
    """``Option<T>``: null is none."""
    return lambda value, path: None if value is None else inner(value, path)


def sequence(inner: Type) -> Type:
    """``Vec<T>``."""

    def read_sequence(value: JSON, path: Path) -> list[JSON]:
        if not isinstance(value, list):
            raise mismatch(value, "a sequence", path)
        return [inner(item, (*path, index)) for index, item in enumerate(value)]

    return read_sequence


def struct(name: str, fields: Sequence[Field]) -> Type:
    """A struct that ignores unknown fields."""
    known = {field.name: field for field in fields}
    defaults = {field.name: field.default for field in fields}

    def read_struct(value: JSON, path: Path) -> Mapping[str, JSON]:
        if not isinstance(value, dict):
            raise mismatch(value, f"struct {name}", path)
        found = dict(defaults)
        for key, inner in value.items():
            field = known.get(key)
            if field is not None:
                found[key] = field.type(inner, (*path, key))
        for field in fields:
            if field.required and field.name not in value:
                raise Mismatch(f"missing field `{field.name}`", path)
        return found

    return read_struct


def untagged(name: str, *choices: Type) -> Type:
    """An untagged enum: the first variant that fits."""

    def read_untagged(value: JSON, path: Path) -> JSON:
        for choice in choices:
            try:
                return choice(value, path)
            except Mismatch:
                continue
        raise Mismatch(f"data did not match any variant of untagged enum {name}", path)

    return read_untagged


def _spell(path: Path) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _place(body: bytes, mismatch: Mismatch) -> str:
    """``line 1 column 11``: how far the parser had read."""
    start, end = _locate(body, mismatch.path)
    offset = end if mismatch.inside else start
    line = body.count(b"\n", 0, offset) + 1
    column = offset - body.rfind(b"\n", 0, offset) - 1
    return f"line {line} column {column}"


def _locate(body: bytes, path: Path) -> tuple[int, int]:
    """Where a value of a valid document starts and ends."""
    start = _next(body, 0)
    for step in path:
        position = _next(body, start + 1)
        found = position
        index = 0
        while position < len(body) and body[position : position + 1] not in (b"}", b"]"):
            key: str | int = index
            if isinstance(step, str):
                end = _skip(body, position)
                key = json.loads(body[position:end])
                position = _next(body, end)
            if key == step:
                found = position
            position = _next(body, _skip(body, position))
            index += 1
        start = found
    return start, _skip(body, start)


def _next(body: bytes, position: int) -> int:
    match = _SPACE.match(body, position)
    return match.end() if match else position


def _skip(body: bytes, position: int) -> int:
    """The end of the value that starts at ``position``."""
    opening = body[position : position + 1]
    if opening not in (b"{", b"["):
        match = (_STRING if opening == b'"' else _SCALAR).match(body, position)
        return match.end() if match else position
    depth = 0
    for match in _MARK.finditer(body, position):
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(body)
