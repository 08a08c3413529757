"""Refusals in words no vendor owns."""

import pytest

from emulator.core.errors import MAX_TEXT, EmulatedError, ErrorKind


def test_everything_but_the_kind_is_left_to_the_vendor() -> None:
    error = EmulatedError(ErrorKind.OVERLOADED)
    assert (error.message, error.param, error.limit, error.status) == (None, None, None, None)
    assert (error.retry_after, error.body, error.headers, error.details) == (None, None, {}, {})


def test_it_is_raised_and_caught_with_its_fields() -> None:
    with pytest.raises(EmulatedError, match=r"^rate_limited: slow down$") as caught:
        raise EmulatedError(ErrorKind.RATE_LIMITED, "slow down", limit="requests", retry_after=2.0)
    assert (caught.value.limit, caught.value.retry_after) == ("requests", 2.0)


def test_each_error_is_its_own() -> None:
    one, other = EmulatedError(ErrorKind.INTERNAL), EmulatedError(ErrorKind.INTERNAL)
    assert one != other
    assert one.headers is not other.headers
    assert len({one, other}) == 2


@pytest.mark.parametrize("kind", ErrorKind)
def test_kinds_are_their_names_in_lower_case(kind: ErrorKind) -> None:
    assert kind == kind.name.lower() == str(kind)
    assert ErrorKind(str(kind)) is kind


def test_no_text_is_told_again_that_has_no_end() -> None:
    long = "x" * (MAX_TEXT + 1)
    error = EmulatedError(ErrorKind.INVALID_PARAMETER, long, param=long, details={"deployment": long, "most": 3})
    assert (error.message, error.param) == (long[:-1], long[:-1])
    assert error.details == {"deployment": long[:-1], "most": 3}
