"""Each key of ``reply``, as every vendor's chat gives it."""

import json

import pytest

from tests.conftest import Start
from tests.http_client import Running
from tests.untyped_json import JSON

CHATS: dict[str, tuple[str, str | None]] = {
    "databricks": ("/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations", None),
    "azure": ("/chat/completions?api-version=2024-05-01-preview", None),
    "mindie": ("/v1/chat/completions", "llama_65b"),
    "tgi": ("/v1/chat/completions", "tgi"),
    "openvino": ("/v3/chat/completions", "llama3"),
}
everyone = pytest.mark.parametrize("vendor", CHATS)
HEADERS = {"Authorization": "Bearer k", "api-key": "k"}
MANY: JSON = {"max_tokens": 100}


async def chat(running: Running, vendor: str, **fields: JSON) -> JSON:
    path, model = CHATS[vendor]
    body = {"messages": [{"role": "user", "content": "hi"}], **({"model": model} if model else {}), **MANY, **fields}
    answer = await running.ask(vendor, path, body, headers=HEADERS)
    assert answer.status == 200, answer.body
    if not fields.get("stream"):
        return answer.json()
    return [event for event in answer.events() if event != "[DONE]"]


@pytest.mark.covers("language/keys of a reply", "text", case="text")
@pytest.mark.covers("language/keys of a reply", "json", case="json")
@pytest.mark.covers("language/keys of a reply", "refusal", case="refusal")
@pytest.mark.covers("language/keys of a reply", "finish_reason", case="finish_reason")
@everyone
@pytest.mark.parametrize(
    ("reply", "fields", "text", "reason"),
    [
        pytest.param("{text: Hi there}", {}, "Hi there", "stop", id="text"),
        pytest.param("{text: one two three four}", {"max_tokens": 2}, "one two", "length", id="cut by max_tokens"),
        pytest.param("{text: one STOP two}", {"stop": ["STOP"]}, "one ", "stop", id="cut by stop"),
        pytest.param("{chunks: ['a ', 'b ']}", {}, "a b ", "stop", id="chunks"),
        pytest.param("{json: {a: [1, null]}}", {}, '{"a":[1,null]}', "stop", id="json"),
        pytest.param("{json: null}", {}, "null", "stop", id="json that is null"),
        pytest.param("{refusal: No.}", {}, "No.", "stop", id="refusal"),
        pytest.param("{text: A, finish_reason: length}", {}, "A", "length", id="finish_reason"),
    ],
)
async def test_reply_content_and_finish_reason(
    start: Start, vendor: str, reply: str, fields: dict[str, JSON], text: str, reason: str
) -> None:
    running = await start(f"rules: [{{name: r, reply: {reply}}}]")
    choice = (await chat(running, vendor, **fields))["choices"][0]
    said = choice["message"]["content"]
    assert said.removesuffix("STOP") == text  # TGI keeps the stop itself, and has a reason of its own for it
    assert choice["finish_reason"].removesuffix("_sequence") == reason


@pytest.mark.covers("language/keys of a reply", "usage")
@everyone
async def test_reply_usage_overrides_counts(start: Start, vendor: str) -> None:
    running = await start("rules: [{name: r, reply: {text: A, usage: {prompt_tokens: 7, completion_tokens: 9}}}]")
    usage = (await chat(running, vendor))["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (7, 9, 16)


@pytest.mark.covers("language/keys of a reply", "chunks")
@everyone
async def test_reply_chunks_are_stream_events(start: Start, vendor: str) -> None:
    running = await start("rules: [{name: r, reply: {chunks: ['a ', 'b c ', 'd']}}]")
    events = await chat(running, vendor, stream=True)
    deltas = [choice["delta"].get("content") for event in events for choice in event["choices"]]
    assert [text for text in deltas if text and text != "</s>"] == ["a ", "b c ", "d"]


@pytest.mark.covers("language/keys of a reply", "tool_calls")
@everyone
async def test_reply_tool_call_is_returned(start: Start, vendor: str) -> None:
    running = await start("rules: [{name: r, reply: {tool_calls: [{name: get_weather, arguments: {city: Paris}}]}}]")
    parameters: JSON = {"type": "object", "properties": {"city": {"type": "string"}}}
    function: JSON = {"name": "get_weather", "description": "The weather.", "parameters": parameters}
    message = (await chat(running, vendor, tools=[{"type": "function", "function": function}]))["choices"][0]["message"]
    if vendor == "openvino":  # its plain graphs read no calls out of the text
        assert json.loads(message["content"]) == {"name": "get_weather", "parameters": {"city": "Paris"}}
        return
    called = message["tool_calls"][0]["function"]
    arguments = called["arguments"]
    assert called["name"] == "get_weather"
    assert (json.loads(arguments) if isinstance(arguments, str) else arguments) == {"city": "Paris"}


@pytest.mark.covers("language/keys of a reply", "reasoning")
@everyone
async def test_reply_reasoning_accompanies_text(start: Start, vendor: str) -> None:
    running = await start("rules: [{name: r, reply: {text: Yes., reasoning: Hmm}}]")
    answer = await chat(running, vendor)
    assert "Yes." in json.dumps(answer)
    assert "Hmm" in json.dumps(answer) or vendor == "tgi"  # which hides what a model thinks


@pytest.mark.covers("language/keys of a reply", "generate", case="typical")
@pytest.mark.covers("language/instances", "typical", case="typical")
@pytest.mark.covers("language/instances", "minimal", case="minimal")
@pytest.mark.covers("language/instances", "boundary", case="boundary")
@pytest.mark.covers("language/instances", "adversarial", case="adversarial")
@pytest.mark.covers("language/instances", "invalid", case="invalid")
@pytest.mark.parametrize(
    ("mode", "text"),
    [
        pytest.param("minimal", '{"n":3}', id="minimal"),
        pytest.param("boundary", None, id="boundary"),
        pytest.param("adversarial", None, id="adversarial"),
        pytest.param("typical", None, id="typical"),
        pytest.param("invalid", None, id="invalid"),
    ],
)
async def test_reply_generates_instance_of_request_schema(start: Start, mode: str, text: str | None) -> None:
    running = await start(f"rules: [{{name: r, reply: {{generate: {mode}}}}}]")
    schema: JSON = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 3, "maximum": 9}},
        "required": ["n"],
        "additionalProperties": False,
    }
    form: JSON = {"type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": schema}}
    said = (await chat(running, "azure", response_format=form))["choices"][0]["message"]["content"]
    try:
        value = json.loads(said)
        fits = value.keys() == {"n"} and type(value["n"]) is int and 3 <= value["n"] <= 9
    except (ValueError, AttributeError):
        fits = False
    assert fits == (mode != "invalid")
    assert text is None or said == text


