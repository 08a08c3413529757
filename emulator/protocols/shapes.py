"""Find the first member of a request, at any depth, that does not fit the API's official description.

The description is a table of shapes, ``shapes.json``, which ``python -m tests.tools.shapes`` writes. A shape is the
name of a type, ``#Name`` of another shape, or an object with one of these keys:

- ``fields``: shapes of an object's members, with ``required`` (names), ``needs`` (name of a member to that of another
  without which it is unknown) and ``open`` (unknown members fit);
- ``array``: shape of each item;
- ``enum``: accepted texts;
- ``any``: alternative shapes;
- ``kinds``: shapes of an object by the text of its member ``tag``, with ``default`` (the text if the member is absent)
  and ``listed`` (the texts that errors name);
- ``bound``: a shape, whose value also keeps ``min`` and ``max`` (length of a text or a list, or a number), ``pattern``
  and, of an id, ``prefix``.

A ``null`` fits every shape. Azure and Databricks check requests of OpenAI's and Anthropic's APIs with it.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object, as_array, as_number, as_object, as_text, parse_json

Bound = Literal["min", "max", "pattern", "prefix", "characters"]
Kind = Literal["unknown", "missing", "type", "enum", "tag", "min", "max", "pattern", "prefix", "characters"]
Path = tuple[str | int, ...]

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "any": (object,),
}
_MAX_DEPTH = 100  # of shapes within one another, such as filters
_ID = re.compile("[A-Za-z0-9_-]+")


class Tag(str):
    """Part of a path that is the kind of an object and not a field."""

    __slots__ = ()


@fast_dataclass(frozen=True, slots=True, eq=False)
class Misfit:
    """First member of a request that does not fit its shape.

    Fields:
        kind: ``tag`` is an unknown kind of an object; ``min``, ``max``, ``pattern``, ``prefix`` and ``characters`` are
            bounds, the last of an id.
        expected: types or accepted values.
        limit: the bound, a float if a number need not be an integer.
    """

    kind: Kind
    path: Path
    value: JSON = None
    expected: Sequence[str] = ()
    limit: JSON = None


def format_path(path: Path) -> str:
    """Return a path as OpenAI writes it: ``tools[0].name``."""
    parts = [part for part in path if not isinstance(part, Tag)]
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).lstrip(".")


class ShapeTable:
    """Shapes by name, loaded when first used.

    Args:
        package: holds ``shapes.json``.
        bounded: whether bounds are kept.
    """

    def __init__(self, package: str, *, bounded: bool = True) -> None:
        self._package = package
        self._bounded = bounded

    def find_misfit(self, name: str, value: JSON, path: Path = ()) -> Misfit | None:
        """Return the first misfit of a value in document order; missing fields of an object come before the others."""
        return self._find(self._load()[name], value, path, 0)

    def _load(self) -> Object:
        return _load_shapes(self._package)

    def _find(self, shape: JSON, value: JSON, path: Path, depth: int) -> Misfit | None:
        if value is None or depth > _MAX_DEPTH:
            return None
        if isinstance(shape, str):
            if shape.startswith("#"):
                return self._find(self._load()[shape[1:]], value, path, depth + 1)
            return None if _fits(value, shape) else Misfit("type", path, value, (shape,))
        assert isinstance(shape, dict)
        if "bound" in shape:
            found = self._find(shape["bound"], value, path, depth)
            return _find_bound(shape, value, path) if found is None and self._bounded else found
        return self._find_composed(shape, value, path, depth)

    def _find_composed(self, shape: Object, value: JSON, path: Path, depth: int) -> Misfit | None:
        if "enum" in shape:
            return _find_value(as_array(shape["enum"]), value, path)
        if "any" in shape:
            return self._find_any(as_array(shape["any"]), value, path, depth)
        if "array" in shape:
            return self._find_item(shape["array"], value, path, depth)
        if not isinstance(value, dict):
            return Misfit("type", path, value, ("object",))
        return (self._find_kind if "kinds" in shape else self._find_field)(shape, value, path, depth)

    def _find_any(self, shapes: Sequence[JSON], value: JSON, path: Path, depth: int) -> Misfit | None:
        """Return the misfit of the alternative that has the value's type."""
        first: Misfit | None = None
        for shape in shapes:
            found = self._find(shape, value, path, depth + 1)
            if found is None:
                return None
            if first is None or (len(found.path) > len(path) or found.kind != "type"):
                first = found
        types = list(dict.fromkeys(self._name_type(shape) for shape in shapes))
        if first is not None and first.kind == "type" and len(first.path) == len(path):
            return Misfit("type", path, value, types)
        return first

    def _name_type(self, shape: JSON) -> str:
        if isinstance(shape, str):
            return "object" if shape.startswith("#") else shape
        assert isinstance(shape, dict)
        if "bound" in shape:
            return self._name_type(shape["bound"])
        return "array" if "array" in shape else "string" if "enum" in shape else "object"

    def _find_item(self, shape: JSON, value: JSON, path: Path, depth: int) -> Misfit | None:
        if not isinstance(value, list):
            return Misfit("type", path, value, ("array",))
        for position, item in enumerate(value):
            found = self._find(shape, item, (*path, position), depth + 1)
            if found is not None:
                return found
        return None

    def _find_kind(self, shape: Object, value: Object, path: Path, depth: int) -> Misfit | None:
        """Return the misfit of an object whose kind one of its fields names."""
        tag, kinds = as_text(shape["tag"]), as_object(shape["kinds"])
        given = shape.get("default") if value.get(tag) is None else value[tag]
        if given is None:
            return Misfit("missing", (*path, tag))
        if not isinstance(given, str):
            return Misfit("type", (*path, tag), given, ("string",))
        if given not in kinds:
            return Misfit(
                "tag", (*path, tag), given, [as_text(kind) for kind in as_array(shape.get("listed", [*kinds]))]
            )
        found = self._find(kinds[given], value, (*path, Tag(given)), depth + 1)
        if found is not None and found.kind == "unknown" and self._has_elsewhere(kinds, found, len(path) + 1, value):
            return None
        return found

    def _has_elsewhere(self, kinds: Object, found: Misfit, depth: int, value: Object) -> bool:
        """Return whether an unknown field is ``null`` and belongs to another kind: clients write all fields of all."""
        name = found.path[depth] if len(found.path) == depth + 1 else None
        return (
            isinstance(name, str) and value[name] is None and any(name in self._list(kind) for kind in kinds.values())
        )

    def _list(self, shape: JSON) -> Object:
        """Return the fields of an object's shape."""
        while isinstance(shape, str) and shape.startswith("#"):
            shape = self._load()[shape[1:]]
        return as_object(shape.get("fields", {})) if isinstance(shape, dict) else {}

    def _find_field(self, shape: Object, value: Object, path: Path, depth: int) -> Misfit | None:
        fields = as_object(shape["fields"])
        for name in as_array(shape.get("required", [])):
            if value.get(as_text(name)) is None:
                return Misfit("missing", (*path, as_text(name)))
        needs = as_object(shape.get("needs", {}))
        for name, inner in value.items():
            known = name in fields and (name not in needs or value.get(as_text(needs[name])) is not None)
            if not known:
                if shape.get("open"):
                    continue
                return Misfit("unknown", (*path, name), inner)
            found = self._find(fields[name], inner, (*path, name), depth + 1)
            if found is not None:
                return found
        return None


