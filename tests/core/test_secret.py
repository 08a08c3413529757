"""Credentials of which only the beginning is kept."""

import pytest

from emulator.core.secret import (
    CutCredential,
    cut,
    cut_body,
    cut_credential,
    cut_values,
    fingerprint,
    is_folded,
    make_keyring,
    seal,
)


def test_a_credential_that_is_cut_is_equal_to_the_whole_and_to_nothing_else() -> None:
    cut = CutCredential("Bearer dapi-search")
    assert str.__str__(cut) == "Bearer dapi…"
    assert cut == "Bearer dapi-search" == cut
    assert cut != "Bearer dapi-batch"
    assert cut != "Bearer dapi…"
    assert cut == CutCredential("Bearer dapi-search") != CutCredential("Bearer dapi-batch")
    assert {cut, CutCredential("Bearer dapi-search")} == {cut}
    assert cut.startswith("Bearer dapi")
    assert "search" not in "".join(cut)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        pytest.param("Authorization", "Bearer dapi-search", "Bearer dapi…", id="a bearer token"),
        pytest.param("api-key", "abcdefgh", "abcd…", id="a key"),
        pytest.param("api-key", "abcd…", "abcd…", id="one that is cut"),
        pytest.param("x-trace", "abcdefgh", "abcdefgh", id="another header"),
    ],
)
def test_four_characters_are_shown(name: str, value: str, shown: str) -> None:
    assert cut_credential(name, value) == shown


def test_only_what_is_there_is_cut() -> None:
    assert cut_values({"api-key": "abcdefgh", "a": "b"}, ("api-key", "key")) == {"api-key": "abcdefgh"}
    assert cut_values({"a": "b"}, ("api-key",)) == {}


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        pytest.param("client_id=a&client_secret=very-secret&x=1", "client_id=a&client_secret=very…&x=1", id="a form"),
        pytest.param("password=abc", "password=abc…", id="a short one"),
        pytest.param('{"access_token": "abcdefgh", "a": 1}', '{"access_token": "abcd…", "a": 1}', id="a token"),
        pytest.param('{"x_plaintext":"ab\\"cdefgh"}', '{"x_plaintext":"ab…"}', id="with a quote in it"),
        pytest.param('{"prompt": "password=abcdefgh"}', '{"prompt": "password=abcdefgh"}', id="what a text says"),
        pytest.param("Tides", "Tides", id="no secret"),
    ],
)
def test_secrets_of_a_body_are_cut(body: str, kept: str) -> None:
    assert cut_body(body.encode()).decode() == kept


@pytest.mark.parametrize("sealed", [False, True])
def test_a_keyring_opens_to_the_whole_credential_alone(sealed: bool) -> None:
    tokens = [seal(token) if sealed else token for token in ("dapi-one", "dapi-two")]
    ring = make_keyring(zip(tokens, ("search", "batch"), strict=True))
    assert [ring.get(token) for token in ("dapi-one", "dapi-two", "dapi…", "DAPI-ONE")] == [
        "search",
        "batch",
        None,
        None,
    ]
    assert "dapi-two" in ring
    assert len(ring) == 2
    assert [is_folded(token, "DAPI-One") for token in ring] == [True, False]
    assert [fingerprint(token) for token in ring] == [fingerprint("dapi-one"), fingerprint("dapi-two")]


def test_a_sealed_credential_shows_its_first_letters_and_stays_sealed() -> None:
    sealed = seal("x")
    assert (sealed, cut(sealed), seal(sealed).digest) == ("x…", "x…", fingerprint("x"))
