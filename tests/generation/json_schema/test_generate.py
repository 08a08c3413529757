"""Instances of schemas written by hand: the corners."""

import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from emulator.generation.json_schema import Mode, generate
from tests.generation.json_schema.oracle import accepts
from tests.untyped_json import JSON

MODES: tuple[Mode, ...] = ("typical", "minimal", "boundary", "adversarial")
KEYS = (b"a", b"b", b"c")
DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
DRAFT_2019 = {"$schema": "https://json-schema.org/draft/2019-09/schema"}
STRING = {"type": "string"}
NUMBER = {"type": "number"}
TREE = {"anyOf": [{"$ref": "#"}, {"type": "null"}]}
EXPRESSION = {
    "oneOf": [
        {
            "type": "object",
            "required": ["op", "of"],
            "properties": {
                "op": {"enum": ["+", "*"]},
                "of": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/e"}},
            },
        },
        {
            "type": "object",
            "required": ["not"],
            "properties": {"not": {"$ref": "#/$defs/e"}},
            "additionalProperties": False,
        },
        NUMBER,
    ]
}


def flags(count: int) -> JSON:
    """Booleans of which of each neighbouring two exactly one is true."""
    names = [f"f{i}" for i in range(count)]
    pairs = [
        {"oneOf": [{"properties": {a: {"const": True}}}, {"properties": {b: {"const": True}}}]}
        for a, b in pairwise(names)
    ]
    return {"type": "object", "required": names, "properties": {n: {"type": "boolean"} for n in names}, "allOf": pairs}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(True, id="anything"),
        pytest.param({}, id="an empty schema"),
        pytest.param({"type": ["integer", "null"]}, id="one of two types"),
        pytest.param({"enum": [{"a": 1}, "x", 3]}, id="an enumeration of mixed types"),
        pytest.param(
            {"enum": [1, "a", "b"], "type": "string", "not": {"const": "a"}}, id="an enumeration narrowed by others"
        ),
        pytest.param({"const": {"deep": [1, {"x": None}]}}, id="a constant object"),
        pytest.param(
            {"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 6}, id="the one integer between two bounds"
        ),
        pytest.param(
            {**NUMBER, "multipleOf": 0.01, "exclusiveMinimum": 0.05, "exclusiveMaximum": 0.07},
            id="the one cent between",
        ),
        pytest.param(
            {**NUMBER, "allOf": [{"multipleOf": 0.6}, {"multipleOf": 0.4}], "minimum": 1},
            id="a multiple of two fractions",
        ),
        pytest.param({**NUMBER, "minimum": 1, "maximum": 1}, id="a number that can only be whole"),
        pytest.param({**NUMBER, "not": {"type": "integer"}}, id="a number that is not whole"),
        pytest.param(
            {**DRAFT_4, **NUMBER, "minimum": 3, "exclusiveMinimum": True, "maximum": 3.5},
            id="the exclusive bound of draft 4",
        ),
        pytest.param({**NUMBER, "not": {"multipleOf": 2}, "multipleOf": 1}, id="odd numbers"),
        pytest.param({**STRING, "minLength": 5, "maxLength": 5}, id="a string of one length"),
        pytest.param({**STRING, "maxLength": 0}, id="the empty string"),
        pytest.param({**STRING, "pattern": "^[A-Z]{2}\\d{4}$"}, id="a pattern with both anchors"),
        pytest.param({**STRING, "pattern": "foo|bar", "minLength": 12}, id="a pattern that may be anywhere"),
        pytest.param(
            {
                **STRING,
                "allOf": [{"pattern": "^[ab]*$"}, {"pattern": "bab"}, {"pattern": "aa$"}],
                "minLength": 9,
                "maxLength": 9,
            },
            id="three patterns and a length",
        ),
        pytest.param(
            {**STRING, "pattern": "^(?=.*\\d)(?=.*[A-Z])(?!.*x)[A-Za-z0-9]{8,}$"}, id="a password rule of look-aheads"
        ),
        pytest.param({**STRING, "pattern": "^(a|b)c\\1$"}, id="a back reference"),
        pytest.param({**STRING, "pattern": "\\bfoo\\b", "minLength": 10}, id="word boundaries"),
        pytest.param({**STRING, "pattern": "^\\p{Lu}\\p{L}{3}$"}, id="letters by category"),
        pytest.param({**STRING, "not": {"pattern": "[a-z]"}, "minLength": 3}, id="a pattern that must not be found"),
        pytest.param({**STRING, "pattern": "^[ab]$", "not": {"enum": ["a"]}}, id="a pattern without one of its texts"),
        pytest.param({**STRING, "format": "date", "pattern": "-1[12]-"}, id="a date late in the year"),
        pytest.param(
            {**STRING, "format": "email", "pattern": "@acme\\.com$", "maxLength": 14}, id="a short address of one host"
        ),
        pytest.param({**STRING, "format": "uri", "pattern": "^https://foo\\.bar/[a-z]{3}$"}, id="a URI of one host"),
        pytest.param(
            {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 2}, id="both booleans"
        ),
        pytest.param(
            {"type": "array", "items": {**STRING, "pattern": "^[abc]$"}, "uniqueItems": True, "minItems": 3},
            id="every text of a pattern",
        ),
        pytest.param({"type": "array", "prefixItems": [STRING, NUMBER], "items": False, "minItems": 2}, id="a pair"),
        pytest.param(
            {**DRAFT_7, "type": "array", "items": [STRING, NUMBER], "additionalItems": {"type": "null"}, "minItems": 4},
            id="items as a list",
        ),
        pytest.param(
            {
                "type": "array",
                "contains": {"const": 7},
                "minContains": 2,
                "maxContains": 2,
                "minItems": 5,
                "items": {"type": "integer"},
            },
            id="just two sevens of five",
        ),
        pytest.param(
            {
                "type": "array",
                "allOf": [{"contains": {"minimum": 5}}, {"contains": {"maximum": 8}}],
                "maxItems": 1,
                "items": NUMBER,
            },
            id="one item for two wishes",
        ),
        pytest.param(
            {"type": "array", "prefixItems": [True], "contains": {**STRING}, "unevaluatedItems": False, "minItems": 3},
            id="items all of which are spoken of",
        ),
        pytest.param(
            {"type": "object", "propertyNames": {"pattern": "^x[0-9]$"}, "minProperties": 10}, id="every possible name"
        ),
        pytest.param(
            {
                "type": "object",
                "patternProperties": {"^S_": STRING, "^I_": {"type": "integer"}},
                "additionalProperties": False,
                "minProperties": 3,
            },
            id="names by patterns",
        ),
        pytest.param(
            {"type": "object", "required": ["a"], "dependentRequired": {"a": ["b"], "b": ["c"]}},
            id="a chain of dependent properties",
        ),
        pytest.param(
            {**DRAFT_7, "type": "object", "required": ["a"], "dependencies": {"a": {"required": ["b"]}, "b": ["c"]}},
            id="dependencies of both kinds",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": STRING},
                "required": ["a"],
                "dependentSchemas": {"a": {"properties": {"n": NUMBER}, "required": ["n"]}},
                "unevaluatedProperties": False,
            },
            id="a dependent schema, and nothing else",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {}, "b": {}}, "maxProperties": 1, "required": ["b"]},
            id="one property at most",
        ),
        pytest.param({"type": "object", "properties": {"a": False, "b": STRING}}, id="a property that must not be"),
        pytest.param(
            {"type": "object", "not": {"required": ["a"]}, "properties": {"a": {}, "b": {}}},
            id="a property forbidden by not",
        ),
        pytest.param(
            {
                "allOf": [{"properties": {"a": STRING}}, {"required": ["a"]}, {"properties": {"a": {"minLength": 3}}}],
                "type": "object",
            },
            id="one property in three schemas",
        ),
        pytest.param(
            {
                "type": "object",
                "allOf": [{"properties": {"foo": True}, "unevaluatedProperties": False}],
                "anyOf": [{"properties": {"bar": True}}],
            },
            id="unevaluated apart from its cousin",
        ),
        pytest.param({"oneOf": [{"type": "integer"}, {**NUMBER, "minimum": 10}]}, id="branches that overlap"),
        pytest.param(
            {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}},
            id="one of two properties",
        ),
        pytest.param(flags(12), id="a chain of exclusive choices"),
        pytest.param(
            {
                "type": "object",
                "properties": {"k": {"enum": ["x", "y"]}},
                "required": ["k"],
                "if": {"properties": {"k": {"const": "x"}}},
                "then": {"required": ["x"]},
                "else": {"required": ["y"]},
            },
            id="a condition on a kind",
        ),
        pytest.param({"not": {"not": {**STRING, "minLength": 3}}}, id="not not"),
        pytest.param(
            {"not": {"anyOf": [{"type": "object"}, {"type": "array"}, STRING, NUMBER]}}, id="neither of four types"
        ),
        pytest.param(
            {"type": "object", "required": ["l", "r"], "properties": {"l": TREE, "r": TREE}},
            id="a tree that may end anywhere",
        ),
        pytest.param({"$ref": "#/$defs/e", "$defs": {"e": EXPRESSION}}, id="expressions that end only in numbers"),
        pytest.param(
            {
                "$id": "https://x.test/root",
                "$ref": "item#part",
                "$defs": {"i": {"$id": "item", "$defs": {"p": {"$anchor": "part", "type": "integer"}}}},
            },
            id="an anchor in an embedded schema",
        ),
        pytest.param(
            {
                "$id": "https://x.test/l",
                "$ref": "list",
                "$defs": {
                    "s": {"$dynamicAnchor": "of", **STRING},
                    "l": {
                        "$id": "list",
                        "type": "array",
                        "minItems": 1,
                        "items": {"$dynamicRef": "#of"},
                        "$defs": {"any": {"$dynamicAnchor": "of"}},
                    },
                },
            },
            id="a list with its kind given from outside",
        ),
        pytest.param(
            {**DRAFT_2019, "$recursiveAnchor": True, "type": "object", "properties": {"sub": {"$recursiveRef": "#"}}},
            id="the recursion of 2019-09",
        ),
        pytest.param(
            {**DRAFT_7, "$ref": "http://json-schema.org/draft-07/schema#"}, id="a schema that is asked for a schema"
        ),
        pytest.param({"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"const": 1}}}, id="a pointer with escapes"),
    ],
)
def test_instance(schema: JSON, mode: Mode) -> None:
    for key in KEYS:
        instance = generate(schema, key, mode=mode)
        assert accepts(schema, instance), instance


@pytest.mark.slow
def test_concurrent_generation_equals_sequential() -> None:
    names = "name", "email", "city", "company", "address", "phone"
    schema: JSON = {"type": "object", "properties": {name: STRING for name in names}, "required": [*names]}

    def make() -> list[JSON]:
        return [generate(schema, b"%d" % number) for number in range(60)]

    alone, usual = make(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as pool:
            together = [task.result() for task in [pool.submit(make), pool.submit(make)]]
    finally:
        sys.setswitchinterval(usual)
    assert together == [alone, alone]
