"""LangChain's OpenAI classes against OpenVINO Model Server."""

from collections.abc import Iterator

import pytest

from tests.conformance.conftest import in_session
from tests.conftest import LiveServer
from tests.http_client import Running
from tests.untyped_json import JSON

langchain = pytest.importorskip("langchain_openai")

CLIENT = "langchain-openai"

# its clients are never closed
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@pytest.fixture(scope="module")
def newest_server() -> Iterator[Running]:
    with LiveServer("version: 1\nname: live\nvendors: {openvino: {profile: latest}}\n") as value:
        yield value


@pytest.fixture
def newest(newest_server: Running, session_by: str) -> Iterator[Running]:
    with in_session(newest_server, session_by) as target:
        yield target


def _chat(running: Running, **fields: JSON) -> JSON:
    return langchain.ChatOpenAI(
        model="llama3",
        base_url=running.urls["openvino"] + "/v3",
        api_key=running.key("unused"),
        max_retries=0,
        **fields,
    )


def test_invoke_and_stream(live: Running) -> None:
    chat = _chat(live, temperature=0)
    whole = chat.invoke("How are you?")
    assert whole.content == "".join(part.content for part in chat.stream("How are you?"))
    assert whole.usage_metadata["output_tokens"] > 0


async def test_async(live: Running, session_by: str) -> None:
    if session_by == "key":
        pytest.skip("the client keeps its connections by URL, and those of another test are of a loop that is over")
    chat = _chat(live, temperature=0)
    assert (await chat.ainvoke("How are you?")).content == chat.invoke("How are you?").content


@pytest.mark.parametrize("streamed", [False, True], ids=["unary", "stream"])
def test_tools(newest: Running, streamed: bool) -> None:
    tool = {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
    chat = _chat(newest).bind_tools([tool], tool_choice="required")
    if streamed:
        first, *more = list(chat.stream("What is the weather in Paris?"))
        message = first
        for part in more:
            message += part
    else:
        message = chat.invoke("What is the weather in Paris?")
    (call,) = message.tool_calls
    assert call["name"] == "get_weather"
    assert set(call["args"]) == {"city"}


def test_embeddings(live: Running) -> None:
    embeddings = langchain.OpenAIEmbeddings(
        model="embeddings",
        base_url=live.urls["openvino"] + "/v3",
        api_key=live.key("unused"),
        check_embedding_ctx_length=False,
    )
    one, two = embeddings.embed_documents(["one", "two"])
    assert len(one) == 1024
    assert one != two
    assert embeddings.embed_query("one") == one
