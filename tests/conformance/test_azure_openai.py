"""The OpenAI client against an Azure endpoint."""

from base64 import b64decode
from collections.abc import Callable, Iterator

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

openai = pytest.importorskip("openai")

CLIENT = "openai"

VERSION = {"api-version": "2024-05-01-preview"}
HELLO: JSON = [{"role": "user", "content": "How many feet are in a mile?"}]
TOOLS: JSON = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather of a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


@pytest.fixture(params=["port", "front"])
def client(request: pytest.FixtureRequest, live: Running) -> Iterator[JSON]:
    url = live.urls["azure"] if request.param == "port" else live.front("azure")
    with openai.OpenAI(base_url=url, api_key=live.key("k"), default_query=VERSION, max_retries=0) as value:
        yield value


@pytest.mark.covers("promises/sessions", "each client of the suite, by path, key and own port")
def test_chat(client: JSON) -> None:
    answer = client.chat.completions.create(model="gpt-4o-mini", messages=HELLO, max_tokens=9)
    assert (answer.model, answer.usage.completion_tokens) == ("gpt-4o-mini", 9)


def test_stream(client: JSON) -> None:
    whole = client.chat.completions.create(model="any", messages=HELLO, max_tokens=20, temperature=0)
    chunks = list(
        client.chat.completions.create(model="any", messages=HELLO, max_tokens=20, temperature=0, stream=True)
    )
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == whole.choices[0].message.content
    assert chunks[-1].usage == whole.usage


def test_tools(client: JSON) -> None:
    answer = client.chat.completions.create(model="any", messages=HELLO, tools=TOOLS, tool_choice="required")
    (call,) = answer.choices[0].message.tool_calls
    assert call.function.name == "get_weather"
    with client.chat.completions.stream(model="any", messages=HELLO, tools=TOOLS, tool_choice="required") as stream:
        (streamed,) = stream.get_final_completion().choices[0].message.tool_calls
    assert (streamed.function.name, streamed.function.arguments) == (call.function.name, call.function.arguments)


@pytest.mark.covers("azure/traps", "base64")
def test_base64_embeddings_equal_float(client: JSON) -> None:
    vector = client.embeddings.create(model="text-embedding-3-large", input="Hi").data[0].embedding
    plain = client.embeddings.create(model="text-embedding-3-large", input="Hi", encoding_format="float")
    assert len(vector) == 3072
    assert vector == pytest.approx(plain.data[0].embedding)


def test_completions(client: JSON) -> None:
    answer = client.completions.create(model="any", prompt=["a", "b"], max_tokens=4)
    assert [choice.index for choice in answer.choices] == [0, 1]


def test_extra_parameters_require_pass_through(client: JSON) -> None:
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="any", messages=HELLO, n=2)
    passed = {"extra-parameters": "pass-through"}
    assert len(client.chat.completions.create(model="any", messages=HELLO, n=2, extra_headers=passed).choices) == 2


async def test_async_client(live: Running) -> None:
    url, key = live.urls["azure"], live.key("k")
    async with openai.AsyncOpenAI(base_url=url, api_key=key, default_query=VERSION) as client:
        answer = await client.chat.completions.create(model="any", messages=HELLO, max_tokens=9)
        stream = await client.chat.completions.create(model="any", messages=HELLO, max_tokens=9, stream=True)
        text = "".join([c.choices[0].delta.content or "" async for c in stream])
    assert text == answer.choices[0].message.content


