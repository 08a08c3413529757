"""List the subschemas of a JSON Schema, and check that its keywords have values of the right kind.

A schema may refer to the schema of schemas by its URL; ``META_SCHEMA`` stands for it.

Source: the validation vocabularies of JSON Schema drafts 3 to 2020-12.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from emulator.core.json import JSON, Object
from emulator.generation.json_schema.equality import is_finite, is_number

Schema = Object | bool


class NotASchema(ValueError):
    """The value is not a valid JSON Schema in any supported draft."""

    def __init__(self, reason: str = "a keyword has a value of the wrong kind") -> None:
        super().__init__(f"not a JSON Schema: {reason}")


def subschemas(schema: Object) -> Iterator[Schema]:
    """Yield the schemas directly below one schema.

    A keyword may have any value that some draft allows. Keywords that only describe are skipped.

    Raises:
        NotASchema: a keyword has a value of the wrong kind.
    """
    for keyword, argument in schema.items():
        if keyword in _HOLDERS:
            for below in _HOLDERS[keyword](argument):
                if not isinstance(below, dict | bool):
                    raise NotASchema
                yield below
        elif keyword in _PLAIN and not _PLAIN[keyword](argument):
            raise NotASchema


def _one(argument: JSON) -> Iterable[JSON]:
    return (argument,)


def _listed(argument: JSON) -> Iterable[JSON]:
    if isinstance(argument, list):
        return argument
    raise NotASchema


def _one_or_listed(argument: JSON) -> Iterable[JSON]:
    return argument if isinstance(argument, list) else (argument,)


def _named(argument: JSON) -> Iterable[JSON]:
    if isinstance(argument, dict):
        return argument.values()
    raise NotASchema


def _dependencies(argument: JSON) -> Iterable[JSON]:
    """Yield the schemas in ``dependencies``, which also holds lists of required names."""
    return (needed for needed in _named(argument) if not _is_text_or_texts(needed))


_HOLDERS: Mapping[str, Callable[[JSON], Iterable[JSON]]] = {
    **dict.fromkeys(("$defs", "definitions", "properties", "patternProperties", "dependentSchemas"), _named),
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties", "propertyNames", "additionalItems"), _one),
    **dict.fromkeys(("unevaluatedItems", "contains", "contentSchema", "not", "if", "then", "else"), _one),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _listed),
    "items": _one_or_listed, "dependencies": _dependencies,
}  # fmt: skip
"""Keywords that hold schemas, and how to find them."""


def _is_text(value: JSON) -> bool:
    return isinstance(value, str)


def _is_texts(value: JSON) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_text_or_texts(value: JSON) -> bool:
    return isinstance(value, str) or _is_texts(value)


def _is_texts_or_flag(value: JSON) -> bool:
    return isinstance(value, bool) or _is_texts(value)


def _is_named_texts(value: JSON) -> bool:
    return isinstance(value, dict) and all(map(_is_texts, value.values()))


def _is_list(value: JSON) -> bool:
    return isinstance(value, list)


def _is_flag(value: JSON) -> bool:
    return isinstance(value, bool)


def _is_number(value: JSON) -> bool:
    return is_number(value) and is_finite(value)


def _is_number_or_flag(value: JSON) -> bool:
    return isinstance(value, bool) or _is_number(value)


_PLAIN: Mapping[str, Callable[[JSON], bool]] = {
    **dict.fromkeys(("$ref", "$dynamicRef", "$recursiveRef", "pattern", "format"), _is_text),
    **dict.fromkeys(("minimum", "maximum", "multipleOf", "minContains", "maxContains"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_number),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _is_number_or_flag),
    "type": _is_text_or_texts, "required": _is_texts_or_flag, "dependentRequired": _is_named_texts,
    "enum": _is_list, "uniqueItems": _is_flag,
}  # fmt: skip
"""Keywords that hold no schema, and what they may have."""


_TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"]
_COUNT: JSON = {"type": "integer", "minimum": 0}
_SCHEMA: JSON = {"$ref": "#"}
_SCHEMAS: JSON = {"type": "object", "additionalProperties": {"$ref": "#"}}
_LIST: JSON = {"type": "array", "minItems": 1, "items": {"$ref": "#"}}

META_SCHEMA: Schema = {
    "type": ["object", "boolean"],
    "properties": {
        "title": {"type": "string"},
        "description": {"type": "string"},
        "type": {
            "anyOf": [
                {"enum": _TYPES},
                {"type": "array", "items": {"enum": _TYPES}, "minItems": 1, "uniqueItems": True},
            ]
        },
        "pattern": {"type": "string", "format": "regex"},
        "multipleOf": {"type": "number", "exclusiveMinimum": 0},
        "required": {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True},
        "uniqueItems": {"type": "boolean"},
        "enum": {"type": "array", "minItems": 1},
        "not": _SCHEMA,
        "minimum": {"type": "number"},
        "maximum": {"type": "number"},
        **{name: _COUNT for name in ("minLength", "maxLength", "minItems", "maxItems")},
        **{name: _COUNT for name in ("minProperties", "maxProperties")},
        **{name: _SCHEMAS for name in ("properties", "patternProperties", "definitions", "$defs")},
        **{name: _LIST for name in ("allOf", "anyOf", "oneOf")},
    },
}
"""What is made for a reference to a meta-schema, for none is fetched: of the keywords every draft has."""
