"""What must be seen of a request is missed where it is not."""

import pytest

from tests.reference_rows import Piece, check

OUTCOME = {"status": 200, "answer": {"choices": [{"index": 0, "text": "Hello", "ratio": 1.0}]}}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("status", 200, id="a value"),
        pytest.param("answer.choices.-1.index", 0, id="a position"),
        pytest.param("answer.choices.0.text", Piece("ell"), id="a piece"),
        pytest.param("answer.choices", list, id="a type"),
    ],
)
def test_check_accepts_matching_value(path: str, expected: object) -> None:
    check(OUTCOME, {path: expected})


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("status", 400, id="another value"),
        pytest.param("answer.choices.0.ratio", 1, id="an equal value of another type"),
        pytest.param("answer.choices.0.text", Piece("hell"), id="a piece that is not in it"),
        pytest.param("answer.choices.0.index", Piece("0"), id="a piece of a number"),
        pytest.param("answer.choices.0.ratio", int, id="another type"),
        pytest.param("answer.choices.0.logprobs", None, id="null where nothing is"),
        pytest.param("answer.choices.1", dict, id="a position beyond the last"),
        pytest.param("answer.choices.0.index.more", int, id="a path below a number"),
    ],
)
def test_check_rejects_mismatch(path: str, expected: object) -> None:
    with pytest.raises((AssertionError, AttributeError, LookupError)):
        check(OUTCOME, {path: expected})
