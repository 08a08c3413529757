"""Rules of the chat template: that of mistralai/Mistral-7B-Instruct-v0.2, rendered with minijinja 2.8."""

import json
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from emulator import start as begin
from emulator.client import EmulatorClient
from tests.generation.vocabularies import write_folder
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import CHAT, WEATHER, accept, refuse

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


REFUSING = (
    "{{ bos_token }}\n{% for message in messages %}{% if message['role'] == 'system' %}\n{{ raise_exception('No') }}"
)
REFUSING += "{% endif %}{{ message['content'] }}{% endfor %}"


def test_template_of_vocabulary_decides(tmp_path: Path) -> None:
    """``router/src/infer/chat_template.rs:78-137`` (apply): tools go to a template that reads them."""
    folder = write_folder(tmp_path / "model")
    config = {"bos_token": "<s>", "eos_token": "</s>", "chat_template": REFUSING}
    names: dict[str, JSON] = {"vendor": "tgi", "tokenizer": {"file": str(folder)}}
    twice = {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "the cat"}]}
    text = "<s><|system|>x</s><|user|>the cat</s><|assistant|>"
    with begin(deployments=[{**names, "name": "Mistral-7B-Instruct-v0.2"}]) as client:
        shown = ask(client, "/chat_tokenize", twice)[1]
        answer = ask(client, CHAT, twice)[1]
        asked = {**twice, "tools": [WEATHER], "tool_choice": "required", "tool_prompt": "Choose."}
        tools = ask(client, "/chat_tokenize", asked)[1]["templated_text"]
    assert shown["templated_text"] == text
    assert answer["usage"]["prompt_tokens"] == len(shown["tokenize_response"])
    assert tools.startswith('<s><|system|>x</s><|user|>the cat\n---\nChoose.</s>[{"type": "function", ')
    again = folder.rename(tmp_path / "other")
    (again / "tokenizer_config.json").write_text(json.dumps(config))
    names = {"vendor": "tgi", "tokenizer": {"file": str(again)}}
    with begin(deployments=[{**names, "name": "m"}]) as client:
        refused = ask(client, CHAT, twice)
    expected = {"error": "Template error: syntax error: No (in <string>:3)", "error_type": "template_error"}
    assert refused == (422, expected)
    with begin(deployments=[{**names, "name": "m", "traits": {"alternates": False}}]) as client:
        assert ask(client, CHAT, twice)[0] == 200


def ask(client: EmulatorClient, path: str, body: JSON) -> tuple[int, JSON]:
    """Return status and body of a response."""
    request = Request(client.url("tgi") + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urlopen(request) as response:
            return response.status, json.load(response)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)
