"""Error responses of MindIE, by kind and by scenario override."""

import json

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import DROPPED, Request
from emulator.vendors.mindie.errors import CLASSES, render_error, render_late_error
from emulator.vendors.mindie.routes import VENDOR
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.client import make_service
from tests.vendors.mindie.direct import PROMPT

REQUEST = Request(method="POST", path="/")


def word(kind: ErrorKind, section: str = "", **fields: JSON) -> tuple[int, bytes, str]:
    answer = render_error(EmulatedError(kind, **fields), REQUEST, make_service(VENDOR, section))
    return answer.status, answer.body, dict(answer.headers).get("Content-Type", "")


@pytest.mark.covers("mindie/other checks", "internal failure")
@pytest.mark.covers("language/error kinds", "forbidden", "content_filter", "internal")
@pytest.mark.parametrize("kind", list(ErrorKind))
@pytest.mark.parametrize("profile", ["strict", "tgi", "motor"])
def test_every_error_kind_has_body(kind: ErrorKind, profile: str) -> None:
    status, body, content_type = word(kind, f"vendors: {{mindie: {{profile: {profile}}}}}\n")
    if kind is ErrorKind.OVERLOADED and profile == "strict":
        assert (status, body) == (DROPPED, b"")
    elif kind is ErrorKind.METHOD_NOT_ALLOWED:
        assert (status, body) == ((400, b"Invalid request\r\n") if profile == "motor" else (404, b""))
    else:
        assert 400 <= status < 600
        assert body
        assert content_type.partition(";")[0] in ("application/json", "text/plain")


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_overrides_replace_status_message_and_body(kind: ErrorKind) -> None:
    status, body, _ = word(kind, status=418, message="short and stout", retry_after=1.2)
    assert status == 418
    assert b"short and stout" in body
    assert word(kind, status=418, body={"a": 1})[:2] == (418, b'{"a":1}')
    assert word(kind, status=418, body="as it is")[:2] == (418, b"as it is")


def test_retry_after_is_rounded_up_to_seconds() -> None:
    error = EmulatedError(ErrorKind.RATE_LIMITED, retry_after=1.2)
    assert dict(render_error(error, REQUEST, make_service(VENDOR)).headers)["Retry-After"] == "2"


@pytest.mark.covers("mindie/error bodies", "400", "404", "422", "424", "500", "503")
@pytest.mark.parametrize(("status", "name"), CLASSES.items())
def test_error_type_follows_status(status: int, name: str) -> None:
    body = word(ErrorKind.INVALID_PARAMETER, status=status, message="no")[1]
    assert body == json.dumps({"error": "no", "error_type": name}, separators=(",", ":")).encode()


@pytest.mark.covers("mindie/error bodies", "other shapes")
@pytest.mark.covers("mindie/decisions", "6 error bodies")
@pytest.mark.parametrize(
    ("shape", "body"),
    [
        pytest.param("class", {"error": "no", "error_type": "Input Validation Error"}, id="as the source has it"),
        pytest.param("bare", {"error": "no"}, id="the message alone"),
        pytest.param("typed", {"type": "Input Validation Error", "error": "no"}, id="the class in front"),
        pytest.param("tgi", {"error": "no", "error_type": "validation"}, id="as TGI has it"),
    ],
)
def test_error_shapes(shape: str, body: JSON) -> None:
    section = f"vendors: {{mindie: {{error_shape: {shape}}}}}\n"
    answer = word(ErrorKind.INVALID_PARAMETER, section, message="no")
    assert json.loads(answer[1]) == body
    assert list(json.loads(answer[1])) == list(body)


@pytest.mark.covers("mindie/Coordinator", "too many requests")
def test_rate_limit_error_is_coordinator_response() -> None:
    assert word(ErrorKind.RATE_LIMITED) == (429, b"Too many requests\r\n", "text/plain")


@pytest.mark.covers("mindie/Coordinator", "not ready", "request timeout", "internal")
@pytest.mark.parametrize(
    ("kind", "status", "body"),
    [
        pytest.param(ErrorKind.NOT_READY, 503, b"MindIE-MS Coordinator is not ready\r\n", id="not ready"),
        pytest.param(ErrorKind.TIMEOUT, 408, b"Request inference timeout\r\n", id="timeout"),
        pytest.param(ErrorKind.INTERNAL, 500, b"Scheduler proc req failed\r\n", id="internal"),
    ],
)
def test_coordinator_errors(kind: ErrorKind, status: int, body: bytes) -> None:
    assert word(kind, "vendors: {mindie: {profile: motor}}\n")[:2] == (status, body)


@pytest.mark.covers("language/error kinds", "overloaded")
async def test_overload_drops_connection(start: Start) -> None:
    running = await start("rules: [{name: busy, error: {kind: overloaded}}]\n")
    with pytest.raises(EOFError):
        await running.ask("mindie", "/", {"inputs": PROMPT})


