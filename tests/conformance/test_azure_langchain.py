"""langchain-azure-ai against a live emulator."""

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

chat_models = pytest.importorskip("langchain_azure_ai.chat_models.inference")
embeddings = pytest.importorskip("langchain_azure_ai.embeddings.inference")
messages = pytest.importorskip("langchain_core.messages")
tools = pytest.importorskip("langchain_core.tools")

CLIENT = "langchain-azure-ai"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*experimental.*"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # its clients are never closed
]


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"Sunny in {city}"


def chat(running: Running, **options: JSON) -> JSON:
    return chat_models.AzureAIChatCompletionsModel(
        endpoint=running.urls["azure"], credential=running.key("key"), **options
    )


def test_invoke_and_stream(live: Running) -> None:
    model = chat(live, model="gpt-4o-mini", temperature=0.0, max_tokens=20)
    whole = model.invoke("Hello")
    assert whole.usage_metadata["output_tokens"] == 20
    assert "".join(chunk.content for chunk in model.stream("Hello")) == whole.content


@pytest.mark.covers("azure/traps", "no model named")
def test_model_name_is_optional(live: Running) -> None:
    assert chat(live, max_tokens=5).invoke("Hello").content


def test_tools(live: Running) -> None:
    tool = tools.tool(get_weather)
    model = chat(live, model="mistral-large-2411").bind_tools([tool])
    question = messages.HumanMessage("What is the weather in Paris?")
    asked = model.invoke([question])
    (call,) = asked.tool_calls
    assert (call["name"], list(call["args"])) == ("get_weather", ["city"])
    answered = model.invoke([question, asked, tool.invoke(call)])
    assert answered.content


@pytest.mark.covers("azure/traps", "index of a call")
def test_streamed_tool_calls_are_merged(live: Running) -> None:
    model = chat(live, model="mistral-large-2411").bind_tools([tools.tool(get_weather)])
    whole = None
    for chunk in model.stream("What is the weather in Paris?"):
        whole = chunk if whole is None else whole + chunk
    assert whole is not None
    assert [call["name"] for call in whole.tool_calls] == ["get_weather"]


async def test_async_invoke(live: Running) -> None:
    assert (await chat(live, model="gpt-4o-mini", max_tokens=5).ainvoke("Hello")).content


def test_embeddings(live: Running) -> None:
    model = embeddings.AzureAIEmbeddingsModel(
        endpoint=live.urls["azure"], credential=live.key("key"), model="text-embedding-3-large"
    )
    assert [len(vector) for vector in model.embed_documents(["a", "b"])] == [3072, 3072]
    assert len(model.embed_query("a")) == 3072
