"""The OpenAI client against the serving endpoints."""

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

openai = pytest.importorskip("openai")

CLIENT = "openai"

CHAT = "databricks-meta-llama-3-3-70b-instruct"
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
ASK: JSON = [{"role": "user", "content": "What is the weather in Paris?"}]


def make(running: Running, base: str = "own", **options: JSON) -> JSON:
    url = running.urls["databricks"] if base == "own" else running.front("databricks")
    return openai.OpenAI(base_url=f"{url}/serving-endpoints", api_key=running.key("dapi-x"), max_retries=0, **options)


@pytest.mark.parametrize("base", ["own", "front"])
@pytest.mark.parametrize("suffix", ["", "/v1"])
def test_chat_answers(live: Running, base: str, suffix: str) -> None:
    client = make(live, base)
    client.base_url = str(client.base_url).rstrip("/") + suffix + "/"
    with client:
        answer = client.chat.completions.create(model=CHAT, messages=ASK, max_tokens=8)
    assert answer.object == "chat.completion"
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 8
    assert answer.choices[0].message.content


def test_chat_streams_with_running_usage(live: Running) -> None:
    with make(live) as client:
        chunks = list(client.chat.completions.create(model=CHAT, messages=ASK, max_tokens=6, stream=True))
        whole = client.chat.completions.create(model=CHAT, messages=ASK, max_tokens=6)
    assert "".join(c.choices[0].delta.content for c in chunks) == whole.choices[0].message.content
    assert [c.usage.completion_tokens for c in chunks] == sorted(c.usage.completion_tokens for c in chunks)
    assert chunks[-1].usage.total_tokens == whole.usage.total_tokens
    assert chunks[0].choices[0].delta.role == "assistant"


async def test_async_chat_streams(live: Running) -> None:
    url = f"{live.urls['databricks']}/serving-endpoints"
    async with openai.AsyncOpenAI(base_url=url, api_key=live.key("dapi-x")) as client:
        stream = await client.chat.completions.create(model=CHAT, messages=ASK, max_tokens=4, stream=True)
        chunks = [chunk async for chunk in stream]
    assert chunks[-1].choices[0].finish_reason == "length"


@pytest.mark.parametrize("model", [CHAT, "databricks-claude-sonnet-4-5", "databricks-gpt-5"])
def test_tool_call_and_result_round_trip(live: Running, model: str) -> None:
    with make(live) as client:
        first = client.chat.completions.create(model=model, messages=ASK, tools=TOOLS, tool_choice="required")
        message = first.choices[0].message
        (call,) = message.tool_calls
        assert (first.choices[0].finish_reason, call.function.name) == ("tool_calls", "get_weather")
        result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
        second = client.chat.completions.create(model=model, messages=[*ASK, message, result], tools=TOOLS)
    assert second.choices[0].message.content


def test_gpt_oss_content_is_list(live: Running) -> None:
    with make(live) as client:
        answer = client.chat.completions.create(model="databricks-gpt-oss-120b", messages=ASK)
    assert [part["type"] for part in answer.choices[0].message.content] == ["reasoning", "text"]


def test_tool_calls_stream(live: Running) -> None:
    arguments = ""
    with make(live) as client:
        chunks = list(
            client.chat.completions.create(model=CHAT, messages=ASK, tools=TOOLS, tool_choice="required", stream=True)
        )
    for chunk in chunks:
        for call in chunk.choices[0].delta.tool_calls or ():
            arguments += call.function.arguments
    assert "city" in arguments
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_gpt_usage_comes_in_last_chunk(live: Running) -> None:
    with make(live) as client:
        stream = client.chat.completions.create(
            model="databricks-gpt-5-mini", messages=ASK, stream=True, stream_options={"include_usage": True}
        )
        chunks = list(stream)
        usual = list(client.chat.completions.create(model="databricks-gpt-5-mini", messages=ASK, stream=True))
    assert chunks[-1].choices == usual[-1].choices == []
    assert chunks[-1].usage.completion_tokens_details.reasoning_tokens > 0
    assert all(chunk.usage is None for chunk in [*chunks[:-1], *usual[:-1]])


def test_completions_answer_each_prompt(live: Running) -> None:
    with make(live) as client:
        answer = client.completions.create(
            model="databricks-mpt-7b-instruct", prompt=["One", "Two"], max_tokens=4, echo=True, suffix="."
        )
    assert [c.index for c in answer.choices] == [0, 1]
    assert [c.text[:3] for c in answer.choices] == ["One", "Two"]
    assert all(c.text.endswith(".") for c in answer.choices)


@pytest.mark.covers("databricks/traps", "11 base64")
@pytest.mark.parametrize("encoding", ["float", "base64", None])
def test_embeddings_have_unit_length(live: Running, encoding: str | None) -> None:
    with make(live) as client:
        wanted = {} if encoding is None else {"encoding_format": encoding}
        answer = client.embeddings.create(model="databricks-bge-large-en", input=["a", "b"], **wanted)
    vector = answer.data[0].embedding
    if encoding != "base64":  # asked for base64 itself, the client hands on the text
        assert len(vector) == 1024
        assert sum(x * x for x in vector) == pytest.approx(1.0, abs=1e-5)
    assert answer.usage.prompt_tokens == answer.usage.total_tokens


