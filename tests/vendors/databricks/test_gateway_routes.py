"""The AI gateway's paths, and the address of route-optimized custom models."""

import pytest

from emulator.core.requests import Deployment
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import BGE, CLAUDE, GPT, LLAMA, send

USER: JSON = {"role": "user", "content": "Tell me about Paris"}
CHAT: JSON = {"messages": [USER], "max_tokens": 3}
CUSTOM = Deployment(vendor="databricks", name="scorer", mode="custom")


@pytest.mark.covers("databricks/AI gateway routes", "mlflow/v1 chat", case="chat")
@pytest.mark.covers("databricks/AI gateway routes", "mlflow/v1 embeddings", case="embeddings")
@pytest.mark.covers("databricks/AI gateway routes", "mlflow/v1 responses", case="Responses")
@pytest.mark.covers("databricks/AI gateway routes", "a model of Unity Catalog", case="a model")
@pytest.mark.covers("databricks/AI gateway routes", "openai/v1 chat", case="OpenAI's chat")
@pytest.mark.covers("databricks/AI gateway routes", "openai/v1 responses", case="OpenAI's Responses")
@pytest.mark.covers("databricks/AI gateway routes", "GPT only", case="not GPT")
@pytest.mark.covers("databricks/AI gateway routes", "codex/v1 responses", case="Codex")
@pytest.mark.covers("databricks/AI gateway routes", "codex/v1 chat", case="Codex chats")
@pytest.mark.covers("databricks/AI gateway routes", "cursor/v1 chat", case="Cursor")
@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        pytest.param("mlflow/v1/chat/completions", {"model": LLAMA, **CHAT}, 200, "chat.completion", id="chat"),
        pytest.param(
            "mlflow/v1/chat/completions", {"model": "system.ai.gpt-oss-120b", **CHAT}, 200, "gpt-oss-120b", id="a model"
        ),
        pytest.param("mlflow/v1/embeddings", {"model": BGE, "input": "x"}, 200, "embedding", id="embeddings"),
        pytest.param("mlflow/v1/responses", {"model": GPT, "input": "x"}, 200, "response", id="Responses"),
        pytest.param("openai/v1/chat/completions", {"model": GPT, **CHAT}, 200, "chat.completion", id="OpenAI's chat"),
        pytest.param("openai/v1/responses", {"model": GPT, "input": "x"}, 200, "response", id="OpenAI's Responses"),
        pytest.param("codex/v1/responses", {"model": GPT, "input": "x"}, 200, "response", id="Codex"),
        pytest.param("cursor/v1/chat/completions", {"model": CLAUDE, **CHAT}, 200, "chat.completion", id="Cursor"),
        pytest.param("openai/v1/chat/completions", {"model": CLAUDE, **CHAT}, 400, "not supported", id="not GPT"),
        pytest.param("codex/v1/chat/completions", {"model": GPT, **CHAT}, 400, "known API type", id="Codex chats"),
        pytest.param("mlflow/v1/chat/completions", {"model": "system.ai.x", **CHAT}, 404, "not exist", id="no model"),
        pytest.param("mlflow/v1/chat/completions", CHAT, 400, "'model'", id="no name"),
    ],
)
def test_gateway(path: str, body: JSON, status: int, text: str) -> None:
    answer = send(f"/ai-gateway/{path}", body)
    assert answer.status == status
    assert text in answer.text.decode()


@pytest.mark.covers("databricks/AI gateway routes", "discovery: endpoints", "foundation models", "model services")
def test_discovery() -> None:
    found = send("/api/2.1/unity-catalog/model-services", query={"parent": "schemas/system.ai"}).body
    assert found["next_page_token"] == ""
    assert "system.ai.gpt-oss-120b" in [model["full_name"] for model in found["model_services"]]
    nothing = send("/api/2.1/unity-catalog/model-services", query={"parent": "schemas/main.mine"}).body
    assert nothing["model_services"] == []
    for path in ("/api/2.0/serving-endpoints:foundation-models", "/api/ai-gateway/v2/endpoints"):
        assert LLAMA in [endpoint["name"] for endpoint in send(path).body["endpoints"]]


@pytest.mark.covers("databricks/inference routes", "POST the route-optimized address")
def test_route_optimized_address_is_for_custom_models() -> None:
    rows = {"inputs": [1, 2]}
    path = "/123/serving-endpoints/scorer/invocations"
    assert send(path, rows, deployments=(CUSTOM,)).status == 401  # a personal token
    form = b"grant_type=client_credentials&client_id=app&client_secret=s"
    issued = send("/oidc/v1/token", form, headers={"Authorization": ""}).body["access_token"]
    answer = send(path, rows, deployments=(CUSTOM,), headers={"Authorization": f"Bearer {issued}"})
    assert (answer.status, len(answer.body["predictions"])) == (200, 2)
    assert send(f"/123/serving-endpoints/{LLAMA}/invocations", CHAT).body["error_code"] == "ENDPOINT_NOT_FOUND"
