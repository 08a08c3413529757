"""Tests of the outcome models."""

import pytest

from emulator.core.errors import ErrorKind
from emulator.scenario.outcomes import ErrorOutcome, ReplyOutcome
from tests.untyped_json import JSON


def test_error_outcome_converts_to_error() -> None:
    error = ErrorOutcome.model_validate(
        {
            "kind": "rate_limited",
            "limit": "output_tokens",
            "status": 503,
            "retry_after": "1500ms",
            "message": "slow down",
            "param": "n",
            "body": {"a": 1},
            "headers": {"x-a": "b"},
        }
    ).to_error()
    assert (error.kind, error.limit, error.status, error.retry_after) == (
        ErrorKind.RATE_LIMITED,
        "output_tokens",
        503,
        1.5,
    )
    assert (error.message, error.param, error.body, error.headers) == ("slow down", "n", {"a": 1}, {"x-a": "b"})


@pytest.mark.parametrize(
    ("reply", "long"),
    [
        pytest.param({"text": "Hello"}, False, id="a sentence"),
        pytest.param({"text": "x" * 100_000}, True, id="a long text"),
        pytest.param({"chunks": ["word"] * 20_000}, True, id="many chunks"),
        pytest.param({"json": ["word"] * 20_000}, True, id="much JSON"),
        pytest.param({"tool_calls": [{"name": "f", "arguments": "x" * 100_000}]}, True, id="long arguments"),
        pytest.param({"embedding": [0.5]}, False, id="a vector"),
    ],
)
def test_is_long_detects_long_reply(reply: JSON, long: bool) -> None:
    assert ReplyOutcome.model_validate(reply).is_long is long
