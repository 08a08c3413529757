"""A long prompt that is asked again is read from a cache, on the wire of Azure OpenAI."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON, parse_json

CHATS, KEY = "/openai/v1/chat/completions", {"api-key": "k"}
STREAM: JSON = {"stream": True, "stream_options": {"include_usage": True}}
SHORT: JSON = {"messages": [{"role": "user", "content": "word " * 1000}]}


def long(model: str, **fields: JSON) -> JSON:
    """A chat of more than 1,200 tokens."""
    return {"model": model, "messages": [{"role": "user", "content": "word " * 1200}], **fields}


@pytest.mark.covers("azure/Azure OpenAI", "cached_tokens")
@pytest.mark.parametrize(
    ("body", "cached"),
    [
        pytest.param(long("gpt-4o", max_tokens=4), [0, 1152, 1152], id="by blocks, from the second time on"),
        pytest.param(long("gpt-4o", max_tokens=4, **STREAM), [0, 1152, 1152], id="in a stream"),
        pytest.param(long("gpt-4o", max_tokens=4, n=2), [0, 1152, 1152], id="of several answers"),
        pytest.param(long("o3-mini", max_completion_tokens=80), [0, 1152, 1152], id="of a model that thinks"),
        pytest.param({**long("gpt-4o", max_tokens=4), **SHORT}, [0, 0, 0], id="too short a prompt"),
        pytest.param(long("gpt-35-turbo", max_tokens=4), [0, 0, 0], id="an older model"),
    ],
)
async def test_repeated_long_prompt_reports_cached_tokens(start: Start, body: JSON, cached: list[int]) -> None:
    running = await start("")
    answers = [await running.ask("azure", CHATS, body, headers=KEY) for _ in cached]
    last = [answer.body.split(b"data: ")[-2] if "stream" in body else answer.body for answer in answers]
    usages = [parse_json(text)["usage"] for text in last]
    assert [usage["prompt_tokens_details"]["cached_tokens"] for usage in usages] == cached
    assert len({usage["total_tokens"] for usage in usages}) == 1


async def test_stored_response_usage_equals_sent_usage(start: Start) -> None:
    running = await start("")
    asked: JSON = {
        CHATS: long("gpt-4o", store=True, max_tokens=4),
        "/openai/v1/responses": {"model": "gpt-4o", "input": "word " * 1200, "max_output_tokens": 16},
    }
    for path, body in asked.items():
        reported = [(await running.ask("azure", path, body, headers=KEY)).json() for _ in "ab"]
        kept = [(await running.ask("azure", f"{path}/{answer['id']}", headers=KEY)).json() for answer in reported]
        assert [answer["usage"] for answer in kept] == [answer["usage"] for answer in reported]
    assert [answer["usage"]["input_tokens_details"]["cached_tokens"] for answer in reported] == [0, 1152]


async def test_each_session_has_separate_prompt_cache(start: Start) -> None:
    running = await start("")
    for session in ("one", "two"):
        usages = [
            (await running.ask("azure", f"/_s/{session}{CHATS}", long("gpt-4o", max_tokens=4), headers=KEY)).json()
            for _ in "ab"
        ]
        assert [usage["usage"]["prompt_tokens_details"]["cached_tokens"] for usage in usages] == [0, 1152]
