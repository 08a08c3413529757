"""Request handling with the toy vendor."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from emulator.core.clock import FrozenClock
from tests.conftest import Start, running
from tests.handler.toy import TOY
from tests.http_client import Answer, Running, read_answer
from tests.ratelimit.clients import toy_stream

KEY: Mapping[str, str] = {"x-key": "k"}


async def ask(running: Running, target: str, body: object = None, **options: object) -> Answer:
    headers = {**KEY, **options.pop("headers", {})}  # type: ignore[dict-item]
    return await running.ask("toy", target, body, headers=headers, **options)  # type: ignore[arg-type]


@pytest.fixture
async def toy(start: Start) -> Running:
    return await start(vendors=[TOY])


async def test_response_has_request_id(toy: Running) -> None:
    answer = await ask(toy, "/chat", {"prompt": "Hi", "max": 5})
    assert answer.status == 200
    assert len(answer.header("x-emulator-request-id") or "") == 32
    assert answer.header("x-emulator-rule") is None
    assert answer.header("Date") == "Thu, 01 Jan 2026 00:00:00 GMT"


async def test_repeated_request_has_same_text_and_new_id(toy: Running) -> None:
    one, two = [await ask(toy, "/chat", {"prompt": "Hi", "max": 5}) for _ in range(2)]
    assert one.body == two.body
    assert one.header("x-emulator-request-id") != two.header("x-emulator-request-id")


async def test_two_emulators_return_same_bytes(start: Start) -> None:
    answers = []
    for _ in range(2):
        running = await start(vendors=[TOY])
        answers.append(await ask(running, "/chat", {"prompt": "Hi", "max": 50}))
    assert (answers[0].head, answers[0].body) == (answers[1].head, answers[1].body)


async def test_key_order_does_not_change_request_id(start: Start) -> None:
    ids = []
    for body in (b'{"prompt":"Hi","max":5}', b'{"max": 5, "prompt": "Hi"}'):
        running = await start(vendors=[TOY])
        ids.append((await ask(running, "/chat", body)).header("x-emulator-request-id"))
    assert ids[0] == ids[1]


async def test_stream_equals_unary_response(toy: Running) -> None:
    whole = await ask(toy, "/chat", {"prompt": "Hi", "max": 30})
    streamed = await ask(toy, "/chat", {"prompt": "Hi", "max": 30, "stream": True})
    assert streamed.header("Transfer-Encoding") == "chunked"
    assert len(streamed.chunks) == 30
    assert b"".join(chunk[:-1] for chunk in streamed.chunks) == whole.body


@pytest.mark.slow
async def test_long_stream_is_complete(toy: Running) -> None:
    said = " ".join(f"{number:06}" for number in range(30_000))
    toy_says = f"rules: [{{name: say, reply: {{text: '{said}'}}}}]\n"
    async with running(toy_says, vendors=[TOY]) as talkative:
        streamed = await ask(talkative, "/chat", {"prompt": "Hi", "stream": True})
    assert len(streamed.body) > 4 * 64 * 1024
    assert streamed.body.replace(b"\n", b"") == said.encode()


async def test_front_port_serves_vendor_by_path(toy: Running) -> None:
    url = urlsplit(toy.urls["front"])
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    writer.write(f"GET /toy/echo?a=b%20c HTTP/1.1\r\nHost: {url.netloc}\r\nx-key: k\r\n\r\n".encode())
    seen = (await read_answer(reader)).json()
    writer.close()
    assert (seen["path"], seen["query"], seen["base_url"]) == ("/echo", {"a": "b c"}, toy.front("toy"))


@pytest.mark.parametrize(
    ("target", "options", "status", "text"),
    [
        pytest.param("/nowhere", {}, 404, "not_found", id="an unknown path"),
        pytest.param("/chat", {"method": "GET"}, 405, "'allow': 'POST'", id="a wrong method"),
        pytest.param("/nowhere", {"headers": {"x-key": ""}}, 401, "unauthenticated", id="no key on an unknown path"),
        pytest.param("/echo", {"headers": {"x-key": "0000"}}, 401, "unauthenticated", id="a key of zeros only"),
    ],
)
async def test_vendor_renders_errors(
    toy: Running, target: str, options: dict[str, object], status: int, text: str
) -> None:
    answer = await ask(toy, target, **options)
    assert answer.status == status
    assert text in answer.body.decode()
    assert answer.header("x-emulator-bug") is None


async def test_open_route_needs_no_key(toy: Running) -> None:
    assert (await toy.ask("toy", "/open")).status == 200


@pytest.mark.covers("language/sections", "keys")
async def test_key_determines_principal(start: Start) -> None:
    running = await start("keys: [{token: secret, principal: search}]\n", vendors=[TOY])
    assert (await ask(running, "/echo")).status == 401
    assert (await ask(running, "/echo", headers={"x-key": "secret"})).json()["principal"] == "search"


@pytest.mark.parametrize("sized", [True, False], ids=["with a length", "in chunks"])
async def test_oversized_body_is_rejected(toy: Running, sized: bool) -> None:
    body = b"x" * (1024 * 1024 + 1)
    if sized:
        answer = await ask(toy, "/echo", body)
    else:
        chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        url = urlsplit(toy.urls["toy"])
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        head = f"POST /echo HTTP/1.1\r\nHost: {url.netloc}\r\nx-key: k\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head.encode() + chunked)
        answer = await read_answer(reader)
        writer.close()
    assert answer.status == 400
    assert b"payload_too_large" in answer.body


async def test_chunked_body_is_read(toy: Running) -> None:
    head = b"POST /echo HTTP/1.1\r\nx-key: k\r\nTransfer-Encoding: chunked\r\n"
    reader, writer = await toy.connect("toy")
    writer.write(head + b"Host: x\r\n\r\n3\r\nabc\r\n")
    await writer.drain()
    writer.write(b"2\r\nde\r\n0\r\n\r\n")
    assert (await read_answer(reader)).json()["size"] == 5
    writer.close()


async def test_expect_100_continue_is_answered(toy: Running) -> None:
    reader, writer = await toy.connect("toy")
    writer.write(b"POST /echo HTTP/1.1\r\nHost: x\r\nx-key: k\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(b"abc")
    assert (await read_answer(reader)).json()["size"] == 3
    writer.close()


async def test_connection_is_reused(toy: Running) -> None:
    reader, writer = await toy.connect("toy")
    for _ in range(3):
        writer.write(b"GET /echo HTTP/1.1\r\nHost: x\r\nx-key: k\r\n\r\n")
        assert (await read_answer(reader)).status == 200
    writer.write(b"GET /echo HTTP/1.1\r\nHost: x\r\nx-key: k\r\nConnection: close\r\n\r\n")
    assert (await read_answer(reader)).header("Connection") == "close"
    assert await reader.read() == b""
    writer.close()


async def test_http_1_0_client_gets_unchunked_stream(toy: Running) -> None:
    body = b'{"prompt":"Hi","max":4,"stream":true}'
    head = b"POST /chat HTTP/1.0\r\nx-key: k\r\nContent-Type: application/json\r\n"
    answer = await toy.send("toy", head, body)
    assert answer.header("Transfer-Encoding") is None
    assert answer.body.count(b"\n") == 4


async def test_framing_headers_follow_vendor_case(start: Start) -> None:
    served = await start(vendors=[replace(TOY, lower_case=True, date=False)])
    whole = await ask(served, "/chat", {"prompt": "Hi", "max": 4})
    streamed = await ask(served, "/chat", {"prompt": "Hi", "max": 4, "stream": True})
    assert [name for name, _ in whole.headers] == ["Content-Type", "x-emulator-request-id", "content-length"]
    assert ("transfer-encoding", "chunked") in streamed.headers


async def test_head_response_has_no_body(toy: Running) -> None:
    reader, writer = await toy.connect("toy")
    writer.write(b"HEAD /echo HTTP/1.1\r\nHost: x\r\nx-key: k\r\nConnection: close\r\n\r\n")
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert int(head.split(b"Content-Length: ")[1].split(b"\r")[0]) > 0
    assert body == b""


async def test_vendor_drops_connection(toy: Running) -> None:
    reader, writer = await toy.connect("toy")
    writer.write(b"GET /drop HTTP/1.1\r\nHost: x\r\nx-key: k\r\n\r\n")
    assert await reader.read() == b""
    writer.close()


async def test_internal_bug_returns_marked_500(toy: Running, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("emulator").propagate = True
    answer = await ask(toy, "/bug")
    assert (answer.status, answer.header("x-emulator-bug")) == (500, "1")
    assert answer.header("Content-Type") == "text/plain; charset=utf-8"
    assert "a bug while parsing" in caplog.text


async def test_mid_stream_bug_closes_connection(toy: Running) -> None:
    reader, writer = await toy.connect("toy")
    body = b'{"prompt":"Hi","max":4,"stream":true,"context":"break"}'
    writer.write(b"POST /chat HTTP/1.1\r\nHost: x\r\nx-key: k\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await read_answer(reader)
    writer.close()


async def test_tokens_are_sent_when_due(start: Start) -> None:
    running = await start("latency: {ttft: 100ms, itl: 20ms}\n", vendors=[TOY])
    clock = running.built.clock
    assert isinstance(clock, FrozenClock)
    reader, writer = await toy_stream(running, 4)
    assert not reader._buffer  # type: ignore[attr-defined]  # only the head has come
    for step in (0.1, 0.02, 0.02, 0.02):
        clock.advance(step)
        size = int((await reader.readline()).strip(), 16)
        await reader.readexactly(size + 2)
    assert await reader.readline() == b"0\r\n"
    writer.close()


@pytest.mark.covers("promises/journal", "of a client that left")
async def test_disconnected_client_is_recorded(start: Start) -> None:
    running = await start("latency: {ttft: 1h}\n", vendors=[TOY])
    clock = running.built.clock
    assert isinstance(clock, FrozenClock)
    _, writer = await toy_stream(running, 4)
    writer.close()
    await writer.wait_closed()
    app = running.built.apps[0]
    while app.service.metrics.in_flight():
        await asyncio.sleep(0)
    (entry,) = running.built.journal
    assert (entry.status, entry.whole, entry.client_left) == (200, False, True)
    assert clock.now() - entry.time < 3600


RULES = """\
rules:
  - name: greetings are refused
    when: {prompt: {contains: Hi}}
    error: {kind: overloaded, status: 503, message: later, headers: {X-Why: busy}}
  - name: 固定
    when: {vendor: toy, endpoint: /chat}
    reply: {text: Fixed answer}
  - name: echo is hidden
    when: {endpoint: /echo}
    error: {kind: not_found}
