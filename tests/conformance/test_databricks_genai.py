"""google-genai: Gemini endpoints by the Gemini API."""

from collections.abc import Callable

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

genai = pytest.importorskip("google.genai")
types = pytest.importorskip("google.genai.types")
errors = pytest.importorskip("google.genai.errors")

CLIENT = "google-genai"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the client warns of itself

FLASH = "databricks-gemini-2-5-flash"
SIGNING = "databricks-gemini-3-1-pro"
ASKED = "What is the weather in Paris?"
WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city",
    "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]},
}
THOUGHTLESS = {"thinking_config": {"thinking_budget": 0}}


def connect(running: Running, base: str = "/serving-endpoints/gemini", token: str = "dapi-x", **options: JSON) -> JSON:
    headers = {"Authorization": f"Bearer {running.key(token)}"}
    http = types.HttpOptions(base_url=running.urls["databricks"] + base, headers=headers, **options)
    return genai.Client(api_key="databricks", http_options=http)


@pytest.fixture(params=["/serving-endpoints/gemini", "/ai-gateway/gemini"])
def client(request: pytest.FixtureRequest, live: Running) -> JSON:
    return connect(live, request.param)


def test_generate_content(client: JSON) -> None:
    config = types.GenerateContentConfig(max_output_tokens=20, system_instruction="Be brief.", **THOUGHTLESS)
    answer = client.models.generate_content(model=FLASH, contents=ASKED, config=config)
    assert answer.text
    assert answer.candidates[0].finish_reason == types.FinishReason.MAX_TOKENS
    assert answer.usage_metadata.candidates_token_count == 20
    assert answer.model_version == FLASH


def test_stream_equals_unary_response(client: JSON) -> None:
    config = types.GenerateContentConfig(max_output_tokens=20, **THOUGHTLESS)
    whole = client.models.generate_content(model=FLASH, contents=ASKED, config=config)
    pieces = list(client.models.generate_content_stream(model=FLASH, contents=ASKED, config=config))
    assert "".join(piece.text or "" for piece in pieces) == whole.text
    assert pieces[-1].usage_metadata == whole.usage_metadata
    assert {piece.response_id for piece in pieces[:-1]} == {pieces[-1].response_id}


@pytest.mark.parametrize("model", [FLASH, SIGNING])
@pytest.mark.parametrize("streamed", [False, True])
def test_tool_call_and_result(client: JSON, streamed: bool, model: str) -> None:
    calling = types.FunctionCallingConfig(mode="ANY", allowed_function_names=["get_weather"])
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[WEATHER])],
        tool_config=types.ToolConfig(function_calling_config=calling),
    )
    if streamed:
        pieces = client.models.generate_content_stream(model=model, contents=ASKED, config=config)
        parts = [part for piece in pieces for part in piece.candidates[0].content.parts if part.function_call]
        said = types.Content(role="model", parts=parts)
    else:
        said = client.models.generate_content(model=model, contents=ASKED, config=config).candidates[0].content
    (call,) = [part.function_call for part in said.parts]
    assert (call.name, list(call.args)) == ("get_weather", ["city"])
    asked = types.Content(role="user", parts=[types.Part(text=ASKED)])
    result = types.Part.from_function_response(name="get_weather", response={"result": "sunny"})
    heard = [asked, said, types.Content(role="user", parts=[result])]
    tools = types.GenerateContentConfig(tools=config.tools)
    assert client.models.generate_content(model=model, contents=heard, config=tools).text


def test_automatic_function_calling(client: JSON) -> None:
    cities = []

    def get_weather(city: str) -> str:
        """The weather of a city."""
        cities.append(city)
        return "sunny"

    config = types.GenerateContentConfig(tools=[get_weather])
    assert client.models.generate_content(model=SIGNING, contents=ASKED, config=config).text
    assert cities


def test_multi_turn_chat(client: JSON) -> None:
    chat = client.chats.create(model=SIGNING)
    assert chat.send_message("Hello").text
    assert "".join(piece.text or "" for piece in chat.send_message_stream("And then?"))
    assert [content.role for content in chat.get_history()][:3] == ["user", "model", "user"]
    assert chat.send_message("And at last?").text  # each piece of the stream is a turn of what goes back


