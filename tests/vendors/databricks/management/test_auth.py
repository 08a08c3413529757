"""Credentials, and tokens that are issued."""

import base64
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from emulator.core.redaction.credentials import build_credential_map, digest_credential
from emulator.vendors.databricks.management.auth import principal_of
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import Exchange, make_service, send
from tests.vendors.databricks.management.api import open_workspace

KEYS = {"dapi-1": "search", "dapi-2": "batch"}
ME = "/api/2.0/preview/scim/v2/Me"


def basic(user: str, password: str) -> JSON:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def token(form: str, headers: JSON = None, keys: JSON = None) -> Exchange:
    return send("/oidc/v1/token", form.encode(), headers=headers or {}, keys=keys)


@pytest.mark.covers("databricks/authentication", "a personal token")
@pytest.mark.covers("databricks/authentication", "a token as a password", case="a token as a password")
@pytest.mark.covers("databricks/traps", "9 a wrong token is a 403", case="the wrong token")
@pytest.mark.parametrize(
    ("headers", "keys", "status"),
    [
        pytest.param({}, None, 200, id="any bearer token"),
        pytest.param({"Authorization": ""}, None, 401, id="no credential"),
        pytest.param({"Authorization": "Digest x"}, None, 401, id="an unsupported scheme"),
        pytest.param({"Authorization": "Bearer 000"}, None, 403, id="the wrong token"),
        pytest.param(basic("token", "dapi"), None, 200, id="a token as a password"),
        pytest.param(basic("someone", "dapi"), None, 401, id="a person's password"),
        pytest.param({"Authorization": "Bearer dapi-1"}, KEYS, 200, id="a configured token"),
        pytest.param(basic("token", "dapi-2"), KEYS, 200, id="a configured token as a password"),
        pytest.param({"Authorization": "Bearer dapi-3"}, KEYS, 403, id="a token that is not configured"),
    ],
)
def test_credentials(headers: JSON, keys: JSON, status: int) -> None:
    answer = send(ME, headers=headers, keys=keys)
    assert answer.status == status
    if status != 200:
        assert answer.body["error_code"] == status
        assert "[ReqId: " in answer.message
    if status == 403:
        assert answer.headers["X-Databricks-Reason-Phrase"] == "Invalid access token."


@pytest.mark.covers(
    "databricks/authentication", "POST /oidc/v1/token, Basic or form", "token exchange, jwt-bearer, refresh"
)
@pytest.mark.parametrize(
    ("form", "headers"),
    [
        pytest.param("grant_type=client_credentials&scope=all-apis", basic("app", "dapi-1"), id="Basic"),
        pytest.param("grant_type=client_credentials&client_id=app&client_secret=dapi-1", {}, id="form"),
        pytest.param(
            "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token=dapi-1", {}, id="exchange"
        ),
        pytest.param("grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=dapi-1", {}, id="assertion"),
        pytest.param("grant_type=refresh_token&refresh_token=dapi-1", {}, id="refresh"),
    ],
)
def test_issued_token_has_access_of_its_secret(form: str, headers: JSON) -> None:
    answer = token(form, headers, KEYS)
    assert (answer.status, answer.body["token_type"], answer.body["expires_in"]) == (200, "Bearer", 3600)
    issued = answer.body["access_token"]
    assert issued not in KEYS
    assert token(form, headers, KEYS).body["access_token"] == issued
    me = send(ME, headers={"Authorization": f"Bearer {issued}"}, keys=KEYS)
    assert me.body["displayName"] == "search"
    assert send(ME, headers={"Authorization": f"Bearer {issued}x"}, keys=KEYS).status == 403
    assert send(ME, headers={"Authorization": f"Bearer {issued}"}, keys={"dapi-2": "batch"}).status == 403


