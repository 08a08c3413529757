"""OpenAI's client on Azure's Responses API."""

from collections.abc import Callable, Iterator

import pytest
from pydantic import BaseModel

from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

openai = pytest.importorskip("openai")

TOOL: JSON = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}


@pytest.fixture(params=["v1", "dated"])
def client(request: pytest.FixtureRequest, live: Running) -> Iterator[JSON]:
    url = live.urls["azure"]
    made = (
        openai.OpenAI(base_url=f"{url}/openai/v1/", api_key=live.key("k"), max_retries=0)
        if request.param == "v1"
        else openai.AzureOpenAI(
            azure_endpoint=url, api_key=live.key("k"), api_version="2025-04-01-preview", max_retries=0
        )
    )
    with made as value:
        yield value


def test_stored_conversation_continues_until_deleted(client: JSON) -> None:
    first = client.responses.create(model="gpt-4.1", input="My name is Ada.", instructions="Be brief.")
    assert (first.status, first.store, first.id[:5]) == ("completed", True, "resp_")
    assert first.output_text
    assert client.responses.retrieve(first.id) == first
    second = client.responses.create(model="gpt-4.1", input="And you?", previous_response_id=first.id)
    assert second.usage.input_tokens > first.usage.input_tokens
    items = client.responses.input_items.list(second.id, order="asc")
    assert [item.role for item in items if item.type == "message"] == ["user", "assistant", "user"]
    client.responses.delete(first.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(first.id)
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="gpt-4.1", input="Hm?", previous_response_id=first.id)
    assert caught.value.code == "previous_response_not_found"


def test_unstored_response_is_not_found(client: JSON) -> None:
    answer = client.responses.create(model="gpt-4.1", input="Hello", store=False)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(answer.id)


def test_stream(client: JSON) -> None:
    with client.responses.stream(model="gpt-4.1", input="Tell me about Paris.") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert (kinds[0], kinds[1], kinds[-1]) == ("response.created", "response.in_progress", "response.completed")
    assert "response.output_text.delta" in kinds
    assert client.responses.retrieve(final.id).output_text == final.output_text


def test_tool_call_and_result(client: JSON) -> None:
    asked = client.responses.create(model="gpt-5", input="Weather in Paris?", tools=[TOOL], tool_choice="required")
    (call,) = [item for item in asked.output if item.type == "function_call"]
    assert call.name == "get_weather"
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "Sunny"}
    answered = client.responses.create(model="gpt-5", input=[result], previous_response_id=asked.id, tools=[TOOL])
    assert answered.status == "completed"


def test_structured_output(client: JSON) -> None:
    class City(BaseModel):
        name: str
        people: int

    parsed = client.responses.parse(model="gpt-4o", input="Paris", text_format=City)
    assert isinstance(parsed.output_parsed, City)


def test_unsupported_parameter_is_rejected(client: JSON) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="o3-mini", input="Hi", temperature=0.2)
    assert (caught.value.param, caught.value.code) == ("temperature", "unsupported_parameter")


def test_background_response_is_queued_and_cancelled(live_with: Callable[[str], Running]) -> None:
    live = live_with("clock: frozen\nlatency: {ttft: 5s, itl: 100ms}\n")
    url = live.urls["azure"]
    with openai.OpenAI(base_url=f"{url}/openai/v1/", api_key=live.key("k"), max_retries=0) as client:
        queued = client.responses.create(model="o3", input="Think hard.", background=True)
        assert (queued.status, queued.output) == ("queued", [])
        assert client.responses.retrieve(queued.id).status == "in_progress"
        assert client.responses.cancel(queued.id).status == "cancelled"
        assert client.responses.retrieve(queued.id).status == "cancelled"


def test_completed_background_response_cannot_be_cancelled(live: Running) -> None:
    with openai.OpenAI(base_url=f"{live.urls['azure']}/openai/v1/", api_key=live.key("k"), max_retries=0) as client:
        queued = client.responses.create(model="o3", input="Think hard.", background=True)
        assert client.responses.retrieve(queued.id).status == "completed"
        with pytest.raises(openai.BadRequestError, match="Cannot cancel a completed response"):
            client.responses.cancel(queued.id)
        done = client.responses.create(model="o3", input="Think.")
        with pytest.raises(openai.BadRequestError, match="Cannot cancel a synchronous response"):
            client.responses.cancel(done.id)


def test_input_tokens_match_usage(live: Running) -> None:
    with openai.OpenAI(base_url=f"{live.urls['azure']}/openai/v1/", api_key=live.key("k"), max_retries=0) as client:
        made = client.responses.create(model="gpt-4o", input="Hello", instructions="Be short.")
        counted = client.responses.input_tokens.count(model="gpt-4o", input="Hello", instructions="Be short.")
        assert counted.input_tokens == made.usage.input_tokens


def test_background_stream_resumes(live: Running) -> None:
    with openai.OpenAI(base_url=f"{live.urls['azure']}/openai/v1/", api_key=live.key("k"), max_retries=0) as client:
        with client.responses.create(model="o3", input="Think hard.", background=True, stream=True) as stream:
            events = [event for event, _ in zip(stream, range(5), strict=False)]  # the client leaves
        first = events[0]
        assert first.type == "response.created"
        with client.responses.retrieve(first.response.id, stream=True, starting_after=4) as rest:
            events += rest
        assert [event.sequence_number for event in events] == list(range(len(events)))
        with client.responses.stream(response_id=first.response.id) as again:
            assert again.get_final_response().output_text == events[-1].response.output_text


async def test_async(live: Running) -> None:
    async with openai.AsyncAzureOpenAI(
        azure_endpoint=live.urls["azure"], api_key=live.key("k"), api_version="2025-04-01-preview"
    ) as client:
        answer = await client.responses.create(model="gpt-5-codex", input="Hello")
        assert (await client.responses.retrieve(answer.id)).output_text == answer.output_text
