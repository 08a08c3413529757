"""LiteLLM's ``databricks/`` models."""

import json

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

CLIENT = "litellm"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the client warns of itself
CHAT = "databricks-meta-llama-3-3-70b-instruct"
USER = [{"role": "user", "content": "What is the weather in Paris?"}]
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@pytest.fixture
def litellm(live: Running, monkeypatch: pytest.MonkeyPatch) -> JSON:
    monkeypatch.setenv("DATABRICKS_API_BASE", f"{live.urls['databricks']}/serving-endpoints")
    monkeypatch.setenv("DATABRICKS_API_KEY", live.key("dapi-x"))
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network for prices
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # and for a tokenizer
    return pytest.importorskip("litellm")


@pytest.mark.covers("databricks/traps", "12 LiteLLM reads usage")
def test_chat_and_stream_usage(litellm: JSON) -> None:
    ask = {"model": f"databricks/{CHAT}", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5}
    answer = litellm.completion(**ask)
    chunks = list(litellm.completion(**ask, stream=True, stream_options={"include_usage": True}))
    assert answer.choices[0].message.content == "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert answer.usage.completion_tokens == 5
    assert chunks[-1].usage.completion_tokens == 5


def test_embeddings(litellm: JSON) -> None:
    answer = litellm.embedding(model="databricks/databricks-bge-large-en", input=["a"])
    assert len(answer.data[0]["embedding"]) == 1024


def test_rate_limit_raises_rate_limit_error(litellm: JSON, live_with: JSON) -> None:
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


@pytest.mark.parametrize("model", [CHAT, "databricks-claude-sonnet-4-5", "databricks-gpt-5"])
@pytest.mark.parametrize("streamed", [False, True])
def test_tools(litellm: JSON, model: str, streamed: bool) -> None:
    ask = {"model": f"databricks/{model}", "messages": USER, "tools": [TOOL], "tool_choice": "required"}
    answer = litellm.completion(**ask, stream=streamed)
    if streamed:
        answer = litellm.stream_chunk_builder(list(answer))
    (call,) = answer.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Paris"})


@pytest.mark.covers("databricks/traps", "13 formats in a stream")
def test_structured_output(litellm: JSON) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}
    answer = litellm.completion(model="databricks/databricks-gpt-5", messages=USER, response_format=form)
    assert '"a":' in answer.choices[0].message.content


@pytest.mark.parametrize("streamed", [False, True])
def test_responses(litellm: JSON, streamed: bool) -> None:
    answer = litellm.responses(model="databricks/databricks-gpt-5", input="Hello", stream=streamed)
    if streamed:
        answer = list(answer)[-1].response
    assert answer.status == "completed"
    assert answer.output[-1].content[0].text


@pytest.mark.covers("databricks/traps", "14 LiteLLM logs in")
@pytest.mark.parametrize("session_by", ["plain", "key", "own port"])  # it asks the host for a token, without its path
def test_litellm_logs_in_with_client_credentials(live: Running, litellm: JSON, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABRICKS_API_KEY")
    monkeypatch.setenv("DATABRICKS_CLIENT_ID", "app")
    monkeypatch.setenv("DATABRICKS_CLIENT_SECRET", live.key("s3cret"))
    assert litellm.completion(model=f"databricks/{CHAT}", messages=USER, max_tokens=5).choices


async def test_async(litellm: JSON) -> None:
    answer = await litellm.acompletion(model=f"databricks/{CHAT}", messages=USER, max_tokens=5)
    assert answer.usage.completion_tokens == 5
