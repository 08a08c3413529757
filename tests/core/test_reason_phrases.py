"""Reason phrases, the same under every Python version."""

import pytest

from emulator.core.text import reason_phrase


@pytest.mark.parametrize(
    ("status", "phrase"),
    [
        (200, "OK"),
        (404, "Not Found"),
        (413, "Request Entity Too Large"),
        (422, "Unprocessable Entity"),
        (424, "Failed Dependency"),
        (429, "Too Many Requests"),
        (799, "Unknown"),
    ],
)
def test_reason_phrase(status: int, phrase: str) -> None:
    assert reason_phrase(status) == phrase
