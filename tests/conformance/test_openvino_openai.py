"""The OpenAI client against OpenVINO Model Server, the default release and the newest."""

from collections.abc import Iterator

import pytest

from tests.conformance.conftest import in_session
from tests.conftest import LiveServer
from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

openai = pytest.importorskip("openai")

CLIENT = "openai"

HELLO: JSON = [{"role": "user", "content": "How many feet are in a mile?"}]
TOOLS: JSON = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
_LATEST = "version: 1\nname: live\nvendors: {openvino: {profile: latest}}\nkeys: [{token: right, principal: search}]\n"


@pytest.fixture(scope="module")
def newest_server() -> Iterator[Running]:
    with LiveServer(_LATEST) as value:
        yield value


@pytest.fixture
def newest(newest_server: Running, session_by: str) -> Iterator[Running]:
    with in_session(newest_server, session_by) as target:
        yield target


def base_url(running: Running, way: str, root: str = "/v3") -> str:
    return (running.urls["openvino"] if way == "port" else running.front("openvino")) + root


@pytest.fixture(params=["port", "front"])
def client(request: pytest.FixtureRequest, live: Running) -> Iterator[JSON]:
    with openai.OpenAI(base_url=base_url(live, request.param), api_key=live.key("unused"), max_retries=0) as value:
        yield value


@pytest.fixture(params=["port", "front"])
def latest(request: pytest.FixtureRequest, newest: Running) -> Iterator[JSON]:
    with openai.OpenAI(base_url=base_url(newest, request.param), api_key=newest.key("right"), max_retries=0) as value:
        yield value


@pytest.mark.covers("openvino/traps", "4 no id")
def test_chat(client: JSON) -> None:
    answer = client.chat.completions.create(model="llama3", messages=HELLO, max_tokens=9)
    assert (answer.id, answer.model, answer.object) == (None, "llama3", "chat.completion")
    assert (answer.usage.completion_tokens, answer.choices[0].finish_reason) == (9, "length")
    assert answer.choices[0].message.role == "assistant"


@pytest.mark.covers("openvino/traps", "3 the base URL")
def test_v3_v1_alias_as_base_url(live: Running) -> None:
    with openai.OpenAI(base_url=base_url(live, "port", "/v3/v1"), api_key=live.key("unused")) as client:
        assert client.chat.completions.create(model="llama3", messages=HELLO, max_tokens=1).choices


@pytest.mark.covers("openvino/traps", "2 extra_body")
def test_server_fields_in_extra_body(client: JSON) -> None:
    extra = {"best_of": 4, "top_k": 1}
    answer = client.chat.completions.create(model="llama3", messages=HELLO, n=2, max_tokens=3, extra_body=extra)
    assert [choice.index for choice in answer.choices] == [0, 1]


@pytest.mark.covers("openvino/traps", "8 no role")
def test_stream(client: JSON) -> None:
    whole = client.chat.completions.create(model="llama3", messages=HELLO, max_tokens=30)
    options = {"include_usage": True}
    chunks = list(
        client.chat.completions.create(
            model="llama3", messages=HELLO, max_tokens=30, stream=True, stream_options=options
        )
    )
    *texts, usage = chunks
    assert "".join(chunk.choices[0].delta.content for chunk in texts) == whole.choices[0].message.content
    assert usage.usage == whole.usage
    assert {chunk.choices[0].delta.role for chunk in texts} == {None}
    assert texts[-1].choices[0].finish_reason == "length"


def test_logprobs(client: JSON) -> None:
    answer = client.chat.completions.create(model="llama3", messages=HELLO, max_tokens=4, logprobs=True)
    entries = answer.choices[0].logprobs.content
    assert "".join(entry.token for entry in entries) == answer.choices[0].message.content
    assert all(bytes(entry.bytes).decode() == entry.token and entry.logprob <= 0 for entry in entries)


def test_completions(client: JSON) -> None:
    answer = client.completions.create(model="llama3", prompt="Once", max_tokens=6, echo=True, logprobs=1)
    assert answer.choices[0].text.startswith("Once")
    assert len(answer.choices[0].logprobs.tokens) == answer.usage.total_tokens
    parts = client.completions.create(model="llama3", prompt="Once", max_tokens=6, stream=True)
    assert "Once" + "".join(part.choices[0].text for part in parts) == answer.choices[0].text


@pytest.mark.covers("openvino/traps", "18 base64")
def test_embeddings(client: JSON) -> None:
    coded = client.embeddings.create(model="embeddings", input=["one", "two"])
    plain = client.embeddings.create(model="embeddings", input=["one", "two"], encoding_format="float")
    assert [entry.index for entry in coded.data] == [0, 1]
    for left, right in zip(coded.data, plain.data, strict=True):
        assert left.embedding == pytest.approx(right.embedding)
    assert getattr(coded, "model", None) is None
    assert coded.usage == plain.usage


