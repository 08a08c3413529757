"""Credentials of which only the beginning is kept."""

import pytest
from multidict import CIMultiDict

from emulator.core.secret import (
    CutCredential,
    cut,
    cut_body,
    cut_call,
    cut_credential,
    cut_credentials,
    cut_values,
    fingerprint,
    is_folded,
    is_secret,
    is_secret_field,
    make_keyring,
    seal,
)
from emulator.core.wire import WireRequest


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
    assert cut_values({"api-key": "abcdefgh", "a": "b"}, is_secret) == {"api-key": "abcdefgh"}
    assert cut_values({"a": "b"}, is_secret) == {}


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "X-Forwarded-Authorization",
        "x-ms-authorization-auxiliary",
        "Authentication",
        "Proxy-Authorization",
        "api-key",
        "X-API-KEY",
        "x-goog-api-key",
        "anthropic-api-key",
        "apikey",
        "openai_api_key",
        "Ocp-Apim-Subscription-Key",
        "x-functions-key",
        "x-emulator-token",
        "X-Auth-Token",
        "x-amz-security-token",
        "Private-Token",
        "Cookie",
        "helicone-auth",
        "cf-access-client-secret",
        "cf-access-jwt-assertion",
        f"{'x-' * 64}api-key",
    ],
)
def test_a_header_is_a_credential_by_its_name(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "Idempotency-Key",
        "Sec-WebSocket-Key",
        "x-ratelimit-remaining-tokens",
        "x-ms-client-request-id",
        "traceparent",
        "x-author",
        "key",
        "x-keys",
        "content-type",
        "",
    ],
)
def test_other_headers_stay_whole(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("name", "secret"),
    [("key", True), ("Key", True), ("api_key", True), ("sig", True), ("code", True), ("api-version", False)],
)
def test_in_a_query_other_words_mean_a_credential_too(name: str, secret: bool) -> None:
    assert is_secret_field(name) is secret


def test_of_a_request_every_credential_is_cut() -> None:
    headers = CIMultiDict([("X-Goog-Api-Key", "abcdefgh"), ("x-goog-api-key", "second"), ("a", "b")])
    wire = WireRequest("GET", "/", {"SIG": "abcdefgh", "q": "abcdefgh"}, headers)
    cut_credentials(wire)
    assert [*map(str.__str__, wire.headers.values())] == ["abcd…", "b"]
    assert wire.headers["x-goog-api-key"] == "abcdefgh"
    assert {name: str.__str__(value) for name, value in wire.query.items()} == {"SIG": "abcd…", "q": "abcdefgh"}


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        pytest.param(
            '[{"type":"mcp","authorization":"abcdefgh","headers":{"Authorization":"Bearer x","X-Api-Key":"y"}}]',
            '[{"type":"mcp","authorization":"abcd…","headers":{"Authorization":"Bear…","X-Api-Key":"y…"}}]',
            id="a tool elsewhere",
        ),
        pytest.param(
            '{"data_sources":[{"authentication": {"type": "api_key", "key": "abcdefgh"}}]}',
            '{"data_sources":[{"authentication": {"type": "api_key", "key": "abcd…"}}]}',
            id="a source of data",
        ),
        pytest.param('{"password":"abcdefgh"}', '{"password":"abcdefgh"}', id="no body of a model's has others"),
        pytest.param(
            '{"messages":[{"content":"\\"mcp\\" \\"password\\": \\"abcdefgh\\""}]}',
            '{"messages":[{"content":"\\"mcp\\" \\"password\\": \\"abcdefgh\\""}]}',
            id="what a text says",
        ),
    ],
)
def test_secrets_of_a_call_are_cut(body: str, kept: str) -> None:
    assert cut_call(body.encode()).decode() == kept


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        pytest.param("client_id=a&client_secret=very-secret&x=1", "client_id=a&client_secret=very…&x=1", id="a form"),
        pytest.param("password=abc", "password=abc…", id="a short one"),
        pytest.param("a=b&client%5Fsecret=abcdefgh", "a=b&client%5Fsecret=abcd…", id="a name that is escaped"),
        pytest.param("token=abcdefgh&code=abcdefgh", "token=abcd…&code=abcd…", id="other names"),
        pytest.param("password=abc\u00e9\u00e9\u00e9", "password=abc\u00e9…", id="letters of several bytes"),
        pytest.param("x=a;password=abcdefgh", "x=a;password=abcdefgh", id="a value of something else"),
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