def test_response_matches_schema(client: JSON) -> None:
    pydantic = pytest.importorskip("pydantic")
    City = pydantic.create_model("City", name=(str, ...), people=(int | None, ...), tags=(list[str], ...))
    for fields in ({"response_schema": City}, {"response_json_schema": City.model_json_schema()}):
        config = types.GenerateContentConfig(response_mime_type="application/json", **fields)
        answer = client.models.generate_content(model=FLASH, contents="Describe Paris", config=config)
        assert City.model_validate_json(answer.text)


def test_response_matches_enum(client: JSON) -> None:
    schema = {"type": "STRING", "enum": ["rain", "sun"]}
    config = types.GenerateContentConfig(response_mime_type="text/x.enum", response_schema=schema)
    assert client.models.generate_content(model=FLASH, contents=ASKED, config=config).text in ("rain", "sun")


def test_thoughts_are_included_on_request(client: JSON) -> None:
    config = types.GenerateContentConfig(thinking_config=types.ThinkingConfig(include_thoughts=True))
    answer = client.models.generate_content(model=SIGNING, contents=ASKED, config=config)
    thought, text = answer.candidates[0].content.parts
    assert (thought.thought, text.thought) == (True, None)
    assert text.thought_signature
    assert answer.usage_metadata.thoughts_token_count


def test_token_count_matches_usage(client: JSON) -> None:
    counted = client.models.count_tokens(model=FLASH, contents=ASKED)
    answer = client.models.generate_content(model=FLASH, contents=ASKED, config={"max_output_tokens": 1})
    assert counted.total_tokens == answer.usage_metadata.prompt_token_count


def test_errors_use_gemini_format(client: JSON) -> None:
    with pytest.raises(errors.ClientError) as refused:
        client.models.generate_content(model=FLASH, contents=ASKED, config={"temperature": 3})
    assert (refused.value.code, refused.value.status) == (400, "INVALID_ARGUMENT")
    assert "temperature must be in the range" in str(refused.value.message)
    with pytest.raises(errors.ClientError) as missing:
        client.models.generate_content(model="nope", contents=ASKED)
    assert (missing.value.code, missing.value.status) == (404, "NOT_FOUND")
    with pytest.raises(errors.ClientError, match="not supported for model"):
        list(client.models.generate_content_stream(model="databricks-gpt-5", contents=ASKED))


def test_wrong_token_is_rejected(live: Running) -> None:
    client = connect(live, token="000")
    with pytest.raises(errors.ClientError) as refused:
        client.models.generate_content(model=FLASH, contents=ASKED)
    assert (refused.value.code, refused.value.status) == (403, "PERMISSION_DENIED")


@pytest.mark.parametrize("version", ["v1", "v1beta"])
def test_both_api_versions(live: Running, version: str) -> None:
    client = connect(live, api_version=version)
    assert client.models.generate_content(model=SIGNING, contents=ASKED).text
    assert client.models.count_tokens(model=SIGNING, contents=ASKED).total_tokens


def test_unity_catalog_model(live: Running) -> None:
    client = connect(live, "/ai-gateway/gemini")
    answer = client.models.generate_content(model="system.ai.gemini-2-5-pro", contents=ASKED)
    assert answer.model_version == "databricks-gemini-2-5-pro"


def test_throttled_call_is_retried(live_with: Callable[[str], Running]) -> None:
    running = live_with("rules: [{name: once, times: {first: 1}, error: {kind: rate_limited, retry_after: 0s}}]")
    retry = types.HttpRetryOptions(attempts=2, initial_delay=0.01)
    client = connect(running, retry_options=retry)
    assert client.models.generate_content(model=FLASH, contents=ASKED).text


def test_stream_failure_raises_error(live_with: Callable[[str], Running]) -> None:
    fault = "faults: [{type: late_error, after_tokens: 3, kind: overloaded}]"
    client = connect(live_with(f"rules: [{{name: late, {fault}}}]"))
    config = types.GenerateContentConfig(**THOUGHTLESS)
    with pytest.raises(errors.APIError, match="capacity"):
        list(client.models.generate_content_stream(model=FLASH, contents=ASKED, config=config))
