"""Every refusal in every profile."""

from collections.abc import Mapping
from typing import get_args

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import dump_text
from emulator.vendors.azure.errors.render import render_late_error
from emulator.vendors.azure.settings import Profile
from tests.conftest import Start
from tests.untyped_json import parse_json
from tests.vendors.azure.service import (
    CHAT,
    HELLO,
    VERSION,
    Refused,
    chat,
    headers_of,
    make_request,
    refuse,
    send,
    serve,
    word,
)

PROFILES = get_args(Profile)
K = ErrorKind
STATUS: Mapping[ErrorKind, int] = {
    K.INVALID_REQUEST: 400,
    K.INVALID_PARAMETER: 422,
    K.UNAUTHENTICATED: 401,
    K.FORBIDDEN: 403,
    K.NOT_FOUND: 404,
    K.METHOD_NOT_ALLOWED: 405,
    K.PAYLOAD_TOO_LARGE: 413,
    K.CONTEXT_LENGTH: 400,
    K.CONTENT_FILTER: 400,
    K.RATE_LIMITED: 429,
    K.OVERLOADED: 503,
    K.NOT_READY: 503,
    K.TIMEOUT: 504,
    K.INTERNAL: 500,
}
OTHERS: Mapping[str, Mapping[ErrorKind, int]] = {
    "foundry": {K.CONTEXT_LENGTH: 413, K.TIMEOUT: 408},
    "aoai": {K.INVALID_PARAMETER: 400, K.TIMEOUT: 408},
}


PATHS = [
    pytest.param("messages[0].content", ["messages", 0, "content"], "Hello", id="a member of a list's element"),
    pytest.param("response_format.type", ["response_format", "type"], None, id="a member that was not sent"),
    pytest.param("tools[3]", ["tools", 3], None, id="an element that was not sent"),
]


@pytest.mark.parametrize("message", [None, "Own words"])
@pytest.mark.parametrize(("param", "loc", "value"), PATHS)
@pytest.mark.parametrize("profile", ["seed", "maas", "aoai"])
async def test_parameter_of_a_rule_may_be_a_path(
    start: Start, profile: str, param: str, loc: list[str | int], value: str | None, message: str | None
) -> None:
    """Source: seed, ``Detail``: ``loc`` is the parameter, ``value`` what was passed to it."""
    error = {"kind": "invalid_parameter", "param": param} | ({"message": message} if message else {})
    head = f"vendors: {{azure: {{profile: {profile}}}}}\n"
    running = await start(f"{head}rules: [{{name: r, error: {dump_text(error)}}}]\n")
    refused = (await running.ask("azure", CHAT, HELLO, headers={"api-key": "k"})).json()
    if profile == "aoai":
        assert (refused["error"]["param"], refused["error"]["code"]) == (param, "invalid_value")
        assert refused["error"]["message"] == (message or f"Invalid value for '{param}'.")
        return
    assert refused["message"] == (message or "One of the parameters contain invalid values.")
    if profile == "maas":
        assert refused["detail"] == {"loc": ["body", *loc], "input": value}
    else:
        shown = "null" if value is None else value
        assert refused["detail"] == {"loc": ["body", *map(str, loc)], "value": shown, "input": value}


@pytest.mark.covers("language/error kinds", "invalid_request", "method_not_allowed")
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", ErrorKind)
def test_every_error_kind_is_rendered(kind: ErrorKind, profile: str) -> None:
    response = word(EmulatedError(kind), f"profile={profile}")
    assert response.status == OTHERS.get(profile, {}).get(kind, STATUS[kind])
    if (profile, kind) != ("maas", K.NOT_FOUND):
        assert parse_json(response.body)
    assert ("Retry-After" in headers_of(response)) is (kind is K.RATE_LIMITED)


@pytest.mark.parametrize("profile", PROFILES)
class TestOverrides:
    def test_message_and_status(self, profile: str) -> None:
        response = word(EmulatedError(K.INTERNAL, "out of paper", status=507), f"profile={profile}")
        assert response.status == 507
        assert b"out of paper" in response.body

    def test_json_body(self, profile: str) -> None:
        response = word(EmulatedError(K.INTERNAL, body={"a": 1}), f"profile={profile}")
        assert (response.body, headers_of(response)["Content-Type"]) == (b'{"a":1}', "application/json")

    def test_text_body(self, profile: str) -> None:
        response = word(EmulatedError(K.INTERNAL, body="oh"), f"profile={profile}")
        assert (response.body, headers_of(response)["Content-Type"]) == (b"oh", "text/plain; charset=utf-8")

    @pytest.mark.covers("azure/headers of an answer", "retry-after")
    @pytest.mark.covers("azure/traps", "Retry-After on 429 alone")
    def test_retry_after_is_rounded_up_to_seconds(self, profile: str) -> None:
        error = EmulatedError(K.OVERLOADED, retry_after=1.2)
        assert headers_of(word(error, f"profile={profile}"))["Retry-After"] == "2"


