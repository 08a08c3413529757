"""Error responses of TGI, by kind and by scenario override."""

import asyncio
import json

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.vendors.tgi.errors import render_error, render_late_error
from emulator.vendors.tgi.routes import VENDOR, measure_prompts
from tests.conftest import Start
from tests.ratelimit.clients import move
from tests.untyped_json import JSON
from tests.vendors.client import make_service
from tests.vendors.tgi.direct import CHAT, HELLO, OLD, PROMPT

REQUEST = Request(method="POST", path="/generate")
STREAM = Request(method="POST", path="/generate_stream")


def word(kind: ErrorKind, request: Request = REQUEST, **fields: JSON) -> Response:
    return render_error(EmulatedError(kind, **fields), request, make_service(VENDOR), measure_prompts)


@pytest.mark.covers("language/error kinds", "invalid_parameter", "payload_too_large", "not_ready")
@pytest.mark.parametrize("kind", list(ErrorKind))
def test_every_error_kind_is_rendered(kind: ErrorKind) -> None:
    answer = word(kind)
    assert 400 <= answer.status < 600
    bare = kind in (ErrorKind.UNAUTHENTICATED, ErrorKind.NOT_FOUND, ErrorKind.METHOD_NOT_ALLOWED)
    assert bool(answer.body) is not bare


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_overrides_apply_to_every_error_kind(kind: ErrorKind) -> None:
    answer = word(kind, status=418, message="short and stout", retry_after=1.2)
    assert answer.status == 418
    assert b"short and stout" in answer.body
    assert dict(answer.headers)["retry-after"] == "2"
    assert word(kind, body={"a": 1}).body == b'{"a":1}'
    assert word(kind, body="as it is").body == b"as it is"


@pytest.mark.covers("mindie/TGI beside it", "error_type")
@pytest.mark.covers("mindie/TGI", "statuses")
@pytest.mark.parametrize(
    ("kind", "status", "text", "error_type"),
    [
        pytest.param(ErrorKind.OVERLOADED, 429, "Model is overloaded", "overloaded", id="overloaded"),
        pytest.param(ErrorKind.RATE_LIMITED, 429, "Model is overloaded", "overloaded", id="no quotas of its own"),
        pytest.param(ErrorKind.NOT_READY, 503, "unhealthy", "healthcheck", id="not ready"),
        pytest.param(ErrorKind.INTERNAL, 500, "Incomplete generation", "incomplete_generation", id="internal"),
    ],
)
def test_error_messages(kind: ErrorKind, status: int, text: str, error_type: str) -> None:
    answer = word(kind)
    assert answer.status == status
    assert json.loads(answer.body) == {"error": text, "error_type": error_type}


def test_injected_stream_error_is_event() -> None:
    answer = word(ErrorKind.OVERLOADED, STREAM)
    assert (answer.status, answer.chunked) == (200, True)
    assert answer.body == b'data: {"error":"Model is overloaded","error_type":"overloaded"}\n\n'
    assert word(ErrorKind.OVERLOADED, STREAM, status=503).status == 503


def test_stream_failure_is_event() -> None:
    error = EmulatedError(ErrorKind.TIMEOUT)
    event = render_late_error(error, STREAM, make_service(VENDOR))
    assert json.loads(event.removeprefix(b"data: "))["error_type"] == "generation"


@pytest.mark.covers("mindie/TGI", "keys")
async def test_keys(start: Start) -> None:
    running = await start("keys: [{token: Secret, principal: someone}]\n")

    async def status(path: str, header: str | None, body: JSON = None) -> int:
        headers = {} if header is None else {"Authorization": header}
        return (await running.ask("tgi", path, body, headers=headers)).status

    body = {"inputs": PROMPT}
    assert await status("/generate", None, body) == 401
    assert await status("/generate", "Bearer wrong", body) == 401
    assert await status("/generate", "bearer secret", body) == 200
    assert await status("/info", None) == 200
    answer = await running.ask("tgi", "/generate", body)
    assert answer.body == b""


async def test_without_keys_every_request_is_accepted(start: Start) -> None:
    assert (await (await start()).ask("tgi", "/generate", {"inputs": PROMPT})).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        pytest.param("GET", "/generate", 405, "POST", id="another method"),
        pytest.param("DELETE", "/", 405, "POST,GET,HEAD", id="a path with two methods"),
        pytest.param("GET", "/nowhere", 404, None, id="an unknown path"),
    ],
)
async def test_route_miss(start: Start, method: str, path: str, status: int, allow: str | None) -> None:
    answer = await (await start()).ask("tgi", path, method=method)
    assert (answer.status, answer.body) == (status, b"")
    assert answer.header("allow") == allow


KEYS = "keys: [{token: Secret, principal: someone}]\n"


