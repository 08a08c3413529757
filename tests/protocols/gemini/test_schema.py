"""Gemini's schemas convert to equivalent JSON Schemas."""

import pytest

from emulator.protocols.gemini.request import to_json_schema
from tests.untyped_json import JSON


@pytest.mark.parametrize(
    ("given", "schema"),
    [
        pytest.param({"type": "STRING"}, {"type": "string"}, id="a type in capitals"),
        pytest.param({"type": "INTEGER", "format": "int32", "minimum": 1},
                     {"type": "integer", "minimum": 1}, id="a number"),
        pytest.param({"type": "STRING", "format": "date-time"}, {"type": "string", "format": "date-time"}, id="a date"),
        pytest.param({"type": "STRING", "nullable": True, "format": "enum", "enum": ["a"]},
                     {"type": ["string", "null"], "enum": ["a", None]}, id="null among the values"),
        pytest.param({"type": "ARRAY", "items": {"type": "NUMBER"}, "minItems": "2", "max_items": 3},
                     {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3}, id="a list"),
        pytest.param({"type": "OBJECT", "properties": {"type": {"type": "BOOLEAN"}}, "propertyOrdering": ["type"]},
                     {"type": "object", "properties": {"type": {"type": "boolean"}}}, id="a property called type"),
        pytest.param({"any_of": [{"type": "STRING"}, {"type": "NULL"}]},
                     {"anyOf": [{"type": "string"}, {"type": "null"}]}, id="one of several"),
        pytest.param(None, None, id="none"),
    ],
)  # fmt: skip
def test_to_json_schema_output(given: JSON, schema: JSON) -> None:
    assert to_json_schema(given) == schema
