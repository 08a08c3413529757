"""The azure-ai-inference client against a live emulator."""

import time
from collections.abc import Callable, Iterator

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

inference = pytest.importorskip("azure.ai.inference")
azure_aio = pytest.importorskip("azure.ai.inference.aio")
models = pytest.importorskip("azure.ai.inference.models")
credentials = pytest.importorskip("azure.core.credentials")
exceptions = pytest.importorskip("azure.core.exceptions")

CLIENT = "azure-ai-inference"

HELLO = [models.UserMessage(content="How many feet are in a mile?")]
WEATHER = models.ChatCompletionsToolDefinition(
    function=models.FunctionDefinition(
        name="get_max_temperature",
        description="A function that returns the weather.",
        parameters={
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "string"}},
            "required": ["city", "days"],
        },
    )
)
NAMED = models.ChatCompletionsNamedToolChoice(
    function=models.ChatCompletionsNamedToolChoiceFunction(name="get_max_temperature")
)


def credential(running: Running, key: str = "some-key") -> JSON:
    return credentials.AzureKeyCredential(running.key(key))


class Token:
    """A credential of Entra ID; ``get_token`` is all the client asks of it."""

    def __init__(self, value: str = "eyJ.some.token") -> None:
        self.value = value

    def get_token(self, *scopes: str, **options: JSON) -> JSON:
        assert scopes == ("https://ml.azure.com/.default",)
        return credentials.AccessToken(self.value, int(time.time()) + 3600)


@pytest.fixture(params=["port", "front", "models", "deployment"])
def endpoint(request: pytest.FixtureRequest, live: Running) -> str:
    """The vendor's own port, the front, and prefixes of Foundry and Azure OpenAI."""
    own = live.urls["azure"]
    return {
        "port": own,
        "front": live.front("azure"),
        "models": f"{own}/models",
        "deployment": f"{own}/openai/deployments/gpt-4o-mini",
    }[request.param]


@pytest.fixture
def client(live: Running) -> Iterator[JSON]:
    with inference.ChatCompletionsClient(live.urls["azure"], credential(live)) as value:
        yield value


@pytest.mark.covers("azure/traps", "200 alone is success")
def test_complete(live: Running, endpoint: str) -> None:
    with inference.ChatCompletionsClient(endpoint, credential(live)) as client:
        response = client.complete(messages=[models.SystemMessage(content="Be brief."), *HELLO], max_tokens=20, seed=1)
    assert response.choices[0].message.content
    assert response.choices[0].finish_reason in ("stop", "length")
    assert response.usage.total_tokens == response.usage.prompt_tokens + response.usage.completion_tokens
    assert response.created.year >= 2024
    assert response.id


@pytest.mark.covers("azure/traps", "what the Python client sends")
def test_every_parameter(client: JSON) -> None:
    response = client.complete(
        messages=HELLO,
        frequency_penalty=0.5,
        presence_penalty=0.5,
        max_tokens=9,
        response_format="text",
        seed=1,
        stop=["\n"],
        temperature=0.8,
        top_p=0.1,
        model="gpt-4o-mini",
        model_extras={"n": 2, "logprobs": True},
    )
    assert response.model == "gpt-4o-mini"
    assert [choice.index for choice in response.choices] == [0, 1]
    assert len(response.choices[0]["logprobs"]["content"]) <= 9


def test_constructor_defaults(live: Running) -> None:
    with inference.ChatCompletionsClient(live.urls["azure"], credential(live), max_tokens=3, temperature=0.0) as client:
        assert client.complete(messages=HELLO).usage.completion_tokens == 3


def test_raw_bodies(client: JSON) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4}
    assert client.complete(body).usage.completion_tokens == 4


@pytest.mark.covers("azure/traps", "the strict parser")
def test_stream(live: Running, endpoint: str) -> None:
    with inference.ChatCompletionsClient(endpoint, credential(live)) as client:
        whole = client.complete(messages=HELLO, max_tokens=30, temperature=0)
        updates = list(client.complete(messages=HELLO, max_tokens=30, temperature=0, stream=True))
    text = "".join(u.choices[0].delta.content or "" for u in updates if u.choices)
    assert text == whole.choices[0].message.content
    assert updates[-1].choices[0].finish_reason == whole.choices[0].finish_reason
    if "/openai/" in endpoint:  # where counts come only if they are asked for
        assert all(update.usage is None for update in updates)
    else:
        assert updates[-1].usage == whole.usage
    assert next(u for u in updates if u.choices).choices[0].delta.role == "assistant"


