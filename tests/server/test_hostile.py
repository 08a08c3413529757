"""Requests made to stop a server: each gets an answer in somebody's own words, and the next call is right."""

import gzip
import json
import zlib
from collections.abc import Callable

import pytest

from tests.conftest import Start
from tests.parsed import JSON
from tests.wire import Answer, Running

_HELLO = [{"role": "user", "content": "Hi"}]
_CHATS = {
    "azure": ("/chat/completions?api-version=2024-05-01-preview", "mistral-small-2503"),
    "databricks": ("/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations", "x"),
    "mindie": ("/v1/chat/completions", "llama_65b"),
    "tgi": ("/v1/chat/completions", "tgi"),
    "openvino": ("/v3/chat/completions", "llama3"),
}
_KEY = {"Authorization": "Bearer k"}


def _chat(vendor: str, **fields: JSON) -> bytes:
    return json.dumps({"model": _CHATS[vendor][1], "messages": _HELLO, "max_tokens": 5, **fields}).encode()


def _schema(vendor: str, schema: JSON) -> bytes:
    wanted = {"name": "a", "schema": schema, "strict": False}
    return _chat(vendor, max_tokens=200, response_format={"type": "json_schema", "json_schema": wanted})


def _bomb(vendor: str) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([*(packer.compress(bytes(2**20)) for _ in range(200)), packer.flush()])


_BARE: JSON = {"type": "function", "function": {"name": "f"}}
_PATTERNS = {f"^[a-z]{{{n % 50},100}}{n}$": {"type": "string"} for n in range(2000)}
_MANY = [{"type": "string", "pattern": f"^a{n}"} for n in range(3000)]
_BODIES: dict[str, Callable[[str], bytes]] = {
    "tools without parameters and nobody who asks": lambda vendor: _chat(vendor, messages=[], tools=[_BARE]),
    "tools that must be called and nobody who asks": lambda vendor: _chat(
        vendor, messages=[], tools=[_BARE], tool_choice="required"
    ),
    "parameters that are no schema": lambda vendor: _chat(
        vendor, messages=[], tools=[{"type": "function", "function": {"name": "f", "parameters": "x"}}]
    ),
    "400,000 wrong messages": lambda vendor: b'{"messages":[' + b"1," * 400_000 + b"1]}",
    "100,000 wrong parts": lambda vendor: _chat(vendor, messages=[{"role": "user", "content": [1] * 100_000}]),
    "a list in a list in a list": lambda vendor: b'{"messages":' + b"[" * 500_000 + b"]" * 500_000 + b"}",
    "a million digits": lambda vendor: b'{"max_tokens":' + b"9" * 1_000_000 + b"}",
    "a text of quotes": lambda vendor: b'"' + b'\\"' * 300_000 + b"," * 400_000,
    "a model's name of a million letters": lambda vendor: _chat(vendor, model="x" * 1_000_000),
    "as many answers as may be asked": lambda vendor: _chat(vendor, n=1_000_000),
    "answers without end": lambda vendor: _chat(vendor, n=128, max_tokens=10**9, ignore_eos=True),
    "alternatives of many answers": lambda vendor: _chat(
        vendor, n=100, max_tokens=8000, logprobs=True, top_logprobs=20
    ),
    "3,000 alternatives": lambda vendor: _schema(vendor, {"properties": {"a": {"oneOf": _MANY}}, "required": ["a"]}),
    "2,000 patterns": lambda vendor: _schema(
        vendor, {"type": "object", "minProperties": 50, "patternProperties": _PATTERNS}
    ),
    "an array of thousands": lambda vendor: _schema(
        vendor, {"type": "array", "minItems": 2000, "items": {"type": "string", "format": "email"}}
    ),
}


async def _check_next(running: Running, vendor: str) -> None:
    answer = await running.ask(vendor, _CHATS[vendor][0], _chat(vendor), headers=_KEY)
    assert answer.status == 200
    assert answer.json()["choices"]
    assert (await running.ask("front", "/_emulator/health")).status == 200


def _check(answer: Answer) -> None:
    assert answer.header("x-emulator-bug") is None
    assert answer.status < 500
    if answer.status >= 400:
        assert answer.body
        assert len(answer.body) < 2_000_000


@pytest.mark.parametrize("vendor", _CHATS)
async def test_a_body_made_to_stop_the_server(start: Start, vendor: str) -> None:
    running = await start()
    for make in _BODIES.values():
        _check(await running.ask(vendor, _CHATS[vendor][0], make(vendor), headers=_KEY))
        await _check_next(running, vendor)


