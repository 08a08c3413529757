"""Fields of a Messages request that contradict one another, the conversation or the model's bounds."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.azure.service import Refused, accept, refuse, send

MESSAGES = "/anthropic/v1/messages"
USER: JSON = {"role": "user", "content": "Hi"}
TOOL: JSON = {"name": "f", "input_schema": {"type": "object"}}
RESULT: JSON = {"type": "tool_result", "tool_use_id": "t", "content": "3"}
TEXT: JSON = {"type": "text", "text": "x"}
CACHED: JSON = {**TEXT, "cache_control": {"type": "ephemeral"}}
CONSULT = (
    "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
    "#important-considerations-when-using-extended-thinking"
)


def ask(model: str = "claude-sonnet-4-5", **fields: JSON) -> JSON:
    return {"model": model, "max_tokens": 20, "messages": [USER], **fields}


def call(**fields: JSON) -> JSON:
    return {"type": "tool_use", "id": "t", "name": "f", "input": {}, **fields}


def talk(*calls: JSON, results: list[JSON]) -> JSON:
    return ask(messages=[USER, {"role": "assistant", "content": [*calls]}, {"role": "user", "content": results}])


def think(**fields: JSON) -> JSON:
    return ask(**{"max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}, **fields})


def end(content: JSON) -> JSON:
    return ask(messages=[USER, {"role": "assistant", "content": content}])


EMPTY = "all messages must have non-empty content except for the optional final assistant message"
NAME = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
FOUND = "`tool_use` ids were found without `tool_result` blocks immediately after: t. Each `tool_use` block must have a"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            ask(max_tokens=64_001),
            "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
        ),
        (ask(temperature="x"), "temperature: Input should be a valid number"),
        (
            ask(temperature=0.5, top_p=0.5),
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        ),
        (ask(stop_sequences=["a", " \n"]), "stop_sequences: each stop sequence must contain non-whitespace"),
        (ask(metadata={"user_id": "x" * 257}), "metadata.user_id: String should have at most 256 characters"),
        (ask(messages=[{"role": "user", "content": ""}]), f"messages.0: {EMPTY}"),
        (ask(messages=[{"role": "user", "content": []}]), f"messages.0: {EMPTY}"),
        (ask(messages=[USER, {"role": "assistant", "content": ""}, USER]), f"messages.1: {EMPTY}"),
        (ask(system=[{"type": "text", "text": ""}]), "system: text content blocks must be non-empty"),
        (end("So "), "messages: final assistant content cannot end with trailing whitespace"),
        (end([TEXT, {"type": "text", "text": "\n"}]), "messages: final assistant content cannot end with trailing"),
        (ask(tools=[{**TOOL, "name": ""}]), f"tools.0.custom.name: {NAME}"),
        (ask(tools=[TOOL, {**TOOL, "name": "a" * 129}]), f"tools.1.custom.name: {NAME}"),
        (ask(tools=[{**TOOL, "name": "a.b"}]), f"tools.0.custom.name: {NAME}"),
        (ask(tools=[TOOL, TOOL]), "tools: Tool names must be unique."),
        (ask(tools=[{**TOOL, "input_schema": {}}]), "tools.0.custom.input_schema.type: Field required"),
        (
            ask(tools=[{**TOOL, "input_schema": {"type": "string"}}]),
            "tools.0.custom.input_schema.type: Input should be 'object'",
        ),
        (
            talk(call(id="t 1"), results=[{**RESULT, "tool_use_id": "t 1"}]),
            "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        ),
        (
            talk(call(name="f" * 201), results=[RESULT]),
            "messages.1.content.0.tool_use.name: String should have at most 200 characters",
        ),
        (
            talk(call(name=""), results=[RESULT]),
            "messages.1.content.0.tool_use.name: String should have at least 1 character",
        ),
        (talk(call(), call(), results=[RESULT]), "messages.1.content.1: `tool_use` ids must be unique"),
        (
            talk(call(), results=[RESULT, RESULT]),
            "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with "
            "id: t",
        ),
        (talk(call(), results=[TEXT, RESULT]), f"messages.2: {FOUND}"),
        (talk(call(), call(id="u"), results=[{**RESULT, "tool_use_id": "u"}, TEXT, RESULT]), f"messages.2: {FOUND}"),
        (think(temperature=0.5), f"`temperature` may only be set to 1 when thinking is enabled. {CONSULT}"),
        (think(top_k=5), f"`top_k` must be unset when thinking is enabled. {CONSULT}"),
        (
            think(top_p=0.9),
            f"`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled. {CONSULT}",
        ),
        (
            think(tools=[TOOL], tool_choice={"type": "any"}),
            "Thinking may not be enabled when tool_choice forces tool use.",
        ),
        (
            ask(
                tools=[{**TOOL, "cache_control": {"type": "ephemeral"}}],
                system=[CACHED, CACHED],
                messages=[{"role": "user", "content": [CACHED, CACHED]}],
            ),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        (
            talk(
                call(cache_control={"type": "ephemeral"}),
                results=[{**RESULT, "content": [CACHED, CACHED]}, CACHED, CACHED],
            ),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else "",
)
def test_contradiction_is_refused(body: JSON, message: str) -> None:
    refused = refuse(body, MESSAGES)
    assert (refused.status, refused.json()["error"]["type"]) == (400, "invalid_request_error")
    assert refused.json()["error"]["message"].startswith(message)


@pytest.mark.parametrize(
    "body",
    [
        ask(max_tokens=64_000),
        ask(temperature=0.5),
        ask(metadata={"user_id": "x" * 256}),
        end(""),
        end("So"),
        ask(messages=[USER, {"role": "assistant", "content": "So "}, USER]),
        ask(system=""),
        ask(tools=[{**TOOL, "name": "a" * 128}]),
        talk(call(), call(id="u"), results=[{**RESULT, "tool_use_id": "u"}, RESULT, TEXT]),
        think(temperature=1, tools=[TOOL], tool_choice={"type": "auto"}),
        think(top_p=0.95),
        ask(system=[CACHED, CACHED], messages=[{"role": "user", "content": [CACHED, CACHED]}]),
        ask(tools=[{"name": "f", "input_schema": {"type": "object", "properties": {"cache_control": {}}}}]),
    ],
    ids=lambda value: str(value)[60:120],
)
def test_honest_request_passes(body: JSON) -> None:
    assert accept(body, MESSAGES)


@pytest.mark.parametrize(
    ("model", "takes_both"),
    [
        ("claude-3-7-sonnet", True),
        ("claude-sonnet-4", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-opus-4", True),
        ("claude-opus-4-1-20250805", False),
        ("claude-opus-4-5", False),
        ("claude-opus-4-6", False),
        ("claude-sonnet-4-6", False),
        ("claude-haiku-4-5", False),
    ],
)
def test_models_before_4_1_take_both_samplings(model: str, *, takes_both: bool) -> None:
    scenario = f"deployments:\n  - {{vendor: azure, name: c, model: {model}}}\n"
    outcome = send(ask(model="c", temperature=0.5, top_p=0.5), MESSAGES, scenario)
    assert isinstance(outcome, Refused) is not takes_both