@pytest.mark.covers("mindie/HTTP", "a route there is not")
@pytest.mark.covers("mindie/vectors", "GET /", case="a known path, another method")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", "/", id="a known path, another method"),
        pytest.param("POST", "/nowhere", id="an unknown path"),
        pytest.param("GET", "/v2/models/llama_65b/versions/1", id="a version, which is documented and not served"),
        pytest.param("DELETE", "/generate", id="an unknown method"),
        pytest.param("POST", "/health", id="a health route with a wrong method"),
    ],
)
async def test_unrouted_path_returns_empty_404(start: Start, method: str, path: str) -> None:
    answer = await (await start()).ask("mindie", path, method=method)
    assert (answer.status, answer.body) == (404, b"")


@pytest.mark.covers("mindie/Coordinator", "memory")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/", '{"error": "Memory limit exceeded", "error_type": "overloaded"}', id="TGI"),
        pytest.param("/generate", '{"error": "Memory limit exceeded", "error_type": "overloaded"}', id="vLLM"),
        pytest.param(
            "/v1/chat/completions",
            '{"error": {"message": "Memory limit exceeded", "type": "server_error", "code": 429}}',
            id="OpenAI",
        ),
        pytest.param("/v2/models/m/infer", '{"error": "Memory limit exceeded", "code": 429}', id="Triton"),
    ],
)
def test_coordinator_overload_is_memory_limit_error(path: str, body: str) -> None:
    request = Request(method="POST", path=path)
    settings = "vendors: {mindie: {profile: motor}}\n"
    response = render_error(EmulatedError(ErrorKind.OVERLOADED), request, make_service(VENDOR, settings))
    assert (response.status, response.body.decode()) == (429, body)
    assert dict(response.headers)["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.covers("mindie/Coordinator", "a path it does not know")
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/nowhere"), ("GET", "/generate"), ("GET", "/v2/models/llama_65b/versions/1")],
)
async def test_coordinator_refuses_unrouted_path(start: Start, method: str, path: str) -> None:
    answer = await (await start("vendors: {mindie: {profile: motor}}\n")).ask("mindie", path, method=method)
    assert (answer.status, answer.body) == (400, b"Invalid request\r\n")
    assert answer.header("Server") == "MindIE-MS"
    assert answer.header("Content-Type") == "text/plain; charset=utf-8"
    assert answer.header("RequestUUID") is None


@pytest.mark.covers("mindie/Coordinator", "what a node says")
async def test_coordinator_forwards_node_errors(start: Start) -> None:
    running = await start("vendors: {mindie: {profile: motor}}\n")
    answer = await running.ask("mindie", "/", {"inputs": PROMPT, "parameters": {"top_p": 1}})
    assert (answer.status, answer.header("Content-Type")) == (422, "application/json; charset=utf-8")
    assert answer.json()["error"] == "Parameter top_p must be in (0.0,1.0], got 1."
    assert answer.header("Server") == "MindIE-MS"
    assert (answer.header("RequestUUID"), answer.header("Connection")) == (None, None)


@pytest.mark.parametrize(
    ("kind", "status", "body"),
    [
        (ErrorKind.OVERLOADED, 429, {"error": "Too many requests", "error_type": "overloaded"}),
        (ErrorKind.RATE_LIMITED, 429, {"error": "Too many requests", "error_type": "overloaded"}),
        (ErrorKind.INTERNAL, 500, {"error": "Server internal error", "error_type": "incomplete_generation"}),
    ],
    ids=["overload", "rate limit", "internal"],
)
def test_tgi_profile_errors(kind: ErrorKind, status: int, body: JSON) -> None:
    answer = word(kind, "vendors: {mindie: {profile: tgi}}\n")
    assert (answer[0], json.loads(answer[1]), answer[2]) == (status, body, "application/json")


def test_overload_with_status_has_body() -> None:
    error = EmulatedError(ErrorKind.OVERLOADED, status=503)
    response = render_error(error, Request(method="POST", path="/"), make_service(VENDOR))
    assert json.loads(response.body) == {
        "error": "Service is alive but busy",
        "error_type": "Service Unavailable",
    }


@pytest.mark.covers("mindie/HTTP", "no key")
async def test_credentials_tell_callers_apart_and_none_is_refused(start: Start) -> None:
    running = await start(
        "keys: [{token: secret, principal: someone}]\n"
        "rules: [{name: a, when: {principal: someone}, error: {kind: internal}}]\n"
    )
    for header, status in (
        ({}, 200),
        ({"Authorization": "Bearer wrong"}, 200),
        ({"Authorization": "bearer secret"}, 500),
    ):
        assert (await running.ask("mindie", "/", {"inputs": PROMPT}, headers=header)).status == status


@pytest.mark.covers("mindie/error bodies", "inside a stream")
@pytest.mark.covers("mindie/decisions", "16 errors of a stream")
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        pytest.param(ErrorKind.TIMEOUT, b"Engine callback timeout: server tokenTimeout", id="timeout"),
        pytest.param(ErrorKind.INTERNAL, b"Failed to get engine response", id="anything else"),
    ],
)
def test_late_error_is_plain_text(kind: ErrorKind, text: bytes) -> None:
    assert render_late_error(EmulatedError(kind), REQUEST, make_service(VENDOR)) == text
    error = EmulatedError(kind, message="own words")
    assert render_late_error(error, REQUEST, make_service(VENDOR)) == b"own words"
