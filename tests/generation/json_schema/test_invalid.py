"""Instances that break one rule."""

import pytest

from emulator.core.json import as_object
from emulator.generation.json_schema import Unsatisfiable, generate, generate_invalid, is_instance
from tests.generation.json_schema.oracle import accepts
from tests.untyped_json import JSON

PERSON: JSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "keyword", "path"),
    [
        pytest.param({"type": "string"}, "type", (), id="a type"),
        pytest.param({"minimum": 5}, "minimum", (), id="a bound"),
        pytest.param({"maxLength": 5}, "maxLength", (), id="a length"),
        pytest.param({"pattern": "^a*$"}, "pattern", (), id="a pattern"),
        pytest.param({"enum": [1, 2]}, "enum", (), id="an enumeration"),
        pytest.param({"const": {"a": 1}}, "const", (), id="a constant"),
        pytest.param({"multipleOf": 3}, "multipleOf", (), id="a multiple"),
        pytest.param({"required": ["a"]}, "required", (), id="a missing property"),
        pytest.param({"uniqueItems": True}, "uniqueItems", (), id="items twice"),
        pytest.param({"anyOf": [{"type": "string"}, {"type": "null"}]}, "anyOf", (), id="none of the branches"),
        pytest.param({"oneOf": [{"minimum": 1}, {"maximum": 3}]}, "oneOf", (), id="not one of the branches"),
        pytest.param({"not": {"type": "string"}}, "not", (), id="what must not be"),
        pytest.param({"contains": {"const": 1}}, "contains", (), id="without what it must contain"),
        pytest.param({"$ref": "#/$defs/n", "$defs": {"n": {"type": "null"}}}, "type", (), id="behind a reference"),
        pytest.param({"propertyNames": {"enum": ["a", "b"]}, "minProperties": 2}, None, None, id="a wrong name"),
        pytest.param(
            {
                "properties": {"a": {"items": {"enum": [0]}, "minItems": 1, "type": "array"}},
                "required": ["a"],
                "type": "object",
            },
            None,
            None,
            id="somewhere inside",
        ),
    ],
)
def test_invalid_instance_breaks_expected_keyword(
    schema: JSON, keyword: str | None, path: tuple[str | int, ...] | None
) -> None:
    broken = generate_invalid(schema, b"k")
    assert not accepts(schema, broken.instance)
    if keyword is not None:
        assert (broken.keyword, broken.path) == (keyword, path)


def test_every_keyword_is_broken_eventually() -> None:
    seen = {generate_invalid(PERSON, bytes([i]))[1:] for i in range(120)}
    assert {keyword for keyword, _ in seen} == {
        "type", "minLength", "minimum", "maximum", "enum", "uniqueItems", "required", "additionalProperties",
    }  # fmt: skip


@pytest.mark.parametrize("number", range(20))
def test_only_one_keyword_is_broken(number: int) -> None:
    broken = generate_invalid(PERSON, bytes([number]))
    relaxed = _without(PERSON, broken.keyword)
    assert not accepts(PERSON, broken.instance)
    assert accepts(relaxed, broken.instance)


def _without(schema: JSON, keyword: str) -> JSON:
    """The schema with one keyword taken out everywhere."""
    if isinstance(schema, dict):
        return {name: _without(below, keyword) for name, below in schema.items() if name != keyword}
    return schema


@pytest.mark.parametrize("schema", [True, {}, {"properties": {"a": {}}}], ids=["true", "empty", "no rule"])
def test_unbreakable_schema_is_unsatisfiable(schema: JSON) -> None:
    with pytest.raises(Unsatisfiable, match="breaks just one rule"):
        generate_invalid(schema, b"k")


def test_invalid_mode_equals_generate_invalid() -> None:
    assert generate(PERSON, b"k", mode="invalid") == generate_invalid(PERSON, b"k").instance
    assert not is_instance(PERSON, generate(PERSON, b"k", mode="invalid"))


def test_only_one_property_name_is_broken() -> None:
    schema: JSON = {"type": "object", "propertyNames": {"pattern": "^[ab]$"}, "minProperties": 2}
    broken = [generate_invalid(schema, bytes([i])) for i in range(20)]
    misnamed = [as_object(found.instance).keys() - {"a", "b"} for found in broken if found.keyword == "propertyNames"]
    assert misnamed
    assert all(len(names) == 1 for names in misnamed)