@pytest.mark.parametrize(
    ("path", "allow"),
    [("/generate", "POST"), ("/", "POST,GET,HEAD"), ("/info", "GET,HEAD"), ("/nowhere", None)],
)
async def test_preflight(start: Start, path: str, allow: str | None) -> None:
    """tower-http 0.5.2, ``src/cors/mod.rs``: it is answered before keys and routes."""
    for section in ("", KEYS):
        answer = await (await start(section)).ask("tgi", path, method="OPTIONS")
        assert (answer.status, answer.body) == (200, b"")
        assert answer.header("access-control-allow-methods") == "GET,POST"
        assert answer.header("allow") == allow


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("PUT", "/", 405, "POST,GET,HEAD"),
        ("PUT", "/generate", 401, "POST"),
        ("GET", "/vertex", 401, "POST"),
        ("GET", "/", 200, None),
        ("POST", "/", 401, None),
        ("PUT", "/info", 405, "GET,HEAD"),
        ("GET", "/nowhere", 404, None),
        ("PURGE", "/", 405, "POST,GET,HEAD"),
        ("PURGE", "/nowhere", 404, None),
        ("POST", "/%67enerate", 404, None),
        ("POST", "/generate/", 404, None),
    ],
)
async def test_methods_and_keys(start: Start, method: str, path: str, status: int, allow: str | None) -> None:
    """``router/src/server.rs:2213-2236``: keys lie around the routes that only post; ``/`` has others, too."""
    running = await start(KEYS)
    answer = await running.ask("tgi", path, {} if method == "POST" else None, method=method)
    assert (answer.status, answer.header("allow")) == (status, allow)


@pytest.mark.covers("mindie/TGI", "limits of the launcher")
async def test_payload_above_limit_is_rejected(start: Start) -> None:
    """``launcher/src/main.rs`` (payload_limit): 2 MB; axum 0.6 of 0.9.4: 2 MiB."""
    large = {"inputs": "", "x": "a" * 2_000_000}
    running = await start()
    answer = await running.ask("tgi", "/generate", large)
    assert (answer.status, answer.body) == (413, b"Failed to buffer the request body: length limit exceeded")
    assert answer.head.startswith(b"HTTP/1.1 413 Payload Too Large\r\n")
    kinds = {"Content-Type": "text/plain"}
    assert (await running.ask("tgi", "/generate", large, headers=kinds)).status == 415
    old = await start(OLD)
    assert (await running.ask("tgi", "/chat_tokenize", large)).status == 413
    assert (await old.ask("tgi", "/generate", large)).status == 422
    larger = {"x": "a" * 2_200_000}
    for app in (running, old):
        answers = [await app.ask("tgi", path, larger) for path in ("/nowhere", "/info", "/generate")]
        assert [answer.status for answer in answers] == [404, 405, 413]
    locked = await start(KEYS)
    assert (await locked.ask("tgi", "/generate", larger)).status == 401


OVERLOAD = "vendors: {tgi: {max_concurrent_requests: 1}}\nlatency: {ttft: 10s}\n"
BUSY = "Model is overloaded"
LONG = "tide " * 5000


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        ("/generate", b"{", 400, "EOF while parsing an object"),
        ("/generate", {"inputs": 5}, 422, "invalid type: integer `5`"),
        ("/generate", {"inputs": "x", "parameters": {"best_of": 3}}, 422, "`best_of` must be > 0 and <= 2"),
        ("/generate_stream", {"inputs": "x", "parameters": {"best_of": 2}}, 200, "`best_of` != 1"),
        ("/generate", {"inputs": "x", "parameters": {"top_p": 5.0}}, 429, BUSY),
        ("/generate", {"inputs": ""}, 429, BUSY),
        ("/generate", {"inputs": "x"}, 429, BUSY),
        ("/generate_stream", {"inputs": "x"}, 200, BUSY),
        ("/vertex", {"instances": []}, 422, "Input validation error"),
        ("/vertex", {"instances": [{"inputs": "x"}]}, 500, "Incomplete generation"),
        (CHAT, {"messages": HELLO, "tools": [], "tool_choice": "f"}, 422, "Tool with name f not found"),
        (CHAT, {"messages": [*HELLO, *HELLO]}, 422, "Template error"),
        (CHAT, {"messages": HELLO}, 429, BUSY),
        ("/v1/completions", {"prompt": "x", "suffix": "y"}, 422, "Suffix is not supported"),
        ("/v1/completions", {"prompt": ["x", "y"]}, 429, BUSY),
        ("/tokenize", {"inputs": "x"}, 200, '"start"'),
    ],
)
async def test_order_under_overload(start: Start, path: str, body: JSON, status: int, text: str) -> None:
    """``router/src/infer/mod.rs:112-141``: a place is taken behind the body, tools and template, before the rest."""
    running = await start(OVERLOAD)
    call = asyncio.create_task(running.ask("tgi", "/generate", {"inputs": "first"}))
    while not running.built.runtime.metrics["tgi"].working("mistralai/Mistral-7B-Instruct-v0.2"):
        await asyncio.sleep(0.001)
    answer = await running.ask("tgi", path, body)
    assert (answer.status, text in answer.body.decode()) == (status, True), answer.body
    move(running, 10)
    await call


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/completions", {"prompt": ["x", "y"]}),
        ("/v1/completions", {"prompt": ["x", "y"], "stream": True}),
        ("/vertex", {"instances": [{"inputs": "x"}, {"inputs": "y"}]}),
        ("/generate", {"inputs": "x", "parameters": {"best_of": 2, "do_sample": True}}),
    ],
)
async def test_each_answer_takes_a_place(start: Start, path: str, body: JSON) -> None:
    answer = await (await start("vendors: {tgi: {max_concurrent_requests: 1}}\n")).ask("tgi", path, body)
    assert answer.status in (429, 500) or BUSY in answer.body.decode()
    assert (await (await start("vendors: {tgi: {max_concurrent_requests: 2}}\n")).ask("tgi", path, body)).status == 200


