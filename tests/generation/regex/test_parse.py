"""What is no pattern."""

import pytest

from emulator.generation.regex.parse import BadPattern, parse_pattern


@pytest.mark.parametrize("pattern", ["(", ")", "[a", "a{3,1}", "*a", "\\p{Nonsense}", "(?<n", "[z-a]", "\\u{110000}"])
def test_invalid_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        parse_pattern(pattern)


def test_repeat_with_too_many_digits_is_refused() -> None:
    with pytest.raises(BadPattern, match="repeat out of range"):
        parse_pattern("a{1," + "9" * 5000 + "}")
