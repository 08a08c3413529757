"""Text from strangers, made safe to print."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.text import escape, escape_json


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        pytest.param("/v1/models", "/v1/models", id="what can be printed stays"),
        pytest.param("Grüße, 世界 \\n", "Grüße, 世界 \\n", id="so do other letters, and backslashes"),
        pytest.param("a\nb\rc\td", "a\\nb\\rc\\td", id="ends of lines"),
        pytest.param("\x00\x1b[31m\x7f", "\\x00\\x1b[31m\\x7f", id="C0 and DEL"),
        pytest.param("\x85\x9b", "\\x85\\x9b", id="C1"),
        pytest.param("\u2028\u2029\u202e\u200b", "\\u2028\\u2029\\u202e\\u200b", id="separators and what is not seen"),
        pytest.param("\udcff", "\\udcff", id="half of a pair"),
        pytest.param("\U000e0041", "\\U000e0041", id="beyond the first plane"),
    ],
)
def test_unprintable_characters_are_escaped(text: str, printed: str) -> None:
    assert escape(text) == printed


@given(st.text(st.characters(exclude_categories=())))
def test_escaped_json_is_printable_and_equivalent(text: str) -> None:
    written = escape_json(json.dumps(text, ensure_ascii=False))
    assert written.isprintable()
    assert json.loads(written) == json.loads(json.dumps(text))
