"""Schemas without an instance, malformed ones, and ones made to keep a search busy for ever."""

import time
from contextlib import suppress

import pytest

from emulator.generation.json_schema import Unsatisfiable, generate
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        pytest.param(False, "no value", id="the schema that allows nothing"),
        pytest.param({**STRING, "enum": [1, 2]}, "no value", id="a type none of the values has"),
        pytest.param(
            {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, "no value", id="no integer between"
        ),
        pytest.param(
            {**STRING, "allOf": [{"pattern": "^a"}, {"pattern": "^b"}]}, "no value", id="two patterns at odds"
        ),
        pytest.param(
            {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3},
            "no value",
            id="three different booleans",
        ),
        pytest.param(
            {"type": "object", "required": ["a"], "properties": {"a": False}},
            "'a' is not allowed",
            id="required and forbidden",
        ),
        pytest.param(
            {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
            "endless",
            id="recursion without end",
        ),
        pytest.param({"$ref": "#"}, "endless", id="a reference to itself"),
        pytest.param({"$ref": "http://example.com/x.json"}, "outside the schema", id="a remote reference"),
        pytest.param({"$ref": "#/definitions/none"}, "points to nothing", id="a reference to nothing"),
        pytest.param({**STRING, "pattern": "(a"}, "not a regular expression", id="a pattern that is none"),
        pytest.param({**STRING, "minLength": "a"}, "not a JSON Schema", id="a length that is no number"),
        pytest.param({"type": "object", "properties": [1]}, "not a JSON Schema", id="properties that are a list"),
        pytest.param({**STRING, "minLength": 10**9}, "bound of size", id="a billion characters"),
        pytest.param({"type": "array", "minItems": 10**9}, "bound of size", id="a billion items"),
        pytest.param({"type": "object", "minProperties": 10**9}, "bound of size", id="a billion properties"),
        pytest.param(
            {**STRING, "pattern": "^((a{100}){100}){100}$"}, "short enough", id="a pattern of a million characters"
        ),
    ],
)
def test_unsatisfiable_schema_is_refused(schema: JSON, reason: str) -> None:
    with pytest.raises(Unsatisfiable, match=reason):
        generate(schema, b"k")


def deep_all_of() -> JSON:
    levels = {f"l{i}": {"allOf": [{"$ref": f"#/$defs/l{i + 1}"}, {"$ref": f"#/$defs/l{i + 1}"}]} for i in range(40)}
    return {"$ref": "#/$defs/l0", "$defs": {**levels, "l40": STRING}}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(deep_all_of(), id="a trillion paths to one schema"),
        pytest.param(
            {
                "type": "object",
                "maxProperties": 10,
                "allOf": [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(30)],
            },
            id="a billion branches, all dead",
        ),
        pytest.param({**STRING, "pattern": "^(a+)+$", "minLength": 5000}, id="nested repeats and a long text"),
        pytest.param(
            {**STRING, "allOf": [{"pattern": "^(a|a)*$"}, {"pattern": "^(a?){60}b$"}]},
            id="patterns that match in countless ways",
        ),
        pytest.param(
            {**STRING, "pattern": "^(([a-z])+.)+[A-Z]([a-z])+$", "minLength": 300}, id="a pattern known to hang"
        ),
        pytest.param(
            {"type": "array", "minItems": 3000, "items": {"anyOf": [{"not": STRING}, {"pattern": "^x"}]}},
            id="thousands of choices",
        ),
        pytest.param(
            {"enum": [f"v{i}" for i in range(20_000)], "not": {"enum": [f"v{i}" for i in range(19_999)]}},
            id="a long list less another",
        ),
        pytest.param({**STRING, "pattern": "^" + "[a-z0-9]?" * 60 + "!$", "minLength": 200}, id="many optional parts"),
        pytest.param(
            {
                "type": "object",
                "required": ["a0"],
                "properties": {"a60": False, "a61": False},
                "dependentSchemas": {
                    f"a{i}": {"anyOf": [{"required": [f"a{i + 1}"]}, {"required": [f"a{i + 2}"]}]} for i in range(60)
                },
            },
            id="a chain of choices with a dead end",
        ),
    ],
)
def test_generation_terminates_for_hostile_schema(schema: JSON) -> None:
    started = time.process_time()
    with suppress(Unsatisfiable):
        generate(schema, b"k")  # not judged: the judge itself would not come to an end
    assert time.process_time() - started < 2  # counted in steps; this only separates an endless search from a long one
