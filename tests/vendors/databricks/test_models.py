"""Endpoints: the catalogue, the habits of each family, and traits that a scenario sets."""

import pytest

from emulator.core.call import Deployment
from emulator.vendors.databricks import VENDOR
from emulator.vendors.databricks.families import family_of
from emulator.vendors.databricks.settings import DatabricksSettings
from tests.parsed import JSON
from tests.vendors.databricks.harness import CLAUDE, GEMINI, GPT, LLAMA, OSS, Exchange, chat, invoke, send

CATALOGUE = VENDOR.catalogue(DatabricksSettings())
USER: JSON = {"role": "user", "content": "Tell me about Paris"}
TOOL: JSON = {"type": "function", "function": {"name": "f", "description": "d"}}
PICTURE: JSON = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
GEMINI_3 = "databricks-gemini-3-1-pro"


def with_traits(mode: str = "pay_per_token", kind: str = "", **traits: JSON) -> JSON:
    return (Deployment(vendor="databricks", name="mine", mode=mode, kind=kind, traits=traits),)


def mine(deployments: JSON, **fields: JSON) -> Exchange:
    return invoke("mine", {"messages": [USER], **fields}, deployments=deployments)


def test_names_are_unique_and_every_task_has_an_endpoint() -> None:
    assert len({d.name for d in CATALOGUE}) == len(CATALOGUE)
    assert {d.task for d in CATALOGUE} == {"chat", "completions", "embeddings"}


@pytest.mark.parametrize("deployment", CATALOGUE, ids=[d.name for d in CATALOGUE])
def test_every_endpoint_answers(deployment: Deployment) -> None:
    bodies: JSON = {"completions": {"prompt": "x"}, "embeddings": {"input": "x"}, "chat": {"messages": [USER]}}
    body = {"input": "x"} if deployment.traits.get("responses_only") else bodies[deployment.task]
    answer = invoke(deployment.name, body)
    assert answer.status == 200, answer.text


@pytest.mark.parametrize(
    ("name", "family"),
    [
        (LLAMA, "open"), (OSS, "gpt-oss"), (CLAUDE, "claude"), (GPT, "gpt"), (GEMINI, "gemini"),
        ("databricks-qwen35-122b-a10b", "open"), ("databricks-gpt-5-3-codex", "gpt"),
        ("databricks-gemma-3-12b", "open"),
    ],
)  # fmt: skip
def test_family(name: str, family: str) -> None:
    assert family_of(next(d for d in CATALOGUE if d.name == name)) == family


def test_codex_answers_responses_only() -> None:
    assert "does not support the chat task" in chat("databricks-gpt-5-3-codex").message


def test_gpt_oss_thinks_aloud() -> None:
    body = chat(OSS).body
    thought, text = body["choices"][0]["message"]["content"]
    assert (thought["type"], text["type"]) == ("reasoning", "text")
    assert set(thought["summary"][0]) == {"type", "text"}
    assert body["usage"]["reasoning_tokens"] == body["usage"]["completion_tokens_details"]["reasoning_tokens"] == 64


@pytest.mark.parametrize(("effort", "tokens"), [("low", 24), ("medium", 64), ("high", 160)])
def test_effort_buys_reasoning(effort: str, tokens: int) -> None:
    assert chat(OSS, reasoning_effort=effort).body["usage"]["reasoning_tokens"] == tokens


@pytest.mark.parametrize(
    ("name", "effort", "status"),
    [(OSS, "minimal", 400), (OSS, "max", 400), (GPT, "minimal", 200), (GPT, "none", 200), (GEMINI, "xhigh", 200)],
)
def test_efforts_of_each_family(name: str, effort: str, status: int) -> None:
    assert chat(name, reasoning_effort=effort).status == status


