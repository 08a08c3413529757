"""Schemas of the kinds that clients send: tools, models of validation libraries, descriptions of interfaces."""

import pytest

from emulator.core.json import Object
from emulator.generation.json_schema import Mode, Unsatisfiable, generate, generate_invalid
from tests.generation.json_schema.oracle import accepts
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

MODES: tuple[Mode, ...] = ("typical", "minimal", "boundary", "adversarial")
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
DRAFT_2020 = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
STRING: Object = {"type": "string"}
INTEGER: Object = {"type": "integer"}


def record(required: str = "", closed: bool = False, **properties: JSON) -> Object:
    """A schema of an object; ``required``: names, with spaces between."""
    found: Object = {"type": "object", "properties": properties, "required": required.split()}
    return {**found, "additionalProperties": False} if closed else found


def many(items: JSON, **more: JSON) -> Object:
    return {"type": "array", "items": items, **more}


def format_of(name: str, **more: JSON) -> Object:
    return {"type": "string", "format": name, **more}


NODE = record("value children", True, value=INTEGER, children=many({"$ref": "#/$defs/Node"}))
STEP: Object = {
    **record("", True, uses=STRING, run=STRING, shell=STRING),
    "allOf": [{"oneOf": [{"required": ["uses"]}, {"required": ["run"]}]}],
    "dependencies": {"shell": ["run"]},
}
BRANCHES: Object = {
    **record("", False, **{name: many(STRING, minItems=1) for name in ("branches", "branches-ignore")}),
    "not": {"required": ["branches", "branches-ignore"]},
}
ONE_OF_THREE: Object = {
    **record("id", id=INTEGER, a=STRING, b=STRING),
    "oneOf": [
        {"required": ["a"], "not": {"required": ["b"]}},
        {"required": ["b"], "not": {"required": ["a"]}},
        {"not": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}},
    ],
}
CASES = [
    pytest.param(
        record("qty sku", qty={**INTEGER, "minimum": 1}, sku={**STRING, "pattern": "^[A-Z]{3}-\\d{4}$"}), id="a tool"
    ),
    pytest.param(record("a", True, a={"type": ["string", "null"]}), id="a strict tool"),
    pytest.param(
        {
            "oneOf": [{"$ref": "#/$defs/C"}, {"$ref": "#/$defs/D"}],
            "$defs": {
                "C": record("kind", kind={"const": "cat"}, lives=INTEGER),
                "D": record("kind", kind={"const": "dog"}),
            },
        },
        id="variants with a kind each",
    ),
    pytest.param({"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}, id="a tree that must name its children"),
    pytest.param(many(STEP, minItems=2), id="steps that do one thing or the other"),
    pytest.param({**DRAFT_7, **BRANCHES}, id="two properties that exclude each other"),
    pytest.param(ONE_OF_THREE, id="one, the other or neither"),
    pytest.param(many(record("id", True, id={"enum": [1, 2, 3]}), minItems=3, uniqueItems=True), id="unique objects"),
    pytest.param(
        many(record("id", True, id={**INTEGER, "minimum": 1, "maximum": 3}), minItems=3, uniqueItems=True),
        id="every object there is",
    ),
    pytest.param(format_of("email", maxLength=8), id="a short address"),
    pytest.param(format_of("uri", minLength=60), id="a long URI"),
    pytest.param(format_of("date", pattern="^1999-"), id="a date of another century"),
    pytest.param(format_of("date-time", pattern="\\.\\d{3}Z$"), id="a time with thousandths"),
    pytest.param(format_of("ipv6", pattern="^2001:db8:"), id="an address of one network"),
    pytest.param(
        {"type": "string", "pattern": "^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d).+$", "minLength": 12, "maxLength": 16},
        id="a password",
    ),
    pytest.param({"type": "string", "pattern": "^(foo|^bar|baz$)$"}, id="anchors inside a choice"),
    pytest.param({**DRAFT_2020, "type": "array", "contains": STRING, "minContains": 0, "items": INTEGER},
                 id="what need not be contained"),
    pytest.param(
        {**DRAFT_2020, "type": "array", "contains": STRING, "unevaluatedItems": INTEGER, "minItems": 3},
        id="items that are contained, and the rest",
    ),
    pytest.param(
        {
            **DRAFT_7,
            **record("n s", n={**INTEGER, "minimum": 0, "maximum": 10}, s={"enum": ["low", "high"]}),
            "if": {"properties": {"n": {"maximum": 4}}},
            "then": {"properties": {"s": {"const": "low"}}},
            "else": {"properties": {"s": {"const": "high"}}},
        },
        id="a word for a number",
    ),
    pytest.param(
        {"type": "object", "patternProperties": {"^a": {"minimum": 5}, "b$": {"maximum": 6}}, "required": ["ab"]},
        id="a name of two patterns",
    ),
    pytest.param({"type": "number", "multipleOf": 0.01, "minimum": 0.005, "maximum": 0.015}, id="one cent"),
    pytest.param({"oneOf": [{"const": 1}, {"const": 2}, {"const": 2.0}]}, id="constants one of which is there twice"),
]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("schema", CASES)
def test_instance(schema: JSON, mode: Mode) -> None:
    for key in (b"1", b"2", b"3", b"4", b"5"):
        instance = generate(schema, key, mode=mode)
        assert accepts(schema, instance), instance


@pytest.mark.parametrize("schema", CASES)
def test_invalid_instance_is_rejected(schema: JSON) -> None:
    assert not accepts(schema, generate_invalid(schema, b"1").instance)


@pytest.mark.parametrize("schema", [[1], "string", 3, None])
def test_non_schema_is_rejected(schema: JSON) -> None:
    with pytest.raises(Unsatisfiable, match="not a JSON Schema"):
        generate(schema, b"1")
