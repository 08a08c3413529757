"""Schemas that OpenAI's models accept, and errors of the others."""

import pytest

from emulator.core.json import JSON
from emulator.protocols.openai.strict_schema import find_problem

_REQUIRED = "'required' is required to be supplied and to be an array including every key in properties."
_CLOSED = "'additionalProperties' is required to be supplied and to be false."
_TEXT: JSON = {"type": "string"}


def closed(properties: dict[str, JSON], **more: JSON) -> dict[str, JSON]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
        **more,
    }


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        pytest.param(closed({"a": _TEXT}), None, id="closed"),
        pytest.param(closed({}), None, id="of nothing"),
        pytest.param(closed({"a": {"anyOf": [_TEXT, {"type": "null"}]}}), None, id="one of some"),
        pytest.param(closed({"a": {"type": "number", "minimum": 1}}), None, id="a bound"),
        pytest.param(closed({"a": {"$ref": "#/$defs/B"}}, **{"$defs": {"B": closed({})}}), None, id="by reference"),
        pytest.param(
            {"type": "array", "items": _TEXT},
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.",
            id="no object",
        ),
        pytest.param(
            {"anyOf": [closed({})]},
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.",
            id="of no type",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": _TEXT}, "required": ["a"]}, f"In context=(), {_CLOSED}", id="open"
        ),
        pytest.param(closed({"a": _TEXT}, additionalProperties=_TEXT), f"In context=(), {_CLOSED}", id="open to some"),
        pytest.param(
            closed({"a": _TEXT, "b": _TEXT}, required=["a"]),
            f"In context=(), {_REQUIRED} Missing 'b'.",
            id="one left out",
        ),
        pytest.param(
            closed({"a": _TEXT}, required=["a", "c"]),
            f"In context=(), {_REQUIRED} Extra required key 'c' supplied.",
            id="one too many",
        ),
        pytest.param(
            closed({"a": {"type": "object", "properties": {}}}),
            f"In context=('properties', 'a'), {_CLOSED}",
            id="open inside",
        ),
        pytest.param(
            closed({"a": {"type": "array", "items": {"type": "object"}}}),
            f"In context=('properties', 'a', 'items'), {_CLOSED}",
            id="open in a list",
        ),
        pytest.param(
            closed({"a": {"anyOf": [_TEXT, {"type": "object"}]}}),
            f"In context=('properties', 'a', 'anyOf', '1'), {_CLOSED}",
            id="open in a choice",
        ),
        pytest.param(
            closed({}, **{"$defs": {"B": {"type": "object"}}}),
            f"In context=('$defs', 'B'), {_CLOSED}",
            id="open in a definition",
        ),
        pytest.param(
            closed({"a": {"oneOf": [_TEXT]}}),
            "In context=('properties', 'a'), 'oneOf' is not permitted.",
            id="exactly one of some",
        ),
        pytest.param(
            closed({"a": {"type": "array"}}),
            "In context=('properties', 'a'), array schema missing items.",
            id="a list of anything",
        ),
        pytest.param(
            closed({"a": _TEXT}, required=["a", {"b": 1}]),
            "In context=(), {\"b\":1} is not of type 'string'.",
            id="a required key that is none",
        ),
    ],
)
def test_problem_of_strict_schema(schema: dict[str, JSON], problem: str | None) -> None:
    assert find_problem(schema, strict=True) == problem


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        pytest.param({}, None, id="nothing given"),
        pytest.param({"type": "object", "properties": {"a": {"oneOf": [_TEXT]}}}, None, id="open"),
        pytest.param(
            {"type": "string"},
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"string\"'.",
            id="no object",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "array"}}},
            "In context=('properties', 'a'), array schema missing items.",
            id="a list of anything",
        ),
    ],
)
def test_problem_of_non_strict_schema(schema: dict[str, JSON], problem: str | None) -> None:
    assert find_problem(schema, strict=False) == problem


@pytest.mark.slow
def test_deep_schema_is_checked_completely() -> None:
    schema: JSON = {"type": "object"}
    for _ in range(5000):
        schema = closed({"a": schema})
    assert str(find_problem(schema, strict=True)).endswith(_CLOSED)  # type: ignore[arg-type]
