"""ChatDatabricks and DatabricksEmbeddings."""

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

CLIENT = "databricks-langchain"

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the clients warn of themselves
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
    return url


@pytest.fixture
def langchain(host: str) -> JSON:
    return pytest.importorskip("databricks_langchain")


def test_chat(langchain: JSON) -> None:
    model = langchain.ChatDatabricks(endpoint=CHAT, max_tokens=6)
    answer = model.invoke("Hello")
    assert answer.content
    assert answer.usage_metadata["output_tokens"] == 6


def test_stream(langchain: JSON) -> None:
    model = langchain.ChatDatabricks(endpoint=CHAT, max_tokens=6)
    assert "".join(str(chunk.content) for chunk in model.stream("Hello")) == model.invoke("Hello").content


def test_tools(langchain: JSON) -> None:
    def get_weather(city: str) -> str:
        """Weather of a city."""
        return city

    model = langchain.ChatDatabricks(endpoint="databricks-claude-sonnet-4-5")
    answer = model.bind_tools([get_weather], tool_choice="any").invoke("Weather in Paris?")
    assert answer.tool_calls[0]["name"] == "get_weather"


def test_embeddings(langchain: JSON) -> None:
    vectors = langchain.DatabricksEmbeddings(endpoint="databricks-bge-large-en").embed_documents(["a", "b"])
    assert [len(vector) for vector in vectors] == [1024, 1024]


def test_structured_output(langchain: JSON) -> None:
    pydantic = pytest.importorskip("pydantic")
    City = pydantic.create_model("City", name=(str, ...), people=(int, ...))
    model = langchain.ChatDatabricks(endpoint="databricks-gpt-5")
    for method in ("function_calling", "json_schema"):
        found = model.with_structured_output(City, method=method).invoke("Describe Paris")
        assert isinstance(found, City)


@pytest.mark.covers("databricks/traps", "17 LangChain")
def test_stream_with_usage(langchain: JSON) -> None:
    for endpoint in (CHAT, "databricks-claude-sonnet-4-5", "databricks-gpt-5", "databricks-gemini-2-5-flash"):
        chunks = langchain.ChatDatabricks(endpoint=endpoint, max_tokens=80).stream("Hello")
        *_, last = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
        assert last["output_tokens"] == 80


async def test_async(langchain: JSON) -> None:
    model = langchain.ChatDatabricks(endpoint=CHAT, max_tokens=6)
    assert (
        "".join([str(chunk.content) async for chunk in model.astream("Hello")])
        == (await model.ainvoke("Hello")).content
    )


def test_reasoning(langchain: JSON) -> None:
    answer = langchain.ChatDatabricks(endpoint="databricks-gpt-oss-20b").invoke("Hello")
    assert answer.text


def test_responses(langchain: JSON) -> None:
    answer = langchain.ChatDatabricks(endpoint="databricks-gpt-5", use_responses_api=True).invoke("Hello")
    assert answer.text
    assert answer.usage_metadata["output_tokens"]
