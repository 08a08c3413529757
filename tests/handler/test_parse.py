"""Fingerprints: equal for equal method, path, query, body and principal, in any order of JSON keys."""

import json
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.http import Request
from emulator.core.json import canonical_json
from emulator.core.rng import derive_key
from emulator.handler.parse import compute_fingerprint, write_query
from tests.untyped_json import JSON

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    ["it's", 'a "b"', "a\\b", "\x7f", "\n'\\", "é"]
)
VALUES: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


def ask(body: bytes, **query: str) -> Request:
    return Request("POST", "/a'b/%b", query, {}, body, principal="who's \\ there")


def fingerprint(request: Request) -> bytes:
    return compute_fingerprint("vendor", request, write_query(request.query))


@given(VALUES)
def test_fingerprint_uses_canonical_body(value: JSON) -> None:
    parts = ("vendor", "POST", "/a'b/%b", "a=2&b=1", canonical_json(value), "who's \\ there")
    assert fingerprint(ask(json.dumps(value).encode(), b="1", a="2")) == derive_key(*parts)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{'it is", id="no JSON"),
        pytest.param(b"\xff\x00\n", id="no text"),
        pytest.param(b"[" * 100_000, id="too deep"),
    ],
)
def test_non_json_body_is_hashed_as_is(body: bytes) -> None:
    assert fingerprint(ask(body)) == derive_key("vendor", "POST", "/a'b/%b", "", body, "who's \\ there")


def test_fingerprint_ignores_key_order() -> None:
    assert fingerprint(ask(b'{"a": 1, "b": 2}')) == fingerprint(ask(b'{"b":2,"a":1}'))


def test_fingerprint_of_long_body_uses_its_digest() -> None:
    body = b'{"a": "%b"}' % (b"x" * 5_000_000)
    assert fingerprint(ask(body)) == derive_key(
        "vendor", "POST", "/a'b/%b", "", blake2b(body).digest(), "who's \\ there"
    )


def test_fingerprint_ignores_boundary_of_form() -> None:
    def form(boundary: str, text: str) -> bytes:
        head = 'Content-Disposition: form-data; name="a"'
        return f"--{boundary}\r\n{head}\r\n\r\n{text}\r\n--{boundary}--\r\n".encode()

    one, other, changed = (fingerprint(ask(form(*each))) for each in ("xA", "yA", "xB"))
    assert one == other != changed
    assert fingerprint(ask(b"--a")) != fingerprint(ask(b"--b"))
