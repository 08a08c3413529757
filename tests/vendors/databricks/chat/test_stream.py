"""Chat answers event by event."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.databricks.harness import (
    CLAUDE,
    GEMINI,
    GPT,
    LLAMA,
    OSS,
    PROVISIONED,
    chat,
    mine,
    with_traits,
)

TOOL: JSON = {"type": "function", "function": {"name": "find", "description": "Find"}}


@pytest.mark.covers("databricks/chat stream", "n")
def test_n_streams_interleaved() -> None:
    answer = chat(PROVISIONED, n=2, stream=True, max_tokens=4)
    chunks = answer.events[:-1]
    indices = [c["choices"][0]["index"] for c in chunks]
    assert sorted(set(indices)) == [0, 1]
    assert indices != sorted(indices)
    assert chunks[-1]["usage"]["completion_tokens"] == 8
    counts = [c["usage"]["completion_tokens"] for c in chunks]
    assert counts == sorted(counts)


@pytest.mark.covers("databricks/chat stream", "logprobs")
def test_logprobs_stream_with_their_tokens() -> None:
    answer = chat(logprobs=True, max_tokens=3, stream=True)
    entries = [e for c in answer.events[:-1] if (p := c["choices"][0]["logprobs"]) for e in p["content"]]
    assert len(entries) == 3


@pytest.mark.covers("databricks/chat stream", "one id", "role first", "the last delta")
@pytest.mark.covers("databricks/traps", "19 content in each delta")
def test_stream_has_reference_shape() -> None:
    chunks = chat(max_tokens=3, stream=True).events
    assert chunks[-1] == "[DONE]"
    assert {c["object"] for c in chunks[:-1]} == {"chat.completion.chunk"}
    assert len({(c["id"], c["created"], c["model"]) for c in chunks[:-1]}) == 1
    deltas = [c["choices"][0]["delta"] for c in chunks[:-1]]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert all("role" not in delta for delta in deltas[1:])
    reasons = [c["choices"][0]["finish_reason"] for c in chunks[:-1]]
    assert reasons == [None] * (len(reasons) - 1) + ["length"]
    assert deltas[-1] == {"content": ""}


@pytest.mark.covers("databricks/chat stream", "reasoning")
@pytest.mark.parametrize("name", [LLAMA, CLAUDE, GPT, OSS, GEMINI, "databricks-gemini-3-1-pro"])
@pytest.mark.parametrize("fields", [{}, {"max_tokens": 90}], ids=["whole", "cut"])
def test_stream_equals_unary_response(name: str, fields: JSON) -> None:
    whole = chat(name, **fields).body["choices"][0]
    chunks = [c for c in chat(name, stream=True, **fields).events if c != "[DONE]" and c["choices"]]
    texts = [c["choices"][0]["delta"].get("content") for c in chunks]
    streamed = "".join(t for t in texts if isinstance(t, str))
    content = whole["message"]["content"]
    if isinstance(content, list):
        thoughts = "".join(t[0]["summary"][0]["text"] for t in texts if isinstance(t, list))
        assert thoughts == "".join(p["summary"][0]["text"] for p in content if p["type"] == "reasoning")
        content = "".join(p["text"] for p in content if p["type"] == "text")
    assert streamed == content
    assert chunks[-1]["choices"][0]["finish_reason"] == whole["finish_reason"]


@pytest.mark.covers("databricks/usage", "cache_read_input_tokens, cache_creation_input_tokens")
@pytest.mark.covers("databricks/chat stream", "usage of Claude")
def test_claude_reports_usage_at_end() -> None:
    usages = [e["usage"] for e in chat(CLAUDE, stream=True, max_tokens=3).events[:-1]]
    assert all(u["completion_tokens"] is None and u["total_tokens"] is None for u in usages[:-1])
    assert usages[-1]["completion_tokens"] == 3
    assert usages[-1]["cache_read_input_tokens"] == 0


@pytest.mark.covers("databricks/usage", "prompt_tokens_details")
@pytest.mark.covers("databricks/chat stream", "usage of GPT")
def test_gpt_reports_usage_in_separate_chunk() -> None:
    *before, last, _ = chat(GPT, stream=True).events
    assert all("usage" not in e for e in before)
    assert (last["choices"], last["usage"]["prompt_tokens_details"]) == ([], {"cached_tokens": 0})
    events = chat(GPT, stream=True, stream_options={"include_usage": True}).events
    assert (events[-2]["choices"], events[-2]["usage"]["prompt_tokens_details"]) == ([], {"cached_tokens": 0})
    assert all(e["usage"] is None for e in events[:-2])


def test_gpt_reports_no_usage_if_the_request_declines_it() -> None:
    events = chat(GPT, stream=True, stream_options={"include_usage": False}).events
    assert all("usage" not in e for e in events[:-1])
    assert events[-2]["choices"][0]["finish_reason"] == "stop"
    assert chat(GPT, stream=True, stream_options={}).events[-2]["choices"] == []


@pytest.mark.covers("databricks/chat stream", "usage of external GPT")
def test_external_gpt_reports_usage_on_request() -> None:
    external = with_traits(mode="external", family="gpt")
    assert all("usage" not in e for e in mine(external, stream=True).events[:-1])
    assert mine(external, stream=True, stream_options={"include_usage": True}).events[-2]["choices"] == []


@pytest.mark.covers("databricks/chat stream", "usage in every chunk")
@pytest.mark.covers("databricks/traps", "18 usage may be null")
@pytest.mark.parametrize("style", ["every", "last", "claude", "closing", "on-request", "none"])
def test_usage_style(style: str) -> None:
    events = mine(with_traits(usage_style=style), stream=True, max_tokens=3).events[:-1]
    shown = [e.get("usage", "absent") for e in events]
    if style in ("on-request", "none"):
        assert set(shown) == {"absent"}
    else:
        assert shown[-1]["completion_tokens"] == 3
        assert {"every": dict, "claude": dict, "last": str, "closing": str}[style] is type(shown[0])


@pytest.mark.covers("databricks/traps", "22 lists for content")
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


@pytest.mark.covers("databricks/chat stream", "role in every chunk")
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
def test_role_is_in_every_chunk(fields: JSON, reasoning: str) -> None:
    named = mine(with_traits(role_in_every_chunk=True, reasoning=reasoning), stream=True, **fields).events[:-1]
    plain = mine(with_traits(reasoning=reasoning), stream=True, **fields).events[:-1]
    assert len(named) == len(plain) > 2
    for one, other in zip(named, plain, strict=True):
        delta = one["choices"][0]["delta"]
        assert next(iter(delta)) == "role"
        assert delta == {"role": "assistant", **other["choices"][0]["delta"]}


@pytest.mark.covers("databricks/chat", "summary_encrypted_text")
@pytest.mark.parametrize("streamed", [False, True])
def test_reasoning_can_be_encrypted(streamed: bool) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    secret = with_traits(family="claude", reasoning_summary="encrypted")
    answer = mine(secret, thinking=thinking, max_tokens=100, stream=streamed)
    if streamed:
        lists = [c["choices"][0]["delta"].get("content") for c in answer.events[:-1]]
        (content,) = [parts for parts in lists if isinstance(parts, list)]
    else:
        content = answer.body["choices"][0]["message"]["content"]
    (summary,) = content[0]["summary"]
    assert summary["type"] == "summary_encrypted_text"
    assert list(summary) == ["type", "data"]


@pytest.mark.parametrize("name", [LLAMA, OSS, GPT, GEMINI])
@pytest.mark.parametrize("calls", [False, True], ids=["text", "tool call"])
def test_logprobs_are_those_of_the_text(name: str, calls: bool) -> None:
    """Reasoning and the arguments of calls have none, streamed or not."""
    tools: JSON = {"tools": [TOOL], "tool_choice": "required"} if calls else {}
    whole = chat(name, logprobs=True, **tools).body["choices"][0]
    deltas = [c["choices"][0] for c in chat(name, logprobs=True, stream=True, **tools).events[:-1] if c["choices"]]
    streamed = [entry for delta in deltas if delta["logprobs"] for entry in delta["logprobs"]["content"]]
    assert whole["logprobs"]["content"] == streamed
    content = whole["message"]["content"]
    text = "".join(part.get("text", "") for part in content) if isinstance(content, list) else content or ""
    assert "".join(entry["token"] for entry in streamed) == text
