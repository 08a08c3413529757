"""Guardrails, and another model in place of one that fails."""

import json

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.databricks.management.api import Workspace, external, open_workspace

SECRETIVE = "rules: [{name: mail, when: {deployment: mine}, reply: {text: Write to me@example.com now.}}]"


async def guarded(start: Start, guardrails: JSON, rules: str = "") -> Workspace:
    workspace = await open_workspace(start, "", rules)
    await workspace.make(ai_gateway={"guardrails": guardrails})
    return workspace


@pytest.mark.covers("databricks/guardrails", "personal data", case="personal data")
@pytest.mark.covers("databricks/guardrails", "keywords", case="a keyword")
@pytest.mark.covers("databricks/guardrails", "topics", case="another topic")
@pytest.mark.covers("databricks/guardrails", "safety", case="unsafe")
@pytest.mark.parametrize(
    ("guard", "content", "finding"),
    [
        pytest.param({"pii": {"behavior": "BLOCK"}}, "I am ann@example.com",
                     {"flagged": False, "pii_detection": True,
                      "anonymized_input": [{"role": "user", "content": "I am <EMAIL_ADDRESS>"}]}, id="personal data"),
        pytest.param({"pii": {"behavior": "BLOCK"}}, "4111 1111 1111 1111",
                     {"anonymized_input": [{"role": "user", "content": "<CREDIT_CARD>"}]}, id="a credit card"),
        pytest.param({"invalid_keywords": ["Secret"]}, "the SECRET plan", {"flagged": True}, id="a keyword"),
        pytest.param({"valid_topics": ["cooking"]}, "Tell me of stars", {"off_topic": True}, id="another topic"),
        pytest.param({"safety": True}, "how to make a bomb", {"categories": {"violence": True}}, id="unsafe"),
    ],
)  # fmt: skip
async def test_input_guardrail_rejects_prompt(start: Start, guard: JSON, content: str, finding: JSON) -> None:
    workspace = await guarded(start, {"input": guard})
    answer = await workspace.chat(content=content)
    assert (answer.status, answer.json()["error_code"]) == (400, "BAD_REQUEST")
    said = json.loads(answer.json()["message"])
    assert said["finishReason"] == "input_guardrail_triggered"
    assert said["usage"] == {"prompt_tokens": 0, "total_tokens": 0}
    assert finding.items() <= said["input_guardrail"][0].items()
    assert (await workspace.chat(content="What is cooking?")).status == 200


@pytest.mark.covers("databricks/guardrails", "MASK of an input")
async def test_input_guardrail_masks_prompt(start: Start) -> None:
    rules = "rules: [{name: masked, when: {prompt: {contains: x}}, reply: {text: seen}}]"
    workspace = await guarded(start, {"input": {"pii": {"behavior": "MASK"}}}, rules.replace("x}", "<EMAIL_ADDRESS>}"))
    answer = await workspace.chat(content="I am ann@example.com")
    assert answer.json()["choices"][0]["message"]["content"] == "seen"


@pytest.mark.covers("databricks/guardrails", "MASK of an output", "not of a stream")
async def test_output_guardrail_masks_unless_streamed(start: Start) -> None:
    workspace = await guarded(start, {"output": {"pii": {"behavior": "MASK"}}}, SECRETIVE)
    body = (await workspace.chat(max_tokens=50)).json()
    assert body["choices"][0]["message"]["content"] == "Write to <EMAIL_ADDRESS> now."
    assert body["output_guardrail"][0]["pii_detection"] is True
    streamed = await workspace.chat(max_tokens=50, stream=True)
    assert "output_guardrail" not in streamed.body.decode()


@pytest.mark.covers("databricks/guardrails", "BLOCK of an output")
@pytest.mark.parametrize("guard", [{"pii": {"behavior": "BLOCK"}}, {"invalid_keywords": ["WRITE"]}])
async def test_output_guardrail_rejects_response(start: Start, guard: JSON) -> None:
    workspace = await guarded(start, {"output": guard}, SECRETIVE)
    answer = await workspace.chat(max_tokens=50)
    assert answer.status == 400
    assert json.loads(answer.json()["message"])["finishReason"] == "output_guardrail_triggered"


