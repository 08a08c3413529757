"""Hostile requests: each gets a defined response, and the next call succeeds."""

import gzip
from collections.abc import Callable

import pytest

from tests.conftest import Start
from tests.http_client import Answer, Running
from tests.tools.attack.chats import BODIES, make_bomb
from tests.tools.attack.rows import CHATS, chat
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

_KEY = {"Authorization": "Bearer k"}


async def _check_next(running: Running, vendor: str) -> None:
    answer = await running.ask(vendor, CHATS[vendor][0], chat(vendor), headers=_KEY)
    assert answer.status == 200
    assert answer.json()["choices"]
    assert (await running.ask("front", "/_emulator/health")).status == 200


def _check(answer: Answer) -> None:
    assert answer.header("x-emulator-bug") is None
    assert answer.status < 500
    if answer.status >= 400:
        assert answer.body
        assert len(answer.body) < 2_000_000


@pytest.mark.parametrize("vendor", CHATS)
async def test_hostile_body_is_answered(start: Start, vendor: str) -> None:
    running = await start()
    for make in BODIES.values():
        _check(await running.ask(vendor, CHATS[vendor][0], make(vendor), headers=_KEY))
        await _check_next(running, vendor)


@pytest.mark.parametrize("vendor", CHATS)
async def test_deeply_nested_json_is_answered(start: Start, vendor: str) -> None:
    """255 levels are too many for the one, 200 for the other, some 800 for the interpreter's stack."""
    running = await start()
    for levels in (190, 254, 300, 700, 790, 1000):
        deep = '{"a":' * levels + "[]" + "}" * levels
        for field in ("model", "tools", "stop", "max_tokens", "response_format"):
            body = chat(vendor, **{field: "@"}).replace(b'"@"', deep.encode())
            _check(await running.ask(vendor, CHATS[vendor][0], body, headers=_KEY))
        tool = chat(vendor, tools=[{"type": "function", "function": {"name": "f", "parameters": "@"}}], stream=True)
        _check(await running.ask(vendor, CHATS[vendor][0], tool.replace(b'"@"', deep.encode()), headers=_KEY))
    await _check_next(running, vendor)


_DIGITS = "9" * 5000
_CALL: JSON = {"id": _DIGITS, "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize("vendor", CHATS)
@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"$ref": f"#/anyOf/{_DIGITS}", "anyOf": [{}]}, id="an index"),
        pytest.param({"type": "string", "pattern": f"a{{{_DIGITS}}}"}, id="how often, in a pattern"),
    ],
)
async def test_overlong_integers_in_chat_are_answered(start: Start, vendor: str, schema: JSON) -> None:
    running = await start()
    form: JSON = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    said: JSON = [
        {"role": "user", "content": _DIGITS},
        {"role": "assistant", "content": None, "tool_calls": [_CALL]},
        {"role": "tool", "tool_call_id": _DIGITS, "content": "a"},
    ]
    tools: JSON = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    for body in (chat(vendor, response_format=form), chat(vendor, messages=said, tools=tools)):
        _check(await running.ask(vendor, CHATS[vendor][0], body, headers=_KEY))
    await _check_next(running, vendor)


async def test_overlong_integers_elsewhere_are_answered(start: Start) -> None:
    running = await start(
        "version: 1\nvendors: {openvino: {profile: latest}}\n"
        "deployments: [{vendor: openvino, name: draws, kind: image}, {vendor: openvino, name: net, kind: classic}]\n"
    )
    drawn = {"model": "draws", "prompt": "a", "size": f"{_DIGITS}x1"}
    _check(await running.ask("openvino", "/v3/images/generations", drawn, headers=_KEY))
    length = {**_KEY, "Inference-Header-Content-Length": _DIGITS}
    answer = await running.ask("openvino", "/v2/models/net/infer", {"inputs": []}, headers=length)
    assert answer.header("x-emulator-bug") is None
    assert b"Inference-Header-Content-Length header is invalid" in answer.body
    listed = await running.ask("azure", f"/openai/v1/chat/completions?limit={_DIGITS}", method="GET", headers=_KEY)
    _check(listed)
    for path in (f"body.a[{_DIGITS}]", "body.a"):
        fault = f"{{type: drop, field: 'a[{_DIGITS}]'}}"
        rule = f"{{name: r, when: {{'{path}': 1}}, faults: [{fault}]}}"
        loaded = await running.ask("front", "/_emulator/check", f"version: 1\nrules: [{rule}]\n".encode())
        assert loaded.header("x-emulator-bug") is None
        assert loaded.status < 500


