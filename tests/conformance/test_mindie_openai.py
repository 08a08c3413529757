"""The OpenAI client against MindIE and TGI."""

from collections.abc import Callable, Iterator

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

openai = pytest.importorskip("openai")

CLIENT = "openai"

HELLO: JSON = [{"role": "user", "content": "Hello"}]
MODELS = {"mindie": "llama_65b", "tgi": "tgi"}
TOOL: JSON = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@pytest.fixture(params=["mindie port", "mindie front", "tgi port", "tgi front"])
def spoken(request: pytest.FixtureRequest, live: Running) -> Iterator[tuple[JSON, str]]:
    vendor, way = request.param.split()
    url = (live.urls[vendor] if way == "port" else live.front(vendor)) + "/v1"
    with openai.OpenAI(base_url=url, api_key=live.key("-"), max_retries=0) as client:
        yield client, MODELS[vendor]


def test_chat(spoken: tuple[JSON, str]) -> None:
    client, model = spoken
    answer = client.chat.completions.create(model=model, messages=HELLO, max_tokens=5)
    assert (answer.usage.completion_tokens, answer.choices[0].finish_reason) == (5, "length")
    assert answer.choices[0].message.content


@pytest.mark.covers("mindie/programs", "OpenAI's client")
def test_chat_stream(spoken: tuple[JSON, str]) -> None:
    client, model = spoken
    whole = client.chat.completions.create(model=model, messages=HELLO, max_tokens=5).choices[0].message.content
    chunks = list(client.chat.completions.create(model=model, messages=HELLO, max_tokens=5, stream=True))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == whole
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "length"


def test_completions(spoken: tuple[JSON, str]) -> None:
    client, model = spoken
    answer = client.completions.create(model=model, prompt="Hello", max_tokens=5)
    chunks = list(client.completions.create(model=model, prompt="Hello", max_tokens=5, stream=True))
    assert "".join(c.choices[0].text for c in chunks if c.choices) == answer.choices[0].text


def test_models(spoken: tuple[JSON, str]) -> None:
    client, _ = spoken
    assert [model.object for model in client.models.list()] == ["model"]


def test_typed_error(spoken: tuple[JSON, str]) -> None:
    client, model = spoken
    with pytest.raises(openai.UnprocessableEntityError):
        client.chat.completions.create(model=model, messages=HELLO, top_p=2)


@pytest.mark.parametrize("vendor", ["mindie", "tgi"])
def test_tools(live_with: Callable[[str], Running], vendor: str) -> None:
    rule = "rules: [{name: call, reply: {tool_calls: [{name: get_weather, arguments: {city: Paris}}]}}]\n"
    running = live_with(rule)
    with openai.OpenAI(base_url=running.urls[vendor] + "/v1", api_key=running.key("-"), max_retries=0) as client:
        answer = client.chat.completions.create(model=MODELS[vendor], messages=HELLO, tools=[TOOL])
        call = answer.choices[0].message.tool_calls[0]
        assert call.function.name == "get_weather"
        chunks = list(client.chat.completions.create(model=MODELS[vendor], messages=HELLO, tools=[TOOL], stream=True))
    deltas = [d for c in chunks if c.choices for d in c.choices[0].delta.tool_calls or ()]
    assert deltas[0].function.name == "get_weather"
    assert "".join(d.function.arguments for d in deltas).replace(" ", "") == call.function.arguments.replace(" ", "")


async def test_async(live: Running) -> None:
    for vendor, model in MODELS.items():
        async with openai.AsyncOpenAI(base_url=live.urls[vendor] + "/v1", api_key=live.key("-")) as client:
            answer = await client.chat.completions.create(model=model, messages=HELLO, max_tokens=5)
            stream = await client.chat.completions.create(model=model, messages=HELLO, max_tokens=5, stream=True)
            texts = [c.choices[0].delta.content or "" async for c in stream if c.choices]
            assert "".join(texts) == answer.choices[0].message.content
