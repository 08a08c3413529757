"""Strings that are asked to match patterns."""

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.generation.json_schema import Unsatisfiable, generate, is_instance
from tests.generation.regex.patterns import PATTERNS, TEXTS
from tests.untyped_json import JSON


@settings(max_examples=25, deadline=None)
@given(st.lists(PATTERNS, min_size=1, max_size=2), TEXTS)
def test_patterns_yield_instance_unless_unsatisfiable(patterns: list[str], text: str) -> None:
    schema: JSON = {"type": "string", "allOf": [{"pattern": pattern} for pattern in patterns], "maxLength": 8}
    try:
        assert is_instance(schema, generate(schema, b"k"))
    except Unsatisfiable:
        assert not is_instance(schema, text)