@pytest.mark.parametrize(
    ("capacity", "prompts", "events"),
    [
        pytest.param(3, ["a", "b", "c"], ["0", "1", BUSY, "0", "1", "0", "1"], id="two of three free"),
        pytest.param(2, ["a", "b"], ["0", BUSY, "0", "0"], id="one of two free"),
        pytest.param(1, ["a", "b", "c"], [BUSY] * 3, id="none free"),
        pytest.param(2, ["", "b", "c"], ["empty", "1", BUSY, "1", "1"], id="an empty prompt takes no place"),
        pytest.param(2, [LONG, "b"], ["long", BUSY], id="one that is too long takes a place"),
        pytest.param(1, ["", "b"], [BUSY, BUSY], id="none free, even for an empty prompt"),
        pytest.param(5, ["a", "b"], ["0", "1"] * 3, id="all free"),
    ],
)
async def test_prompts_of_stream_without_place_err(
    start: Start, capacity: int, prompts: list[str], events: list[str]
) -> None:
    """``router/src/server.rs:789-905`` (completions): each prompt is a stream that takes a place of its own."""
    running = await start(
        f"vendors: {{tgi: {{max_concurrent_requests: {capacity}}}}}\n"
        "rules:\n"
        "- {name: slow, when: {prompt: first}, reply: {text: x}, latency: {ttft: 10s}}\n"
        "- {name: fixed, reply: {text: one two}}\n"
    )
    body = {"prompt": prompts, "stream": True}
    before = await running.ask("tgi", "/v1/completions", body)  # an equal request when there were places
    assert capacity < len(prompts) or BUSY not in before.body.decode()
    call = asyncio.create_task(running.ask("tgi", "/generate", {"inputs": "first"}))
    while not running.built.runtime.metrics["tgi"].working("mistralai/Mistral-7B-Instruct-v0.2"):
        await asyncio.sleep(0.001)
    answer = await running.ask("tgi", "/v1/completions", body)
    move(running, 10)
    await call
    assert [name_event(event) for event in answer.body.decode().split("\n\n")[:-2]] == events
    assert answer.status == 200


def name_event(event: str) -> str:
    """Return the index of the choice in an event, or what its error is about."""
    data = json.loads(event.removeprefix("data: "))
    if "error" in data:
        assert data["error"]["http_status_code"] == 422
        message = data["error"]["message"]
        return BUSY if message == BUSY else "empty" if "empty" in message else "long"
    return str(data["choices"][0]["index"])


@pytest.mark.parametrize("profile", ["3", "0.9.4"])
async def test_loading_model_returns_503_on_every_route(start: Start, profile: str) -> None:
    running = await start(
        f"vendors: {{tgi: {{profile: '{profile}'}}}}\n"
        "deployments: [{vendor: tgi, name: own, tokenizer: mistral, state: {loading: 20s}}]\n"
    )
    asked: dict[str, JSON] = {"/generate": {"inputs": PROMPT}, "/": {"inputs": PROMPT}}
    routes = ["/health", "/info"]
    if profile == "3":
        chat: JSON = {"model": "tgi", "messages": [{"role": "user", "content": PROMPT}]}
        asked |= {"/v1/chat/completions": chat, "/chat_tokenize": chat, "/tokenize": {"inputs": PROMPT}}
        routes += ["/v1/models", "/ping", "/"]
    for status in (503, 200):
        answers = [await running.ask("tgi", path) for path in routes]
        answers += [await running.ask("tgi", path, body) for path, body in asked.items()]
        assert [answer.status for answer in answers] == [status] * len(answers)
        if status == 503:
            assert all(answer.json() == {"error": "unhealthy", "error_type": "healthcheck"} for answer in answers)
        running.built.runtime.advance(20.0)
