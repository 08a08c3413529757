"""Values that are no JSON Schema, in the words of jsonschema 0.28.3."""

import json

import pytest

from emulator.vendors.tgi.metaschema import find_schema_error
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import ask, refuse

NEITHER = 'is not of types "boolean", "object"'
ANY_OF = "is not valid under any of the schemas listed in the 'anyOf' keyword"


@pytest.mark.parametrize(
    ("schema", "error"),
    [
        ("text", '"text" is not of types "boolean", "object"'),
        ([], '[] is not of types "boolean", "object"'),
        ({"type": "text"}, f'"text" {ANY_OF}'),
        ({"type": ["string", "string"]}, f'["string","string"] {ANY_OF}'),
        ({"type": []}, f"[] {ANY_OF}"),
        ({"properties": 5}, '5 is not of type "object"'),
        ({"properties": {"a": {"items": [{}]}}}, '[{}] is not of types "boolean", "object"'),
        ({"minLength": -1}, "-1 is less than the minimum of 0"),
        ({"maxItems": 1.5}, '1.5 is not of type "integer"'),
        ({"maxItems": 2.0}, None),
        ({"multipleOf": 0}, "0 is less than or equal to the minimum of 0"),
        ({"required": ["a", "a"]}, '["a","a"] has non-unique elements'),
        ({"required": [1]}, '1 is not of type "string"'),
        ({"allOf": []}, "[] has less than 1 item"),
        ({"enum": 5}, '5 is not of type "array"'),
        ({"$id": "a#b"}, '"a#b" does not match "^[^#]*#?$"'),
        ({"$anchor": "1 a"}, '"1 a" does not match "^[A-Za-z_][-A-Za-z0-9._]*$"'),
        ({"dependencies": {"a": [1]}}, f"[1] {ANY_OF}"),
        ({"dependencies": {"a": ["b"]}}, None),
        ({"title": 5, "required": 5, "$ref": 5}, '5 is not of type "string"'),
        ({"title": "x", "required": "a", "not": []}, '[] is not of types "boolean", "object"'),
        ({"$ref": "a b", "pattern": "(", "format": "none", "x": 5}, None),
        (True, None),
    ],
)
def test_find_schema_error(schema: JSON, error: str | None) -> None:
    assert find_schema_error(schema) == error


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ({"type": "json", "value": {"type": "text"}}, f'grammar is not valid: "text" {ANY_OF}'),
        ({"type": "json", "value": '{"type": "text"}'}, f'grammar is not valid: "text" {ANY_OF}'),
        (
            {"type": "json_schema", "value": {"schema": 5}},
            'grammar is not valid: 5 is not of types "boolean", "object"',
        ),
        ({"type": "json", "value": "true"}, "grammar is not valid: Grammar must have a 'properties' field"),
        ({"type": "json", "value": {}}, "grammar is not valid: Grammar must have a 'properties' field"),
        ({"type": "json", "value": []}, "grammar is not supported"),
    ],
)
def test_invalid_schemas_are_refused(grammar: JSON, text: str) -> None:
    """``router/src/validation.rs:352-400``: the metaschema, ``properties``, then the compilation."""
    answer = refuse("/generate", ask({"grammar": grammar}))
    assert json.loads(answer.body)["error"] == f"Input validation error: {text}"
