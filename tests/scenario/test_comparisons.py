"""Tests of the equality of JSON values."""

from hypothesis import given
from hypothesis import strategies as st

from emulator.scenario.matchers import same_json
from tests.untyped_json import JSON

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(value=json_values, other=json_values)
def test_same_json_is_reflexive_and_symmetric(value: JSON, other: JSON) -> None:
    assert same_json(value, value)
    assert same_json(value, other) == same_json(other, value)