@pytest.mark.covers("databricks/authentication", "its errors")
@pytest.mark.covers("databricks/envelopes", "7 OAuth")
@pytest.mark.parametrize(
    ("form", "headers", "status", "error"),
    [
        pytest.param("grant_type=client_credentials", basic("app", "x"), 401, "invalid_client", id="a wrong secret"),
        pytest.param("grant_type=client_credentials", {}, 401, "invalid_client", id="no secret"),
        pytest.param("grant_type=password", {}, 400, "unsupported_grant_type", id="an odd grant"),
        pytest.param("", {}, 400, "unsupported_grant_type", id="no form"),
        pytest.param("grant_type=refresh_token&refresh_token=x", {}, 400, "invalid_grant", id="a wrong grant"),
        pytest.param("{", {}, 400, "unsupported_grant_type", id="half an object"),
        pytest.param("\udcff", {}, 400, "unsupported_grant_type", id="no text"),
    ],
)
def test_invalid_token_requests_are_refused(form: str, headers: JSON, status: int, error: str) -> None:
    answer = send(
        "/oidc/v1/token", form.encode("utf-8", "surrogateescape") or None, method="POST", headers=headers, keys=KEYS
    )
    assert (answer.status, answer.body["error"]) == (status, error)
    assert set(answer.body) == {"error", "error_description"}


@pytest.mark.covers("databricks/authentication", "authorization code")
def test_authorization_redirects_without_consent() -> None:
    query = {"redirect_uri": "http://localhost:8020", "state": "s1", "client_id": "databricks-cli"}
    answer = send("/oidc/v1/authorize", query=query, keys=KEYS)
    location = urlsplit(answer.headers["Location"])
    got = parse_qs(location.query)
    assert (answer.status, location.netloc, got["state"]) == (302, "localhost:8020", ["s1"])
    form = f"grant_type=authorization_code&code={got['code'][0]}&client_id=databricks-cli&code_verifier=x"
    assert token(form, keys=KEYS).body["refresh_token"]
    assert send("/oidc/v1/authorize").body["error"] == "invalid_request"


def test_redirect_encodes_what_no_header_may_hold() -> None:
    answer = send("/oidc/v1/authorize", query={"redirect_uri": "http://x/%41\0\x0b\x1b \u00e9?a=b"}, keys=KEYS)
    assert answer.headers["Location"].startswith("http://x/%41%00%0B%1B%20%C3%A9?a=b&code=")


def test_issued_token_is_valid_with_digested_keys() -> None:
    sealed = build_credential_map([(digest_credential(key), owner) for key, owner in KEYS.items()])
    form = "grant_type=client_credentials&client_id=app&client_secret=dapi-1"
    issued = token(form, keys=KEYS).body["access_token"]
    service = replace(make_service({}, (), KEYS), keys=sealed)
    assert [principal_of(given, service) for given in (issued, "dapi-2", "dapi…")] == ["search", "batch", None]


@pytest.mark.covers("databricks/authentication", "expiry")
async def test_token_expires_after_lifetime(start: Start) -> None:
    workspace = await open_workspace(start, "token_lifetime_s: 60", "keys: [{token: s3cret, principal: search}]")
    form = {"grant_type": "client_credentials", "client_id": "app", "client_secret": "s3cret"}
    answer = (await workspace.call("POST", "/oidc/v1/token", form, base="")).json()
    assert answer["expires_in"] == 60
    headers = {"Authorization": f"Bearer {answer['access_token']}"}
    for seconds, status in ((59, 200), (1, 403)):
        workspace.pass_time(seconds)
        assert (await workspace.running.ask("databricks", ME, headers=headers)).status == status


async def test_token_issued_in_session_names_session(start: Start) -> None:
    running = await start("keys: [{token: s3cret, principal: search}]")
    headers = {**basic("app", "s3cret~mine"), "Content-Type": "application/x-www-form-urlencoded"}
    form = b"grant_type=client_credentials"
    issued = (await running.ask("databricks", "/oidc/v1/token", form, headers=headers)).json()["access_token"]
    assert issued.endswith("~mine")
    exchange = f"grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion={issued}".encode()
    assert (await running.ask("databricks", "/oidc/v1/token", exchange)).json()["access_token"].endswith("~mine")
    bearer = {"Authorization": f"Bearer {issued}"}
    assert (await running.ask("databricks", ME, headers=bearer)).json()["displayName"] == "search"
    assert [(entry.session, entry.status) for entry in running.built.journal] == [
        ("mine", 200),
        ("", 200),  # the body names the exchanged token
        ("mine", 200),
    ]