@pytest.mark.covers("language/keys of a reply", "embedding")
async def test_reply_embedding_is_returned_for_each_input(start: Start) -> None:
    running = await start("rules: [{name: r, reply: {embedding: [0.5, -0.25]}}]")
    body: JSON = {"input": ["a", "b"]}
    answer = await running.ask(
        "databricks", "/serving-endpoints/databricks-gte-large-en/invocations", body, headers=HEADERS
    )
    assert [row["embedding"] for row in answer.json()["data"]] == [[0.5, -0.25]] * 2


@pytest.mark.covers("language/keys of an error", "limit", case="limit")
@pytest.mark.covers("language/keys of an error", "status", case="status")
@pytest.mark.covers("language/keys of an error", "message", case="message")
@pytest.mark.covers("language/keys of an error", "retry_after", case="retry_after")
@pytest.mark.covers("language/keys of an error", "body", case="a body of JSON")
@pytest.mark.covers("language/keys of an error", "headers", case="headers")
@pytest.mark.covers("language/keys of an error", "after", case="after")
@pytest.mark.parametrize(
    ("error", "status", "body", "header"),
    [
        pytest.param("kind: internal, status: 418", 418, None, None, id="status"),
        pytest.param("kind: internal, message: Oh no", 500, b"Oh no", None, id="message"),
        pytest.param("kind: internal, body: {a: [1]}", 500, b'{"a":[1]}', None, id="a body of JSON"),
        pytest.param("kind: internal, body: plain", 500, b"plain", None, id="a body of text"),
        pytest.param("kind: rate_limited, retry_after: 90s", 429, None, ("Retry-After", "90"), id="retry_after"),
        pytest.param("kind: rate_limited, retry_after: 1.2s", 429, None, ("Retry-After", "2"), id="rounded up"),
        pytest.param("kind: internal, headers: {X-A: b}", 500, None, ("X-A", "b"), id="headers"),
        pytest.param("kind: rate_limited, limit: input_tokens", 429, b"input tokens", None, id="limit"),
        pytest.param("kind: internal, after: state", 500, None, None, id="after"),
    ],
)
async def test_error_keys_set_response_parts(
    start: Start, error: str, status: int, body: bytes | None, header: tuple[str, str] | None
) -> None:
    running = await start(f"rules: [{{name: r, error: {{{error}}}}}]")
    path, _ = CHATS["databricks"]
    answer = await running.ask("databricks", path, {"messages": [{"role": "user", "content": "x"}]}, headers=HEADERS)
    assert answer.status == status
    assert body is None or body in answer.body
    assert header is None or answer.header(header[0]) == header[1]


@pytest.mark.covers("language/keys of an error", "param")
async def test_error_param_is_named_in_body(start: Start) -> None:
    running = await start("rules: [{name: r, error: {kind: invalid_parameter, param: temperature}}]")
    path, _ = CHATS["azure"]
    answer = await running.ask("azure", path, {"messages": [{"role": "user", "content": "x"}]}, headers=HEADERS)
    assert (answer.status, b"temperature" in answer.body) == (422, True)