def test_tool_call_and_result(client: JSON) -> None:
    question = models.UserMessage(content="What will the temperature be in Seattle two days from now?")
    asked = client.complete(messages=[question], tools=[WEATHER])
    assert asked.choices[0].finish_reason == "tool_calls"
    call = asked.choices[0].message.tool_calls[0]
    assert call.function.name == "get_max_temperature"
    assert "'" not in call.function.arguments
    messages = [
        question,
        models.AssistantMessage(tool_calls=[call]),
        models.ToolMessage("31 degrees", tool_call_id=call.id),
    ]
    answered = client.complete(messages=messages, tools=[WEATHER])
    assert answered.choices[0].message.content


def test_streamed_tool_calls(live: Running, endpoint: str) -> None:
    with inference.ChatCompletionsClient(endpoint, credential(live)) as client:
        response = client.complete(messages=HELLO, tools=[WEATHER], tool_choice=NAMED, stream=True)
        name = arguments = call_id = ""
        for update in response:
            for call in (update.choices[0].delta.tool_calls if update.choices else None) or []:
                name += call.function.name or ""
                arguments += call.function.arguments or ""
                call_id += call.id or ""
    assert (name, arguments[:1], arguments[-1:]) == ("get_max_temperature", "{", "}")
    assert call_id


@pytest.mark.parametrize("choice", ["none", "auto", "required", NAMED], ids=["none", "auto", "required", "named"])
def test_tool_choice(client: JSON, choice: JSON) -> None:
    called = client.complete(messages=HELLO, tools=[WEATHER], tool_choice=choice).choices[0].message.tool_calls
    assert bool(called) or choice in ("none", "auto")
    assert not (called and choice == "none")


def test_structured_output(client: JSON) -> None:
    import json

    schema = {
        "type": "object",
        "properties": {"feet": {"type": "integer"}},
        "required": ["feet"],
        "additionalProperties": False,
    }
    fixed = client.complete(
        messages=HELLO, response_format=models.JsonSchemaFormat(name="feet", schema=schema, strict=True)
    )
    assert isinstance(json.loads(fixed.choices[0].message.content)["feet"], int)
    free = client.complete(messages=[models.UserMessage(content="As JSON")], response_format="json_object")
    assert isinstance(json.loads(free.choices[0].message.content), dict)


def test_image_input(client: JSON) -> None:
    content = [
        models.TextContentItem(text="What is it?"),
        models.ImageContentItem(image_url=models.ImageUrl(url="data:image/png;base64,aGk=")),
    ]
    assert client.complete(messages=[models.UserMessage(content=content)], max_tokens=5).choices


@pytest.mark.parametrize("prefix", ["", "/models"], ids=["root", "models"])
def test_embeddings(live: Running, prefix: str) -> None:
    with inference.EmbeddingsClient(live.urls["azure"] + prefix, credential(live)) as client:
        for encoding in ("float", "base64", "int8", "uint8", "binary", "ubinary"):
            response = client.embed(input=["first", "second"], encoding_format=encoding, input_type="query")
            assert [item.index for item in response.data] == [0, 1]
            assert response.usage.total_tokens == response.usage.prompt_tokens
        vector = client.embed(input=["first"], dimensions=64).data[0].embedding
    assert len(vector) == 64
    assert vector[0] != 0.0
    assert vector[-1] != 0.0


@pytest.mark.covers("azure/traps", "a key without TLS")
def test_model_info(live: Running) -> None:
    with inference.ChatCompletionsClient(live.urls["azure"], credential(live)) as client:
        assert client.get_model_info().model_type == "chat-completion"
    with inference.EmbeddingsClient(
        live.urls["azure"], credential(live), headers={"azureml-model-deployment": "embed-english-v3.0"}
    ) as embeddings:
        info = embeddings.get_model_info()
    assert (info.model_type, info.model_provider_name) == ("embedding", "Cohere")


@pytest.mark.covers("azure/info", "chat-completion, as the client reads it")
def test_load_client(live: Running) -> None:
    base = live.urls["azure"]
    for name, kind in {
        "gpt-4o-mini": inference.ChatCompletionsClient,
        "text-embedding-3-large": inference.EmbeddingsClient,
    }.items():
        with inference.load_client(f"{base}/endpoints/{name}", credential(live)) as client:
            assert isinstance(client, kind)


@pytest.mark.covers("azure/traps", "a token over TLS")
def test_token_over_tls(live_tls: Running) -> None:
    options = {"connection_verify": str(live_tls.certificate)}
    with inference.ChatCompletionsClient(live_tls.urls["azure"], Token(), **options) as client:
        assert client.get_model_info().model_name
        assert client.complete(messages=HELLO, max_tokens=3).usage.completion_tokens == 3
        assert list(client.complete(messages=HELLO, max_tokens=3, stream=True))


