"""Outcomes as the rest of the program takes them."""

from emulator.core.errors import ErrorKind
from emulator.scenario.outcomes import ErrorOutcome


def test_an_error_outcome_is_the_error_the_vendor_words() -> None:
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
