"""Where values deviate from a description."""

import pytest

from tests.conformance.official.walk import Description
from tests.untyped_json import JSON

DOCUMENT: JSON = {
    "components": {
        "schemas": {
            "Base": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "A": {
                "allOf": [{"$ref": "#/components/schemas/Base"}],
                "properties": {"type": {"const": "a"}, "size": {"type": "integer"}},
                "required": ["type"],
            },
            "B": {"type": "object", "properties": {"type": {"enum": ["b"]}, "free": {"type": "object"}}},
            "List": {
                "type": "object",
                "properties": {
                    "data": {
                        "type": "array",
                        "items": {"oneOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}]},
                    },
                    "next": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                },
                "required": ["data"],
            },
        }
    },
    "paths": {
        "/things/{thing}": {
            "get": {
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/List"}}}}
                }
            }
        }
    },
}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"data": []}, []),
        ({"data": [{"type": "a", "id": "x"}, {"type": "b", "free": {"any": 1}}], "next": None}, []),
        ({}, ["List .data: missing"]),
        ({"data": [], "more": 1}, ["List .more: unknown"]),
        ({"data": [{"type": "a", "id": "x", "size": True}]}, ["List .data[].size: bool, not integer"]),
        ({"data": [{"type": "a"}]}, ["List .data[].id: missing"]),
        ({"data": [{"type": "b", "id": "x"}]}, ["List .data[].id: unknown"]),
        ({"data": None}, ["List .data: null, not array"]),
        ({"data": [], "next": 5}, ["List .next: int, not string"]),
        ({"data": [{"type": "c", "free": {}}]}, ["List .data[].type: value 'c'"]),
    ],
)
def test_compare(value: JSON, found: list[str]) -> None:
    assert [str(deviation) for deviation in Description(DOCUMENT).compare("List", value)] == found
