"""Claude endpoints by the Messages API."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.databricks.harness import CLAUDE, GPT, Exchange, send

USER = {"role": "user", "content": "Tell me about Paris"}
PATH = "/serving-endpoints/anthropic/v1/messages"
TOOL = {"name": "find", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"city": "x"}}]}


def ask(path: str = PATH, **fields: JSON) -> Exchange:
    body = {"model": CLAUDE, "max_tokens": 12, "messages": [USER], **fields}
    return send(path, {name: value for name, value in body.items() if value != "absent"})


def result(name: str = "toolu_1") -> JSON:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": "sunny"}]}


@pytest.mark.covers("databricks/inference routes", "POST anthropic/v1/messages")
def test_unary_response() -> None:
    body = ask(system=[{"type": "text", "text": "Be brief."}]).body
    assert (body["type"], body["role"], body["model"], body["stop_reason"]) == (
        "message", "assistant", CLAUDE, "max_tokens",
    )  # fmt: skip
    assert body["id"].startswith("msg_01")
    assert [block["type"] for block in body["content"]] == ["text"]
    assert body["usage"]["output_tokens"] == 12
    assert list(body["usage"])[1:3] == ["cache_creation_input_tokens", "cache_read_input_tokens"]


@pytest.mark.covers("databricks/AI gateway routes", "anthropic/v1 messages")
def test_unity_catalog_model_name() -> None:
    assert ask("/ai-gateway/anthropic/v1/messages", model=f"system.ai.{CLAUDE}").status == 200


@pytest.mark.covers("databricks/inference routes", "POST anthropic/v1/messages/count_tokens")
def test_count_tokens_endpoint() -> None:
    counted = ask(f"{PATH}/count_tokens", max_tokens="absent").body
    assert counted == {"input_tokens": ask().body["usage"]["input_tokens"]}
    assert ask(f"{PATH}/count_tokens", tools=[TOOL]).body["input_tokens"] > counted["input_tokens"]


def test_tool_call() -> None:
    body = ask(max_tokens=200, tools=[TOOL], tool_choice={"type": "tool", "name": "find"}).body
    (call,) = body["content"]
    assert (call["type"], call["name"], body["stop_reason"]) == ("tool_use", "find", "tool_use")
    assert call["id"].startswith("toolu_01")
    assert ask(tools=[TOOL], messages=[USER, CALL, result()]).status == 200


def test_json_schema_output() -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], "additionalProperties": False}
    config = {"format": {"type": "json_schema", "schema": schema}}
    assert ask(max_tokens=100, output_config=config).body["content"][0]["text"] == '{"a":1}'


@pytest.mark.covers("databricks/errors", "Claude's own")
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"max_tokens": "absent"}, "max_tokens: Field required", id="no limit"),
        pytest.param({"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1", id="no token"),
        pytest.param({"max_tokens": True}, "max_tokens: Input should be a valid integer", id="a boolean limit"),
        pytest.param({"max_tokens": 65_000}, "max_tokens: 65000 > 64000, which is the maximum allowed number of output"
                     " tokens for anthropic.claude-sonnet-4-5", id="a limit too high"),
        pytest.param({"temperature": 1.5}, "temperature: Input should be less than or equal to 1", id="too hot"),
        pytest.param({"frequency_penalty": 1}, "frequency_penalty: Extra inputs are not permitted", id="unknown"),
        pytest.param({"messages": []}, "messages: at least one message is required", id="no message"),
        pytest.param({"messages": [{"role": "system", "content": "x"}]},
                     "messages.0.role: Input should be 'user' or 'assistant'", id="a system message"),
        pytest.param({"messages": [{"role": "user"}]}, "messages.0.content: Field required", id="no content"),
        pytest.param({"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
                     "messages: text content blocks must be non-empty", id="an empty block"),
        pytest.param({"messages": [USER, CALL, USER]}, "`tool_use` ids were found without `tool_result` blocks",
                     id="no result"),
        pytest.param({"messages": [USER, CALL, result("other")]}, "unexpected `tool_use_id` found", id="another's"),
        pytest.param({"tool_choice": {"type": "any"}}, "while providing `tools`", id="a choice of nothing"),
        pytest.param({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "x"}}, "Tool 'x' not found", id="which"),
        pytest.param({"tools": [{"name": "x"}]}, "tools.0.custom.input_schema: Field required", id="no schema"),
        pytest.param({"thinking": {"type": "enabled", "budget_tokens": 5}}, "budget_tokens: Input should be greater",
                     id="little thought"),
        pytest.param({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "`max_tokens` must be greater than",
                     id="more thought than answer"),
        pytest.param({"model": GPT}, f"not supported for model {GPT}", id="another family"),
    ],
)  # fmt: skip
def test_invalid_request_is_rejected(fields: JSON, message: str) -> None:
    answer = ask(**fields)
    assert (answer.status, answer.body["type"]) == (400, "error")
    assert answer.body["error"]["type"] == "invalid_request_error"
    assert message in answer.body["error"]["message"]


@pytest.mark.parametrize("base", ["/serving-endpoints", "/ai-gateway"])
def test_models_are_those_of_claude(base: str) -> None:
    listed = send(f"{base}/anthropic/v1/models", method="GET")
    names = [model["id"] for model in listed.body["data"]]
    assert CLAUDE in names
    assert all("claude" in name for name in names)
    assert listed.headers["request-id"].startswith("req_")
    found = send(f"{base}/anthropic/v1/models/{CLAUDE}", method="GET").body
    assert (found["id"], found["display_name"]) == (CLAUDE, "Claude Sonnet 4.5")
    assert send(f"{base}/anthropic/v1/models/{GPT}", method="GET").status == 404
