"""Request ids, and stopping a running request by its id."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.conftest import Start
from tests.http_client import Answer, Running, read_answer
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import CHAT, HELLO, MODEL, PROMPT, error_of

STOP = f"/v2/models/{MODEL}/stopInfer"
SLOW = "latency: {ttft: 1s, itl: 1s}\nrules: [{name: said, reply: {text: ' one two three four'}}]\n"


@asynccontextmanager
async def begun(
    running: Running, path: str, body: JSON, headers: str = ""
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Send a request and wait until the server processes it."""
    reader, writer = await running.connect("mindie")
    payload = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {len(payload)}\r\n\r\n"
    writer.write(head.encode() + payload)
    async with asyncio.timeout(10):
        while not running.built.runtime.metrics["mindie"].working(MODEL):
            await asyncio.sleep(0)
    try:
        yield reader, writer
    finally:
        writer.close()


async def stopped(running: Running, path: str, body: JSON, name: str, headers: str = "", after: float = 2.0) -> Answer:
    """Return the response to a request that is stopped by an id seconds later."""
    async with begun(running, path, body, headers) as (reader, _):
        running.built.runtime.advance(after)
        answer = await running.ask("mindie", STOP, {"id": name})
        assert (answer.status, answer.json()) == (200, {"id": name})
        whole = await asyncio.wait_for(read_answer(reader), 10)
    assert (await running.ask("mindie", STOP, {"id": name})).status == 404
    return whole


@pytest.mark.covers("mindie/HTTP", "req-id")
async def test_tgi_stream_is_stopped_by_header_id(start: Start) -> None:
    body = {"inputs": PROMPT, "stream": True, "parameters": {"details": True, "seed": 1}}
    answer = await stopped(await start(SLOW), "/", body, "job-1", "req-id: job-1\r\n")
    first, second, last = answer.events()
    assert [event["token"]["text"] for event in (first, second, last)] == [" one", " two", " three"]
    assert first["generated_text"] is None
    assert last["generated_text"] == " one two three"
    assert last["details"] == {"prompt_tokens": 5, "finish_reason": "stop_sequence", "generated_tokens": 3, "seed": 1}


async def test_stopped_unary_response_contains_generated_text(start: Start) -> None:
    body = {"inputs": PROMPT, "parameters": {"details": True}}
    (row,) = (await stopped(await start(SLOW), "/", body, "a", "req-id: a\r\n")).json()
    assert row["generated_text"] == " one two three"
    assert (row["details"]["finish_reason"], len(row["details"]["tokens"])) == ("stop_sequence", 3)


@pytest.mark.parametrize("stream", [True, False])
async def test_stop_before_first_token_returns_one_token(start: Start, stream: bool) -> None:
    body = {"inputs": PROMPT, "stream": stream}
    answer = await stopped(await start(SLOW), "/", body, "a", "req-id: a\r\n", after=0.5)
    (said,) = answer.events() if stream else answer.json()
    assert said["generated_text"] == " one"


async def test_chat_is_stopped_by_chunk_id(start: Start) -> None:
    running = await start(SLOW)
    body = {"model": MODEL, "messages": HELLO, "stream": True}
    async with begun(running, CHAT, body) as (reader, _):
        running.built.runtime.advance(1.0)
        head = await reader.readuntil(b"\r\n\r\n")
        chunk = json.loads((await reader.readuntil(b"\n\n")).partition(b"data: ")[2])
        assert (await running.ask("mindie", STOP, {"id": chunk["id"]})).status == 200
        rest = await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), 10)
    assert b"chunked" in head
    assert b'"content":" one"' in rest
    assert b'"content":" two"},"logprobs":null,"finish_reason":"stop"' in rest
    assert b"three" not in rest
    assert b'"completion_tokens":2,' in rest
    assert rest.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param(CHAT, {"model": MODEL, "messages": HELLO}, id="chat"),
        pytest.param("/v1/completions", {"model": MODEL, "prompt": PROMPT}, id="completions"),
    ],
)
async def test_header_sets_response_id(start: Start, path: str, body: JSON) -> None:
    running = await start()
    answer = await running.ask("mindie", path, body, headers={"req-id": 'a"b'})
    assert answer.json()["id"] == 'a"b'
    chunks = (await running.ask("mindie", path, {**body, "stream": True}, headers={"req-id": "c"})).events()
    assert {chunk["id"] for chunk in chunks[:-1]} == {"c"}


