"""anthropic: Claude endpoints by the Messages API."""

from collections.abc import Callable

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

anthropic = pytest.importorskip("anthropic")

CLIENT = "anthropic"

CLAUDE = "databricks-claude-sonnet-4-5"
USER = [{"role": "user", "content": "What is the weather in Paris?"}]
TOOL = {
    "name": "get_weather",
    "description": "The weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def connect(running: Running, base: str = "/serving-endpoints/anthropic") -> JSON:
    headers = {"Authorization": f"Bearer {running.key('dapi-x')}"}
    return anthropic.Anthropic(base_url=running.urls["databricks"] + base, api_key="unused", default_headers=headers)


@pytest.fixture(params=["/serving-endpoints/anthropic", "/ai-gateway/anthropic"])
def client(request: pytest.FixtureRequest, live: Running) -> JSON:
    return connect(live, request.param)


def test_message(client: JSON) -> None:
    answer = client.messages.create(model=CLAUDE, max_tokens=20, messages=USER, system="Be brief.")
    assert answer.content[0].type == "text"
    assert (answer.role, answer.model, answer.stop_reason) == ("assistant", CLAUDE, "max_tokens")
    assert answer.usage.output_tokens == 20


def test_stream_matches_unary_message(client: JSON) -> None:
    whole = client.messages.create(model=CLAUDE, max_tokens=20, messages=USER)
    with client.messages.stream(model=CLAUDE, max_tokens=20, messages=USER) as stream:
        assert "".join(stream.text_stream) == whole.content[0].text
        last = stream.get_final_message()
    assert (last.stop_reason, last.usage.output_tokens) == (whole.stop_reason, 20)
    assert last.usage.input_tokens == whole.usage.input_tokens


@pytest.mark.parametrize("streamed", [False, True])
def test_tool_call_and_result_round_trip(client: JSON, streamed: bool) -> None:
    fields = {"model": CLAUDE, "max_tokens": 200, "tools": [TOOL], "tool_choice": {"type": "any"}}
    if streamed:
        with client.messages.stream(messages=USER, **fields) as stream:
            answer = stream.get_final_message()
    else:
        answer = client.messages.create(messages=USER, **fields)
    assert answer.stop_reason == "tool_use"
    call = answer.content[-1]
    assert (call.name, list(call.input)) == ("get_weather", ["city"])
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
    said = [*USER, {"role": "assistant", "content": answer.content}, {"role": "user", "content": [result]}]
    fields["tool_choice"] = {"type": "auto"}
    assert client.messages.create(messages=said, **fields).content[0].text


@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_blocks_are_signed(client: JSON, streamed: bool) -> None:
    fields = {"model": CLAUDE, "max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    if streamed:
        with client.messages.stream(messages=USER, **fields) as stream:
            answer = stream.get_final_message()
    else:
        answer = client.messages.create(messages=USER, **fields)
    thought, text = answer.content
    assert thought.thinking
    assert thought.signature
    assert text.text


def test_count_tokens_matches_usage(client: JSON) -> None:
    counted = client.messages.count_tokens(model=CLAUDE, messages=USER)
    answer = client.messages.create(model=CLAUDE, max_tokens=1, messages=USER)
    assert counted.input_tokens == answer.usage.input_tokens


def test_stop_sequences(client: JSON) -> None:
    whole = client.messages.create(model=CLAUDE, max_tokens=40, messages=USER).content[0].text
    word = whole.split(" ")[3]
    cut = client.messages.create(model=CLAUDE, max_tokens=40, messages=USER, stop_sequences=[word])
    assert (cut.stop_reason, cut.stop_sequence) == ("stop_sequence", word)
    assert word not in cut.content[0].text


def test_errors_map_to_client_classes(client: JSON) -> None:
    with pytest.raises(anthropic.BadRequestError, match="messages: at least one message is required"):
        client.messages.create(model=CLAUDE, max_tokens=1, messages=[])
    with pytest.raises(anthropic.NotFoundError) as missing:
        client.messages.create(model="nope", max_tokens=1, messages=USER)
    assert missing.value.body["error"]["type"] == "not_found_error"
    with pytest.raises(anthropic.BadRequestError, match="not supported for model"):
        client.messages.create(model="databricks-gpt-5", max_tokens=1, messages=USER)
    wrong = client.with_options(default_headers={"Authorization": "Bearer 000"})
    with pytest.raises(anthropic.PermissionDeniedError, match="Invalid access token"):
        wrong.messages.create(model=CLAUDE, max_tokens=1, messages=USER)


def test_client_retries_rate_limited_call(live_with: Callable[[str], Running]) -> None:
    client = connect(
        live_with("rules: [{name: once, times: {first: 1}, error: {kind: rate_limited, retry_after: 0s}}]")
    )
    assert client.messages.create(model=CLAUDE, max_tokens=1, messages=USER).content


def test_error_inside_stream_raises(live_with: Callable[[str], Running]) -> None:
    fault = "faults: [{type: late_error, after_tokens: 3, kind: overloaded}]"
    client = connect(live_with(f"rules: [{{name: late, {fault}}}]"))
    with (
        pytest.raises(anthropic.APIStatusError, match="capacity"),
        client.messages.stream(model=CLAUDE, max_tokens=20, messages=USER) as stream,
    ):
        stream.get_final_message()