@pytest.mark.parametrize("vendor", _CHATS)
@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        pytest.param(_bomb, "gzip", id="a bomb"),
        pytest.param(lambda vendor: b"\x1f\x8b\x08\x00nonsense", "gzip", id="nonsense"),
        pytest.param(lambda vendor: gzip.compress(_chat(vendor))[:-5], "gzip", id="one that is cut"),
        pytest.param(_chat, "br", id="one that is not compressed at all"),
    ],
)
async def test_a_compressed_body_that_is_wrong(
    start: Start, vendor: str, body: Callable[[str], bytes], encoding: str
) -> None:
    running = await start()
    headers = {**_KEY, "Content-Encoding": encoding}
    answer = await running.ask(vendor, _CHATS[vendor][0], body(vendor), headers=headers)
    _check(answer)
    assert answer.status >= 400 or encoding == "br"  # what is not unpacked is read as it is
    await _check_next(running, vendor)


@pytest.mark.parametrize("vendor", _CHATS)
async def test_a_compressed_body_is_read(start: Start, vendor: str) -> None:
    running = await start()
    plain = await running.ask(vendor, _CHATS[vendor][0], _chat(vendor), headers=_KEY)
    packed = gzip.compress(_chat(vendor))
    answer = await running.ask(vendor, _CHATS[vendor][0], packed, headers={**_KEY, "Content-Encoding": "gzip"})
    assert answer.json()["choices"] == plain.json()["choices"]


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        pytest.param(b"x-emulator-fault: " + b", ".join([b"extra_fields"] * 40), 400, id="forty faults in one header"),
        pytest.param(b"x-emulator-fault: duplicate\r\n" * 16, 200, id="sixteen times twice as much"),
        pytest.param(b"x-emulator-fault: " + b"[" * 8000, 400, id="brackets that are not closed"),
        pytest.param(b"x-emulator-fault: " + b'"\\' * 4000, 400, id="quotes that are not closed"),
        pytest.param(b"x-emulator-fault: nonsense\r\n" * 17, 400, id="nonsense again and again"),
        pytest.param(b"x-emulator-fault: drip; bytes_per_second=0.0000001\r\n", 400, id="a drop in a year"),
        pytest.param(b"x-emulator-fault: a\xdeb; c=\xff", 400, id="bytes that are no text"),
        pytest.param(b"x-emulator-error: \xff", 400, id="an error that is no text"),
        pytest.param(b"x-emulator-ttft: 99999999999999999999d", 400, id="a wait beyond all time"),
        pytest.param(b"x-ms-client-request-id: a\xff\x80\xe9b", 200, id="an id that is no text"),
    ],
)
async def test_headers_made_to_stop_the_server(start: Start, lines: bytes, status: int) -> None:
    running = await start("version: 1\nclock: instant\n")
    path = _CHATS["azure"][0].encode()
    head = b"POST " + path + b" HTTP/1.1\r\nContent-Type: application/json\r\nAuthorization: Bearer k\r\n"
    answer = await running.send("azure", head + lines.rstrip() + b"\r\n", _chat("azure"))
    assert answer.status == status
    _check(answer)
    await _check_next(running, "azure")


async def test_a_split_into_millions_of_writes_ends(start: Start) -> None:
    running = await start("version: 1\nbounds: {writes: 100}\n")
    headers = {**_KEY, "x-emulator-fault": "split; writes=byte"}
    body = {"input": ["a"] * 100}
    target = "/serving-endpoints/databricks-gte-large-en/invocations"
    bent = await running.ask("databricks", target, body, headers=headers)
    plain = await running.ask("databricks", target, body, headers=_KEY)
    assert bent.json()["data"] == plain.json()["data"]


async def test_bounds_are_the_scenarios_to_set(start: Start) -> None:
    running = await start("version: 1\nbounds: {messages: 1, values: 100, body: 1KiB, faults: 1}\n")
    for body, said in (
        (_chat("tgi", messages=_HELLO * 2), b"2 messages are asked for, and one call may have 1."),
        (_chat("tgi", stop=["x" * 2000]), b""),
    ):
        answer = await running.ask("tgi", _CHATS["tgi"][0], body, headers=_KEY)
        assert answer.status in (413, 422)
        assert said in answer.body
    asked = {**_KEY, "x-emulator-fault": "garbage, garbage"}
    answer = await running.ask("tgi", _CHATS["tgi"][0], _chat("tgi"), headers=asked)
    assert answer.json()["detail"] == "x-emulator-fault: 2 faults, and one request may ask for 1"