@pytest.mark.covers("azure/traps", "a token without TLS")
def test_token_without_tls(live: Running) -> None:
    with inference.ChatCompletionsClient(live.urls["azure"], Token(live.key("eyJ.some.token"))) as client:
        assert client.complete(messages=HELLO, max_tokens=3, enforce_https=False).usage.completion_tokens == 3


async def test_async_client(live: Running) -> None:
    async with azure_aio.ChatCompletionsClient(live.urls["azure"], credential(live)) as client:
        whole = await client.complete(messages=HELLO, max_tokens=12, temperature=0)
        response = await client.complete(messages=HELLO, max_tokens=12, temperature=0, stream=True)
        async with response:
            text = "".join([u.choices[0].delta.content or "" async for u in response])
    assert text == whole.choices[0].message.content
    async with azure_aio.EmbeddingsClient(live.urls["azure"], credential(live)) as embeddings:
        assert len((await embeddings.embed(input=["a"])).data[0].embedding) == 1536


@pytest.mark.parametrize("key", ["0" * 32, "0"], ids=["32 zeros", "one zero"])
def test_wrong_key_is_unauthorized(live_with: Callable[[str], Running], key: str) -> None:
    running = live_with("vendors: {azure: {profile: maas}}\n")
    with (
        inference.ChatCompletionsClient(running.urls["azure"], credential(running, key)) as client,
        pytest.raises(exceptions.ClientAuthenticationError) as caught,
    ):
        client.complete(messages=HELLO)
    assert caught.value.status_code == 401
    assert "auth token validation failed" in caught.value.message.lower()


def test_embeddings_of_chat_model_are_not_found(live_with: Callable[[str], Running]) -> None:
    running = live_with("vendors: {azure: {profile: maas}}\n")
    headers = {"azureml-model-deployment": "mistral-large-2411"}
    with (
        inference.EmbeddingsClient(running.urls["azure"], credential(running), headers=headers) as client,
        pytest.raises(exceptions.ResourceNotFoundError) as caught,
    ):
        client.embed(input=["a"])
    assert "not found" in caught.value.message.lower()


@pytest.mark.covers("azure/traps", "what is read of a refusal")
@pytest.mark.parametrize(
    ("profile", "readable"),
    [
        pytest.param("{profile: seed}", False, id="seed: a string in error hides the message"),
        pytest.param("{error_shape: docs}", True, id="docs: flat and readable"),
        pytest.param("{profile: maas}", True, id="maas"),
        pytest.param("{profile: managed}", True, id="managed"),
        pytest.param("{profile: foundry}", True, id="foundry"),
        pytest.param("{profile: aoai}", True, id="aoai"),
    ],
)
def test_client_parses_error_body(live_with: Callable[[str], Running], profile: str, readable: bool) -> None:
    running = live_with(f"vendors: {{azure: {profile}}}\n")
    with (
        inference.ChatCompletionsClient(running.urls["azure"], credential(running), model="gpt-4o-mini") as client,
        pytest.raises(exceptions.HttpResponseError) as caught,
    ):
        client.complete(messages=HELLO, temperature=9)
    openai = "aoai" in profile or "foundry" in profile
    assert caught.value.status_code == (400 if openai else 422)
    assert (caught.value.error is not None) is readable


@pytest.mark.covers("azure/traps", "tries")
def test_throttled_call_is_retried(live_with: Callable[[str], Running]) -> None:
    running = live_with(
        "rules:\n"
        "  - name: once\n    when: {vendor: azure}\n    times: {first: 1}\n"
        "    error: {kind: rate_limited, retry_after: 0s}\n"
    )
    with inference.ChatCompletionsClient(running.urls["azure"], credential(running)) as client:
        assert client.complete(messages=HELLO, max_tokens=3).usage.completion_tokens == 3


def test_throttling_without_retries(live_with: Callable[[str], Running]) -> None:
    running = live_with(
        "rules:\n  - {name: once, when: {vendor: azure}, times: {first: 1}, error: {kind: rate_limited}}\n"
    )
    with (
        inference.ChatCompletionsClient(running.urls["azure"], credential(running), retry_total=0) as client,
        pytest.raises(exceptions.HttpResponseError) as caught,
    ):
        client.complete(messages=HELLO)
    assert caught.value.status_code == 429
    assert caught.value.response is not None
    assert caught.value.response.headers["Retry-After"] == "1"


@pytest.mark.covers("azure/extra-parameters", "by the Python client")
def test_extra_parameters(client: JSON) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "foo": 1, "max_tokens": 2}
    for value in ("ignore", "drop", "pass-through"):
        assert client.complete(body, headers={"extra-parameters": value}).choices
    for headers in ({"extra-parameters": "error"}, {}):
        with pytest.raises(exceptions.HttpResponseError) as caught:
            client.complete(body, headers=headers)
        assert caught.value.status_code == 400
