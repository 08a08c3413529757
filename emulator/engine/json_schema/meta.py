"""What a schema that refers to a meta-schema asks for: a value that is itself a schema.

The meta-schemas are not fetched; this stands for all of them. It speaks of the keywords every draft has and lets
any other pass.

Source: the validation vocabularies of JSON Schema drafts 4 to 2020-12.
"""

from emulator.core.json import JSON

_TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"]
_COUNT: JSON = {"type": "integer", "minimum": 0}
_SCHEMA: JSON = {"$ref": "#"}
_SCHEMAS: JSON = {"type": "object", "additionalProperties": {"$ref": "#"}}
_LIST: JSON = {"type": "array", "minItems": 1, "items": {"$ref": "#"}}

META_SCHEMA: JSON = {
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
