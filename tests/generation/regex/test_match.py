"""A machine finds what Python's own search finds."""

import pytest
from hypothesis import given, settings

from emulator.generation.regex.match import _MACHINES, compile_pattern, reads
from emulator.generation.step_budget import StepBudget
from tests.generation.regex.patterns import PATTERNS, TEXTS


@settings(max_examples=25, deadline=None)
@given(PATTERNS, TEXTS)
def test_matcher_agrees_with_python_search(pattern: str, text: str) -> None:
    assert reads(pattern, text, StepBudget()) == (compile_pattern(pattern)[0].search(text) is not None)


@pytest.mark.slow
def test_compiled_pattern_cache_is_bounded() -> None:
    for number in range(1200):  # more than the budget
        text = "ab" * 40 + str(number)
        assert reads(f"^(a|b|ab|[a-z]{{1,9}}|{number})*$", text, StepBudget(10**7))
    machines = _MACHINES.values()
    instructions = sum(len(machine.code) for machine in machines)
    led_to = sum(5 + len(found) for machine in machines for found, _ in machine._memo.values())
    assert 0 < instructions + led_to <= _MACHINES.size <= 200_000
    assert len(_MACHINES) < 1200