@pytest.mark.covers("mindie/routes", "POST /v2/models/stopInfer")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param(f"/v2/models/{MODEL}/generate_stream", {"text_input": PROMPT}, id="text, streamed"),
        pytest.param(f"/v2/models/{MODEL}/generate", {"text_input": PROMPT}, id="text"),
        pytest.param(
            f"/v2/models/{MODEL}/infer",
            {
                "inputs": [{"name": "i", "shape": [1], "datatype": "UINT32", "data": [1]}],
                "outputs": [{"name": "output0"}],
            },
            id="tokens",
        ),
    ],
)
async def test_triton_request_is_stopped_by_body_id(start: Start, path: str, body: JSON) -> None:
    answer = await stopped(await start(SLOW), path, {"id": "mine", **body}, "mine")
    said = answer.events()[-1] if "stream" in path else answer.json()
    assert said["id"] == "mine"
    count = len(said["outputs"][0]["data"]) if path.endswith("infer") else len(said["text_output"].split())
    assert count == (1 if "stream" in path else 3)


async def test_header_id_overrides_body_id_for_stop(start: Start) -> None:
    running = await start(SLOW)
    body = {"id": "mine", "text_input": PROMPT}
    async with begun(running, f"/v2/models/{MODEL}/generate", body, "req-id: theirs\r\n") as (reader, _):
        assert (await running.ask("mindie", STOP, {"id": "mine"})).status == 404
        assert (await running.ask("mindie", STOP, {"id": "theirs"})).status == 200
        assert (await asyncio.wait_for(read_answer(reader), 10)).json()["id"] == "mine"


@pytest.mark.parametrize("path", ["/infer", "/generate"])
async def test_other_routes_are_stopped_by_header_id(start: Start, path: str) -> None:
    key = "prompt" if path == "/generate" else "inputs"
    body = {key: PROMPT, "stream": True, "parameters": {"details": True}}
    answer = await stopped(await start(SLOW), path, body, "x", "req-id: x\r\n")
    if path == "/infer":
        assert answer.events()[-1]["details"]["finish_reason"] == "stop_sequence"
    else:
        assert answer.body == b'{"text":[" one"]}\0{"text":[" two"]}\0{"text":[" three"]}\0'


async def test_text_held_back_for_stop_string_is_sent_on_stop(start: Start) -> None:
    body = {"inputs": PROMPT, "stream": True, "parameters": {"stop": ["a long stop string"]}}
    answer = await stopped(await start(SLOW), "/", body, "a", "req-id: a\r\n")
    assert [event["token"]["text"] for event in answer.events()] == [" one", " two", " three"]


async def test_stop_is_limited_to_session(start: Start) -> None:
    running = await start(SLOW)
    async with begun(running, "/", {"inputs": PROMPT}, "req-id: a\r\n"):
        answer = await running.ask("mindie", STOP, {"id": "a"}, headers={"x-emulator-session": "team"})
        assert answer.status == 404


async def test_tokens_after_stop_are_not_counted(start: Start) -> None:
    running = await start(SLOW)
    await stopped(running, "/", {"inputs": PROMPT, "stream": True}, "a", "req-id: a\r\n")
    assert running.built.runtime.metrics["mindie"].total("completion_tokens") == 3
    assert [entry.completion_tokens for entry in running.built.journal if entry.path == "/"] == [3]


@pytest.mark.covers("mindie/management", "stopInfer refused")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param({}, "Not found id.", id="none"),
        pytest.param({"id": None}, "id must not be null.", id="null"),
        pytest.param({"id": 5}, "id must be string type.", id="a number"),
        pytest.param(b"{", "Failed to parse context to json body.", id="no JSON"),
        pytest.param(
            {"id": "a b"},
            "The id can contain only digits, letters, underscores(_), hyphens(-) and no more than 256 words in length.",
            id="a space",
        ),
    ],
)
def test_invalid_stop_requests_are_rejected(body: JSON | bytes, text: str) -> None:
    assert error_of(STOP, body) == text
