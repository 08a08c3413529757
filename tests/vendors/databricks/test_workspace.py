"""Credentials, discovery, tokens, and the listings of a workspace."""

import base64
from urllib.parse import parse_qs, urlsplit

import pytest

from emulator.core.call import Deployment
from emulator.vendors.databricks import VENDOR
from tests.parsed import JSON
from tests.vendors.databricks.harness import BGE, GPT, LLAMA, Exchange, send

KEYS = {"dapi-1": "search", "dapi-2": "batch"}
ME = "/api/2.0/preview/scim/v2/Me"


def basic(user: str, password: str) -> JSON:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def token(form: str, headers: JSON = None, keys: JSON = None) -> Exchange:
    return send("/oidc/v1/token", form.encode(), headers=headers or {}, keys=keys)


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


@pytest.mark.parametrize("path", ["/.well-known/databricks-config", "/oidc/.well-known/oauth-authorization-server"])
@pytest.mark.parametrize("slash", ["", "/"])
def test_discovery_asks_for_nothing(path: str, slash: str) -> None:
    assert send(path + slash, headers={"Authorization": ""}, keys=KEYS).status == 200


def test_discovery_leads_to_the_token() -> None:
    config = send("/.well-known/databricks-config", workspace_id="7", cloud="Azure").body
    assert (config["workspace_id"], config["cloud"], config["oidc_endpoint"]) == ("7", "Azure", "http://host/oidc")
    endpoints = send("/oidc/.well-known/oauth-authorization-server").body
    assert endpoints["token_endpoint"] == "http://host/oidc/v1/token"
    assert endpoints["authorization_endpoint"] == "http://host/oidc/v1/authorize"


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
def test_issued_token_opens_what_its_secret_opens(form: str, headers: JSON) -> None:
    answer = token(form, headers, KEYS)
    assert (answer.status, answer.body["token_type"], answer.body["expires_in"]) == (200, "Bearer", 3600)
    issued = answer.body["access_token"]
    assert issued not in KEYS
    assert token(form, headers, KEYS).body["access_token"] == issued
    me = send(ME, headers={"Authorization": f"Bearer {issued}"}, keys=KEYS)
    assert me.body["displayName"] == "search"
    assert send(ME, headers={"Authorization": f"Bearer {issued}x"}, keys=KEYS).status == 403
    assert send(ME, headers={"Authorization": f"Bearer {issued}"}, keys={"dapi-2": "batch"}).status == 403


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
def test_refused_token(form: str, headers: JSON, status: int, error: str) -> None:
    answer = send(
        "/oidc/v1/token", form.encode("utf-8", "surrogateescape") or None, method="POST", headers=headers, keys=KEYS
    )
    assert (answer.status, answer.body["error"]) == (status, error)
    assert set(answer.body) == {"error", "error_description"}


def test_consent_is_given_at_once() -> None:
    query = {"redirect_uri": "http://localhost:8020", "state": "s1", "client_id": "databricks-cli"}
    answer = send("/oidc/v1/authorize", query=query, keys=KEYS)
    location = urlsplit(answer.headers["Location"])
    got = parse_qs(location.query)
    assert (answer.status, location.netloc, got["state"]) == (302, "localhost:8020", ["s1"])
    form = f"grant_type=authorization_code&code={got['code'][0]}&client_id=databricks-cli&code_verifier=x"
    assert token(form, keys=KEYS).body["refresh_token"]
    assert send("/oidc/v1/authorize").body["error"] == "invalid_request"


def test_listing_and_one_endpoint() -> None:
    for slash in ("", "/"):
        endpoints = {e["name"]: e for e in send("/api/2.0/serving-endpoints" + slash).body["endpoints"]}
        assert endpoints[LLAMA] == {
            k: v for k, v in send(f"/api/2.0/serving-endpoints/{LLAMA}{slash}").body.items() if k != "route_optimized"
        }
    llama = endpoints[LLAMA]
    assert (llama["task"], llama["endpoint_type"]) == ("llm/v1/chat", "FOUNDATION_MODEL_API")
    assert llama["state"] == {"ready": "READY", "config_update": "NOT_UPDATING"}
    assert "id" not in llama
    entity = llama["config"]["served_entities"][0]
    assert (entity["type"], entity["entity_name"]) == ("FOUNDATION_MODEL", "system.ai.llama_v3_3_70b_instruct")
    assert entity["foundation_model"]["api_types"] == ["mlflow/v1/chat/completions"]
    assert llama["capabilities"]["function_calling"] is True
    assert endpoints[BGE]["capabilities"] == {}
    assert endpoints[GPT]["capabilities"]["openai_reasoning"] is True
    assert {e["task"] for e in endpoints.values()} >= {"llm/v1/chat", "llm/v1/completions", "llm/v1/embeddings"}


