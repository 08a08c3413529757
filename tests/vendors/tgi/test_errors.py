"""Error responses of TGI, by kind and by scenario override."""

import json

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.vendors.tgi.errors import render_error, render_late_error
from emulator.vendors.tgi.routes import VENDOR
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.client import make_service
from tests.vendors.tgi.direct import PROMPT

REQUEST = Request(method="POST", path="/generate")
STREAM = Request(method="POST", path="/generate_stream")


def word(kind: ErrorKind, request: Request = REQUEST, **fields: JSON) -> Response:
    return render_error(EmulatedError(kind, **fields), request, make_service(VENDOR))


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
        pytest.param("DELETE", "/", 405, "GET,HEAD,POST", id="a path with two methods"),
        pytest.param("GET", "/nowhere", 404, None, id="an unknown path"),
    ],
)
async def test_route_miss(start: Start, method: str, path: str, status: int, allow: str | None) -> None:
    answer = await (await start()).ask("tgi", path, method=method)
    assert (answer.status, answer.body) == (status, b"")
    assert answer.header("allow") == allow


async def test_preflight(start: Start) -> None:
    answer = await (await start()).ask("tgi", "/generate", method="OPTIONS")
    assert answer.status == 200
    assert answer.header("access-control-allow-methods") == "GET,POST"


@pytest.mark.covers("mindie/TGI", "limits of the launcher")
async def test_payload_above_2_mb_is_rejected(start: Start) -> None:
    head = b"POST / HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2000001\r\n"
    answer = await (await start()).send("tgi", head)
    assert (answer.status, answer.body) == (413, b"Failed to buffer the request body: length limit exceeded")


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
