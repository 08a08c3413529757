"""databricks-sdk: discovery, both ways to log in, queries, listings, typed errors."""

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

sdk = pytest.importorskip("databricks.sdk")
serving = pytest.importorskip("databricks.sdk.service.serving")

CLIENT = "databricks-sdk"

CHAT = "databricks-meta-llama-3-3-70b-instruct"


@pytest.fixture(params=["plain", "key", "own port"])
def session_by(request: pytest.FixtureRequest) -> str:
    """Its client takes the host of a URL and drops the path."""
    return str(request.param)


@pytest.fixture(params=["token", "oauth"])
def workspace(request: pytest.FixtureRequest, live: Running, monkeypatch: pytest.MonkeyPatch) -> JSON:
    monkeypatch.delenv("DATABRICKS_TOKEN", raising=False)
    host = live.urls["databricks"]
    if request.param == "token":
        config = sdk.core.Config(host=host, token=live.key("dapi-x"), retry_timeout_seconds=3)
    else:
        config = sdk.core.Config(host=host, client_id="app", client_secret=live.key("s3cret"), retry_timeout_seconds=3)
    return sdk.WorkspaceClient(config=config)


def message(text: str) -> JSON:
    return serving.ChatMessage(role=serving.ChatMessageRole.USER, content=text)


def test_endpoints_are_listed(workspace: JSON) -> None:
    listed = {endpoint.name: endpoint for endpoint in workspace.serving_endpoints.list()}
    assert listed[CHAT].task == "llm/v1/chat"
    assert listed[CHAT].state.ready == serving.EndpointStateReady.READY
    assert listed["databricks-bge-large-en"].task == "llm/v1/embeddings"


def test_get_endpoint(workspace: JSON) -> None:
    endpoint = workspace.serving_endpoints.get(CHAT)
    assert endpoint.config.served_entities[0].foundation_model.name == "system.ai.llama_v3_3_70b_instruct"


@pytest.mark.covers("databricks/traps", "4 finishReason", "5 the object's enum")
def test_chat_is_queried(workspace: JSON) -> None:
    answer = workspace.serving_endpoints.query(CHAT, messages=[message("Hello")], max_tokens=6, temperature=0.0)
    assert answer.choices[0].message.content
    assert answer.usage.completion_tokens == 6
    assert answer.served_model_name == CHAT
    assert answer.object == serving.QueryEndpointResponseObject.CHAT_COMPLETION


def test_completions_are_queried(workspace: JSON) -> None:
    answer = workspace.serving_endpoints.query("databricks-mpt-7b-instruct", prompt="Once", max_tokens=6)
    assert answer.choices[0].text


def test_embeddings_are_queried(workspace: JSON) -> None:
    answer = workspace.serving_endpoints.query("databricks-gte-large-en", input=["a", "b"])
    assert [len(item.embedding) for item in answer.data] == [1024, 1024]


def test_missing_endpoint_is_not_found(workspace: JSON) -> None:
    with pytest.raises(sdk.errors.ResourceDoesNotExist, match="does not exist"):
        workspace.serving_endpoints.get("nope")
    with pytest.raises(sdk.errors.NotFound):
        workspace.serving_endpoints.query("nope", messages=[message("Hello")])


def test_bad_field_raises_bad_request(workspace: JSON) -> None:
    with pytest.raises(sdk.errors.BadRequest, match="temperature"):
        workspace.serving_endpoints.query(CHAT, messages=[message("Hello")], temperature=3.0)


def test_current_user_and_workspace_id(workspace: JSON) -> None:
    assert workspace.current_user.me().user_name.endswith("@example.com")
    assert workspace.get_workspace_id() == 1234567890123456


def test_throttled_query_is_retried(live_with: JSON) -> None:
    running = live_with("rules: [{name: once, times: {first: 1}, error: {kind: rate_limited, retry_after: 0s}}]")
    config = sdk.core.Config(host=running.urls["databricks"], token=running.key("dapi-x"), retry_timeout_seconds=10)
    client = sdk.WorkspaceClient(config=config)
    assert client.serving_endpoints.query(CHAT, messages=[message("Hello")]).choices


def test_wrong_token_is_denied(live: Running) -> None:
    client = sdk.WorkspaceClient(config=sdk.core.Config(host=live.urls["databricks"], token=live.key("000")))
    with pytest.raises(sdk.errors.PermissionDenied, match="Invalid access token"):
        list(client.serving_endpoints.list())


def test_login_with_configured_keys(live_with: JSON) -> None:
    running = live_with("keys: [{token: s3cret, principal: search}]")
    host = running.urls["databricks"]
    right, wrong = running.key("s3cret"), running.key("wrong")
    good = sdk.WorkspaceClient(config=sdk.core.Config(host=host, client_id="app", client_secret=right))
    assert good.current_user.me().display_name == "search"
    with pytest.raises(ValueError, match="invalid_client: Client authentication failed"):
        sdk.WorkspaceClient(config=sdk.core.Config(host=host, client_id="app", client_secret=wrong)).current_user.me()
