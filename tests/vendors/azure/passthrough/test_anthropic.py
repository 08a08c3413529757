"""Claude in Anthropic's own words."""

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Response
from emulator.vendors.azure.errors.render import render_late_error
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.chat.plans import HELLO, REQUEST
from tests.vendors.azure.service import Refused, accept, make_request, refuse, send, serve

MESSAGES = "/anthropic/v1/messages"


def ask(**fields: JSON) -> JSON:
    return {"model": "claude-sonnet-4-5", "max_tokens": 20, "messages": [{"role": "user", "content": "Hi"}], **fields}


@pytest.mark.covers("azure/routes", "anthropic/v1/messages")
@pytest.mark.parametrize("profile", ["seed", "maas", "foundry", "aoai"])
def test_message(profile: str) -> None:
    call = accept(ask(), MESSAGES, f"profile={profile}")
    body = parse_json(call.codec.render(HELLO, REQUEST).body)
    assert (body["type"], body["role"], body["model"]) == ("message", "assistant", "claude-sonnet-4-5")
    assert body["usage"]["output_tokens"] == 4


def test_anthropic_key_header_is_accepted() -> None:
    assert not isinstance(send(ask(), MESSAGES, headers={"api-key": "", "x-api-key": "k"}), Refused)


def test_count_tokens_returns_input_tokens() -> None:
    answer = send({"model": "claude-sonnet-4-5", "messages": ask()["messages"]}, f"{MESSAGES}/count_tokens")
    assert isinstance(answer, Response)
    assert parse_json(answer.body)["input_tokens"] > 0


@pytest.mark.parametrize(
    ("body", "headers", "status", "kind", "text"),
    [
        pytest.param(ask(), {"api-key": "0"}, 401, "authentication_error", "invalid x-api-key", id="no key"),
        pytest.param(ask(model="nobody"), {}, 404, "not_found_error", "model: nobody", id="an unknown name"),
        pytest.param(ask(model="gpt-4o"), {}, 404, "not_found_error", "model: gpt-4o", id="no Claude"),
        pytest.param(ask(max_tokens=None), {}, 400, "invalid_request_error", "max_tokens: Field required", id="no end"),
        pytest.param({}, {}, 400, "invalid_request_error", "model: Field required", id="no model"),
        pytest.param(b"{", {}, 400, "invalid_request_error", "JSON", id="no JSON"),
        pytest.param(
            ask(model="claude-opus-5-5", top_p=0.5),
            {},
            400,
            "invalid_request_error",
            "top_p is not",
            id="with a choice",
        ),
    ],
)
def test_invalid_requests_are_refused(body: JSON, headers: dict[str, str], status: int, kind: str, text: str) -> None:
    refused = refuse(body, MESSAGES, headers=headers)
    error = refused.json()
    assert (refused.status, error["type"], error["error"]["type"]) == (status, "error", kind)
    assert text in error["error"]["message"]


def test_claude_is_served_only_by_messages_api() -> None:
    assert refuse(ask(), "/openai/v1/chat/completions").json()["error"]["code"] == "OperationNotSupported"
    assert refuse(ask(), "/anthropic/v1/models/x/messages").status == 404


def test_late_error_is_error_event() -> None:
    error = EmulatedError(ErrorKind.OVERLOADED)
    data = render_late_error(error, make_request(MESSAGES, ask()), serve())
    assert data.startswith(b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"')
