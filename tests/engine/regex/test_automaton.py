"""A machine finds what Python's own search finds."""

from hypothesis import given, settings

from emulator.engine.budget import Budget
from emulator.engine.regex.automaton import reads
from emulator.engine.regex.matching import compile_pattern
from tests.engine.regex.patterns import PATTERNS, TEXTS


@settings(max_examples=25, deadline=None)
@given(PATTERNS, TEXTS)
def test_both_ways_to_match_agree(pattern: str, text: str) -> None:
    assert reads(pattern, text, Budget()) == (compile_pattern(pattern)[0].search(text) is not None)
