"""What a pattern means."""

import pytest

from emulator.generation.regex.match import matches
from emulator.generation.step_budget import StepBudget


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        pytest.param("^[[:alpha:]]+$", "abc", True, id="a POSIX class"),
        pytest.param("^\\x41\\u0042\\u{43}$", "ABC", True, id="code points in three forms"),
        pytest.param("^(?<y>\\d)-\\k<y>$", "4-4", True, id="a named group, referred to"),
        pytest.param(f"^{'(a)' * 10}\\1²$", f"{'a' * 11}²", True, id="a back reference before a raised digit"),
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
    assert matches(pattern, text, StepBudget()) == found
