"""Which names mean a credential, and which only look as if they did."""

import pytest

from emulator.core.redaction.names import Place, is_secret_name

ALIKE = (
    *("max_tokens", "max_completion_tokens", "token_count", "prompt_tokens", "completionTokens", "tokens", "tokenizer"),
    *("stop_token", "eos_token", "bos_token_id", "next_page_token", "pad_token", "x-ratelimit-remaining-tokens"),
    *("keyboard", "monkey", "passage", "passport_country", "bypass", "author", "x-author", "authored_by", "compass"),
    *("x-emulator-session", "session_name", "key_count", "keys", "keyword", "signed", "design", "codec", "encode"),
    *("secretary", "cookies_enabled", "passed", "password_policy", "token_type", "client_id", "grant_type", "tokenize"),
    *("Idempotency-Key", "Sec-WebSocket-Key", "prompt_cache_key", "partition_key", "public_key", "foreignKey"),
    *("traceparent", "content-type", "x-ms-client-request-id", "x-ms-client-principal-name", "model", "", "-"),
    *("user", "role", "content", "logprobs", "seed", "secret_name", "private_key_id", "authority", "certificate_url"),
)


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("place", ["header", "field", "member", "variable"])
def test_similar_names_are_not_secret(place: Place, name: str) -> None:
    assert not is_secret_name(place, name)


@pytest.mark.parametrize(
    ("place", "name", "secret"),
    [
        pytest.param("field", "key", True, id="a key in a query"),
        pytest.param("member", "key", False, id="a key in JSON, which may be that of an entry"),
        pytest.param("header", "key", False, id="a header that is no more than a key"),
        pytest.param("field", "code", True, id="a code in a query"),
        pytest.param("member", "code", False, id="a code in JSON, which may be that of an error"),
        pytest.param("header", "session", True, id="a session of another's"),
        pytest.param("member", "session", False, id="a session in JSON"),
        pytest.param("field", "session_id", True, id="an id of a session in a query"),
        pytest.param("member", "session_id", False, id="an id of a conversation in JSON"),
        pytest.param("header", "x-litellm-key", True, id="a key in a header"),
        pytest.param("header", "x-brand-new-key", True, id="a key in an unknown header"),
        pytest.param("member", "brand_new_key", False, id="a key in an unknown member"),
        pytest.param("variable", "BRAND_NEW_KEY", True, id="a key in an environment"),
        pytest.param("header", f"{'x-' * 64}api-key", True, id="a long name"),
    ],
)
def test_secret_name_depends_on_place(place: Place, name: str, secret: bool) -> None:
    assert is_secret_name(place, name) is secret


@pytest.mark.parametrize("name", ["client_secret", "clientSecret", "CLIENT-SECRET", "Client Secret", "client.secret"])
@pytest.mark.parametrize("place", ["header", "field", "member", "variable"])
def test_secret_name_ignores_spelling(place: Place, name: str) -> None:
    assert is_secret_name(place, name)