"""


@pytest.mark.covers("language/outcomes", "error")
async def test_rule_returns_error(start: Start) -> None:
    running = await start(RULES, vendors=[TOY])
    answer = await ask(running, "/chat", {"prompt": "Hi there"})
    assert (answer.status, answer.header("X-Why")) == (503, "busy")
    assert answer.header("x-emulator-rule") == "greetings are refused"
    assert b"overloaded: later" in answer.body


@pytest.mark.covers("language/outcomes", "reply")
async def test_rule_returns_fixed_reply(start: Start) -> None:
    running = await start(RULES, vendors=[TOY])
    answer = await ask(running, "/chat", {"prompt": "Bye"})
    assert answer.body == b"Fixed answer"
    assert answer.header("x-emulator-rule") == "%E5%9B%BA%E5%AE%9A"


@pytest.mark.covers("language/keys of a reply", "template")
async def test_reply_template_is_filled_from_request(start: Start) -> None:
    text = "{session}: {prompt} to {model}, {attempt} by {header.x-key} at {now}"
    running = await start(f"rules: [{{name: r, reply: {{template: true, text: '{text}'}}}}]", vendors=[TOY])
    headers = {"x-key": "k", "x-emulator-session": "s"}
    bodies = [(await running.ask("toy", "/chat", {"prompt": "Hi"}, headers=headers)).body for _ in range(2)]
    said = "s: Hi to toy, {} by … at 2026-01-01T00:00:00.000Z"
    assert bodies == [said.format(1).encode(), said.format(2).encode()]


async def test_rule_applies_to_catalogue_routes(start: Start) -> None:
    running = await start(RULES, vendors=[TOY])
    assert (await ask(running, "/echo")).status == 404


@pytest.mark.covers("promises/journal", "an entry for each call")
async def test_every_call_is_recorded_and_counted(toy: Running) -> None:
    await ask(toy, "/chat", {"prompt": "Hi", "max": 5})
    await ask(toy, "/nowhere")
    await ask(toy, "/chat", b"{")
    first, second, third = toy.built.journal
    assert (first.vendor, first.status, first.deployment, first.completion_tokens) == ("toy", 200, "toy", 5)
    assert (second.status, second.error) == (404, "not_found")
    assert (third.status, third.error) == (400, "invalid_request")
    metrics = toy.built.apps[0].service.metrics
    assert (metrics.total("requests"), metrics.total("failed"), metrics.total("completion_tokens")) == (3, 2, 5)
    assert metrics.total("failed", error="not_found") == 1
    assert len(metrics.samples("duration")) == 1


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        pytest.param("/_emulator/health", 200, '"status":"ok"', id="health"),
        pytest.param("/_emulator/ready", 200, '"ready":true', id="ready"),
        pytest.param("/_emulator/nothing", 404, "There is no /_emulator/nothing", id="an unknown path of ours"),
    ],
)
@pytest.mark.parametrize("port", ["front", "toy"])
async def test_control_plane_answers_on_every_port(toy: Running, port: str, path: str, status: int, text: str) -> None:
    answer = await toy.ask(port, path)
    assert answer.status == status
    assert text in answer.body.decode()


async def test_unknown_front_path_lists_vendors(toy: Running) -> None:
    answer = await toy.ask("front", "/nobody/chat")
    assert answer.status == 404
    assert "/toy" in answer.json()["detail"]


async def test_control_plane_rejects_other_methods(toy: Running) -> None:
    assert (await toy.ask("front", "/_emulator/health", method="DELETE")).status == 405