@pytest.mark.covers("databricks/authentication", "scopes")
@pytest.mark.parametrize(
    ("scope", "me", "listing"),
    [("all-apis", 200, 200), ("model-serving", 403, 200), ("sql", 403, 403), ("all-apis+offline_access", 200, 200)],
)
def test_token_access_is_limited_by_scope(scope: str, me: int, listing: int) -> None:
    form = f"grant_type=client_credentials&scope={scope}&client_id=app&client_secret=s"
    headers = {"Authorization": f"Bearer {token(form).body['access_token']}"}
    assert send(ME, headers=headers).status == me
    assert send("/api/2.0/serving-endpoints", headers=headers).status == listing


def test_endpoint_token_grants_no_other_access() -> None:
    issued = token("grant_type=client_credentials&client_id=app&client_secret=dapi-1", keys=KEYS).body["access_token"]
    details = '[{"object_path":"/serving-endpoints/1","actions":["query_inference_endpoint"]}]'
    form = f"grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion={issued}&authorization_details={details}"
    for keys in (None, KEYS):
        exchanged = token(form, keys=keys).body["access_token"]
        assert exchanged != issued
        headers = {"Authorization": f"Bearer {exchanged}"}
        assert send("/api/2.0/serving-endpoints", headers=headers, keys=keys).status == 403


@pytest.mark.parametrize("keys", ["[{token: s3cret, principal: search}]", ""], ids=["keys", "any token"])
async def test_refresh_token_outlives_access_token(start: Start, keys: str) -> None:
    workspace = await open_workspace(start, "token_lifetime_s: 60", f"keys: {keys}" if keys else "")
    proof = "s3cret"
    for _ in range(3):
        form = {"grant_type": "refresh_token", "refresh_token": proof, "client_id": "app"}
        answer = (await workspace.call("POST", "/oidc/v1/token", form, base="")).json()
        issued, proof = answer["access_token"], answer["refresh_token"]
        for given, status in ((issued, 200), (proof, 403)):
            headers = {"Authorization": f"Bearer {given}"}
            assert (await workspace.running.ask("databricks", ME, headers=headers)).status == status
        workspace.pass_time(60)
        headers = {"Authorization": f"Bearer {issued}"}
        assert (await workspace.running.ask("databricks", ME, headers=headers)).status == 403
    workspace.pass_time(31 * 86_400)
    form = {"grant_type": "refresh_token", "refresh_token": proof, "client_id": "app"}
    assert (await workspace.call("POST", "/oidc/v1/token", form, base="")).json()["error"] == "invalid_grant"


def test_exchanged_token_retains_scopes() -> None:
    first = token("grant_type=client_credentials&scope=sql&client_id=app&client_secret=dapi-1", keys=KEYS).body
    form = f"grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token={first['access_token']}"
    assert token(form, keys=KEYS).body["scope"] == "sql"


@pytest.mark.covers("databricks/authentication", "an unknown scope")
def test_unknown_scope_is_refused() -> None:
    answer = token("grant_type=client_credentials&scope=moon&client_id=app&client_secret=s")
    assert (answer.status, answer.body["error"]) == (400, "invalid_scope")


@pytest.mark.covers("databricks/authentication", "/aad/auth", "/oidc/oauth2/v2.0/authorize")
@pytest.mark.parametrize(
    ("path", "target"),
    [("/aad/auth", "oauth2/authorize"), ("/oidc/oauth2/v2.0/authorize", "oauth2/v2.0/authorize")],
)
def test_azure_redirect_names_tenant(path: str, target: str) -> None:
    answer = send(path, headers={"Authorization": ""})
    _, tenant, rest = urlsplit(answer.headers["Location"]).path.split("/", 2)
    assert (answer.status, len(tenant), rest) == (302, 36, target)