@pytest.mark.covers("openvino/traps", "5 errors that are texts", "11 max_tokens null")
@pytest.mark.parametrize(
    ("fields", "kind", "status", "text"),
    [
        pytest.param({"temperature": 3.0}, "BadRequestError", 400, "temperature out of range(0.0, 2.0)", id="a field"),
        pytest.param({"n": 2}, "BadRequestError", 400, "n value cannot be greater than best_of", id="n alone"),
        pytest.param({"model": "none"}, "NotFoundError", 404, "Mediapipe graph definition", id="an unknown model"),
        pytest.param({"max_tokens": None}, "BadRequestError", 400, "max_tokens is not an unsigned integer", id="null"),
        pytest.param({"extra_body": {"stream": "x"}}, "APIStatusError", 412, "not valid json", id="a bad stream"),
    ],
)
def test_errors(client: JSON, fields: JSON, kind: str, status: int, text: str) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        client.chat.completions.create(**{"model": "llama3", "messages": HELLO, **fields})
    assert type(caught.value).__name__ == kind
    assert caught.value.status_code == status
    assert isinstance(caught.value.body, str)
    assert text in caught.value.body


@pytest.mark.covers("openvino/traps", "9 no list")
def test_models_list_fails_on_2025_0(client: JSON) -> None:
    with pytest.raises(openai.BadRequestError):
        client.models.list()


@pytest.mark.covers("openvino/traps", "7 silence")
def test_stream_error_is_silent_on_2025_0(client: JSON) -> None:
    extra = {"best_of": 2}
    assert not list(client.chat.completions.create(model="llama3", messages=HELLO, stream=True, extra_body=extra))


def test_stream_error_is_raised_on_latest(latest: JSON) -> None:
    with pytest.raises(openai.BadRequestError):
        latest.chat.completions.create(model="llama3", messages=HELLO, stream=True, extra_body={"best_of": 2})


def test_models(latest: JSON) -> None:
    assert {"llama3", "embeddings"} <= {model.id for model in latest.models.list()}
    assert latest.models.retrieve("llama3").owned_by == "OVMS"
    with pytest.raises(openai.InternalServerError):
        latest.models.retrieve("non_existing")


def test_tools(latest: JSON) -> None:
    answer = latest.chat.completions.create(model="llama3", messages=HELLO, tools=TOOLS, tool_choice="required")
    (call,) = answer.choices[0].message.tool_calls
    assert (call.function.name, answer.choices[0].finish_reason) == ("get_weather", "tool_calls")
    with latest.chat.completions.stream(model="llama3", messages=HELLO, tools=TOOLS, tool_choice="required") as stream:
        final = stream.get_final_completion().choices[0]
    (streamed,) = final.message.tool_calls
    assert (streamed.function.name, streamed.function.arguments) == (call.function.name, call.function.arguments)
    assert (final.message.role, final.finish_reason) == ("assistant", "tool_calls")


def test_v1_alias_on_latest(newest: Running) -> None:
    with openai.OpenAI(base_url=base_url(newest, "port", "/v1"), api_key=newest.key("right"), max_retries=0) as client:
        assert client.chat.completions.create(model="llama3", messages=HELLO, max_tokens=1).choices
        assert client.models.list().data


@pytest.mark.covers("openvino/traps", "6 what is tried again")
def test_wrong_key_raises_server_error(newest: Running) -> None:
    with (
        openai.OpenAI(base_url=base_url(newest, "front"), api_key=newest.key("wrong"), max_retries=0) as client,
        pytest.raises(openai.InternalServerError) as caught,
    ):
        client.chat.completions.create(model="llama3", messages=HELLO)
    assert caught.value.body == "Unauthorized request due to invalid or missing api-key"


@pytest.mark.parametrize("way", ["port", "front"])
async def test_async(live: Running, way: str) -> None:
    async with openai.AsyncOpenAI(base_url=base_url(live, way), api_key=live.key("unused"), max_retries=0) as client:
        whole = await client.chat.completions.create(model="llama3", messages=HELLO, max_tokens=20)
        parts = await client.chat.completions.create(model="llama3", messages=HELLO, max_tokens=20, stream=True)
        text = "".join([part.choices[0].delta.content async for part in parts])
        assert text == whole.choices[0].message.content
        assert (await client.embeddings.create(model="embeddings", input="Hi")).data[0].embedding
        with pytest.raises(openai.NotFoundError):
            await client.completions.create(model="none", prompt="x")


@pytest.mark.covers("openvino/traps", "25 no event lines")
def test_responses(latest: JSON) -> None:
    if not hasattr(latest, "responses"):
        pytest.skip("a client without the Responses API")
    fields = {"model": "llama3", "input": "How many feet are in a mile?", "max_output_tokens": 30, "temperature": 0}
    whole = latest.responses.create(**fields)
    assert whole.usage.output_tokens > 0
    events = list(latest.responses.create(**fields, stream=True))
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == whole.output_text
    assert events[0].type == "response.created"
    assert events[-1].response.output[0].content[0].text == whole.output_text