def _find_value(values: Sequence[JSON], value: JSON, path: Path) -> Misfit | None:
    if not isinstance(value, str):
        return Misfit("type", path, value, ("string",))
    return None if value in values else Misfit("enum", path, value, [as_text(one) for one in values])


def _find_bound(shape: Object, value: JSON, path: Path) -> Misfit | None:
    """Return the misfit of a value of the right type that exceeds its bounds."""
    size = len(value) if isinstance(value, str | list) else as_number(value)
    text = value if isinstance(value, str) else ""
    kind: Bound | None = None
    if "prefix" in shape and not _ID.fullmatch(text):
        kind = "characters"
    elif "min" in shape and size < as_number(shape["min"]):
        kind = "min"
    elif "max" in shape and size > as_number(shape["max"]):
        kind = "max"
    elif "pattern" in shape and not re.search(as_text(shape["pattern"]), text):
        kind = "pattern"
    elif "prefix" in shape and not text.startswith(as_text(shape["prefix"])):
        kind = "prefix"
    limit = shape.get(kind) if kind is not None else None
    if shape["bound"] == "number" and limit is not None:
        limit = float(as_number(limit))
    return None if kind is None else Misfit(kind, path, value, limit=limit)


def _fits(value: JSON, kind: str) -> bool:
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()  # 256.0 is an integer in JSON
    return isinstance(value, _TYPES[kind]) and (not isinstance(value, bool) or kind in ("boolean", "any"))


@cache
def _load_shapes(package: str) -> Object:
    return as_object(parse_json((files(package) / "shapes.json").read_bytes().decode()))


OPENAI_SHAPES = ShapeTable("emulator.protocols.openai")
"""Shapes of OpenAI's requests. Source: openai/openai-openapi; the differences: ``tests/tools/shapes/openai.py``."""
OPENAI_MEMBERS = ShapeTable("emulator.protocols.openai", bounded=False)
"""Shapes of OpenAI's requests without bounds."""
ANTHROPIC_SHAPES = ShapeTable("emulator.protocols.anthropic")
"""Shapes of Anthropic's requests. Source: the parameter types of the package ``anthropic``."""