def test_azure_openai_client(live_with: Callable[[str], Running]) -> None:
    running = live_with("vendors: {azure: {profile: aoai}}\n")
    url, key = running.urls["azure"], running.key("k")
    with openai.AzureOpenAI(azure_endpoint=url, api_key=key, api_version="2024-10-21", max_retries=0) as client:
        usage = {"include_usage": True}
        chunks = list(
            client.chat.completions.create(model="gpt-4o-mini", messages=HELLO, stream=True, stream_options=usage)
        )
        assert chunks[-1].usage.total_tokens > 0
        named = {"type": "function", "function": {"name": "get_weather"}}
        forced = client.chat.completions.create(model="gpt-4o-mini", messages=HELLO, tools=TOOLS, tool_choice=named)
        assert forced.choices[0].finish_reason == "stop"
        with client.chat.completions.stream(model="gpt-4o-mini", messages=HELLO, tools=TOOLS, tool_choice=named) as s:
            (streamed,) = s.get_final_completion().choices[0].message.tool_calls
        assert streamed.function.arguments == forced.choices[0].message.tool_calls[0].function.arguments
        assert client.embeddings.create(model="text-embedding-3-small", input="Hi").data[0].embedding
        with pytest.raises(openai.NotFoundError) as caught:
            client.chat.completions.create(model="nothing", messages=HELLO)
        assert caught.value.code == "DeploymentNotFound"


def test_v1_needs_no_version(live_with: Callable[[str], Running]) -> None:
    running = live_with("vendors: {azure: {profile: aoai}}\n")
    url, key = running.urls["azure"], running.key("k")
    with openai.OpenAI(base_url=f"{url}/openai/v1/", api_key=key, max_retries=0) as client:
        assert client.chat.completions.create(model="gpt-4o-mini", messages=HELLO, max_tokens=3).choices


def test_custom_tools(live: Running) -> None:
    with openai.OpenAI(base_url=f"{live.urls['azure']}/openai/v1/", api_key=live.key("k"), max_retries=0) as client:
        grammar: JSON = {"type": "grammar", "grammar": {"syntax": "lark", "definition": 'start: "x = " /[0-9]+/'}}
        ask = {
            "model": "gpt-5",
            "messages": [{"role": "user", "content": "Run some code"}],
            "tools": [{"type": "custom", "custom": {"name": "run_code", "format": grammar}}],
        }
        (call,) = client.chat.completions.create(**ask).choices[0].message.tool_calls
        assert (call.type, call.custom.name, call.custom.input[:4]) == ("custom", "run_code", "x = ")
        offered = {"type": "custom", "name": "run_code", "format": {"type": "grammar", **grammar["grammar"]}}
        with client.responses.stream(model="gpt-5", input="Run some code", tools=[offered]) as stream:
            said = [event.delta for event in stream if event.type == "response.custom_tool_call_input.delta"]
            item = stream.get_final_response().output[-1]
        assert (item.type, item.input) == ("custom_tool_call", "".join(said))


def test_image_generation(live: Running) -> None:
    with openai.OpenAI(base_url=f"{live.urls['azure']}/openai/v1/", api_key=live.key("k"), max_retries=0) as client:
        made = client.images.generate(model="gpt-image-1", prompt="A cat", output_format="webp", quality="low")
        assert (b64decode(made.data[0].b64_json)[8:12], made.output_format) == (b"WEBP", "webp")
        stream = client.images.generate(model="gpt-image-1", prompt="A cat", stream=True, partial_images=1)
        events = [*stream]
        assert [event.type for event in events] == ["image_generation.partial_image", "image_generation.completed"]
        assert events[-1].usage.total_tokens > 0


def test_speech(live: Running) -> None:
    with openai.OpenAI(base_url=f"{live.urls['azure']}/openai/v1/", api_key=live.key("k"), max_retries=0) as client:
        heard = client.chat.completions.create(
            model="gpt-4o-audio-preview",
            messages=[{"role": "user", "content": "Say hello"}],
            modalities=["text", "audio"],
            audio={"voice": "alloy", "format": "opus"},
        )
        sound = heard.choices[0].message.audio
        assert (b64decode(sound.data)[:4], bool(sound.transcript)) == (b"OggS", True)


