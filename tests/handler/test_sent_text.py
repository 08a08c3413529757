"""The journal shows of a response that ended early what was sent of it."""

import asyncio
import json

import pytest

from tests.conftest import Start
from tests.http_client import Running
from tests.untyped_json import JSON

CHAT = "/openai/v1/chat/completions"
BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "find", "parameters": CITY}}


async def read_last(running: Running) -> JSON:
    [entry] = (await running.ask("front", "/_emulator/requests")).json()["requests"]
    return (await running.ask("front", f"/_emulator/requests/{entry['id']}")).json()


def join_deltas(body: bytes) -> tuple[str, str]:
    """Return the text and the arguments that a client has read."""
    events = [json.loads(line[6:]) for line in body.decode().split("\n") if line.startswith("data: {")]
    deltas = [choice["delta"] for event in events for choice in event.get("choices", ())]
    calls = [call["function"].get("arguments", "") for delta in deltas for call in delta.get("tool_calls", ())]
    return "".join(delta.get("content") or "" for delta in deltas), "".join(calls)


@pytest.mark.parametrize("fault", ["{type: truncate, after_tokens: 3}", "{type: late_error, after_tokens: 3}"])
async def test_stream_cut_by_fault_shows_its_beginning(start: Start, fault: str) -> None:
    running = await start(f"rules: [{{name: cut, reply: {{text: one two three four five}}, faults: [{fault}]}}]\n")
    answer = await running.ask("azure", CHAT, {**BODY, "stream": True}, headers={"api-key": "k"})
    entry = await read_last(running)
    text, _ = join_deltas(answer.body)
    assert (entry["sent_tokens"], entry["response"]["text"]) == (3, text)
    assert entry["response"]["received"] == text
    assert text
    assert "one two three four five".startswith(text)


async def test_cut_tool_call_shows_arguments_that_were_sent(start: Start) -> None:
    call = "{tool_calls: [{name: find, arguments: {city: Oslo Bergen Stavanger}}]}"
    running = await start(f"rules: [{{name: cut, reply: {call}, faults: [{{type: truncate, after_tokens: 4}}]}}]\n")
    body = {**BODY, "stream": True, "tools": [TOOL]}
    answer = await running.ask("azure", CHAT, body, headers={"api-key": "k"})
    _, arguments = join_deltas(answer.body)
    [shown] = (await read_last(running))["response"]["tool_calls"]
    assert shown == {"name": "find", "arguments": arguments}


async def begin_call(running: Running, *, stream: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send a call on a connection of its own, and wait until the server works on it."""
    reader, writer = await running.connect("azure")
    data = json.dumps({**BODY, "stream": stream}).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nHost: a\r\napi-key: k\r\nContent-Length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    while not running.built.runtime.metrics["azure"].in_flight():
        await asyncio.sleep(0)
    return reader, writer


@pytest.mark.parametrize(("stream", "seconds", "tokens"), [(True, 2.5, 3), (False, 2.5, 0)])
async def test_client_that_leaves_early(start: Start, stream: bool, seconds: float, tokens: int) -> None:
    """A whole response has not begun when its client leaves."""
    latency = "latency: {ttft: 0s, itl: 1s}\n"
    running = await start(f"{latency}rules: [{{name: slow, reply: {{text: one two three four five six}}}}]\n")
    reader, writer = await begin_call(running, stream=stream)
    await running.ask("front", "/_emulator/clock", {"advance": f"{seconds}s"}, method="POST")
    if stream:
        read = b""
        while read.count(b'"content":') < tokens + 1:  # the first event has an empty text
            read += await reader.read(2**16)
    writer.close()
    while running.built.runtime.metrics["azure"].in_flight():
        await asyncio.sleep(0)
    entry = await read_last(running)
    assert (entry["client_left"], entry["sent_tokens"]) == (True, tokens)
    assert "one two three four five six".startswith(entry["response"]["text"])
    assert entry["response"]["text"].count(" ") == max(0, tokens - 1)
    assert entry["response"]["body"] is None


async def test_bodies_that_are_not_kept_are_cut(start: Start) -> None:
    running = await start("journal: {bodies: none}\n")
    await running.ask("azure", CHAT, BODY, headers={"api-key": "k"})
    await running.ask("azure", "/openai/v1/models", headers={"api-key": "k"})
    rows = (await running.ask("front", "/_emulator/requests")).json()["requests"]
    shown = [(await running.ask("front", f"/_emulator/requests/{row['id']}")).json() for row in rows]
    assert sorted(entry["request"]["cut"] for entry in shown) == [False, True]  # one of them has no body
    assert all(entry["response"]["cut"] and not entry["response"]["kept"] for entry in shown)


@pytest.mark.parametrize(("tokens", "struck"), [(1, []), (4, ["stall"])])
async def test_fault_counts_if_client_has_waited_for_it(start: Start, tokens: int, struck: list[str]) -> None:
    rule = "{name: slow, reply: {text: one two three four five six}, faults: [{type: stall, after_tokens: 3, for: 1h}]}"
    running = await start(f"latency: {{ttft: 0s, itl: 1s}}\nrules: [{rule}]\n")
    reader, writer = await begin_call(running, stream=True)
    await running.ask("front", "/_emulator/clock", {"advance": f"{tokens - 0.5}s"}, method="POST")
    read = b""
    while read.count(b'"content":') < min(tokens, 3) + 1:
        read += await reader.read(2**16)
    writer.close()
    while running.built.runtime.metrics["azure"].in_flight():
        await asyncio.sleep(0)
    assert (await read_last(running))["faults"] == struck
    page = (await running.ask("front", "/_emulator/metrics")).body.decode()
    assert ('emulator_faults_total{fault="stall"' in page or 'fault="stall"' in page) == bool(struck)
