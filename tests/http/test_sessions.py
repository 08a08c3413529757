"""Sessions of requests, and the requests without them."""

from base64 import b64encode

import pytest
from multidict import CIMultiDict

from emulator.http.sessions import SessionNameError, route_session


def basic(password: str) -> str:
    return "Basic " + b64encode(f"token:{password}".encode()).decode()


@pytest.mark.covers("promises/sessions", "by an api-key", case="an api-key")
@pytest.mark.covers("promises/sessions", "the header before the path", case="the header before the path")
@pytest.mark.covers("promises/sessions", "the path before the key", case="the path before the key")
@pytest.mark.covers("promises/sessions", "the key before the host", case="the key before the host")
@pytest.mark.covers("promises/sessions", "the host before baggage", case="then the host")
@pytest.mark.covers("promises/sessions", "after the last tilde of a key", case="the last of two tildes")
@pytest.mark.covers("promises/sessions", "what is no name stays in the key", case="no such name in a key")
@pytest.mark.parametrize(
    ("path", "headers", "session", "left"),
    [
        pytest.param("/v1", {}, "", "/v1", id="none is named"),
        pytest.param("/v1", {"X-Emulator-Session": "a"}, "a", "/v1", id="a header"),
        pytest.param("/_s/a/v1/models", {}, "a", "/v1/models", id="the path"),
        pytest.param("/_s/a", {}, "a", "/", id="the path alone"),
        pytest.param("/v1", {"Authorization": "Bearer dapi-search~a"}, "a", "/v1", id="a bearer token"),
        pytest.param("/v1", {"api-key": "k~a.b-c_1"}, "a.b-c_1", "/v1", id="an api-key"),
        pytest.param("/v1", {"Authorization": basic("k~a")}, "a", "/v1", id="a basic password"),
        pytest.param("/v1", {"Authorization": "Bearer k~b~a"}, "a", "/v1", id="the last of two tildes"),
        pytest.param("/v1", {"Host": "A.localhost:4011"}, "a", "/v1", id="the host, in lower case"),
        pytest.param("/v1", {"Host": "localhost:4011"}, "", "/v1", id="a host without a label"),
        pytest.param("/v1", {"Host": "a.example.com"}, "", "/v1", id="another host"),
        pytest.param("/v1", {"baggage": "x=1, emulator.session=a;p=1"}, "a", "/v1", id="baggage"),
        pytest.param("/v1", {"Authorization": "Bearer k~two words"}, "", "/v1", id="no such name in a key"),
        pytest.param("/_s/b/v1", {"x-emulator-session": "a"}, "a", "/v1", id="the header before the path"),
        pytest.param("/_s/a/v1", {"api-key": "k~b"}, "a", "/v1", id="the path before the key"),
        pytest.param("/v1", {"api-key": "k~a", "Host": "b.localhost"}, "a", "/v1", id="the key before the host"),
        pytest.param("/v1", {"Host": "a.localhost", "baggage": "emulator.session=b"}, "a", "/v1", id="then the host"),
    ],
)
def test_session_sources_have_fixed_precedence(path: str, headers: dict[str, str], session: str, left: str) -> None:
    found = route_session(path, CIMultiDict(headers))
    assert (found.session, found.path) == (session, left)


@pytest.mark.covers("promises/sessions", "its own port last")
def test_session_port_has_lowest_precedence() -> None:
    assert route_session("/v1", CIMultiDict(), default="own").session == "own"
    assert route_session("/v1", CIMultiDict({"baggage": "emulator.session=a"}), default="own").session == "a"


@pytest.mark.covers("promises/sessions", "credentials are cut before anybody sees them")
@pytest.mark.parametrize(
    ("headers", "left"),
    [
        pytest.param({"Authorization": "Bearer k~a"}, {"Authorization": "Bearer k"}, id="a bearer token"),
        pytest.param({"api-key": "k~a"}, {"api-key": "k"}, id="an api-key"),
        pytest.param({"Authorization": basic("k~a")}, {"Authorization": basic("k")}, id="a basic password"),
        pytest.param(
            {"Authorization": "Bearer k~a", "api-key": "k~a"}, {"Authorization": "Bearer k", "api-key": "k"}, id="both"
        ),
        pytest.param({"Authorization": "Bearer k~ "}, {"Authorization": "Bearer k~ "}, id="no name, no cut"),
    ],
)
def test_session_suffix_is_removed_from_credentials(headers: dict[str, str], left: dict[str, str]) -> None:
    assert dict(route_session("/", CIMultiDict(headers)).headers) == left


