"""databricks-openai: OpenAI's client as Databricks gives it out, on serving endpoints and on the AI gateway."""

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

client = pytest.importorskip("databricks_openai")

CLIENT = "databricks-openai"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the clients warn of themselves
CHAT, GPT, CLAUDE = "databricks-meta-llama-3-3-70b-instruct", "databricks-gpt-5", "databricks-claude-sonnet-4-5"
USER = [{"role": "user", "content": "What is the weather in Paris?"}]
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


@pytest.fixture(params=["endpoints", "gateway"])
def options(request: pytest.FixtureRequest, live: Running, monkeypatch: pytest.MonkeyPatch) -> JSON:
    monkeypatch.setenv("DATABRICKS_HOST", live.urls["databricks"])
    monkeypatch.setenv("DATABRICKS_TOKEN", live.key("dapi-x"))
    return {"use_ai_gateway": True} if request.param == "gateway" else {}


@pytest.mark.covers("databricks/traps", "16 any key")
@pytest.mark.parametrize("model", [CHAT, GPT, CLAUDE])
def test_chat(options: JSON, model: str) -> None:
    answer = client.DatabricksOpenAI(**options).chat.completions.create(model=model, messages=USER, max_tokens=90)
    assert answer.choices[0].message.content
    assert answer.usage.completion_tokens <= 90


def test_stream(options: JSON) -> None:
    ask = {"model": CHAT, "messages": USER, "max_tokens": 6}
    chat = client.DatabricksOpenAI(**options).chat.completions
    chunks = list(chat.create(**ask, stream=True))
    assert "".join(chunk.choices[0].delta.content for chunk in chunks) == chat.create(**ask).choices[0].message.content
    assert chunks[-1].usage.completion_tokens == 6


@pytest.mark.covers("databricks/traps", "15 strict is stripped")
@pytest.mark.parametrize("model", [CHAT, GPT, CLAUDE])
def test_tool_calls_round_trip(options: JSON, model: str) -> None:
    chat = client.DatabricksOpenAI(**options).chat.completions
    said = chat.create(model=model, messages=USER, tools=[TOOL], tool_choice="required").choices[0].message
    (call,) = said.tool_calls
    result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
    turn = {"role": "assistant", "content": "", "tool_calls": [call.model_dump(exclude_none=True)]}
    assert chat.create(model=model, messages=[*USER, turn, result], tools=[TOOL]).choices[0].message.content


def test_embeddings(options: JSON) -> None:
    answer = client.DatabricksOpenAI(**options).embeddings.create(model="databricks-gte-large-en", input=["a", "b"])
    assert [len(item.embedding) for item in answer.data] == [1024, 1024]


@pytest.mark.parametrize("streamed", [False, True])
def test_responses(options: JSON, streamed: bool) -> None:
    answer = client.DatabricksOpenAI(**options).responses.create(model=GPT, input="Hello", stream=streamed)
    if streamed:
        answer = list(answer)[-1].response
    assert answer.output_text


def test_ai_gateway_native_api(live: Running, options: JSON) -> None:
    made = client.DatabricksOpenAI(use_ai_gateway_native_api=True)
    assert made.responses.create(model=GPT, input="Hello").output_text
    assert made.chat.completions.create(model=GPT, messages=USER).choices[0].message.content


async def test_async(options: JSON) -> None:
    chat = client.AsyncDatabricksOpenAI(**options).chat.completions
    assert (await chat.create(model=CHAT, messages=USER, max_tokens=5)).choices
    stream = await chat.create(model=CHAT, messages=USER, max_tokens=5, stream=True)
    assert [chunk async for chunk in stream][-1].choices[0].finish_reason == "length"
