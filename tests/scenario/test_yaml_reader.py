"""Tests of JSON scenarios: every escape is read, and mistakes have original positions."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.json import JSON
from emulator.scenario.yaml_reader import make_readable, parse_document

_TEXTS = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from('\\u"/d83Dn\x7f\x85\ufffe🙂')), max_size=20
)
_NUMBERS = st.integers() | st.booleans() | st.none()
_VALUES: st.SearchStrategy[JSON] = st.recursive(
    _TEXTS | _NUMBERS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4)
)


@given(_VALUES, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_dumped_json_is_read(value: JSON, ascii_only: bool, indent: int | str | None) -> None:
    text = json.dumps({"a": value}, ensure_ascii=ascii_only, indent=indent)
    document = parse_document(text, "a.json")
    assert (document.rows, document.data) == ([], json.loads(text))


def test_columns_match_source_text() -> None:
    text = '{"a": "\\ud83d\\ude00", "b": "\x7f\\ud83d\\uDE00", "c": 1,\n "d": "\\uD83D\\uDE00", "e": 2}'
    locations = parse_document(text, "a.json").locations.values
    for key in "abcde":
        line, _, rest = text[: text.index(f'"{key}": ') + 5].rpartition("\n")
        assert (locations[key,].line, locations[key,].column) == (2 if line else 1, len(rest) + 1), key


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a": "\\\\ud83d\\\\ude00"}', id="backslashes that are letters"),
        pytest.param('{"a": "\\u00e9"}', id="an escape like others"),
        pytest.param("a: 'x \\ud83d\\ude00'", id="single quotes, where nothing is an escape"),
    ],
)
def test_readable_yaml_is_unchanged(text: str) -> None:
    assert make_readable(text).text == text
