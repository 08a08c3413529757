"""What load clients read of a stream of OpenVINO Model Server: vLLM's serving benchmark, its older form, and guidellm.

The loops keep to the fields that those clients read and to how they cut a stream up, not to their code.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache

import aiohttp
import pytest

from tests.conftest import LiveServer
from tests.parsed import JSON
from tests.wire import Running

CLIENT = "load clients"

_SCENARIO = "version: 1\nname: live\nvendors: {{openvino: {{profile: '{release}'}}}}\n"
_PROMPT = "How many feet are in a mile?"
_MOST = 12
_CHAT, _TEXT = "/v3/chat/completions", "/v3/completions"
_USAGE: JSON = {"include_usage": True}
Start = Callable[[str], Running]
Read = Callable[[aiohttp.ClientResponse], Awaitable["Reading"]]


@dataclass
class Reading:
    """What a load client keeps of one stream."""

    text: str = ""
    pieces: int = 0
    done: bool = False
    completion_tokens: int | None = None
    prompt_tokens: int | None = None


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


def find_text(choice: JSON) -> str:
    """The text of a chunk's choice, chat (``delta.content``) or completion (``text``)."""
    found = choice["delta"].get("content") if "delta" in choice else choice.get("text")
    return found or ""


def keep_usage(reading: Reading, usage: JSON) -> None:
    reading.completion_tokens = usage.get("completion_tokens")
    reading.prompt_tokens = usage.get("prompt_tokens")


async def read_as_vllm(response: aiohttp.ClientResponse) -> Reading:
    """``vllm bench serve``: stripped reads, cut at blank lines or where the rest is JSON; usage has no choices."""
    reading, rest = Reading(), ""
    async for read in response.content.iter_any():
        rest += read.strip().decode()
        *messages, rest = rest.split("\n\n")
        tail = rest.removeprefix("data: ").strip()
        if tail == "[DONE]" or is_json(tail):
            messages, rest = [*messages, rest], ""
        for message in messages:
            take_as_vllm(reading, message.strip())
    return reading


def take_as_vllm(reading: Reading, message: str) -> None:
    if not message or message.startswith(":"):
        return
    data = message.removeprefix("data: ")
    if data == "[DONE]":
        reading.done = True
        return
    chunk: JSON = json.loads(data)
    if choices := chunk.get("choices"):
        reading.pieces += 1
        reading.text += find_text(choices[0])
    elif usage := chunk.get("usage"):
        keep_usage(reading, usage)


async def read_as_older_vllm(response: aiohttp.ClientResponse) -> Reading:
    """``benchmark_serving.py``: line by line, and every chunk has a choice."""
    reading = Reading()
    async for line in response.content:
        data = line.strip().decode().removeprefix("data: ")
        if data == "[DONE]":
            reading.done = True
        elif data:
            choice: JSON = json.loads(data)["choices"][0]
            reading.pieces += 1
            reading.text += find_text(choice)
    return reading


async def read_as_guidellm(response: aiohttp.ClientResponse) -> Reading:
    """guidellm: line by line, ``error`` ends it badly, usage on any chunk, the last one wins."""
    reading = Reading()
    async for line in response.content:
        text = line.strip().decode()
        if text == "data: [DONE]":
            reading.done = True
            break
        if not text.startswith("data:"):
            continue
        chunk: JSON = json.loads(text.removeprefix("data:").strip())
        assert "error" not in chunk
        if found := find_text(chunk["choices"][0]) if chunk.get("choices") else "":
            reading.pieces += 1
            reading.text += found
        if usage := chunk.get("usage"):
            keep_usage(reading, usage)
    return reading


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


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
async def test_a_load_client_reads_text_and_usage(running: Running, path: str, read: Read, others: JSON) -> None:
    body = make_body(path, **others, **({"logprobs": None} if path == _TEXT and read is read_as_vllm else {}))
    async with post(running, path, body) as response:
        assert response.status == 200
        reading = await read(response)
    whole = await answer_whole(running, path, body)
    assert (reading.text, reading.done) == (find_whole_text(whole), True)
    assert (reading.completion_tokens, reading.prompt_tokens) == (_MOST, whole["usage"]["prompt_tokens"])
    assert 1 < reading.pieces <= _MOST + 1


@pytest.mark.parametrize("path", [_CHAT, _TEXT])
async def test_the_older_benchmark_finds_a_choice_in_every_chunk(running: Running, path: str) -> None:
    body = make_body(path, temperature=0.0)
    async with post(running, path, body) as response:
        reading = await read_as_older_vllm(response)
    assert reading.done
    assert reading.text == find_whole_text(await answer_whole(running, path, body))


@pytest.mark.parametrize("path", [_CHAT, _TEXT])
async def test_options_that_guidellm_sends_unasked_are_refused(running: Running, path: str) -> None:
    body = make_body(path, stream_options={**_USAGE, "continuous_usage_stats": True})
    async with post(running, path, body) as response:
        assert "Found unexpected stream options" in await response.text()


async def test_a_refusal_inside_an_old_stream_is_no_reading(started: Start) -> None:
    async with post(started("2024.2"), _CHAT, make_body(_CHAT)) as response:
        assert response.status == 200  # what the clients look at
        assert await read_as_vllm(response) == Reading()
