"""Schemas of every draft are accepted, and values that are none are rejected."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.generation.json_schema import Unsatisfiable, generate, is_instance
from tests.untyped_json import JSON

WRONG: dict[str, JSON] = {
    "type": 5, "enum": "a", "required": "a", "uniqueItems": "yes", "pattern": 1, "format": None, "$ref": {},
    "minimum": "1", "maximum": True, "exclusiveMinimum": "0", "multipleOf": 1e999, "minLength": "a", "maxItems": None,
    "minContains": [], "properties": ["a"], "patternProperties": True, "$defs": [], "items": 5, "prefixItems": {},
    "additionalProperties": "no", "contains": None, "not": [], "if": "a", "allOf": {}, "anyOf": [{}, None],
    "dependentRequired": {"a": "b"}, "dependentSchemas": {"a": ["b"]}, "dependencies": {"a": [1]},
}  # fmt: skip


@pytest.mark.parametrize("keyword", WRONG)
@pytest.mark.parametrize("where", ["here", "in what is not used", "behind a reference"])
def test_keyword_of_wrong_type_is_rejected(keyword: str, where: str) -> None:
    wrong: JSON = {keyword: WRONG[keyword]}
    places: dict[str, JSON] = {
        "here": wrong,
        "in what is not used": {"type": "null", "properties": {"a": wrong}},
        "behind a reference": {"$ref": "#/unknown", "unknown": wrong},
    }
    with pytest.raises(Unsatisfiable, match=r"^not a JSON Schema: a keyword has a value of the wrong kind$"):
        generate(places[where], b"k")


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"$ref": "#/unknown", "unknown": 5}, id="a reference to a number"),
        pytest.param({"anyOf": [{"$ref": "#/unknown"}, {}], "unknown": 5}, id="one of several references"),
        pytest.param({"$ref": "http://[::1#a"}, id="a reference that is no address"),
        pytest.param({"$ref": "#/$defs/a", "$defs": {"a": {"$id": "http://[::1#"}}}, id="an address that is none"),
    ],
)
def test_invalid_schema_is_rejected(schema: JSON) -> None:
    with pytest.raises(Unsatisfiable, match=r"^not a JSON Schema: "):
        generate(schema, b"k")


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        pytest.param({"required": True}, {}, True, id="the flag of draft 3"),
        pytest.param({"maximum": 1, "exclusiveMaximum": True}, 1, False, id="the flag of draft 4"),
        pytest.param({"items": [{"type": "null"}]}, [1], False, id="the list of draft 7"),
        pytest.param({"dependencies": {"a": "b"}}, {"a": 1}, False, id="a name alone"),
        pytest.param({"title": 5, "description": None, "examples": "a"}, 1, True, id="words that only describe"),
        pytest.param({"minimal": "a", "x-order": None}, 1, True, id="unknown keywords"),
        pytest.param({"prefixItems": [{}], "minItems": 1.0}, [], False, id="a count written with a point"),
        pytest.param({"enum": [1e999], "multipleOf": 2}, 1e999, False, id="an infinite number is no multiple"),
        pytest.param({"multipleOf": 0.1}, 10**400, True, id="a number beyond doubles is one"),
    ],
)
def test_all_drafts_are_supported(schema: JSON, value: JSON, valid: bool) -> None:
    assert is_instance(schema, value) == valid


def test_internal_errors_are_not_unsatisfiable() -> None:
    unreadable: JSON = ({},)  # no text of JSON gives a tuple
    with pytest.raises(TypeError):
        is_instance({"uniqueItems": True}, [unreadable])
    with pytest.raises(KeyError):
        generate({"const": unreadable}, b"k")


KEYWORDS = st.sampled_from([*WRONG, "const", "maxLength", "minProperties", "$dynamicRef", "then", "unevaluatedItems"])
NAMES = st.sampled_from(["a", "#", "#/properties/a", "string", "object", "array", "^a", "(", "date"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 4) | st.floats(allow_nan=False) | NAMES,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYWORDS | NAMES, below, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.dictionaries(KEYWORDS, ANYTHING, max_size=4), ANYTHING)
def test_arbitrary_schema_raises_only_unsatisfiable(schema: JSON, value: JSON) -> None:
    try:
        is_instance(schema, value)
        generate(schema, b"k")
    except Unsatisfiable:
        pass
