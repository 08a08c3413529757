"""What load clients read of streams of TGI and MindIE: vLLM's serving benchmark, guidellm, AIPerf and AISBench."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tests.conformance.load import Reading, read_as_guidellm, read_as_vllm
from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

CLIENT = "load clients"

PROMPT = "How many feet are in a mile?"
MOST = 12
MODELS = {"tgi": "tgi", "mindie": "llama_65b"}
USAGE: JSON = {"include_usage": True}
LiveWith = Callable[[str], Running]


@asynccontextmanager
async def post(running: Running, vendor: str, path: str, body: JSON) -> AsyncIterator[aiohttp.ClientResponse]:
    headers = {"Authorization": f"Bearer {running.key('x')}"}
    url = running.urls[vendor] + path
    async with aiohttp.ClientSession(headers=headers) as session, session.post(url, json=body) as response:
        yield response


@pytest.fixture(params=["tgi", "mindie"])
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def read_as_vllm_of_tgi(response: aiohttp.ClientResponse) -> Reading:
    """``vllm bench serve --backend tgi``: line by line, without pings; each has the whole text or null."""
    reading = Reading()
    async for line in response.content:
        text = line.strip().decode()
        if not text or text.startswith(":"):
            continue
        event: JSON = json.loads(text.removeprefix("data:"))
        reading.pieces += 1
        reading.text = event["generated_text"]
    return reading


@pytest.mark.covers("mindie/programs", "vLLM's benchmark")
async def test_vllm_benchmark_reads_generate_stream(live: Running, vendor: str) -> None:
    parameters = {"best_of": 1, "max_new_tokens": MOST, "do_sample": True, "temperature": 0.01, "top_p": 0.99}
    body = {"inputs": PROMPT, "parameters": {**parameters, "truncate": 9, "ignore_eos_token": True}}
    async with post(live, vendor, "/generate_stream", body) as response:
        reading = await read_as_vllm_of_tgi(response)
    assert reading.text
    assert reading.pieces == MOST


async def test_vllm_benchmark_skips_ping(live_with: LiveWith) -> None:
    running = live_with("clock: instant\nlatency: {ttft: 40s}\nrules: [{name: r, reply: {text: one two}}]\n")
    async with post(running, "tgi", "/generate_stream", {"inputs": PROMPT}) as response:
        reading = await read_as_vllm_of_tgi(response)
    assert (reading.text, reading.pieces) == ("one two", 3)


@pytest.mark.parametrize("read", [read_as_vllm, read_as_guidellm], ids=["vllm", "guidellm"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
async def test_benchmarks_read_openai_streams(
    live: Running, vendor: str, path: str, read: Callable[[aiohttp.ClientResponse], Awaitable[Reading]]
) -> None:
    asked: JSON = (
        {"prompt": PROMPT} if path == "/v1/completions" else {"messages": [{"role": "user", "content": PROMPT}]}
    )
    body = {"model": MODELS[vendor], **asked, "max_tokens": MOST, "temperature": 0.0, "ignore_eos": True}
    async with post(live, vendor, path, body) as response:
        whole: JSON = await response.json()
    async with post(live, vendor, path, {**body, "stream": True, "stream_options": USAGE}) as response:
        reading = await read(response)
    choice = whole["choices"][0]
    assert reading.text == (choice["message"]["content"] if "message" in choice else choice["text"])
    assert reading.done
    if read is read_as_guidellm:
        assert reading.completion_tokens == whole["usage"]["completion_tokens"]


@pytest.mark.covers("mindie/programs", "AIPerf")
@pytest.mark.parametrize("path", ["/generate", "/generate_stream"])
async def test_aiperf_joins_stream_tokens(live: Running, vendor: str, path: str) -> None:
    """``huggingface_generate``: an object, or a list of one; of a stream the texts of all tokens."""
    body = {"inputs": PROMPT, "parameters": {"max_new_tokens": MOST}}
    async with post(live, vendor, "/generate", body) as response:
        whole: JSON = await response.json()
    if path == "/generate":
        assert whole["generated_text"]
        return
    async with post(live, vendor, path, body) as response:
        lines = [line.strip().decode() async for line in response.content]
    texts = [json.loads(line.removeprefix("data:"))["token"]["text"] for line in lines if line.startswith("data:")]
    assert "".join(texts).removesuffix("</s>") == whole["generated_text"]


@pytest.mark.covers("mindie/programs", "AISBench")
async def test_aisbench_reads_unary_and_stream(live: Running) -> None:
    """The text call expects an object; the stream call the text of the last event, and JSON in every other."""
    body = {"inputs": PROMPT, "parameters": {"max_new_tokens": MOST, "ignore_eos": True}}
    async with post(live, "mindie", "/generate", body) as response:
        whole: JSON = await response.json()
    async with post(live, "mindie", "/generate_stream", body) as response:
        events = (await response.text()).split("\n\n")
    rows = [json.loads(event.removeprefix("data:")) for event in events if event.strip() and not event.startswith(":")]
    assert rows[-1]["generated_text"] == whole["generated_text"]


async def test_aisbench_detects_error_inside_stream(live_with: LiveWith) -> None:
    running = live_with("rules: [{name: f, faults: [{type: late_error, after_tokens: 2}]}]\n")
    body = {"inputs": PROMPT, "parameters": {"max_new_tokens": MOST}}
    async with post(running, "mindie", "/generate_stream", body) as response:
        events = [event for event in (await response.text()).split("\n\n") if event]
    with pytest.raises(json.JSONDecodeError):
        json.loads(events[-1].removeprefix("data:"))
