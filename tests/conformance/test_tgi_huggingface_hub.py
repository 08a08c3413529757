"""huggingface_hub's inference clients against TGI and MindIE as it really answers."""

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

hub = pytest.importorskip("huggingface_hub")
hub_errors = pytest.importorskip("huggingface_hub.errors")

CLIENT = "huggingface-hub"
CLIENTS = {"test_langchain": "langchain-huggingface"}

PROMPT = "Tell me about the harbour"
HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture(params=["tgi port", "tgi front", "mindie port", "mindie front"])
def url(request: pytest.FixtureRequest, live: Running) -> str:
    vendor, way = request.param.split()
    return live.urls[vendor] if way == "port" else live.front(vendor)


@pytest.fixture
def client(live: Running, url: str) -> JSON:
    return hub.InferenceClient(model=url, token=live.key("hf-x"))


@pytest.mark.covers("mindie/programs", "huggingface-hub")
def test_text(client: JSON) -> None:
    assert client.text_generation(PROMPT, max_new_tokens=5)


@pytest.mark.covers("mindie/what clients accept", "huggingface-hub")
def test_details(client: JSON) -> None:
    answer = client.text_generation(PROMPT, max_new_tokens=5, details=True)
    assert answer.details.generated_tokens == len(answer.details.tokens) == 5
    assert answer.details.finish_reason == "length"


def test_stream(client: JSON) -> None:
    rows = list(client.text_generation(PROMPT, max_new_tokens=5, details=True, stream=True, return_full_text=False))
    assert rows[-1].generated_text == "".join(row.token.text for row in rows)
    texts = list(client.text_generation(PROMPT, max_new_tokens=5, stream=True))
    assert "".join(texts) == rows[-1].generated_text


async def test_async(live: Running, url: str) -> None:
    client = hub.AsyncInferenceClient(model=url, token=live.key("hf-x"))
    text = await client.text_generation(PROMPT, max_new_tokens=5, return_full_text=False)
    pieces = [piece async for piece in await client.text_generation(PROMPT, max_new_tokens=5, stream=True)]
    assert "".join(pieces) == text


def test_invalid_top_p_raises(client: JSON) -> None:
    with pytest.raises((hub_errors.ValidationError, hub_errors.UnknownError, hub_errors.TextGenerationError)):
        client.text_generation(PROMPT, top_p=0.0)


@pytest.fixture(params=["tgi", "mindie"])
def chat(request: pytest.FixtureRequest, live: Running) -> tuple[JSON, str]:
    model = "tgi" if request.param == "tgi" else "llama_65b"
    return hub.InferenceClient(base_url=live.urls[request.param] + "/v1", api_key=live.key("hf-x")), model


def test_chat(chat: tuple[JSON, str]) -> None:
    client, model = chat
    answer = client.chat_completion(HELLO, model=model, max_tokens=5)
    assert (answer.usage.completion_tokens, answer.choices[0].finish_reason) == (5, "length")


def test_chat_stream(chat: tuple[JSON, str]) -> None:
    client, model = chat
    whole = client.chat_completion(HELLO, model=model, max_tokens=5).choices[0].message.content
    rows = list(client.chat_completion(HELLO, model=model, max_tokens=5, stream=True))
    assert "".join(row.choices[0].delta.content or "" for row in rows if row.choices) == whole


@pytest.mark.covers("mindie/what clients accept", "LangChain")
@pytest.mark.covers("mindie/programs", "LangChain")
def test_langchain(live: Running, session_by: str) -> None:
    langchain = pytest.importorskip("langchain_huggingface")
    if session_by == "key":
        pytest.skip("the client sends no token to a URL of this machine")
    for vendor in ("tgi", "mindie"):
        model = langchain.HuggingFaceEndpoint(
            endpoint_url=live.urls[vendor], huggingfacehub_api_token=live.key("x"), max_new_tokens=5, temperature=0.8
        )
        assert model.invoke(PROMPT)
        assert "".join(model.stream(PROMPT))
