"""Schemas that outlines-core compiles, and those it refuses: outlines-core at ba10c619, ``src/json_schema``.

Expectations are what the crate itself answers.
"""

import json

import pytest

from tests.untyped_json import JSON
from tests.vendors.tgi.direct import CHAT, HELLO, accept, ask, refuse

PREFIX = "Input validation error: "
STRUCTURE = (
    "Unsupported JSON Schema structure {} \n"
    "Make sure it is valid to the JSON Schema specification and check if it's supported by Outlines.\n"
    "If it should be supported, please open an issue."
)
NOTHING = "Invalid JSON Schema: expected an object"


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        # mod.rs:33, to_regex
        pytest.param(True, NOTHING, id="true"),
        pytest.param({"not": {"type": "null"}}, STRUCTURE.format('{"not":{"type":"null"}}'), id="not"),
        pytest.param({"description": "é"}, STRUCTURE.format('{"description":"é"}'), id="only a description"),
        pytest.param({"minimum": 1e30}, STRUCTURE.format('{"minimum":1e30}'), id="no type"),
        pytest.param({"allOf": [{}, False]}, NOTHING, id="allOf"),
        pytest.param({"anyOf": [{"type": "null"}, {"title": "x"}]}, STRUCTURE.format('{"title":"x"}'), id="anyOf"),
        pytest.param({"oneOf": [True]}, NOTHING, id="oneOf"),
        pytest.param({"prefixItems": [True]}, NOTHING, id="prefixItems"),
        # parsing.rs, parse_enum and parse_const
        pytest.param(
            {"enum": [1, {"a": 1.5, "b": [None, True, 'x"\n']}]},
            'Unsupported data type in enum: Object {"a": Number(1.5), "b": Array [Null, Bool(true), '
            'String("x\\"\\n")]}',
            id="enum of objects",
        ),
        pytest.param({"const": []}, "Unsupported data type in const: Array []", id="const of a list"),
        # parse_ref
        pytest.param({"$ref": "#/$defs/Address"}, "Invalid reference path: $defs", id="reference to nothing"),
        pytest.param({"$ref": "Address"}, "Invalid reference path: Address", id="reference by name"),
        pytest.param({"$ref": "x#/a"}, "External references are not supported: x#/a", id="another document"),
        pytest.param({"$ref": "#/a#b"}, "Invalid reference format: #/a#b", id="two fragments"),
        # parse_type and its kin
        pytest.param({"type": ["string", "null"]}, "'type' must be a string", id="list of types"),
        pytest.param({"type": "string", "format": "email"}, "Format email is not supported by Outlines", id="format"),
        pytest.param(
            {"type": "string", "minLength": 3, "maxLength": 2},
            "maxLength must be greater than or equal to minLength",
            id="lengths",
        ),
        pytest.param(
            {"type": "integer", "minDigits": 3, "maxDigits": 2},
            "max bound must be greater than or equal to min bound",
            id="digits",
        ),
        pytest.param(
            {"type": "number", "minDigitsExponent": 1, "maxDigitsExponent": 0},
            "max bound must be greater than or equal to min bound",
            id="digits of an exponent",
        ),
        pytest.param({"type": "object", "additionalProperties": False}, NOTHING, id="closed object"),
        pytest.param({"type": "array", "items": {"type": "array", "items": True}}, NOTHING, id="items"),
        pytest.param({"properties": {"b": {"title": "t"}}}, STRUCTURE.format('{"title":"t"}'), id="nested"),
    ],
)
def test_uncompilable_schemas_are_refused(schema: JSON, text: str) -> None:
    grammar = {"type": "json", "value": {"properties": {"a": schema}}}
    answer = refuse("/generate", ask({"grammar": grammar}))
    assert answer.status == 422
    expected = {"error": f"{PREFIX}cannot compile regex from schema: {text}", "error_type": "validation"}
    assert json.loads(answer.body) == expected
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": schema}}}}
    assert json.loads(refuse(CHAT, {"messages": HELLO, "tools": [tool]}).body) == expected


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({}, id="anything"),
        pytest.param({"type": "string", "pattern": "(", "format": "email"}, id="a pattern, which is not looked at"),
        pytest.param({"type": "string", "minLength": 1, "format": "email"}, id="a length makes the format void"),
        pytest.param({"type": "string", "format": "date-time"}, id="a format it has"),
        pytest.param({"enum": [1, "x", None, True], "type": ["a"]}, id="only the first keyword counts"),
        pytest.param({"$ref": "#/properties/b"}, id="a reference"),
        pytest.param({"$ref": "id#/properties/b"}, id="a reference by the own id"),
        pytest.param({"type": "array", "items": True, "maxItems": 0}, id="items of an empty list"),
        pytest.param({"type": "object", "additionalProperties": False, "maxProperties": 0}, id="an empty object"),
        pytest.param({"type": "integer", "minDigits": 1, "maxDigits": 0}, id="digits beside the first"),
        pytest.param({"properties": {}, "additionalProperties": False, "required": ["z"]}, id="a closed object"),
    ],
)
def test_compilable_schemas_are_accepted(schema: JSON) -> None:
    value = {"$id": "id", "properties": {"a": schema, "b": {"type": "null"}}}
    if "enum" not in schema:  # its type is none for the metaschema, which tools do not pass
        accept("/generate", ask({"grammar": {"type": "json_schema", "value": {"schema": value}}}))
    if "$ref" not in schema:
        accept(CHAT, {"messages": HELLO, "tools": [nested(properties={"a": schema})]})


