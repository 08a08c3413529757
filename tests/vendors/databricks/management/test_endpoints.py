"""Discovery, and the listings of a workspace."""

import pytest

from emulator.core.requests import Deployment
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import BGE, GPT, LLAMA, send

KEYS = {"dapi-1": "search", "dapi-2": "batch"}


@pytest.mark.covers("databricks/authentication", "neither asks for a credential")
@pytest.mark.covers("databricks/traps", "28 no key for discovery")
@pytest.mark.parametrize("path", ["/.well-known/databricks-config", "/oidc/.well-known/oauth-authorization-server"])
@pytest.mark.parametrize("slash", ["", "/"])
def test_discovery_needs_no_credentials(path: str, slash: str) -> None:
    assert send(path + slash, headers={"Authorization": ""}, keys=KEYS).status == 200


@pytest.mark.covers("databricks/authentication", "databricks-config", "oauth-authorization-server")
@pytest.mark.covers("databricks/traps", "1 discovery")
def test_discovery_returns_token_endpoint() -> None:
    config = send("/.well-known/databricks-config", workspace_id="7", cloud="Azure").body
    assert (config["workspace_id"], config["cloud"], config["oidc_endpoint"]) == ("7", "Azure", "http://host/oidc")
    endpoints = send("/oidc/.well-known/oauth-authorization-server").body
    assert endpoints["token_endpoint"] == "http://host/oidc/v1/token"
    assert endpoints["authorization_endpoint"] == "http://host/oidc/v1/authorize"


@pytest.mark.covers("databricks/management routes", "list", "get")
@pytest.mark.covers("databricks/shapes of an endpoint", "task", "capabilities", "api_types", "no id and no creator")
def test_list_and_get_agree() -> None:
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
    assert endpoints[LLAMA]["capabilities"]["openai_reasoning"] is False
    assert {e["task"] for e in endpoints.values()} >= {"llm/v1/chat", "llm/v1/completions", "llm/v1/embeddings"}


@pytest.mark.parametrize(
    ("name", "title", "apis"),
    [
        (LLAMA, "Meta Llama 3.3 70B Instruct", ["mlflow/v1/chat/completions"]),
        ("databricks-gemma-3-12b", "Gemma 3 12B", ["mlflow/v1/chat/completions"]),
        ("databricks-qwen3-embedding-0-6b", "Qwen3 Embedding 0.6B", ["mlflow/v1/embeddings"]),
        (
            "databricks-claude-sonnet-4-5",
            "Claude Sonnet 4.5",
            ["mlflow/v1/chat/completions", "anthropic/v1/messages", "cursor/v1/chat/completions"],
        ),
        ("databricks-gpt-5-3-codex", "Gpt 5.3 Codex", ["openai/v1/responses", "codex/v1/responses"]),
    ],
)
def test_foundation_models_are_described(name: str, title: str, apis: list[str]) -> None:
    """The title of Llama 3.3 is from a public capture of a listing; an API is listed if it answers."""
    (entity,) = send(f"/api/2.0/serving-endpoints/{name}").body["config"]["served_entities"]
    assert entity["foundation_model"]["display_name"] == title
    assert entity["foundation_model"]["api_types"] == apis


@pytest.mark.covers("databricks/shapes of an endpoint", "config", "config summary")
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
def test_scenario_endpoints_are_shown(deployment: JSON, shape: JSON) -> None:
    own = Deployment(vendor="databricks", name="mine", traits={"served_entities": {"a": 30, "b": 70}}, **deployment)
    body = send("/api/2.0/serving-endpoints/mine", deployments=(own,)).body
    assert shape.items() <= body.items()
    assert body["id"]
    routes = body["config"]["traffic_config"]["routes"]
    assert [(r["served_entity_name"], r["traffic_percentage"]) for r in routes] == [("a", 30), ("b", 70)]


@pytest.mark.covers("databricks/shapes of an endpoint", "state", "suspend")
@pytest.mark.covers("databricks/traps", "25 both keys of a state")
def test_endpoint_states() -> None:
    for state, ready, suspend in (("stopped", "NOT_READY", "STOPPED"), ("loading", "NOT_READY", "NOT_SUSPENDED")):
        own = Deployment(vendor="databricks", name="mine", mode="provisioned", state=state)
        shown = send("/api/2.0/serving-endpoints/mine", deployments=(own,)).body["state"]
        assert (shown["ready"], shown["suspend"]) == (ready, suspend)


@pytest.mark.covers("databricks/shapes of an endpoint", "served_models", "traffic_config")
def test_traffic_percentages_sum_to_hundred() -> None:
    own = Deployment(
        vendor="databricks", name="mine", mode="custom", traits={"served_entities": {"a": 1, "b": 1, "c": 1}}
    )
    config = send("/api/2.0/serving-endpoints/mine", deployments=(own,)).body["config"]
    assert [r["traffic_percentage"] for r in config["traffic_config"]["routes"]] == [33, 33, 34]
    assert [m["name"] for m in config["served_models"]] == ["a", "b", "c"]


@pytest.mark.covers("databricks/authentication", "openid-configuration")
def test_openid_discovery_has_fields_read_by_client() -> None:
    body = send("/oidc/.well-known/oauth-authorization-server").body
    assert list(body) == ["authorization_endpoint", "token_endpoint"]
