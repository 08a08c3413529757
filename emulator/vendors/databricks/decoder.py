"""Validate request bodies as Go's strict decoder does: the first invalid field in document order is the error.

A shape is the type of a field; rules between fields are elsewhere. A ``null`` is always valid, because the decoder
leaves the field unset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON

_MAX_INTEGER = 2**63  # limit of an int64


PythonTypes = frozenset[type]
_NEVER: PythonTypes = frozenset()
_NULL: PythonTypes = frozenset({type(None)})
_EXACT: dict[str, PythonTypes] = {
    "string": _NULL | {str},
    "number": _NULL | {float, int},
    "boolean": _NULL | {bool},
    "object": _NULL | {dict},
    "any": _NULL | {str, int, float, bool, list, dict},
}


@fast_dataclass(frozen=True, slots=True)
class Scalar:
    """Value of one JSON type; ``any`` accepts all.

    ``exact``, of every shape: Python types that fit it without a look at their members.
    """

    type: str
    exact: PythonTypes = _NULL


def _scalar(kind: str) -> Scalar:
    return Scalar(kind, _EXACT.get(kind, _NULL))


@fast_dataclass(frozen=True, slots=True)
class Many:
    """Array with items of one shape."""

    item: Shape
    exact: PythonTypes = _NULL


@fast_dataclass(frozen=True, slots=True)
class Either:
    """One of several shapes; an error names the first."""

    shapes: tuple[Shape, ...]
    exact: PythonTypes = _NULL


def either(*shapes: Shape) -> Either:
    return Either(shapes, _NULL.union(*(shape.exact for shape in shapes)))


@fast_dataclass(frozen=True, slots=True)
class Struct:
    """Object with known fields.

    Fields:
        sure: Python types that always fit, by field.
    """

    fields: Mapping[str, Shape] = field(default_factory=dict)
    exact: PythonTypes = _NULL
    sure: Mapping[str, PythonTypes] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sure", {name: shape.exact for name, shape in self.fields.items()})


Shape = Scalar | Many | Either | Struct

STRING = _scalar("string")
INTEGER = _scalar("integer")
NUMBER = _scalar("number")
BOOLEAN = _scalar("boolean")
OBJECT = _scalar("object")
ANY = _scalar("any")
STRINGS = either(Many(STRING), STRING)
TEXTS = either(STRING, Many(STRING))

Allow = Callable[[str, str], bool]


def type_of(value: JSON) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, list):
        return "array"
    return "null" if value is None else "object"


def fits(value: JSON, shape: Shape) -> bool:
    """Return whether a value has the type of a shape; its members are not validated."""
    if isinstance(shape, Many):
        return isinstance(value, list)
    if isinstance(shape, Struct):
        return isinstance(value, dict)
    if isinstance(shape, Either):
        return any(fits(value, one) for one in shape.shapes)
    kind = shape.type
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool) and -_MAX_INTEGER <= value < _MAX_INTEGER
    return kind in ("any", type_of(value))


def validate_shape(value: JSON, shape: Shape, path: str, allow: Allow) -> None:
    """Raise for the first field in document order that is unknown or mistyped.

    Args:
        path: dotted, without indices: ``messages.content``.
        allow: returns whether an unknown field of a path is accepted.
    """
    if value is None:
        return
    if isinstance(shape, Either):
        shape = _find_shape(value, shape)
    if isinstance(shape, Struct) and isinstance(value, dict):
        _validate_fields(value, shape, path, allow)
    elif isinstance(shape, Many) and isinstance(value, list):
        _validate_items(value, shape.item, path, allow)
    elif not fits(value, shape):
        raise error_type(path, shape, value)


def _find_shape(value: JSON, shape: Either) -> Shape:
    for one in shape.shapes:
        if fits(value, one):
            return one
    return shape.shapes[0]


def _validate_items(values: list[JSON], shape: Shape, path: str, allow: Allow) -> None:
    struct = shape if isinstance(shape, Struct) else None
    for inner in values:
        if struct is not None and type(inner) is dict:
            _validate_fields(inner, struct, path, allow)
        elif type(inner) not in shape.exact:
            validate_shape(inner, shape, path, allow)


def _validate_fields(value: dict[str, JSON], shape: Struct, path: str, allow: Allow) -> None:
    sure = shape.sure
    for name, inner in value.items():
        if type(inner) in sure.get(name, _NEVER):
            continue
        expected = shape.fields.get(name)
        if expected is None:
            if not allow(path, name):
                raise error_unknown_field(name)
        elif expected is not INTEGER or type(inner) is not int or not -_MAX_INTEGER <= inner < _MAX_INTEGER:
            validate_shape(inner, expected, f"{path}.{name}" if path else name, allow)


def error_unknown_field(name: str) -> EmulatedError:
    """Return the error of an unknown field; the line end is part of the message.

    Source: databricks-sdk-py issue 1263.
    """
    return error_parameter(f"Bad request: json: unknown field {_quote(name)}\n", name)


def error_type(path: str, shape: Shape, value: JSON) -> EmulatedError:
    """Return the error of a mistyped field.

    Source: llama_index issue 17239, of ``messages.content``; the same text for other fields is unverified.
    """
    expected = shape.type if isinstance(shape, Scalar) else "object" if isinstance(shape, Struct) else "array"
    where = f"field '{path}' expects" if path else "the body expects"
    actual = "array" if isinstance(value, list) else type_of(value)
    text = f"Unable to parse json body for request, {where} input with json type '{expected}' but got '{actual}'"
    return error_parameter(text, path)


def error_parameter(message: str, param: str | None = None, code: str = "BAD_REQUEST") -> EmulatedError:
    """Return the error of an invalid field (400)."""
    return EmulatedError(ErrorKind.INVALID_PARAMETER, message, param, details={"error_code": code})


def _quote(name: str) -> str:
    """Format a field name as Go's ``%q`` does."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