def test_claude_thinks_on_request_and_signs() -> None:
    plain = chat(CLAUDE).body
    assert isinstance(plain["choices"][0]["message"]["content"], str)
    assert "reasoning_tokens" not in plain["usage"]
    thinking = chat(CLAUDE, thinking={"type": "enabled", "budget_tokens": 4096}).body
    assert thinking["choices"][0]["message"]["content"][0]["summary"][0]["signature"]
    assert thinking["usage"]["reasoning_tokens"] > 0
    assert chat(CLAUDE, thinking={"type": "disabled"}).body["choices"] == plain["choices"]


@pytest.mark.parametrize(
    ("thinking", "text"),
    [
        pytest.param({"type": "enabled"}, "budget_tokens", id="no budget"),
        pytest.param({"type": "enabled", "budget_tokens": 0}, "budget_tokens", id="an empty budget"),
        pytest.param({"type": "deep"}, "thinking.type", id="an odd type"),
        pytest.param({"type": "adaptive"}, None, id="adaptive"),
        pytest.param("enabled", "field 'thinking' expects", id="a text"),
    ],
)
def test_thinking(thinking: JSON, text: str | None) -> None:
    answer = chat(CLAUDE, thinking=thinking)
    assert answer.status == (200 if text is None else 400)
    assert text is None or text in answer.message


def test_claude_reports_usage_at_the_end() -> None:
    usages = [e["usage"] for e in chat(CLAUDE, stream=True, max_tokens=3).events[:-1]]
    assert all(u["completion_tokens"] is None and u["total_tokens"] is None for u in usages[:-1])
    assert usages[-1]["completion_tokens"] == 3
    assert usages[-1]["cache_read_input_tokens"] == 0


def test_gpt_reports_usage_on_request() -> None:
    assert all("usage" not in e for e in chat(GPT, stream=True).events[:-1])
    events = chat(GPT, stream=True, stream_options={"include_usage": True}).events
    assert (events[-2]["choices"], events[-2]["usage"]["prompt_tokens_details"]) == ([], {"cached_tokens": 0})
    assert all(e["usage"] is None for e in events[:-2])


def test_gpt_message_has_its_nulls() -> None:
    message = chat(GPT, max_completion_tokens=90).body["choices"][0]["message"]
    assert (message["refusal"], message["annotations"]) == (None, None)


def test_newest_claude_refuses_sampling() -> None:
    for field in ("temperature", "top_p", "top_k"):
        fields: JSON = {field: 1}
        answer = chat("databricks-claude-opus-4-8", **fields)
        assert (answer.status, field in answer.message) == (400, True)


def test_gemini_signs_its_calls_and_wants_the_signature_back() -> None:
    call = chat(GEMINI_3, tools=[TOOL], tool_choice="required").body["choices"][0]["message"]["tool_calls"][0]
    assert call["thoughtSignature"]
    asked: JSON = {"role": "assistant", "tool_calls": [call]}
    result: JSON = {"role": "tool", "tool_call_id": call["id"], "content": "x"}
    assert invoke(GEMINI_3, {"messages": [USER, asked, result]}).status == 200
    del call["thoughtSignature"]
    assert "missing a thought_signature" in invoke(GEMINI_3, {"messages": [USER, asked, result]}).message


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        pytest.param(CLAUDE, [{"type": "text", "text": "x"}, PICTURE], None, id="Claude sees"),
        pytest.param("databricks-llama-4-maverick", [PICTURE], None, id="Maverick sees"),
        pytest.param(OSS, [PICTURE], "does not support content parts of type 'image_url'", id="gpt-oss is blind"),
        pytest.param(GEMINI, [{"type": "video_url", "video_url": {"url": "https://x"}}], None, id="Gemini watches"),
        pytest.param(CLAUDE, [{"type": "audio_url"}], "does not support", id="Claude is deaf"),
        pytest.param(CLAUDE, [{"type": "text", "text": ""}], "text content blocks must be non-empty", id="empty text"),
        pytest.param(CLAUDE, "", "text content blocks must be non-empty", id="empty content"),
        pytest.param(CLAUDE, [{"type": "smell"}], "unsupported content part type", id="an odd part"),
        pytest.param(CLAUDE, [{"type": "text"}], "needs a text", id="a text part without text"),
        pytest.param(CLAUDE, ["x"], "field 'messages.content' expects", id="a text for a part"),
        pytest.param(CLAUDE, [{"type": "image_url", "image_url": "x"}], "must be an http(s) URL", id="no URL"),
        pytest.param(
            CLAUDE, [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}], None, id="cached"
        ),
        pytest.param(
            GPT, [{"type": "text", "text": "x", "cache_control": {}}], 'unknown field "cache', id="not cached"
        ),
    ],
)
def test_content_parts(name: str, content: JSON, text: str | None) -> None:
    answer = invoke(name, {"messages": [{"role": "user", "content": content}]})
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


