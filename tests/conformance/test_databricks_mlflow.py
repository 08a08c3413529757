"""mlflow's deployments client: predictions, streams without a foreign line, listings with a trailing slash."""

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

deployments = pytest.importorskip("mlflow.deployments")

CLIENT = "mlflow-skinny"

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the clients warn of themselves
CHAT = "databricks-meta-llama-3-3-70b-instruct"
ASK: JSON = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5}


@pytest.fixture(params=["plain", "key", "own port"])
def session_by(request: pytest.FixtureRequest) -> str:
    """Its client takes the host of a URL and drops the path."""
    return str(request.param)


@pytest.fixture
def client(live: Running, monkeypatch: pytest.MonkeyPatch) -> JSON:
    monkeypatch.setenv("DATABRICKS_HOST", live.urls["databricks"])
    monkeypatch.setenv("DATABRICKS_TOKEN", live.key("dapi-x"))
    return deployments.get_deploy_client("databricks")


def test_predict(client: JSON) -> None:
    answer = client.predict(endpoint=CHAT, inputs=ASK)
    assert answer["choices"][0]["finish_reason"] == "length"


def test_predict_stream(client: JSON) -> None:
    chunks = list(client.predict_stream(endpoint=CHAT, inputs=ASK))
    whole = client.predict(endpoint=CHAT, inputs=ASK)
    text = "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks)
    assert text == whole["choices"][0]["message"]["content"]


def test_responses_stream_on_invocations(client: JSON) -> None:
    events = list(client.predict_stream(endpoint="databricks-gpt-5", inputs={"input": "Hello"}))
    assert events[-1]["type"] == "response.completed"


@pytest.mark.covers("databricks/traps", "2 a slash at the end")
def test_list_and_get_endpoints(client: JSON) -> None:
    assert CHAT in [endpoint["name"] for endpoint in client.list_endpoints()]
    assert client.get_endpoint(CHAT)["task"] == "llm/v1/chat"


def test_missing_endpoint_is_not_found(client: JSON) -> None:
    errors = pytest.importorskip("requests.exceptions")
    with pytest.raises(errors.HTTPError, match="RESOURCE_DOES_NOT_EXIST"):
        client.get_endpoint("nope")
