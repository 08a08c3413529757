"""LiteLLM's ``azure/`` and ``azure_ai/`` models."""

import pytest

from tests.conformance.conftest import LiveWith
from tests.http_client import Running
from tests.untyped_json import JSON

CLIENT = "litellm"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the client warns of itself
PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture
def litellm(monkeypatch: pytest.MonkeyPatch) -> JSON:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network for prices
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # and for a tokenizer
    return pytest.importorskip("litellm")


@pytest.fixture(params=["azure", "azure_ai"])
def place(request: pytest.FixtureRequest, live: Running) -> JSON:
    """Where the models of either provider are."""
    url, key = live.urls["azure"], live.key("k")
    if request.param == "azure":
        return {"model": "azure/gpt-4o", "api_base": url, "api_key": key, "api_version": "2024-10-21"}
    model = "azure_ai/mistral-small-2503"
    return {"model": model, "api_base": f"{url}/models?api-version=2024-05-01-preview", "api_key": key}


def test_chat_and_stream_usage(litellm: JSON, place: JSON) -> None:
    answer = litellm.completion(**place, messages=HELLO, max_tokens=5)
    more = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = list(litellm.completion(**place, messages=HELLO, max_tokens=5, **more))
    said = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert (answer.choices[0].message.content, answer.usage.completion_tokens) == (said, 5)
    assert chunks[-1].usage.completion_tokens == 5


def test_tools(litellm: JSON, place: JSON) -> None:
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": parameters}}
    ask = {"messages": [{"role": "user", "content": "What is the weather in Paris?"}], "tools": [tool]}
    (call,) = litellm.completion(**place, **ask).choices[0].message.tool_calls
    assert (call.function.name, call.function.arguments) == ("get_weather", '{"city": "Paris"}')


@pytest.mark.parametrize(
    ("model", "base", "version", "size"),
    [
        pytest.param("azure/text-embedding-3-small", "", "2024-10-21", 1536, id="Azure OpenAI"),
        pytest.param("azure_ai/text-embedding-3-small", "", None, 1536, id="a model of OpenAI"),
        pytest.param("azure_ai/embed-v-4-0", "/openai/v1", None, 1536, id="without dates"),
        pytest.param("azure_ai/embed-v-4-0", "/endpoints/embed-v-4-0", None, 1536, id="an endpoint of its own"),
        pytest.param("azure_ai/Cohere-embed-v3-english", "/models", None, 1024, id="the models of a resource"),
    ],
)
def test_embeddings(litellm: JSON, live_with: LiveWith, model: str, base: str, version: str | None, size: int) -> None:
    """Of ``azure_ai`` it sends a version for OpenAI's models alone; serverless endpoints ask for none."""
    running = live_with("vendors: {azure: {profile: maas}}")
    place = {"api_base": running.urls["azure"] + base, "api_key": running.key("k")}
    answer = litellm.embedding(model=model, input=["a", "b"], **place, api_version=version)
    assert [len(found["embedding"]) for found in answer.data] == [size, size]


def test_image_embeddings(litellm: JSON, live_with: LiveWith) -> None:
    running = live_with("vendors: {azure: {profile: maas}}")
    base = f"{running.urls['azure']}/endpoints/Cohere-embed-v3-english"
    place = {"model": "azure_ai/Cohere-embed-v3-english", "api_base": base, "api_key": running.key("k")}
    answer = litellm.embedding(**place, input=["a", PICTURE])
    assert [len(found["embedding"]) for found in answer.data] == [1024, 1024]


def test_embeddings_without_api_version_are_refused(litellm: JSON, live: Running) -> None:
    """The documented API asks for one."""
    url = f"{live.urls['azure']}/endpoints/embed-v-4-0"
    with pytest.raises(litellm.BadRequestError):
        litellm.embedding(model="azure_ai/embed-v-4-0", input=["a"], api_base=url, api_key=live.key("k"), max_retries=0)


def test_responses(litellm: JSON, live: Running) -> None:
    place = {"model": "azure/gpt-4o", "api_base": live.urls["azure"], "api_key": live.key("k")}
    answer = litellm.responses(**place, input="Hello", api_version="2025-04-01-preview")
    events = list(litellm.responses(**place, input="Hello", stream=True, api_version="2025-04-01-preview"))
    assert answer.status == events[-1].response.status == "completed"
    assert answer.output[-1].content[0].text


def test_errors(litellm: JSON, place: JSON) -> None:
    with pytest.raises(litellm.BadRequestError):
        litellm.completion(**place, messages=[], num_retries=0)
