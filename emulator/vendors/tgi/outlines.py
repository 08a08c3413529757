"""Decide whether outlines-core compiles a JSON Schema to a regular expression, and why not.

Source: outlines-core at ba10c619, the commit that router 3.3.7 pins (``router/Cargo.toml:26``),
``src/json_schema/mod.rs:33`` (to_regex) and ``src/json_schema/parsing.rs``. Only the first keyword of
:data:`_KEYWORDS` in a schema is read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object
from emulator.vendors.tgi.rust_text import format_debug, format_json

_FORMATS = ("date-time", "date", "time", "uuid")
_MAX_U64 = 2**64 - 1
_UNSUPPORTED = (
    "Unsupported JSON Schema structure {} \n"
    "Make sure it is valid to the JSON Schema specification and check if it's supported by Outlines.\n"
    "If it should be supported, please open an issue."
)


class Uncompilable(Exception):
    """Schema that outlines-core refuses; its text says why."""


class Endless(Exception):
    """Schema that contains itself; outlines-core follows it until its stack overflows."""


@fast_dataclass(slots=True)
class _Compiler:
    """Compiler of the parts of one schema.

    Fields:
        root: whole schema, in which references are resolved.
        open: references being followed.
        compiled: references that compile.
    """

    root: JSON
    open: set[str] = field(default_factory=set)
    compiled: set[str] = field(default_factory=set)

    def compile(self, schema: JSON) -> None:
        if not isinstance(schema, dict):
            raise Uncompilable("Invalid JSON Schema: expected an object")
        for keyword, compile_keyword in _KEYWORDS.items():
            if keyword in schema:
                return compile_keyword(self, schema)
        if schema:
            raise Uncompilable(_UNSUPPORTED.format(format_json(schema)))
        return None

    def compile_reference(self, schema: Object) -> None:
        """Compile the target of ``$ref``: a path of names, without escapes, in this document alone."""
        reference = schema["$ref"]
        if not isinstance(reference, str):
            raise Uncompilable("'$ref' must be a string")
        parts = reference.split("#")
        if len(parts) > 2:
            raise Uncompilable(f"Invalid reference format: {reference}")
        own = self.root.get("$id") if isinstance(self.root, dict) else None
        if len(parts) == 2 and parts[0] and parts[0] != own:
            raise Uncompilable(f"External references are not supported: {reference}")
        if reference in self.compiled:
            return
        if reference in self.open:
            raise Endless
        self.open.add(reference)
        self.compile(self._resolve(parts[-1]))
        self.open.remove(reference)
        self.compiled.add(reference)

    def _resolve(self, fragment: str) -> JSON:
        found = self.root
        for part in filter(None, fragment.split("/")):
            if not isinstance(found, dict) or part not in found:
                raise Uncompilable(f"Invalid reference path: {part}")
            found = found[part]
        return found


def compile_schema(schema: JSON) -> None:
    """Do nothing if outlines-core compiles ``schema``.

    Raises:
        Uncompilable: it does not.
        Endless: the schema contains itself.
    """
    try:
        _Compiler(schema).compile(schema)
    except RecursionError:
        raise Endless from None


def _compile_properties(compiler: _Compiler, schema: Object) -> None:
    properties = schema["properties"]
    if not isinstance(properties, dict):
        raise Uncompilable("'properties' not found or not an object")
    for value in properties.values():
        compiler.compile(value)


def _list(keyword: str) -> Callable[[_Compiler, Object], None]:
    """Return the rule of a keyword whose value is a list of schemas."""

    def compile_list(compiler: _Compiler, schema: Object) -> None:
        for value in _read_list(schema, keyword):
            compiler.compile(value)

    return compile_list


def _read_list(schema: Object, keyword: str) -> Sequence[JSON]:
    values = schema[keyword]
    if not isinstance(values, list):
        raise Uncompilable(f"'{keyword}' must be an array")
    return values


def _compile_enum(compiler: _Compiler, schema: Object) -> None:
    for value in _read_list(schema, "enum"):
        _validate_literal(value, "enum")


def _compile_const(compiler: _Compiler, schema: Object) -> None:
    _validate_literal(schema["const"], "const")


def _validate_literal(value: JSON, keyword: str) -> None:
    if isinstance(value, list | dict):
        raise Uncompilable(f"Unsupported data type in {keyword}: {format_debug(value)}")


def _compile_type(compiler: _Compiler, schema: Object) -> None:
    kind = schema["type"]
    if not isinstance(kind, str):
        raise Uncompilable("'type' must be a string")
    if kind not in _TYPES:
        raise Uncompilable(f"Unsupported type: {kind}")
    _TYPES[kind](compiler, schema)


def _compile_string(compiler: _Compiler, schema: Object) -> None:
    """Compile a string; the first of length, ``pattern`` and ``format`` counts."""
    if "minLength" in schema or "maxLength" in schema:
        least, most = _read_number(schema.get("minLength")), _read_number(schema.get("maxLength"))
        if "minLength" in schema and "maxLength" in schema and least > most:
            raise Uncompilable("maxLength must be greater than or equal to minLength")
        return
    form = schema.get("format")
    if not isinstance(schema.get("pattern"), str) and isinstance(form, str) and form not in _FORMATS:
        raise Uncompilable(f"Format {form} is not supported by Outlines")


def _compile_number(compiler: _Compiler, schema: Object) -> None:
    for part, first in (("Integer", 1), ("Fraction", 0), ("Exponent", 0)):
        _validate_digits(schema, part, first)


def _compile_integer(compiler: _Compiler, schema: Object) -> None:
    _validate_digits(schema, "", 1)


def _validate_digits(schema: Object, part: str, first: int) -> None:
    least, most = _read_count(schema, f"minDigits{part}"), _read_count(schema, f"maxDigits{part}")
    if least is not None and most is not None and max(0, most - first) < max(0, least - first):
        raise Uncompilable("max bound must be greater than or equal to min bound")


def _compile_object(compiler: _Compiler, schema: Object) -> None:
    """Compile an object without ``properties``; ``additionalProperties: false`` is no schema here."""
    rest = schema.get("additionalProperties", True)
    if _read_count(schema, "maxProperties") != 0 and rest is not True:
        compiler.compile(rest)


def _compile_array(compiler: _Compiler, schema: Object) -> None:
    if _read_count(schema, "maxItems") != 0 and "items" in schema:
        compiler.compile(schema["items"])


def _compile_nothing(compiler: _Compiler, schema: Object) -> None:
    """Compile a type without rules of its own."""


def _read_count(schema: Object, name: str) -> int | None:
    value = schema.get(name)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_U64
    return value if is_count and isinstance(value, int) else None


def _read_number(value: JSON) -> float:
    """Return a number as a float; what is none is below all numbers."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float("-inf")


_TYPES: Mapping[str, Callable[[_Compiler, Object], None]] = {
    "string": _compile_string,
    "number": _compile_number,
    "integer": _compile_integer,
    "array": _compile_array,
    "object": _compile_object,
    "boolean": _compile_nothing,
    "null": _compile_nothing,
}
_KEYWORDS: Mapping[str, Callable[[_Compiler, Object], None]] = {
    "properties": _compile_properties,
    "allOf": _list("allOf"),
    "anyOf": _list("anyOf"),
    "oneOf": _list("oneOf"),
    "prefixItems": _list("prefixItems"),
    "enum": _compile_enum,
    "const": _compile_const,
    "$ref": _Compiler.compile_reference,
    "type": _compile_type,
}
