"""Refusals in words no vendor owns."""

import pytest

from emulator.core.errors import MAX_TEXT, EmulatedError, ErrorKind


def test_error_defaults_leave_everything_but_kind_unset() -> None:
    error = EmulatedError(ErrorKind.OVERLOADED)
    assert (error.message, error.param, error.limit, error.status) == (None, None, None, None)
    assert (error.retry_after, error.body, error.headers, error.details) == (None, None, {}, {})


def test_error_is_raised_with_its_fields() -> None:
    with pytest.raises(EmulatedError, match=r"^rate_limited: slow down$") as caught:
        raise EmulatedError(ErrorKind.RATE_LIMITED, "slow down", limit="requests", retry_after=2.0)
    assert (caught.value.limit, caught.value.retry_after) == ("requests", 2.0)


def test_errors_compare_by_identity() -> None:
    one, other = EmulatedError(ErrorKind.INTERNAL), EmulatedError(ErrorKind.INTERNAL)
    assert one != other
    assert one.headers is not other.headers
    assert len({one, other}) == 2


@pytest.mark.parametrize("kind", ErrorKind)
def test_kind_value_is_lower_case_name(kind: ErrorKind) -> None:
    assert kind == kind.name.lower() == str(kind)
    assert ErrorKind(str(kind)) is kind


def test_long_texts_are_truncated() -> None:
    long = "x" * (MAX_TEXT + 1)
    error = EmulatedError(ErrorKind.INVALID_PARAMETER, long, param=long, details={"deployment": long, "most": 3})
    assert (error.message, error.param) == (long[:-1], long[:-1])
    assert error.details == {"deployment": long[:-1], "most": 3}
