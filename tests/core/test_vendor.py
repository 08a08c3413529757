"""What the server hands to a vendor."""

import pytest

from emulator.core.http import Request


def test_body_is_parsed_once() -> None:
    request = Request(method="POST", path="/", body=b'{"a":[1]}')
    assert request.json() == {"a": [1]}
    assert request.json() is request.json()


def test_null_body_parses_to_null() -> None:
    assert Request(method="POST", path="/", body=b"null").json() is None


def test_non_json_body_is_rejected_each_time() -> None:
    request = Request(method="POST", path="/", body=b"{")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"EOF"):
            request.json()
