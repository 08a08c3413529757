"""ChatDatabricks, DatabricksEmbeddings and LiteLLM."""

import pytest

from tests.parsed import JSON
from tests.wire import Running

pytestmark = pytest.mark.filterwarnings("ignore")  # the clients warn of themselves
CHAT = "databricks-meta-llama-3-3-70b-instruct"


@pytest.fixture(params=["plain", "key", "own port"])
def session_by(request: pytest.FixtureRequest) -> str:
    """Its client takes the host of a URL and drops the path."""
    return str(request.param)


@pytest.fixture
def host(live: Running, monkeypatch: pytest.MonkeyPatch) -> str:
    url = live.urls["databricks"]
    monkeypatch.setenv("DATABRICKS_HOST", url)
    monkeypatch.setenv("DATABRICKS_TOKEN", live.key("dapi-x"))
    monkeypatch.setenv("DATABRICKS_API_BASE", f"{url}/serving-endpoints")
    monkeypatch.setenv("DATABRICKS_API_KEY", live.key("dapi-x"))
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network for prices
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # and for a tokenizer
    return url


@pytest.fixture
def langchain(host: str) -> JSON:
    return pytest.importorskip("databricks_langchain")


@pytest.fixture
def litellm(host: str) -> JSON:
    return pytest.importorskip("litellm")


def test_langchain_chat(langchain: JSON) -> None:
    model = langchain.ChatDatabricks(endpoint=CHAT, max_tokens=6)
    answer = model.invoke("Hello")
    assert answer.content
    assert answer.usage_metadata["output_tokens"] == 6


def test_langchain_stream(langchain: JSON) -> None:
    model = langchain.ChatDatabricks(endpoint=CHAT, max_tokens=6)
    assert "".join(str(chunk.content) for chunk in model.stream("Hello")) == model.invoke("Hello").content


def test_langchain_tools(langchain: JSON) -> None:
    def get_weather(city: str) -> str:
        """Weather of a city."""
        return city

    model = langchain.ChatDatabricks(endpoint="databricks-claude-sonnet-4-5")
    answer = model.bind_tools([get_weather], tool_choice="any").invoke("Weather in Paris?")
    assert answer.tool_calls[0]["name"] == "get_weather"


def test_langchain_embeddings(langchain: JSON) -> None:
    vectors = langchain.DatabricksEmbeddings(endpoint="databricks-bge-large-en").embed_documents(["a", "b"])
    assert [len(vector) for vector in vectors] == [1024, 1024]


def test_litellm_chat_and_stream_usage(litellm: JSON) -> None:
    ask = {"model": f"databricks/{CHAT}", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5}
    answer = litellm.completion(**ask)
    chunks = list(litellm.completion(**ask, stream=True, stream_options={"include_usage": True}))
    assert answer.choices[0].message.content == "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert answer.usage.completion_tokens == 5
    assert chunks[-1].usage.completion_tokens == 5


def test_litellm_embeddings(litellm: JSON) -> None:
    answer = litellm.embedding(model="databricks/databricks-bge-large-en", input=["a"])
    assert len(answer.data[0]["embedding"]) == 1024


def test_litellm_rate_limit_has_its_type(litellm: JSON, live_with: JSON) -> None:
    running = live_with("rules: [{name: refuse, error: {kind: rate_limited}}]")
    with pytest.raises(litellm.RateLimitError):
        litellm.completion(
            model=f"databricks/{CHAT}",
            messages=[{"role": "user", "content": "Hello"}],
            api_base=f"{running.urls['databricks']}/serving-endpoints",
            api_key=running.key("dapi-x"),
            num_retries=0,
            max_retries=0,
        )