def test_responses_answer(live: Running) -> None:
    with make(live) as client:
        answer = client.responses.create(model="databricks-gpt-5", input="Tell me about Paris", temperature=0)
    assert answer.status == "completed"
    assert answer.output_text
    assert answer.usage.output_tokens_details.reasoning_tokens > 0


def test_responses_stream(live: Running) -> None:
    with make(live) as client:
        events = list(client.responses.create(model="databricks-gpt-5", input="Tell me about Paris", stream=True))
        with client.responses.stream(model="databricks-gpt-5", input="Tell me about Paris") as stream:
            for _ in stream:
                pass
            final = stream.get_final_response()
    text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
    assert text == events[-1].response.output_text == final.output_text
    assert [e.sequence_number for e in events] == list(range(len(events)))


def test_responses_function_call_round_trips(live: Running) -> None:
    tool = {"type": "function", **TOOLS[0]["function"], "strict": None}
    with make(live) as client:
        first = client.responses.create(
            model="databricks-gpt-5", input="Weather in Paris?", tools=[tool], tool_choice="required"
        )
        call = next(item for item in first.output if item.type == "function_call")
        second = client.responses.create(
            model="databricks-gpt-5",
            input=[
                {"role": "user", "content": "Weather in Paris?"},
                {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments},
                {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"},
            ],
        )
    assert (call.name, second.status) == ("get_weather", "completed")


def test_structured_output_is_parsed(live: Running) -> None:
    pydantic = pytest.importorskip("pydantic")
    city = pydantic.create_model("City", name=(str, ...), population=(int, ...))
    with make(live) as client:
        answer = client.chat.completions.parse(model=CHAT, messages=ASK, response_format=city)
    assert isinstance(answer.choices[0].message.parsed.population, int)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        pytest.param("invalid_request", "BadRequestError", id="bad request"),
        pytest.param("unauthenticated", "AuthenticationError", id="no credential"),
        pytest.param("forbidden", "PermissionDeniedError", id="permission denied"),
        pytest.param("not_found", "NotFoundError", id="no endpoint"),
        pytest.param("rate_limited", "RateLimitError", id="rate limit"),
        pytest.param("overloaded", "InternalServerError", id="overloaded"),
        pytest.param("internal", "InternalServerError", id="internal error"),
    ],
)
def test_errors_map_to_client_classes(live_with: JSON, kind: str, error: str) -> None:
    running = live_with(f"rules: [{{name: refuse, error: {{kind: {kind}}}}}]")
    with make(running) as client, pytest.raises(getattr(openai, error)) as got:
        client.chat.completions.create(model=CHAT, messages=ASK)
    assert got.value.body["message"]


def test_wrong_token_is_forbidden(live: Running) -> None:
    url = f"{live.urls['databricks']}/serving-endpoints"
    client = openai.OpenAI(base_url=url, api_key=live.key("0000"), max_retries=0)
    with client, pytest.raises(openai.PermissionDeniedError) as got:
        client.chat.completions.create(model=CHAT, messages=ASK)
    assert got.value.body["error_code"] == 403


def test_models_are_listed(live: Running) -> None:
    with make(live) as client:
        assert CHAT in [model.id for model in client.models.list()]


@pytest.mark.parametrize(
    ("limit", "kind"),
    [
        pytest.param("requests, amount: 1, window: 3600s", "queries_per_hour", id="queries an hour"),
        pytest.param("input_tokens, amount: 40, window: 60s", "input_tokens_per_minute", id="tokens in"),
        pytest.param("output_tokens, amount: 12, window: 60s", "output_tokens_per_minute", id="tokens out"),
    ],
)
@pytest.mark.parametrize("body", ["real", "docs"])
def test_rate_limit_body_follows_setting(live_with: JSON, limit: str, kind: str, body: str) -> None:
    running = live_with(
        f"clock: frozen\nvendors: {{databricks: {{rate_limit_body: {body}}}}}\n"
        f"limits: [{{vendor: databricks, unit: {limit}, strategy: fixed}}]\n"
    )
    with make(running) as client:
        client.chat.completions.create(model=CHAT, messages=ASK, max_tokens=9)
        with pytest.raises(openai.RateLimitError) as refused:
            client.chat.completions.create(model=CHAT, messages=ASK, max_tokens=9)
    error, wait = refused.value, int(refused.value.response.headers["retry-after"])
    if body == "docs":
        assert (error.body["limit_type"], error.body["code"], error.body["retry_after"]) == (kind, 429, wait)
    else:
        assert error.body["error_code"] == "REQUEST_LIMIT_EXCEEDED"
        assert CHAT in error.body["message"]
