"""Fields of multipart forms."""

import pytest

from emulator.encoding.multipart import NUMBER


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        pytest.param("12", True, id="a whole one"),
        pytest.param("-0.5", True, id="a fraction"),
        pytest.param(".5e-3", True, id="a power of ten"),
        pytest.param("1.", False, id="nothing behind the point"),
        pytest.param("", False, id="nothing"),
        pytest.param("1e", False, id="no power"),
        pytest.param("1" * 300_000 + "x", False, id="very long"),
    ],
)
def test_number_format(text: str, is_one: bool) -> None:
    assert (NUMBER.fullmatch(text) is not None) == is_one
