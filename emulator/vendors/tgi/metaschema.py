"""Validate that ``grammar`` is a JSON Schema of draft 2020-12; return the first error in Rust's jsonschema's words.

Source: jsonschema 0.28.3, ``src/error.rs:784`` (Display); referencing 0.28.3, ``metaschemas/draft2020-12``: the
vocabularies in the order of ``allOf``, and in each the keywords in the order of its file. Formats are not asserted.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from emulator.core.json import JSON
from emulator.vendors.tgi.rust_text import format_json

Check = Callable[[JSON], str | None]
_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_ANY_OF = "is not valid under any of the schemas listed in the 'anyOf' keyword"
_ID = r"^[^#]*#?$"
_ANCHOR = r"^[A-Za-z_][-A-Za-z0-9._]*$"


def find_schema_error(schema: JSON) -> str | None:
    """Return why a value is no JSON Schema; ``None`` if it is one."""
    if isinstance(schema, bool):
        return None
    if not isinstance(schema, dict):
        return f'{format_json(schema)} is not of types "boolean", "object"'
    for name, check in _KEYWORDS.items():
        if name in schema and (error := check(schema[name])) is not None:
            return error
    return None


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: JSON) -> bool:
    return _is_number(value) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


_KINDS: Mapping[str, Callable[[JSON], bool]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "number": _is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def _of_type(kind: str) -> Check:
    fits = _KINDS[kind]
    return lambda value: None if fits(value) else f'{format_json(value)} is not of type "{kind}"'


def _each(kind: str, check: Check) -> Check:
    """Return the check of a list or an object: first its type, then ``check`` of each item or member."""
    typed = _of_type(kind)

    def find(value: JSON) -> str | None:
        inner: Sequence[JSON] = ()
        if isinstance(value, list | dict):
            inner = value if isinstance(value, list) else list(value.values())
        return typed(value) or next(filter(None, map(check, inner)), None)

    return find


def _matching(pattern: str) -> Check:
    compiled, typed = re.compile(pattern), _of_type("string")

    def find(value: JSON) -> str | None:
        if isinstance(value, str) and not compiled.search(value):
            return f'{format_json(value)} does not match "{pattern}"'
        return typed(value)

    return find


def _find_count_error(value: JSON) -> str | None:
    if isinstance(value, int | float) and _is_integer(value) and value < 0:
        return f"{format_json(value)} is less than the minimum of 0"
    return _of_type("integer")(value)


def _find_multiple_error(value: JSON) -> str | None:
    if isinstance(value, int | float) and _is_number(value) and value <= 0:
        return f"{format_json(value)} is less than or equal to the minimum of 0"
    return _of_type("number")(value)


def _find_schemas_error(value: JSON) -> str | None:
    return "[] has less than 1 item" if value == [] else _each("array", find_schema_error)(value)


def _find_names_error(value: JSON) -> str | None:
    """Find the error of a list of different strings."""
    error = _each("array", _of_type("string"))(value)
    if error is None and isinstance(value, list) and len(set(map(str, value))) < len(value):
        return f"{format_json(value)} has non-unique elements"
    return error


def _find_type_error(value: JSON) -> str | None:
    names = value if isinstance(value, list) else [value]
    fits = names and all(isinstance(name, str) and name in _TYPES for name in names)
    if fits and len(set(map(str, names))) == len(names):
        return None
    return f"{format_json(value)} {_ANY_OF}"


def _find_dependency_error(value: JSON) -> str | None:
    if find_schema_error(value) is None or _find_names_error(value) is None:
        return None
    return f"{format_json(value)} {_ANY_OF}"


_STRING, _BOOLEAN, _NUMBER = map(_of_type, ("string", "boolean", "number"))
_LIST, _SCHEMAS = _of_type("array"), _each("object", find_schema_error)
_KEYWORDS: Mapping[str, Check] = {
    # core
    "$id": _matching(_ID),
    "$schema": _STRING,
    "$ref": _STRING,
    "$anchor": _matching(_ANCHOR),
    "$dynamicRef": _STRING,
    "$dynamicAnchor": _matching(_ANCHOR),
    "$vocabulary": _each("object", _BOOLEAN),
    "$comment": _STRING,
    "$defs": _SCHEMAS,
    # applicator
    "prefixItems": _find_schemas_error,
    "items": find_schema_error,
    "contains": find_schema_error,
    "additionalProperties": find_schema_error,
    "properties": _SCHEMAS,
    "patternProperties": _SCHEMAS,
    "dependentSchemas": _SCHEMAS,
    "propertyNames": find_schema_error,
    "if": find_schema_error,
    "then": find_schema_error,
    "else": find_schema_error,
    "allOf": _find_schemas_error,
    "anyOf": _find_schemas_error,
    "oneOf": _find_schemas_error,
    "not": find_schema_error,
    # unevaluated
    "unevaluatedItems": find_schema_error,
    "unevaluatedProperties": find_schema_error,
    # validation
    "type": _find_type_error,
    "enum": _LIST,
    "multipleOf": _find_multiple_error,
    "maximum": _NUMBER,
    "exclusiveMaximum": _NUMBER,
    "minimum": _NUMBER,
    "exclusiveMinimum": _NUMBER,
    "maxLength": _find_count_error,
    "minLength": _find_count_error,
    "pattern": _STRING,
    "maxItems": _find_count_error,
    "minItems": _find_count_error,
    "uniqueItems": _BOOLEAN,
    "maxContains": _find_count_error,
    "minContains": _find_count_error,
    "maxProperties": _find_count_error,
    "minProperties": _find_count_error,
    "required": _find_names_error,
    "dependentRequired": _each("object", _find_names_error),
    # meta-data
    "title": _STRING,
    "description": _STRING,
    "deprecated": _BOOLEAN,
    "readOnly": _BOOLEAN,
    "writeOnly": _BOOLEAN,
    "examples": _LIST,
    # format-annotation, content
    "format": _STRING,
    "contentEncoding": _STRING,
    "contentMediaType": _STRING,
    "contentSchema": find_schema_error,
    # of earlier drafts
    "definitions": _SCHEMAS,
    "dependencies": _each("object", _find_dependency_error),
    "$recursiveAnchor": _matching(_ANCHOR),
    "$recursiveRef": _STRING,
}