def test_parts_that_a_model_said_can_be_sent_back() -> None:
    said = chat(OSS).body["choices"][0]["message"]
    assert invoke(OSS, {"messages": [USER, said, USER]}).status == 200


def test_cache_control_of_a_call_is_for_claude() -> None:
    call: JSON = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}, "cache_control": "x"}
    messages = [
        USER,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "x"},
    ]
    assert invoke(CLAUDE, {"messages": messages}).status == 200
    assert 'unknown field "cache_control"' in invoke(LLAMA, {"messages": messages}).message


def test_claude_takes_several_results_in_a_row() -> None:
    calls: JSON = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in "12"]
    results: JSON = [{"role": "tool", "tool_call_id": i, "content": "x"} for i in "12"]
    body = {"messages": [USER, {"role": "assistant", "tool_calls": calls}, *results]}
    assert (invoke(CLAUDE, body).status, invoke(LLAMA, body).status) == (200, 400)
    assert invoke(LLAMA, body, one_tool_result=False).status == 200


def test_external_gemini_rates_its_safety() -> None:
    external = with_traits("external", family="gemini")
    assert "safetyRating" in mine(external).body["choices"][0]["extra_fields"]
    assert "extra_fields" not in chat(GEMINI).body["choices"][0]


@pytest.mark.parametrize("style", ["every", "last", "claude", "on-request", "none"])
def test_usage_style(style: str) -> None:
    events = mine(with_traits(usage_style=style), stream=True, max_tokens=3).events[:-1]
    shown = [e.get("usage", "absent") for e in events]
    if style in ("on-request", "none"):
        assert set(shown) == {"absent"}
    else:
        assert shown[-1]["completion_tokens"] == 3
        assert {"every": dict, "claude": dict, "last": str}[style] is type(shown[0])


@pytest.mark.parametrize(
    ("traits", "probe", "value"),
    [
        pytest.param({"role_in_every_chunk": True}, lambda e: [d.get("role") for d in e][1], "assistant", id="role"),
        pytest.param({"content_style": "list"}, lambda e: e[0]["role"], "assistant", id="a list"),
    ],
)
def test_stream_traits(traits: JSON, probe: JSON, value: JSON) -> None:
    events = mine(with_traits(**traits), stream=True).events[:-1]
    assert probe([e["choices"][0]["delta"] for e in events]) == value


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="a text"),
        pytest.param({"logprobs": True, "max_tokens": 4}, id="log-probabilities"),
        pytest.param(
            {"tools": [{"type": "function", "function": {"name": "f", "description": "d"}}], "tool_choice": "required"},
            id="a call",
        ),
    ],
)
@pytest.mark.parametrize("reasoning", ["", "always"])
def test_role_stands_in_every_chunk(fields: JSON, reasoning: str) -> None:
    named = mine(with_traits(role_in_every_chunk=True, reasoning=reasoning), stream=True, **fields).events[:-1]
    plain = mine(with_traits(reasoning=reasoning), stream=True, **fields).events[:-1]
    assert len(named) == len(plain) > 2
    for one, other in zip(named, plain, strict=True):
        delta = one["choices"][0]["delta"]
        assert next(iter(delta)) == "role"
        assert delta == {"role": "assistant", **other["choices"][0]["delta"]}