@pytest.mark.parametrize(
    ("deployment", "shape"),
    [
        pytest.param(
            {"mode": "provisioned"}, {"task": "llm/v1/chat", "endpoint_type": "FOUNDATION_MODEL_API"}, id="PT"
        ),
        pytest.param({"mode": "external", "model": "gpt-4o"}, {"endpoint_type": "EXTERNAL_MODEL"}, id="external"),
        pytest.param({"mode": "custom", "kind": "agent"}, {"task": "agent/v1/responses"}, id="an agent"),
        pytest.param({"mode": "custom"}, {"permission_level": "CAN_MANAGE"}, id="a custom model"),
    ],
)
def test_endpoints_of_a_scenario(deployment: JSON, shape: JSON) -> None:
    own = Deployment(vendor="databricks", name="mine", traits={"served_entities": {"a": 30, "b": 70}}, **deployment)
    body = send("/api/2.0/serving-endpoints/mine", deployments=(own,)).body
    assert shape.items() <= body.items()
    assert body["id"]
    routes = body["config"]["traffic_config"]["routes"]
    assert [(r["served_entity_name"], r["traffic_percentage"]) for r in routes] == [("a", 30), ("b", 70)]


def test_states_of_endpoints() -> None:
    for state, ready, suspend in (("stopped", "NOT_READY", "STOPPED"), ("loading", "NOT_READY", "NOT_SUSPENDED")):
        own = Deployment(vendor="databricks", name="mine", mode="provisioned", state=state)
        shown = send("/api/2.0/serving-endpoints/mine", deployments=(own,)).body["state"]
        assert (shown["ready"], shown["suspend"]) == (ready, suspend)


def test_percentages_sum_to_a_hundred() -> None:
    own = Deployment(
        vendor="databricks", name="mine", mode="custom", traits={"served_entities": {"a": 1, "b": 1, "c": 1}}
    )
    config = send("/api/2.0/serving-endpoints/mine", deployments=(own,)).body["config"]
    assert [r["traffic_percentage"] for r in config["traffic_config"]["routes"]] == [33, 33, 34]
    assert [m["name"] for m in config["served_models"]] == ["a", "b", "c"]


def test_openid_discovery_is_as_the_client_reads_it() -> None:
    body = send("/oidc/.well-known/oauth-authorization-server").body
    assert list(body) == ["authorization_endpoint", "token_endpoint"]


OWN = Deployment(vendor="databricks", name="mine", mode="provisioned")
STOPPED = Deployment(vendor="databricks", name="still", mode="custom", state="stopped")


def look(path: str) -> Exchange:
    return send(f"/api/2.0/{path}", deployments=(OWN, STOPPED))


def test_details_of_an_endpoint() -> None:
    metrics = look("serving-endpoints/mine/metrics")
    assert metrics.headers["Content-Type"].startswith("text/plain")
    assert b'request_count_total{endpoint_name="mine",served_model_name="mine"} 0' in metrics.text
    assert b"# TYPE request_latency_ms histogram" in metrics.text
    openapi = look("serving-endpoints/mine/openapi").body
    assert list(openapi["paths"]) == ["/served-models/mine/invocations"]
    for kind in ("logs", "build-logs"):
        assert look(f"serving-endpoints/mine/served-models/mine/{kind}").body == {"logs": ""}
    llama = look("serving-endpoints/get-model-optimization-info/system.ai.meta_llama_v3_1_8b_instruct/2").body
    assert llama == {"optimizable": True, "model_type": "llama", "throughput_chunk_size": 980}
    assert look("serving-endpoints/get-model-optimization-info/gpt-oss/1").body == {"optimizable": False}


def test_permissions_go_by_id() -> None:
    name = look("serving-endpoints/mine").body["id"]
    shown = look(f"permissions/serving-endpoints/{name}").body
    assert (shown["object_id"], shown["object_type"]) == (f"/serving-endpoints/{name}", "serving-endpoint")
    levels = look(f"permissions/serving-endpoints/{name}/permissionLevels").body["permission_levels"]
    assert [level["permission_level"] for level in levels] == ["CAN_VIEW", "CAN_QUERY", "CAN_MANAGE"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        pytest.param("serving-endpoints/nope/metrics", 404, "RESOURCE_DOES_NOT_EXIST", id="metrics of nothing"),
        pytest.param(
            "serving-endpoints/mine/served-models/x/logs", 404, "RESOURCE_DOES_NOT_EXIST", id="logs of nothing"
        ),
        pytest.param("serving-endpoints/still/openapi", 400, "INVALID_PARAMETER_VALUE", id="OpenAPI of what is down"),
        pytest.param(
            f"permissions/serving-endpoints/{LLAMA}", 400, "INVALID_PARAMETER_VALUE", id="a preconfigured endpoint"
        ),
    ],
)
def test_refused_details(path: str, status: int, code: str) -> None:
    answer = look(path)
    assert (answer.status, answer.body["error_code"]) == (status, code)


def test_models_are_listed_for_openai_tools() -> None:
    body = send("/serving-endpoints/models").body
    assert body["object"] == "list"
    assert {"id": LLAMA, "object": "model", "created": 1733875200, "owned_by": "databricks"} in body["data"]


def test_environment_names_what_clients_read() -> None:
    environment = VENDOR.environment("http://host")
    assert environment["DATABRICKS_HOST"] == "http://host"
    assert environment["DATABRICKS_API_BASE"] == "http://host/serving-endpoints"