@pytest.mark.parametrize(
    "token", ["Y\udc91BwOnMzY3JldA==", "äöü", "a", "/w=="], ids=["a byte", "letters", "short", "no text"]
)
def test_invalid_basic_credentials_are_left_unchanged(token: str) -> None:
    headers = {"Authorization": f"Basic {token}"}
    found = route_session("/", CIMultiDict(headers))
    assert (found.session, dict(found.headers)) == ("", headers)


@pytest.mark.covers("promises/sessions", "a listed key is whole")
def test_listed_key_with_tilde_is_not_split() -> None:
    found = route_session("/", CIMultiDict({"api-key": "k~a"}), keys=lambda session: {"k~a"})
    assert (found.session, found.headers["api-key"]) == ("", "k~a")


@pytest.mark.parametrize(
    ("path", "headers", "suffix"),
    [
        pytest.param("/", {"api-key": "k~a"}, "~a", id="the key names the session"),
        pytest.param("/_s/b/", {"api-key": "k~a"}, "", id="the path does, with any key"),
        pytest.param("/_s/a/", {"api-key": "k"}, "", id="the path alone"),
        pytest.param("/", {"api-key": "k"}, "", id="nothing does"),
    ],
)
def test_key_suffix_is_set_only_by_key(path: str, headers: dict[str, str], suffix: str) -> None:
    assert route_session(path, CIMultiDict(headers)).key_suffix == suffix


def test_session_path_prefix_is_returned_for_links() -> None:
    assert route_session("/_s/a/v1", CIMultiDict()).prefix == "/_s/a"
    assert route_session("/v1", CIMultiDict()).prefix == ""


@pytest.mark.covers("promises/sessions", "names that are refused")
@pytest.mark.parametrize(
    ("path", "headers"),
    [
        pytest.param("/", {"x-emulator-session": "a b"}, id="a blank in a header"),
        pytest.param("/", {"x-emulator-session": "a" * 65}, id="too long"),
        pytest.param("/_s/a~b/v1", {}, id="a tilde in the path"),
        pytest.param("/_s//v1", {}, id="an empty one in the path"),
        pytest.param("/", {"baggage": "emulator.session=a%2Fb"}, id="a slash in baggage"),
    ],
)
def test_invalid_session_name_is_refused(path: str, headers: dict[str, str]) -> None:
    with pytest.raises(SessionNameError, match="not a session name"):
        route_session(path, CIMultiDict(headers))


ENTRA = "Zk28Q~" + "dEf.SECRET_REST-of~AzureADClient0123"[:34]


@pytest.mark.parametrize("length", [31, 32, 33, 34, 35])
@pytest.mark.parametrize("written", ["Bearer {}", "{}", "ApiKey {}"])
@pytest.mark.parametrize("name", ["Authorization", "api-key", "x-api-key"])
def test_entra_secret_with_tilde_is_not_split(name: str, written: str, length: int) -> None:
    secret = "Zk28Q~" + ("aB.~_-9" * 6)[: length - 1] + "z"
    headers = {name: written.format(secret)}
    found = route_session("/", CIMultiDict(headers))
    assert (found.session, dict(found.headers), found.key_suffix) == ("", headers, "")


def test_entra_secret_as_basic_password_is_not_split() -> None:
    headers = {"Authorization": basic(ENTRA)}
    found = route_session("/", CIMultiDict(headers))
    assert (found.session, dict(found.headers)) == ("", headers)


@pytest.mark.parametrize(
    ("key", "session", "rest"),
    [
        pytest.param(f"{ENTRA}~a", "a", ENTRA, id="a real one with a session behind it"),
        pytest.param("dapi-x~a", "a", "dapi-x", id="a key"),
        pytest.param("abc8Q~short", "short", "abc8Q", id="one that only begins as one"),
        pytest.param("abcdQ~" + "a" * 34, "a" * 34, "abcdQ", id="without the digit"),
    ],
)
def test_other_keys_with_tilde_name_session(key: str, session: str, rest: str) -> None:
    found = route_session("/", CIMultiDict({"api-key": key}))
    assert (found.session, found.headers["api-key"]) == (session, rest)