def test_external_models_that_do_not_think_answer_at_once() -> None:
    for model, thinks in (("gpt-4o", False), ("gpt-35-turbo", False), ("gpt-5-mini", True)):
        external = Deployment(vendor="databricks", name="mine", mode="external", model=model)
        body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
        answer = invoke("mine", body, deployments=(external,)).body
        assert ("reasoning_tokens" in answer["usage"]) is thinks
        assert bool(answer["choices"][0]["message"]["content"]) is not thinks


def test_further_traits() -> None:
    listed = mine(with_traits(content_style="list")).body["choices"][0]["message"]["content"]
    assert [part["type"] for part in listed] == ["text"]
    thought = mine(with_traits(reasoning=True)).body["choices"][0]["message"]["content"]
    assert [part["type"] for part in thought] == ["reasoning", "text"]
    assert mine(with_traits(allow_n=True), n=2).status == 200
    assert mine(with_traits("provisioned", allow_n=False), n=2).status == 400
    assert mine(with_traits(responses_api=True, family="gpt"), messages=None, input="x").body["object"] == "response"
    seen = [{"role": "user", "content": [PICTURE]}]
    assert mine(with_traits(vision=True, content_parts=True), messages=seen).status == 200
    plain = mine(with_traits()).body["usage"]["prompt_tokens"]
    assert mine(with_traits(template_overhead_tokens=7)).body["usage"]["prompt_tokens"] == plain + 7


def test_traffic_is_split_and_can_be_addressed() -> None:
    split = with_traits(served_entities={"a": 0, "b": 100})
    assert mine(split).headers["served-model-name"] == "b"
    path = "/serving-endpoints/mine/served-models/{}/invocations"
    body = {"messages": [USER]}
    assert send(path.format("a"), body, deployments=split).headers["served-model-name"] == "a"
    missing = send(path.format("c"), body, deployments=split)
    assert (missing.status, missing.body["error_code"]) == (404, "ENDPOINT_NOT_FOUND")


@pytest.mark.parametrize(
    ("state", "status", "code"),
    [
        ("stopped", 400, "BAD_REQUEST"), ("loading", 503, "TEMPORARILY_UNAVAILABLE"),
        ("retired", 404, "ENDPOINT_NOT_FOUND"),
    ],
)  # fmt: skip
def test_endpoints_that_are_not_up(state: str, status: int, code: str) -> None:
    answer = mine((Deployment(vendor="databricks", name="mine", state=state),))
    assert (answer.status, answer.body["error_code"]) == (status, code)


CUSTOM = with_traits("custom")


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        pytest.param({"dataframe_split": {"columns": ["a"], "data": [[1], [2]]}}, 2, id="split"),
        pytest.param({"dataframe_records": [{"a": 1}]}, 1, id="records"),
        pytest.param({"instances": [1, 2, 3]}, 3, id="instances"),
        pytest.param({"inputs": {"a": [1, 2], "b": [3, 4]}}, 2, id="columns"),
        pytest.param({"inputs": [1], "databricks_options": {"return_trace": True}}, 1, id="a list, with options"),
        pytest.param({"messages": []}, None, id="a chat body"),
        pytest.param({"inputs": [1], "instances": [1]}, None, id="two inputs"),
        pytest.param({"dataframe_split": {"columns": []}}, None, id="no data"),
        pytest.param({"inputs": 5}, None, id="a number"),
    ],
)
def test_custom_models_predict(body: JSON, rows: int | None) -> None:
    answer = invoke("mine", body, deployments=CUSTOM)
    assert answer.status == (400 if rows is None else 200), answer.text
    assert rows is None or len(answer.body["predictions"]) == rows


def test_custom_models_and_agents_do_not_chat() -> None:
    agent = Deployment(vendor="databricks", name="agent", mode="custom", kind="agent")
    own = Deployment(vendor="databricks", name="scorer", mode="custom")
    messages: JSON = [{"role": "user", "content": "hi"}]
    for name, text in (("agent", "Please use 'input' field instead"), ("scorer", "does not support the chat task")):
        body = {"model": name, "messages": messages}
        answer = send("/serving-endpoints/chat/completions", body, deployments=(agent, own))
        assert answer.status == 400
        assert text in answer.message