@pytest.mark.parametrize("vendor", CHATS)
@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        pytest.param(make_bomb, "gzip", id="a bomb"),
        pytest.param(lambda vendor: b"\x1f\x8b\x08\x00nonsense", "gzip", id="nonsense"),
        pytest.param(lambda vendor: gzip.compress(chat(vendor))[:-5], "gzip", id="one that is cut"),
        pytest.param(chat, "br", id="one that is not compressed at all"),
    ],
)
async def test_invalid_compressed_body_is_answered(
    start: Start, vendor: str, body: Callable[[str], bytes], encoding: str
) -> None:
    running = await start()
    headers = {**_KEY, "Content-Encoding": encoding}
    answer = await running.ask(vendor, CHATS[vendor][0], body(vendor), headers=headers)
    _check(answer)
    assert answer.status >= 400 or encoding == "br"  # what is not unpacked is read as it is
    await _check_next(running, vendor)


@pytest.mark.parametrize("vendor", CHATS)
async def test_compressed_body_is_decoded(start: Start, vendor: str) -> None:
    running = await start()
    plain = await running.ask(vendor, CHATS[vendor][0], chat(vendor), headers=_KEY)
    packed = gzip.compress(chat(vendor))
    answer = await running.ask(vendor, CHATS[vendor][0], packed, headers={**_KEY, "Content-Encoding": "gzip"})
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
async def test_hostile_headers_are_answered(start: Start, lines: bytes, status: int) -> None:
    running = await start("version: 1\nclock: instant\n")
    path = CHATS["azure"][0].encode()
    head = b"POST " + path + b" HTTP/1.1\r\nContent-Type: application/json\r\nAuthorization: Bearer k\r\n"
    answer = await running.send("azure", head + lines.rstrip() + b"\r\n", chat("azure"))
    assert answer.status == status
    _check(answer)
    await _check_next(running, "azure")


async def test_split_into_many_writes_is_bounded(start: Start) -> None:
    running = await start("version: 1\nbounds: {writes: 100}\n")
    headers = {**_KEY, "x-emulator-fault": "split; writes=byte"}
    body = {"input": ["a"] * 100}
    target = "/serving-endpoints/databricks-gte-large-en/invocations"
    bent = await running.ask("databricks", target, body, headers=headers)
    plain = await running.ask("databricks", target, body, headers=_KEY)
    assert bent.json()["data"] == plain.json()["data"]


async def test_bounds_are_set_by_scenario(start: Start) -> None:
    running = await start("version: 1\nbounds: {messages: 1, values: 100, body: 1KiB, faults: 1}\n")
    for body, said in (
        (
            chat("tgi", messages=[{"role": role, "content": "Hi"} for role in ("user", "assistant", "user")]),
            b"3 messages are asked for, and one call may have 1.",
        ),
        (chat("tgi", stop=["x" * 2000]), b""),
    ):
        answer = await running.ask("tgi", CHATS["tgi"][0], body, headers=_KEY)
        assert answer.status in (413, 422)
        assert said in answer.body
    asked = {**_KEY, "x-emulator-fault": "garbage, garbage"}
    answer = await running.ask("tgi", CHATS["tgi"][0], chat("tgi"), headers=asked)
    assert answer.json()["detail"] == "x-emulator-fault: 2 faults, and one request may ask for 1"
