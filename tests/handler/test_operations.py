"""What metrics call a request: by its route, as the GenAI conventions name it."""

import re

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON

CHAT: JSON = {"messages": [{"role": "user", "content": "Hello"}]}
MISTRAL = "mistralai/Mistral-7B-Instruct-v0.2"
LLAMA = "databricks-meta-llama-3-3-70b-instruct"
OPERATION = re.compile(r"gen_ai_server_request_duration_seconds_count\{(.*)\} 1\b")


@pytest.mark.parametrize(
    ("vendor", "target", "body", "labels"),
    [
        pytest.param("tgi", "/generate", {"inputs": "Hello"}, ("text_completion", MISTRAL, ""), id="generate"),
        pytest.param("tgi", "/", {"inputs": "Hello"}, ("text_completion", MISTRAL, ""), id="the older route"),
        pytest.param("tgi", "/v1/completions", {"prompt": "Hello"}, ("text_completion", MISTRAL, ""), id="completions"),
        pytest.param("tgi", "/v1/chat/completions", CHAT, ("chat", MISTRAL, ""), id="a chat"),
        pytest.param("mindie", "/generate", {"inputs": "Hello"}, ("text_completion", "llama_65b", ""), id="MindIE"),
        pytest.param(
            "databricks",
            f"/serving-endpoints/{LLAMA}/invocations",
            {"prompt": "Hello"},
            ("text_completion", LLAMA, "invalid_parameter"),
            id="a prompt, which chats refuse",
        ),
        pytest.param(
            "azure",
            "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
            CHAT,
            ("chat", "gpt-4o", ""),
            id="Azure",
        ),
        pytest.param(
            "azure",
            "/openai/v1/embeddings",
            {"model": "nobody", "input": "a"},
            ("embeddings", "_OTHER", "not_found"),
            id="an unknown model",
        ),
        pytest.param(
            "databricks",
            "/serving-endpoints/nobody/invocations",
            CHAT,
            ("chat", "_OTHER", "not_found"),
            id="an unknown endpoint",
        ),
        pytest.param(
            "databricks",
            "/serving-endpoints/nobody/invocations",
            {"prompt": "a"},
            ("text_completion", "_OTHER", "not_found"),
            id="of a completion",
        ),
        pytest.param(
            "openvino",
            "/v3/completions",
            {"model": "nobody", "prompt": "a"},
            ("text_completion", "_OTHER", "not_found"),
            id="an unknown servable",
        ),
        pytest.param("azure", "/openai/v1/nowhere", {}, None, id="no route of a model"),
    ],
)
async def test_metrics_name_operation(
    start: Start, vendor: str, target: str, body: JSON, labels: tuple[str, str, str] | None
) -> None:
    running = await start("")
    await running.ask(vendor, target, body, headers={"Authorization": "Bearer k", "api-key": "k"})
    page = (await running.ask("front", "/_emulator/metrics")).body.decode()
    found = [dict(re.findall(r'(\w+)="([^"]*)"', row)) for row in OPERATION.findall(page)]
    names = ("gen_ai_operation_name", "gen_ai_request_model", "error_type")
    assert [tuple(row.get(name, "") for name in names) for row in found] == ([] if labels is None else [labels])
