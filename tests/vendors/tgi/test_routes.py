"""Routing of requests."""

import pytest

from emulator.core.calls import InferenceCall
from emulator.vendors.tgi.routes import VENDOR
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import OLD, PROMPT, accept, refuse, send


def test_invocations_accept_three_forms() -> None:
    answer = refuse("/invocations", {"neither": 1})
    assert "data did not match any variant of untagged enum SagemakerRequest" in answer.body.decode()
    for form in ({"inputs": "x"}, {"messages": [{"role": "user", "content": "x"}]}, {"prompt": "x"}):
        assert isinstance(send("/invocations", form), InferenceCall)


@pytest.mark.parametrize(
    ("scenario", "version", "wish", "told"),
    [
        pytest.param("", "1.1", "close", "close", id="3"),
        pytest.param(OLD, "1.1", "close", None, id="0.9.4"),
        pytest.param(OLD, "1.1", "keep-alive", None, id="0.9.4 stays open"),
        pytest.param(OLD, "1.0", "keep-alive", "keep-alive", id="0.9.4 to an old client"),
    ],
)
@pytest.mark.parametrize("path", ["/generate", "/generate_stream", "/nothing"])
async def test_old_release_closes_without_saying_so(
    start: Start, scenario: str, version: str, wish: str, told: str | None, path: str
) -> None:
    """hyper 1.6.0, ``src/proto/h1/conn.rs:690-694``; 0.14.27 of 0.9.4 closes the connection and says nothing."""
    running = await start(scenario)
    head = f"POST {path} HTTP/{version}\r\nContent-Type: application/json\r\nConnection: {wish}\r\n"
    answer = await running.send("tgi", head.encode(), b'{"inputs":"x"}')
    assert answer.header("connection") == (None if version == "1.0" and "stream" in path else told)


MESSAGES = [{"role": "user", "content": PROMPT}]
CALLED = [
    {"role": "user", "content": PROMPT},
    {
        "role": "assistant",
        "tool_calls": [{"id": "call_x", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "user", "content": "1", "tool_call_id": "call_x"},
]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/", {"inputs": PROMPT, "parameters": {"details": True}}, id="root"),
        pytest.param("/v1/chat/completions", {"messages": MESSAGES}, id="chat"),
        pytest.param("/v1/chat/completions", {"messages": CALLED}, id="chat after a foreign call id"),
        pytest.param("/v1/completions", {"prompt": PROMPT}, id="completions"),
    ],
)
def test_equal_requests_decode_equally(path: str, body: JSON) -> None:
    one, other = accept(path, body), accept(path, body)
    assert one.repeatable
    assert (one.request, one.stream, one.prompt_tokens) == (other.request, other.stream, other.prompt_tokens)
    assert one.codec == other.codec


def test_content_type_is_only_relevant_header() -> None:
    assert VENDOR.relevant_headers == ("Content-Type",)


@pytest.mark.covers("mindie/TGI", "routes of 0.9.4")
@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize(
    "path",
    ["/v1/chat/completions", "/v1/completions", "/v1/models", "/tokenize", "/chat_tokenize", "/vertex"],
)
async def test_later_routes_are_missing_in_0_9_4(start: Start, method: str, path: str) -> None:
    running = await start(OLD)
    answer = await running.ask("tgi", path, {"inputs": "x"} if method == "POST" else None, method=method)
    assert (answer.status, answer.body) == (404, b"")
    assert b"allow:" not in answer.head


@pytest.mark.parametrize("path", ["/", "/generate", "/invocations"])
async def test_generate_routes_respond_in_0_9_4(start: Start, path: str) -> None:
    running = await start(OLD)
    assert (await running.ask("tgi", path, {"inputs": "x"})).status == 200


def test_invocations_in_0_9_4_accept_only_inputs() -> None:
    assert isinstance(send("/invocations", {"inputs": "x"}, OLD), InferenceCall)
    assert b"missing field `inputs`" in refuse("/invocations", {"prompt": "x"}, OLD).body


async def test_api_keys_only_tell_callers_apart_in_0_9_4(start: Start) -> None:
    rule = "{name: a, when: {principal: me}, error: {kind: internal}}"
    running = await start(f"{OLD}keys: [{{token: secret, principal: me}}]\nrules: [{rule}]\n")
    for token, status in (("other", 200), ("secret", 500)):
        headers = {"Authorization": f"Bearer {token}"}
        assert (await running.ask("tgi", "/generate", {"inputs": "x"}, headers=headers)).status == status
