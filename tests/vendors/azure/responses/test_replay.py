"""Streams in the background, heard again."""

import pytest

from tests.conftest import Start
from tests.http_client import Running
from tests.untyped_json import JSON, parse_json

V1 = "/openai/v1/responses"
KEY = {"api-key": "k"}


def ask(**fields: JSON) -> JSON:
    return {"model": "gpt-4o", "input": "Hi", "background": True, "stream": True, **fields}


def read_events(body: bytes) -> list[JSON]:
    return [parse_json(line.removeprefix(b"data: ")) for line in body.splitlines() if line.startswith(b"data: ")]


async def begin(running: Running, **fields: JSON) -> tuple[list[JSON], str]:
    """The events of a first hearing, and where to hear them again."""
    events = read_events((await running.ask("azure", V1, ask(**fields), headers=KEY)).body)
    return events, f"{V1}/{events[0]['response']['id']}"


@pytest.mark.covers("azure/Azure OpenAI", "a stream again")
@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="a text"),
        pytest.param({"top_logprobs": 2, "include": ["message.output_text.logprobs"]}, id="with log-probabilities"),
        pytest.param({"model": "o3", "reasoning": {"summary": "auto"}}, id="with thoughts"),
        pytest.param({"model": "o3", "include": ["reasoning.encrypted_content"]}, id="with sealed thoughts"),
        pytest.param({"max_output_tokens": 16}, id="cut off"),
        pytest.param(
            {"tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}], "tool_choice": "required"},
            id="a call",
        ),
    ],
)
async def test_replayed_stream_equals_original(start: Start, fields: JSON) -> None:
    running = await start()
    first = await running.ask("azure", V1, ask(**fields), headers=KEY)
    path = f"{V1}/{read_events(first.body)[0]['response']['id']}"
    again = await running.ask("azure", f"{path}?stream=true", method="GET", headers=KEY)
    assert again.body == first.body
    assert ("Content-Type", "text/event-stream; charset=utf-8") in again.headers


async def test_background_response_is_queued_before_in_progress(start: Start) -> None:
    events, _ = await begin(await start())
    heads = [(event["type"], event["response"]["status"]) for event in events[:3]]
    assert heads == [
        ("response.created", "queued"),
        ("response.queued", "queued"),
        ("response.in_progress", "in_progress"),
    ]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


@pytest.mark.parametrize("after", [0, 3, 1000])
async def test_starting_after_skips_earlier_events(start: Start, after: int) -> None:
    running = await start()
    events, path = await begin(running)
    rest = await running.ask("azure", f"{path}?stream=true&starting_after={after}", method="GET", headers=KEY)
    assert read_events(rest.body) == events[after + 1 :]


@pytest.mark.parametrize(
    ("fields", "query", "param", "text"),
    [
        pytest.param(
            {"background": False},
            "?stream=true",
            "stream",
            "This response cannot be streamed because it was not created with background=true.",
            id="not in the background",
        ),
        pytest.param(
            {"stream": False},
            "?stream=true",
            "stream",
            "This response cannot be streamed because it was not created with stream=true.",
            id="not a stream",
        ),
        pytest.param(
            {}, "?stream=true&starting_after=x", "starting_after", "starting_after must be an integer", id="no number"
        ),
    ],
)
async def test_stream_replay_errors(start: Start, fields: JSON, query: str, param: str, text: str) -> None:
    running = await start()
    made = await running.ask("azure", V1, ask(**fields), headers=KEY)
    whole = fields.get("stream") is False
    name = made.json()["id"] if whole else read_events(made.body)[0]["response"]["id"]
    answer = await running.ask("azure", f"{V1}/{name}{query}", method="GET", headers=KEY)
    error = {"message": text, "type": "invalid_request_error", "param": param, "code": "invalid_request_error"}
    assert (answer.status, answer.json()) == (400, {"error": error})


async def test_stream_replay_expires_after_five_minutes(start: Start) -> None:
    running = await start()
    _, path = await begin(running)
    running.built.runtime.advance(301.0)
    answer = await running.ask("azure", f"{path}?stream=true", method="GET", headers=KEY)
    assert (answer.status, "more than 5 minutes old" in answer.json()["error"]["message"]) == (400, True)
    assert (await running.ask("azure", path, method="GET", headers=KEY)).json()["status"] == "completed"


async def test_replay_of_cancelled_response_ends_at_cancellation(start: Start) -> None:
    running = await start("version: 1\nname: test\nclock: instant\nlatency: {ttft: 2s, itl: 1s}\n")
    events, path = await begin(running)
    state, name = running.built.emulator.state, path.rpartition("/")[2]
    document = (await state.fetch("", "azure"))[name]
    assert isinstance(document, dict)
    created = events[0]["response"]["created_at"]
    assert await state.store("", "azure", name, {**document, "cancelled_at": created + 2.5}, document)
    rest = read_events((await running.ask("azure", f"{path}?stream=true", method="GET", headers=KEY)).body)
    assert (rest, rest[-1]["type"]) == (events[: len(rest)], "response.output_text.delta")


async def test_cancel_is_idempotent(start: Start) -> None:
    running = await start("latency: {ttft: 2s, itl: 0s}\n")
    made = (await running.ask("azure", V1, ask(stream=False), headers=KEY)).json()
    path = f"{V1}/{made['id']}"
    for _ in range(2):  # once or more often
        cancelled = await running.ask("azure", f"{path}/cancel", {}, headers=KEY)
        assert (cancelled.status, cancelled.json()["status"]) == (200, "cancelled")