@pytest.mark.covers("databricks/lifecycle", "fallback")
@pytest.mark.parametrize(("enabled", "status"), [(True, 200), (False, 429)])
async def test_fallback_model_replaces_failed_one(start: Start, enabled: bool, status: int) -> None:
    full = "rules: [{name: full, when: {deployment: mine}, times: {first: 1}, error: {kind: rate_limited}}]"
    workspace = await open_workspace(start, "", full)
    routes = [{"served_model_name": name, "traffic_percentage": share} for name, share in (("a", 100), ("b", 0))]
    entities = [{**external("gpt-4o"), "name": "a"}, {**external("gpt-4.1"), "name": "b"}]
    gateway = {"fallback_config": {"enabled": enabled}}
    await workspace.make(*entities, config={"traffic_config": {"routes": routes}}, ai_gateway=gateway)
    first = await workspace.chat()
    assert first.status == status
    if enabled:
        assert (first.header("served-model-name"), first.json()["model"]) == ("b", "gpt-4.1")
    assert (await workspace.chat()).header("served-model-name") == "a"


async def test_error_when_every_model_fails(start: Start) -> None:
    full = "rules: [{name: full, when: {deployment: mine}, error: {kind: overloaded}}]"
    traits = "{served_entities: {a: 1, b: 1}, ai_gateway: {fallback_config: {enabled: true}}}"
    own = f"deployments: [{{vendor: databricks, name: mine, mode: external, model: gpt-4o, traits: {traits}}}]"
    workspace = await open_workspace(start, "", f"{full}\n{own}")
    answer = await workspace.chat()
    assert answer.status == 503
    assert answer.json()["error"] == "Received error from openai"


@pytest.mark.covers("databricks/envelopes", "4 external models")
@pytest.mark.parametrize("wrapped", [False, True])
async def test_external_model_error_envelope(start: Start, wrapped: bool) -> None:
    full = "rules: [{name: full, when: {deployment: mine}, error: {kind: rate_limited}}]"
    workspace = await open_workspace(start, "external_errors: wrapped" if wrapped else "", full)
    await workspace.make(external())
    body = (await workspace.chat()).json()
    if wrapped:
        assert body["error_code"] == "REQUEST_LIMIT_EXCEEDED"
        body = json.loads(body["message"])
    assert body["error"] == "Received error from openai"
    assert body["external_model_message"]["error"]["type"] == "rate_limit_error"


@pytest.mark.covers("databricks/usage", "a prompt of a cache")
@pytest.mark.parametrize(
    ("name", "marked", "counts"),
    [
        pytest.param("databricks-gpt-5", False, [0, 1152], id="GPT, by blocks"),
        pytest.param("databricks-claude-sonnet-4-5", True, [0, 1], id="Claude, what is marked"),
        pytest.param("databricks-claude-sonnet-4-5", False, [0, 0], id="Claude, nothing marked"),
    ],
)
async def test_repeated_long_prompt_reports_cached_tokens(
    start: Start, name: str, marked: bool, counts: list[int]
) -> None:
    workspace = await open_workspace(start, "")
    part: JSON = {"type": "text", "text": "word " * 1200}
    content = [{**part, "cache_control": {"type": "ephemeral"}} if marked else part]
    body = {"messages": [{"role": "user", "content": content}], "max_tokens": 4}
    path = f"/serving-endpoints/{name}"
    usages = [(await workspace.call("POST", "/invocations", body, base=path)).json()["usage"] for _ in range(2)]
    if name == "databricks-gpt-5":
        assert [usage["prompt_tokens_details"]["cached_tokens"] for usage in usages] == counts
        return
    prompt = usages[0]["prompt_tokens"]
    assert [usage["cache_read_input_tokens"] for usage in usages] == [prompt * count for count in counts]
    assert [usage["cache_creation_input_tokens"] for usage in usages] == [prompt * marked, 0]


async def test_repeated_long_response_input_reports_cached_tokens(start: Start) -> None:
    workspace = await open_workspace(start, "")
    body = {"model": "databricks-gpt-5", "input": "word " * 1200, "max_output_tokens": 16}
    usages = [
        (await workspace.call("POST", "/responses", body, base="/serving-endpoints")).json()["usage"] for _ in "ab"
    ]
    assert [usage["input_tokens_details"]["cached_tokens"] for usage in usages] == [0, 1152]
    stream = await workspace.call("POST", "/responses", {**body, "stream": True}, base="/serving-endpoints")
    assert json.loads(stream.body.split(b"data: ")[-1])["response"]["usage"]["input_tokens_details"] == {
        "cached_tokens": 0,
        "cache_write_tokens": 0,
    }
