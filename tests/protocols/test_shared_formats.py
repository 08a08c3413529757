"""A facet sees every dialect alike: one rule about a conversation, in the words of every vendor's routes."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON

PARAMETERS: JSON = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION: JSON = {"name": "get_weather", "description": "The weather.", "parameters": PARAMETERS}
CALL: JSON = {"id": "call_123", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
CHAT: JSON = {
    "messages": [
        {"role": "system", "content": "Be terse."},
        {"role": "user", "content": "How is the weather?"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_123", "content": "22 degrees"},
    ],
    "tools": [{"type": "function", "function": FUNCTION}],
    "max_tokens": 50,
}
SYSTEM: JSON = {"role": "system", "content": "Be terse."}
RESPONSE: JSON = {
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "How is the weather?"}]},
        {"type": "function_call", "call_id": "call_123", "name": "get_weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_123", "output": "22 degrees"},
    ],
    "tools": [{"type": "function", **FUNCTION}],
    "max_output_tokens": 50,
}
AGREE = """\
vendors: {openvino: {profile: "2026.3"}}
deployments: [{vendor: tgi, name: own}]
rules:
- name: agrees
  when:
    task: chat
    stream: false
    structured: false
    multimodal: false
    prompt: {prefix: How is, suffix: "?"}
    system: Be terse.
    tools: get_*
    tool_result: {contains: degrees}
    max_tokens: {above: 49, below: 51}
    messages: 4
    prompt_tokens: {above: 5, below: 500}
    body_bytes: {above: 100, below: 4KiB}
  error: {kind: internal, status: 418}
"""


@pytest.mark.parametrize(
    ("vendor", "path", "body"),
    [
        pytest.param("databricks", "/serving-endpoints/databricks-gpt-5/invocations", CHAT, id="a chat of Databricks"),
        pytest.param(
            "databricks",
            "/serving-endpoints/responses",
            {**RESPONSE, "model": "databricks-gpt-5", "instructions": "Be terse."},
            id="a response of Databricks",
        ),
        pytest.param("azure", "/chat/completions?api-version=2024-05-01-preview", CHAT, id="a chat of Azure"),
        pytest.param("mindie", "/v1/chat/completions", {**CHAT, "model": "llama_65b"}, id="a chat of MindIE"),
        pytest.param("tgi", "/v1/chat/completions", {**CHAT, "model": "tgi"}, id="a chat of TGI"),
        pytest.param("openvino", "/v3/chat/completions", {**CHAT, "model": "llama3"}, id="a chat of OpenVINO"),
        pytest.param(
            "openvino",
            "/v3/responses",
            {**RESPONSE, "model": "llama3", "input": [SYSTEM, *RESPONSE["input"]]},
            id="a response of OpenVINO",
        ),
    ],
)
async def test_rule_matches_conversation_of_every_vendor(start: Start, vendor: str, path: str, body: JSON) -> None:
    running = await start(AGREE)
    answer = await running.ask(vendor, path, body, headers={"Authorization": "Bearer k", "api-key": "k"})
    (entry,) = running.built.journal
    failed = [verdict.failed for verdict in entry.explain()]
    assert (answer.status, failed) == (418, [None]), answer.body


@pytest.mark.parametrize(
    ("vendor", "path", "body", "task"),
    [
        pytest.param("tgi", "/generate", {"inputs": "Tell me"}, "chat", id="inputs of TGI"),
        pytest.param("tgi", "/", {"inputs": "Tell me"}, "chat", id="the root of TGI"),
        pytest.param("mindie", "/generate", {"inputs": "Tell me"}, "chat", id="inputs of MindIE"),
        pytest.param("mindie", "/v1/completions", {"model": "llama_65b", "prompt": "Tell me"}, "chat", id="MindIE"),
        pytest.param("openvino", "/v3/completions", {"model": "llama3", "prompt": "Tell me"}, "chat", id="OVMS"),
        pytest.param(
            "databricks",
            "/serving-endpoints/databricks-gte-large-en/invocations",
            {"input": ["Other", "Tell me"]},
            "embeddings",
            id="any input of Databricks",
        ),
        pytest.param(
            "azure",
            "/embeddings?api-version=2024-05-01-preview",
            {"input": ["Tell me", "Other"]},
            "embeddings",
            id="any input of Azure",
        ),
    ],
)
async def test_rule_matches_prompt_of_every_vendor(start: Start, vendor: str, path: str, body: JSON, task: str) -> None:
    running = await start(
        f"rules: [{{name: r, when: {{prompt: Tell me, task: {task}}}, error: {{kind: internal, status: 418}}}}]"
    )
    answer = await running.ask(vendor, path, body, headers={"Authorization": "Bearer k", "api-key": "k"})
    assert answer.status == 418, answer.body