@pytest.mark.covers("azure/errors", "405")
def test_wrong_method_returns_allow_header() -> None:
    for profile in PROFILES:
        refused = send(HELLO, CHAT, f"profile={profile}", method="PUT")
        assert isinstance(refused, Refused)
        assert (refused.status, refused.headers["Allow"]) == (405, "POST")


def test_unknown_path_is_not_found() -> None:
    assert refuse(HELLO, f"/nowhere{VERSION}").status == 404


@pytest.mark.parametrize("profile", PROFILES)
def test_error_with_infinite_number_is_valid_json(profile: str) -> None:
    body = b'{"messages":[{"role":"user","content":"x"}],"max_tokens":1e400}'
    refused = refuse(body, CHAT, f"profile={profile}")
    assert refused.status in (400, 422)
    assert refused.json()


@pytest.mark.parametrize(("number", "said"), [(b"1e999", "Infinity"), (b"-1e999", "-Infinity"), (b"9", "9")])
@pytest.mark.parametrize("field", [b"temperature", b"frequency_penalty"])
def test_error_names_an_infinite_number(number: bytes, said: str, field: bytes) -> None:
    body = b'{"model":"gpt-4o","messages":[{"role":"user","content":"x"}],"%s":%s}' % (field, number)
    assert refuse(body, "/openai/v1/chat/completions").json()["error"]["message"].endswith(f", but got {said} instead.")


@pytest.mark.parametrize("body", [b"{bad", b"[]"], ids=["no JSON", "no object"])
def test_injected_error_needs_no_valid_body(body: bytes) -> None:
    error = EmulatedError(K.INVALID_PARAMETER, param="seed")
    assert parse_json(word(error, body=body).body)["detail"]["loc"] == ["body", "seed"]


@pytest.mark.covers("azure/streams", "failed midway")
@pytest.mark.parametrize(
    ("profile", "event"),
    [
        pytest.param(
            "managed", "event: error\ndata: Error parsing decoded stream: oh no\n\ndata: [DONE]\n\n", id="managed"
        ),
        pytest.param("aoai", 'data: {"error":{"code":"InternalServerError","message":"oh no"}}\n\n', id="aoai"),
        pytest.param(
            "maas",
            'data: {"error":{"code":"Internal Server Error","message":"oh no","status":500}}\n\n',
            id="maas",
        ),
        pytest.param(
            "seed",
            'data: {"status":500,"code":"InternalServerError","error":"Internal Server Error","message":"oh no",'
            '"param":""}\n\n',
            id="seed",
        ),
    ],
)
def test_late_errors(profile: str, event: str) -> None:
    error = EmulatedError(ErrorKind.INTERNAL, "oh no")
    service = serve(f"profile={profile}")
    assert render_late_error(error, make_request(CHAT, chat()), service).decode() == event


def test_late_error_without_json_has_message() -> None:
    error = EmulatedError(ErrorKind.NOT_FOUND)
    event = render_late_error(error, make_request(CHAT, chat()), serve("profile=maas"))
    assert event == b'data: {"error":{"message":"NOT FOUND"}}\n\n'


@pytest.mark.parametrize("target", ["/openai/v1/responses", f"/openai/responses{VERSION}"])
@pytest.mark.parametrize(("kind", "code"), [("internal", "server_error"), ("rate_limited", "rate_limit_exceeded")])
async def test_late_error_of_response_stream_is_its_typed_closing_event(
    start: Start, target: str, kind: str, code: str
) -> None:
    fault = f"{{type: late_error, after_tokens: 2, kind: {kind}, message: oh no}}"
    running = await start(f"rules: [{{name: fails, faults: [{fault}]}}]\n")
    body = {"model": "gpt-4o", "input": "Hello", "stream": True}
    answer = await running.ask("azure", target, body, headers={"api-key": "k"})
    events = [event.split("\n") for event in answer.body.decode().strip().split("\n\n")]
    first, last = (parse_json(event[1].removeprefix("data: ")) for event in (events[0], events[-1]))
    assert (events[-1][0], last["type"]) == ("event: response.failed", "response.failed")
    assert last["sequence_number"] == len(events) - 1
    failed = last["response"]
    assert (failed["status"], failed["error"]) == ("failed", {"code": code, "message": "oh no"})
    assert {name: failed[name] for name in ("id", "created_at", "model")} == {
        name: first["response"][name] for name in ("id", "created_at", "model")
    }
