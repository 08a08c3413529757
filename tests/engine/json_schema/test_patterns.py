"""Patterns: the two ways to match agree, and texts are found for what can be matched."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.engine.budget import Budget
from emulator.engine.json_schema import Unsatisfiable, generate, is_instance
from emulator.engine.regex.automaton import reads
from emulator.engine.regex.matching import compile_pattern, matches
from emulator.engine.regex.search import find_text
from emulator.engine.regex.tree import BadPattern

ATOMS = st.sampled_from(
    ["a", "b", "[ab]", "[^a]", ".", "\\d", "\\w", "\\s", "\\b", "^", "$", "(?=a)", "(?!b)", "(?!ab$)"]
)


def _grow(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.tuples(part, part).map("".join)
        | st.tuples(part, part).map(lambda p: f"(?:{p[0]}|{p[1]})")
        | st.tuples(part, st.sampled_from(["*", "+", "?", "{2}", "{1,3}"])).map(lambda p: f"(?:{p[0]}){p[1]}")
    )


PATTERNS = st.recursive(ATOMS, _grow, max_leaves=6)
TEXTS = st.text("ab1 -\n", max_size=7)


@settings(max_examples=25, deadline=None)
@given(PATTERNS, TEXTS)
def test_both_ways_to_match_agree(pattern: str, text: str) -> None:
    assert reads(pattern, text, Budget()) == (compile_pattern(pattern)[0].search(text) is not None)


@settings(max_examples=25, deadline=None)
@given(st.lists(PATTERNS, min_size=1, max_size=2), st.lists(PATTERNS, max_size=1), TEXTS, st.integers(0, 4))
def test_a_text_is_found_where_one_exists(wanted: list[str], unwanted: list[str], text: str, low: int) -> None:
    exists = all(reads(p, text, Budget()) for p in wanted) and not any(reads(p, text, Budget()) for p in unwanted)
    found = find_text(wanted, unwanted, low, 7, Random(1), Budget(200_000))
    if found is None:
        assert not exists or len(text) < low
    else:
        assert low <= len(found) <= 7
        assert all(reads(p, found, Budget()) for p in wanted)
        assert not any(reads(p, found, Budget()) for p in unwanted)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        pytest.param("^[[:alpha:]]+$", "abc", True, id="a POSIX class"),
        pytest.param("^\\x41\\u0042\\u{43}$", "ABC", True, id="code points in three forms"),
        pytest.param("^(?<y>\\d)-\\k<y>$", "4-4", True, id="a named group, referred to"),
        pytest.param("^a{,3}$", "a{,3}", False, id="a brace without a lower bound counts from none"),
        pytest.param("^{x}$", "{x}", True, id="a brace that counts nothing"),
        pytest.param("^[\\w-]+$", "a-b", True, id="a dash after a class"),
        pytest.param("^[^]$", "\n", True, id="everything"),
        pytest.param("[]", "a", False, id="nothing"),
        pytest.param("^\\p{Script=Greek}+$", "αβγ", True, id="a script"),
        pytest.param("^\\P{L}$", "1", True, id="not a letter"),
        pytest.param("(?<!a)b", "ab", False, id="what must not come before"),
        pytest.param("^(a+)+$", "a" * 2000 + "b", False, id="a text made to hang"),
    ],
)
def test_syntax(pattern: str, text: str, found: bool) -> None:
    assert matches(pattern, text, Budget()) == found


@pytest.mark.parametrize("pattern", ["(", ")", "[a", "a{3,1}", "*a", "\\p{Nonsense}", "(?<n", "[z-a]", "\\u{110000}"])
def test_not_a_pattern(pattern: str) -> None:
    with pytest.raises(BadPattern):
        compile_pattern(pattern)


@settings(max_examples=25, deadline=None)
@given(st.lists(PATTERNS, min_size=1, max_size=2), TEXTS)
def test_a_schema_of_patterns_has_its_instance(patterns: list[str], text: str) -> None:
    schema = {"type": "string", "allOf": [{"pattern": pattern} for pattern in patterns], "maxLength": 8}
    try:
        assert is_instance(schema, generate(schema, b"k"))
    except Unsatisfiable:
        assert not is_instance(schema, text)