def test_stored_completions(live: Running) -> None:
    with openai.OpenAI(base_url=f"{live.urls['azure']}/openai/v1/", api_key=live.key("k"), max_retries=0) as client:
        ask = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}], "store": True}
        made = [client.chat.completions.create(**ask, metadata={"run": run}) for run in ("stored", "other", "stored")]
        found = [each.id for each in client.chat.completions.list(metadata={"run": "stored"}, limit=1)]
        assert found == [made[0].id, made[2].id]
        kept = client.chat.completions.retrieve(found[0])
        assert (kept.choices, kept.usage) == (made[0].choices, made[0].usage)
        (message,) = client.chat.completions.messages.list(found[0])
        assert (message.id, message.content) == (f"{found[0]}-0", "Hi")
        assert client.chat.completions.update(found[0], metadata={"run": "over"}).metadata == {"run": "over"}
        for each in made:
            assert client.chat.completions.delete(each.id).deleted


@pytest.mark.parametrize(
    ("profile", "rule", "kind"),
    [
        pytest.param("seed", "unauthenticated", "AuthenticationError", id="seed 401"),
        pytest.param("seed", "not_found", "NotFoundError", id="seed 404"),
        pytest.param("seed", "invalid_parameter", "UnprocessableEntityError", id="seed 422"),
        pytest.param("seed", "rate_limited", "RateLimitError", id="seed 429"),
        pytest.param("seed", "content_filter", "BadRequestError", id="seed content filter"),
        pytest.param("maas", "invalid_parameter", "UnprocessableEntityError", id="maas 422"),
        pytest.param("foundry", "content_filter", "BadRequestError", id="foundry content filter"),
        pytest.param("aoai", "invalid_parameter", "BadRequestError", id="aoai 400"),
        pytest.param("aoai", "internal", "InternalServerError", id="aoai 500"),
    ],
)
def test_typed_errors(live_with: Callable[[str], Running], profile: str, rule: str, kind: str) -> None:
    running = live_with(
        f"vendors: {{azure: {{profile: {profile}}}}}\n"
        f"rules:\n  - {{name: r, when: {{vendor: azure}}, error: {{kind: {rule}}}}}\n"
    )
    url, key = running.urls["azure"], running.key("k")
    client = openai.OpenAI(base_url=url, api_key=key, default_query=VERSION, max_retries=0)
    with client, pytest.raises(getattr(openai, kind)):
        client.chat.completions.create(model="gpt-4o-mini", messages=HELLO)


LIMITS = (
    "limits:\n  - {vendor: azure, unit: requests, amount: 2, window: 60s, strategy: fixed}\n"
    "  - {vendor: azure, unit: tokens, amount: 4000, window: 60s, strategy: fixed}\n"
)
COUNTS = ("limit-requests", "remaining-requests", "limit-tokens", "remaining-tokens")


def test_rate_limit_headers_on_responses_and_errors(live_with: Callable[[str], Running]) -> None:
    running = live_with(f"clock: frozen\n{LIMITS}")
    base = f"{running.urls['azure']}/openai/v1/"
    with openai.OpenAI(base_url=base, api_key=running.key("k"), max_retries=0) as client:
        ask = client.chat.completions.with_raw_response.create
        answers = [ask(model="gpt-4o", messages=HELLO, max_tokens=9) for _ in range(2)]
        with pytest.raises(openai.RateLimitError) as refused:
            ask(model="gpt-4o", messages=HELLO, max_tokens=9)
    left = 4000 - sum(answer.parse().usage.total_tokens for answer in answers)
    headers = refused.value.response.headers
    for reported in (answers[1].headers, headers):
        assert [reported[f"x-ratelimit-{name}"] for name in COUNTS] == ["2", "0", "4000", str(left)]
    assert headers["retry-after-ms"] == f"{headers['retry-after']}000"
    assert refused.value.code == "429"


def test_repeated_long_prompt_reports_cached_tokens(live: Running) -> None:
    long: JSON = [{"role": "user", "content": "word " * 1200 + live.urls["front"]}]
    with openai.OpenAI(base_url=f"{live.urls['azure']}/openai/v1/", api_key=live.key("k")) as client:
        usages = [client.chat.completions.create(model="gpt-4o", messages=long, max_tokens=3).usage for _ in range(2)]
    assert usages[1].prompt_tokens_details.cached_tokens == usages[1].prompt_tokens // 128 * 128
