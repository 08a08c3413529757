"""Generated instances: modes, hints, and values that fit the names of properties."""

import re

import pytest

from emulator.core.json import Object, as_object
from emulator.generation.json_schema import generate
from tests.untyped_json import JSON

STRING: Object = {"type": "string"}
NUMBER: Object = {"type": "number"}


def test_same_key_generates_same_instance() -> None:
    schema: JSON = {"type": "object", "properties": {name: STRING for name in ("email", "city", "note")}}
    assert generate(schema, b"one") == generate(schema, b"one")
    assert len({str(generate(schema, bytes([i]))) for i in range(8)}) > 1


def test_modes_choose_optional_properties_and_bounds() -> None:
    schema: JSON = {
        "type": "object",
        "properties": {"id": {"type": "integer", "minimum": 3, "maximum": 9}, **{f"p{i}": STRING for i in range(4)}},
        "required": ["id"],
    }
    assert generate(schema, b"k", mode="minimal") == {"id": 3}
    assert len(as_object(generate(schema, b"k", mode="adversarial"))) == 5
    assert {as_object(generate(schema, bytes([i]), mode="boundary"))["id"] for i in range(20)} == {3, 9}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({**STRING, "examples": ["Oslo", "Bergen"]}, {"Oslo", "Bergen"}, id="examples"),
        pytest.param({**STRING, "default": "metric"}, {"metric"}, id="a default"),
        pytest.param({**STRING, "description": "The city, e.g. Oslo, Norway."}, {"Oslo, Norway"}, id="described"),
        pytest.param({**STRING, "description": "A unit such as 'km'"}, {"km"}, id="quoted in a description"),
        pytest.param({**STRING, "examples": ["no"], "minLength": 3}, set(), id="never one that is not valid"),
    ],
)
def test_schema_hints_supply_values(schema: JSON, expected: set[str]) -> None:
    seen = {generate(schema, bytes([i])) for i in range(40)}
    assert expected <= seen
    assert "no" not in seen


@pytest.mark.parametrize(
    ("name", "schema", "pattern"),
    [
        pytest.param("email", STRING, r"[^@ ]+@[^@ ]+\.[a-z]+", id="an address"),
        pytest.param("billingEmail", STRING, r"[^@ ]+@[^@ ]+\.[a-z]+", id="the last word of a name"),
        pytest.param("created_at", STRING, r"\d{4}-\d\d-\d\dT.*Z", id="a time"),
        pytest.param("website_url", STRING, r"https?://.+", id="a URL"),
        pytest.param("user_id", STRING, r"[0-9a-f]{12}", id="an identifier"),
        pytest.param("phone", STRING, r"\+1-555-01\d\d", id="a telephone number"),
        pytest.param("first_name", STRING, r"[A-Z][a-z]+", id="a first name"),
        pytest.param("ip_address", STRING, r"\d+\.\d+\.\d+\.\d+", id="the last two words of a name"),
        pytest.param("mails", {"type": "array", "items": STRING, "minItems": 1}, r"\['[^@ ]+@.*", id="a plural"),
        pytest.param("age", {"type": "integer"}, r"[1-8]\d", id="an age"),
        pytest.param("probability", NUMBER, r"0\.\d+", id="a probability"),
    ],
)
def test_property_names_select_value_format(name: str, schema: JSON, pattern: str) -> None:
    whole: JSON = {"type": "object", "properties": {name: schema}, "required": [name]}
    for i in range(10):
        value = as_object(generate(whole, bytes([i])))[name]
        assert re.fullmatch(pattern, str(value)), value
