"""Requests that count as equal, but differ in what parsing reads: none changes the content of another's answer."""

import json
from dataclasses import dataclass, field

import pytest

from tests.conftest import Start
from tests.http_client import Running
from tests.untyped_json import JSON

_SAID: list[JSON] = [{"role": "user", "content": "Tell me of the tides."}]
_AZURE = "/chat/completions?api-version=2024-05-01-preview"
_MODEL = "azureml-model-deployment"


def write_schema(*names: str) -> bytes:
    members: JSON = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in names},
        "required": [*names],
    }
    form: JSON = {"type": "json_schema", "json_schema": {"name": "a", "schema": members, "strict": True}}
    return json.dumps({"messages": _SAID, "response_format": form}).encode()


@dataclass(frozen=True)
class Asked:
    vendor: str
    path: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def azure(body: bytes = json.dumps({"messages": _SAID}).encode(), **headers: str) -> Asked:
    return Asked("azure", _AZURE, body, {name.replace("_", "-"): value for name, value in headers.items()})


def openvino(options: bytes) -> Asked:
    said = json.dumps(_SAID).encode()
    return Asked("openvino", "/v3/chat/completions", b'{"model": "llama3", "messages": %b, %b}' % (said, options))


PAIRS = [
    pytest.param(
        azure(azureml_model_deployment="mistral-small-2503"),
        azure(azureml_model_deployment="Mistral-large-2411"),
        id="deployment in a header",
    ),
    pytest.param(azure(write_schema("a", "b")), azure(write_schema("b", "a")), id="order of a schema"),
    pytest.param(openvino(b'"max_tokens": 3, "max_tokens": 5'), openvino(b'"max_tokens": 5'), id="a key twice"),
]


async def ask(running: Running, asked: Asked) -> JSON:
    lines = "".join(f"{name}: {value}\r\n" for name, value in asked.headers.items())
    head = f"POST {asked.path} HTTP/1.1\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\n{lines}"
    answer = await running.send(asked.vendor, head.encode(), asked.body)
    assert answer.status == 200, answer.body
    return answer.json()["choices"][0]["message"]


@pytest.mark.parametrize(("one", "other"), PAIRS)
async def test_almost_equal_requests_keep_their_content(start: Start, one: Asked, other: Asked) -> None:
    alone, together = await start(), await start()
    expected = [await ask(alone, other) for _ in range(3)]
    for _ in range(2):
        await ask(together, one)
    assert [await ask(together, other) for _ in range(3)] == expected
    assert expected[0] != await ask(alone, one)


async def test_context_of_data_sources_is_of_the_own_question(start: Start) -> None:
    running = await start()
    path = "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
    key: JSON = {"type": "api_key", "key": "k"}
    index: JSON = {"endpoint": "https://a.search.windows.net", "index_name": "i", "authentication": key}
    for said in ("one", "two", "three"):
        source: JSON = {"type": "azure_search", "parameters": index}
        body: JSON = {"messages": [{"role": "user", "content": said}], "data_sources": [source]}
        message = await ask(running, Asked("azure", path, json.dumps(body).encode()))
        assert json.loads(message["context"]["intent"]) == [said]


@pytest.mark.parametrize("first", ["", "content_filter_results: false"])
async def test_given_switches_of_two_scenarios_stay_apart(start: Start, first: str) -> None:
    path = "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
    body = {"messages": _SAID}
    for switch in (first, "content_filter_results: false" if not first else ""):
        running = await start(f"vendors: {{azure: {{{switch}}}}}")
        answer = await running.ask("azure", path, body, headers={"api-key": "k"})
        assert ("prompt_filter_results" in answer.json()) is not bool(switch)
