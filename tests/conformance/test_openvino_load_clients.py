"""What load clients read of a stream of OpenVINO Model Server: vLLM's benchmark, its older form, and guidellm."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from functools import cache

import aiohttp
import pytest

from tests.conformance.load import Reading, read_as_guidellm, read_as_older_vllm, read_as_vllm
from tests.conftest import LiveServer
from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

CLIENT = "load clients"

_SCENARIO = "version: 1\nname: live\nvendors: {{openvino: {{profile: '{release}'}}}}\n"
_PROMPT = "How many feet are in a mile?"
_MOST = 12
_CHAT, _TEXT = "/v3/chat/completions", "/v3/completions"
_USAGE: JSON = {"include_usage": True}
Start = Callable[[str], Running]
Read = Callable[[aiohttp.ClientResponse], Awaitable[Reading]]


@pytest.fixture(scope="module")
def started() -> Iterator[Start]:
    with ExitStack() as stack:
        yield cache(lambda release: stack.enter_context(LiveServer(_SCENARIO.format(release=release))))


@pytest.fixture(params=["2025.0", "2025.1", "2026.3"])
def running(started: Start, request: pytest.FixtureRequest) -> Running:
    return started(request.param)


@asynccontextmanager
async def post(running: Running, path: str, body: JSON) -> AsyncIterator[aiohttp.ClientResponse]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(running.urls["openvino"] + path, json=body) as response,
    ):
        yield response


def make_body(path: str, **others: JSON) -> JSON:
    """A body as the clients send it: one text part in a chat, the prompt as it is in a completion."""
    if path == _TEXT:
        return {"model": "llama3", "prompt": _PROMPT, "max_tokens": _MOST, "stream": True, **others}
    messages = [{"role": "user", "content": [{"type": "text", "text": _PROMPT}]}]
    return {"model": "llama3", "messages": messages, "max_completion_tokens": _MOST, "stream": True, **others}


async def answer_whole(running: Running, path: str, body: JSON) -> JSON:
    whole = {name: value for name, value in body.items() if name not in {"stream", "stream_options"}}
    async with post(running, path, whole) as response:
        return await response.json()


def find_whole_text(answer: JSON) -> JSON:
    choice = answer["choices"][0]
    return choice["message"]["content"] if "message" in choice else choice["text"]


@pytest.mark.parametrize("path", [_CHAT, _TEXT])
@pytest.mark.parametrize(
    ("read", "others"),
    [
        pytest.param(
            read_as_vllm, {"repetition_penalty": 1.0, "stream_options": _USAGE, "ignore_eos": True}, id="vllm"
        ),
        pytest.param(read_as_guidellm, {"stream_options": _USAGE, "ignore_eos": True}, id="guidellm"),
    ],
)
async def test_load_client_reads_text_and_usage(running: Running, path: str, read: Read, others: JSON) -> None:
    body = make_body(path, **others, **({"logprobs": None} if path == _TEXT and read is read_as_vllm else {}))
    async with post(running, path, body) as response:
        assert response.status == 200
        reading = await read(response)
    whole = await answer_whole(running, path, body)
    assert (reading.text, reading.done) == (find_whole_text(whole), True)
    assert (reading.completion_tokens, reading.prompt_tokens) == (_MOST, whole["usage"]["prompt_tokens"])
    assert 1 < reading.pieces <= _MOST + 1


@pytest.mark.parametrize("path", [_CHAT, _TEXT])
async def test_older_vllm_benchmark_finds_choice_in_every_chunk(running: Running, path: str) -> None:
    body = make_body(path, temperature=0.0)
    async with post(running, path, body) as response:
        reading = await read_as_older_vllm(response)
    assert reading.done
    assert reading.text == find_whole_text(await answer_whole(running, path, body))


@pytest.mark.parametrize("path", [_CHAT, _TEXT])
async def test_continuous_usage_stats_is_rejected(running: Running, path: str) -> None:
    body = make_body(path, stream_options={**_USAGE, "continuous_usage_stats": True})
    async with post(running, path, body) as response:
        assert "Found unexpected stream options" in await response.text()


async def test_refusal_in_old_stream_yields_empty_reading(started: Start) -> None:
    async with post(started("2024.2"), _CHAT, make_body(_CHAT)) as response:
        assert response.status == 200  # what the clients look at
        assert await read_as_vllm(response) == Reading()
