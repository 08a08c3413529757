"""What holds for any schema: every instance is one, and the evaluator agrees with an independent one."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.generation.json_schema import Mode, Unsatisfiable, generate, generate_invalid, is_instance
from tests.generation.json_schema.oracle import accepts
from tests.untyped_json import JSON

QUIET = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
NAMES = st.sampled_from(["a", "b", "ab", "name", "email"])
SCALARS = st.none() | st.booleans() | st.integers(-20, 20) | st.sampled_from([0.5, 1.0, -2.25, 0.1]) | st.sampled_from(
    ["", "a", "ab", "aab", "b1", "2024-01-31", "x@y.zz"]
)  # fmt: skip
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(NAMES, v, max_size=3), max_leaves=6)
COUNTS = st.integers(0, 4)
PATTERNS = st.sampled_from(["^a", "b$", "^[ab]*$", "a{2}", "\\d", "^.{1,3}$", "^(a|b1)+$"])
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def _schemas(below: st.SearchStrategy[JSON]) -> st.SearchStrategy[JSON]:
    listed = st.lists(below, min_size=1, max_size=3)
    named = st.dictionaries(NAMES, below, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "minimum": st.integers(-5, 5), "exclusiveMaximum": st.integers(-5, 9),
            "multipleOf": st.sampled_from([1, 2, 0.5, 0.01]),
            "minLength": COUNTS, "maxLength": COUNTS, "pattern": PATTERNS,
            "minItems": st.integers(0, 2), "maxItems": COUNTS, "uniqueItems": st.booleans(),
            "items": below, "prefixItems": listed, "contains": below,
            "properties": named, "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": below, "patternProperties": st.dictionaries(PATTERNS, below, max_size=1),
            "propertyNames": st.fixed_dictionaries({"pattern": PATTERNS}),
            "minProperties": st.integers(0, 2), "maxProperties": COUNTS,
            "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=1), max_size=2),
            "dependentSchemas": st.dictionaries(NAMES, below, max_size=1),
            "allOf": listed, "anyOf": listed, "oneOf": listed, "not": below, "if": below, "then": below, "else": below,
            "unevaluatedProperties": below, "unevaluatedItems": below,
        },
    )  # fmt: skip


def _few(schemas: st.SearchStrategy[JSON], most: int) -> st.SearchStrategy[JSON]:
    """Schemas of a few keywords, for many at once leave no instance."""
    return schemas.flatmap(
        lambda s: (
            st.sets(st.sampled_from(sorted(s)), max_size=most).map(lambda kept: {k: s[k] for k in s if k in kept})
            if isinstance(s, dict) and s
            else st.just(s)
        )
    )


LEAVES = st.booleans() | _few(_schemas(st.just({})), 3)
SCHEMAS = st.recursive(LEAVES, lambda s: _few(_schemas(s), 4), max_leaves=5)


@QUIET
@given(SCHEMAS, st.binary(max_size=2), st.sampled_from(["typical", "minimal", "boundary", "adversarial"]))
def test_generated_instance_is_valid(schema: JSON, key: bytes, mode: Mode) -> None:
    try:
        instance = generate(schema, key, mode=mode)
    except Unsatisfiable:
        return
    assert accepts(schema, instance)


@QUIET
@given(SCHEMAS, VALUES)
def test_satisfiable_schema_gets_valid_instance(schema: JSON, value: JSON) -> None:
    if accepts(schema, value):
        assert accepts(schema, generate(schema, b"k"))


@QUIET
@given(SCHEMAS, VALUES)
def test_is_instance_agrees_with_reference_validator(schema: JSON, value: JSON) -> None:
    assert is_instance(schema, value) == accepts(schema, value)


@QUIET
@given(SCHEMAS)
def test_generated_invalid_instance_is_rejected(schema: JSON) -> None:
    try:
        broken = generate_invalid(schema, b"k")
    except Unsatisfiable:
        return
    assert not accepts(schema, broken.instance)
