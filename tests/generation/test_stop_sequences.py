"""Cutting tokens at stop strings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.generation.stop_sequences import cut_at_stop

TOKENS = ("The", " quick", " brown", " fox", ".", " It", " ran", ".")


@pytest.mark.parametrize(
    ("stop", "keep", "tokens", "stopped_by"),
    [
        pytest.param((), False, TOKENS, None, id="no stop string"),
        pytest.param(("absent",), False, TOKENS, None, id="one that does not occur"),
        pytest.param((".",), False, ("The", " quick", " brown", " fox", ""), ".", id="a whole token"),
        pytest.param((".",), True, ("The", " quick", " brown", " fox", "."), ".", id="a whole token that is kept"),
        pytest.param(("own f",), False, ("The", " quick", " br", ""), "own f", id="across tokens"),
        pytest.param(("own f",), True, ("The", " quick", " brown", " f"), "own f", id="across tokens and kept"),
        pytest.param(("It", "fox"), False, ("The", " quick", " brown", " "), "fox", id="the earliest wins"),
        pytest.param(("row", "brown"), False, ("The", " quick", " "), "brown", id="in one token the first in the text"),
        pytest.param(("The",), False, ("",), "The", id="at the very beginning"),
        pytest.param(
            ("ran.",), False, ("The", " quick", " brown", " fox", ".", " It", " ", ""), "ran.", id="at the end"
        ),
    ],
)
def test_stop_string_cuts_text(
    stop: tuple[str, ...], keep: bool, tokens: tuple[str, ...], stopped_by: str | None
) -> None:
    assert cut_at_stop(TOKENS, stop, keep=keep) == (tokens, stopped_by)


def test_first_listed_of_two_in_one_token_wins() -> None:
    assert cut_at_stop(TOKENS, ("row", "brown"), keep=False, listed=True)[1] == "row"
    assert cut_at_stop(TOKENS, ("row", "quick"), keep=False, listed=True)[1] == "quick"


@given(st.lists(st.text("ab", min_size=1, max_size=3)), st.lists(st.text("ab", min_size=1, max_size=3), max_size=3))
def test_no_stop_string_remains_in_text(tokens: list[str], stop: list[str]) -> None:
    kept, stopped_by = cut_at_stop(tokens, stop, keep=False)
    text = "".join(kept)
    assert "".join(tokens).startswith(text)
    assert (stopped_by is None) == (not any(s in "".join(tokens) for s in stop))
    if stopped_by is not None:
        assert "".join(tokens).startswith(text + stopped_by)
        assert not any(s in text for s in stop)
