"""Rules of the chat template: that of mistralai/Mistral-7B-Instruct-v0.2, rendered with minijinja 2.8."""

import json

import pytest

from tests.vendors.tgi.direct import CHAT, accept, refuse

ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/..."
ONLY = "Only user and assistant roles are supported!"
OTHER = "deployments: [{vendor: tgi, name: meta-llama/Llama-3.1-8B-Instruct}]\n"
OFF = "deployments: [{vendor: tgi, name: mistralai/Mistral-7B-Instruct-v0.2, traits: {alternates: false}}]\n"
ON = "deployments: [{vendor: tgi, name: own, traits: {alternates: true}}]\n"


@pytest.mark.parametrize(
    ("roles", "text"),
    [
        (["system", "user"], ALTERNATE),
        (["user", "user"], ALTERNATE),
        (["assistant"], ALTERNATE),
        (["user", "assistant", "tool"], ALTERNATE),
        (["user", "assistant", "assistant"], ALTERNATE),
        (["user", "tool"], ONLY),
        (["user", "system", "user"], ONLY),
        (["user", "assistant", "user"], None),
        (["user", "assistant"], None),
        (["user"], None),
        ([], None),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_roles_of_default_model(roles: list[str], text: str | None, stream: bool) -> None:
    body = {"messages": [{"role": role, "content": "x"} for role in roles], "stream": stream}
    for section in ("", ON):
        if text is None:
            accept(CHAT, body, section)
            continue
        answer = refuse(CHAT, body, section)
        expected = {"error": f"Template error: syntax error: {text} (in <string>:1)", "error_type": "template_error"}
        assert (answer.status, json.loads(answer.body)) == (422, expected)
    for section in (OTHER, OFF):
        accept(CHAT, body, section)


@pytest.mark.parametrize(
    "path",
    ["/vertex", "/invocations", "/chat_tokenize"],
)
def test_template_holds_on_every_path(path: str) -> None:
    chat = {"messages": [{"role": "system", "content": "x"}]}
    answer = refuse(path, {"instances": [chat]} if path == "/vertex" else chat)
    assert (answer.status, json.loads(answer.body)["error_type"]) == (422, "template_error")


def test_tools_come_before_template() -> None:
    """``router/src/lib.rs``, try_into_generate."""
    body = {"messages": [{"role": "system", "content": "x"}], "tools": [], "tool_choice": "f"}
    assert json.loads(refuse(CHAT, body).body)["error"] == "Tool error: Tool with name f not found"