def test_endless_schema_ends_request() -> None:
    """The router itself dies of such a schema: its stack overflows."""
    value = {"properties": {"a": {"$ref": "#"}}}
    answer = refuse("/generate", ask({"grammar": {"type": "json", "value": value}}))
    assert (answer.status, json.loads(answer.body)["error_type"]) == (500, "incomplete_generation")


PERSON = {"address": {"$ref": "#/$defs/Address"}}
DEFINED = {"$defs": {"Address": {"type": "object", "properties": {"city": {"type": "string"}}}}}


def nested(name: str = "f", **parameters: JSON) -> JSON:
    """Build a tool."""
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


@pytest.mark.parametrize(
    ("tools", "text"),
    [
        pytest.param(
            [{"type": "function", "function": {"name": "f", "parameters": {"properties": PERSON, **DEFINED}}}],
            "Invalid reference path: $defs",
            id="definitions of a tool are not in the schema of all",
        ),
        pytest.param([nested("a/b")], "Invalid reference path: a", id="a name with a slash"),
        pytest.param([nested("a#b")], "Invalid reference format: #/$functions/a#b", id="a name with a hash"),
        pytest.param(
            [nested(properties={"a": {"type": 5}}), nested("g", properties={"a": True})],
            "'type' must be a string",
            id="the first tool",
        ),
        pytest.param([nested(properties={"a": {"enum": 5}})], "'enum' must be an array", id="no schema at all"),
    ],
)
def test_tools_that_do_not_compile(tools: JSON, text: str) -> None:
    """``router/src/infer/tool_grammar.rs:68-121``: of a tool only ``properties`` and ``required`` are taken."""
    whole = refuse(CHAT, {"messages": HELLO, "tools": tools})
    assert whole.status == 422
    assert json.loads(whole.body)["error"] == f"{PREFIX}cannot compile regex from schema: {text}"
    streamed = refuse(CHAT, {"messages": HELLO, "tools": tools, "stream": True})
    assert streamed.status == 200
    assert text in streamed.body.decode()


def test_tools_need_grammar_support() -> None:
    section = "vendors: {tgi: {disable_grammar_support: true}}\n"
    answer = refuse(CHAT, {"messages": HELLO, "tools": [nested()]}, section)
    assert json.loads(answer.body)["error"] == f"{PREFIX}grammar is not supported"
    accept(CHAT, {"messages": HELLO, "tools": [nested()], "tool_choice": "none"}, section)
