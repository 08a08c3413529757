"""Texts are found for patterns wherever there is one."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.generation.regex.match import reads
from emulator.generation.regex.search import find_text
from emulator.generation.step_budget import StepBudget
from tests.generation.regex.patterns import PATTERNS, TEXTS


@settings(max_examples=25, deadline=None)
@given(st.lists(PATTERNS, min_size=1, max_size=2), st.lists(PATTERNS, max_size=1), TEXTS, st.integers(0, 4))
def test_text_is_found_if_one_exists(wanted: list[str], unwanted: list[str], text: str, low: int) -> None:
    exists = all(reads(p, text, StepBudget()) for p in wanted) and not any(
        reads(p, text, StepBudget()) for p in unwanted
    )
    found = find_text(wanted, unwanted, low, 7, Random(1), StepBudget(200_000))
    if found is None:
        assert not exists or len(text) < low
    else:
        assert low <= len(found) <= 7
        assert all(reads(p, found, StepBudget()) for p in wanted)
        assert not any(reads(p, found, StepBudget()) for p in unwanted)
