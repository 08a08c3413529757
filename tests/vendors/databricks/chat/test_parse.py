"""Chat requests: every field of the reference and its bounds, and how hard a model is to think."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.databricks.harness import CLAUDE, GEMINI, GPT, LLAMA, OSS, chat, invoke


@pytest.mark.covers("databricks/tasks", "chat, messages")
@pytest.mark.covers("databricks/tasks", "what the API itself defines", case="options of the platform")
@pytest.mark.covers("databricks/chat", "user", "name", "seed", "penalties", "logit_bias")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("max_tokens", None, id="no bound on tokens"),
        pytest.param("max_tokens", 1, id="one token"),
        pytest.param("max_tokens", 8192, id="as many tokens as the model gives"),
        pytest.param("stream", False, id="no stream"),
        pytest.param("temperature", 0, id="temperature 0"),
        pytest.param("temperature", 2, id="temperature 2"),
        pytest.param("temperature", None, id="temperature left open"),
        pytest.param("top_p", 0.001, id="a small nucleus"),
        pytest.param("top_p", 1, id="the whole nucleus"),
        pytest.param("top_k", 1, id="one candidate"),
        pytest.param("top_k", None, id="all candidates"),
        pytest.param("stop", [], id="no stop string"),
        pytest.param("stop", "x", id="a stop string"),
        pytest.param("stop", ["x", "y"], id="stop strings"),
        pytest.param("stop", ["x", None], id="a null among stop strings"),
        pytest.param("n", 1, id="one answer"),
        pytest.param("tool_choice", "none", id="no choice without tools"),
        pytest.param("tools", [], id="no tools"),
        pytest.param("response_format", {"type": "text"}, id="plain text"),
        pytest.param("logprobs", False, id="no log-probabilities"),
        pytest.param("top_logprobs", None, id="no alternatives"),
        pytest.param("user", "u1", id="who asks"),
        pytest.param("seed", 7, id="a seed"),
        pytest.param("frequency_penalty", 0.5, id="a penalty of frequency"),
        pytest.param("presence_penalty", -2, id="a penalty of presence"),
        pytest.param("logit_bias", {"1": 2}, id="a bias"),
        pytest.param("model", "any", id="a model, which is ignored"),
        pytest.param("client_request_id", "1", id="a request id of the client"),
        pytest.param("usage_context", {"a": "b"}, id="a usage context"),
        pytest.param("extra_params", {"a": "b"}, id="further parameters"),
        pytest.param("databricks_options", {"return_trace": True}, id="options of the platform"),
    ],
)
def test_accepted(field: str, value: JSON) -> None:
    answer = chat(**{field: value})
    assert answer.status == 200, answer.text


@pytest.mark.covers("databricks/tasks", "chat, another task's field", case="another task's field")
@pytest.mark.covers("databricks/chat", "max_completion_tokens", case="A")
@pytest.mark.covers("databricks/chat", "stream_options", case="stream options")
@pytest.mark.covers("databricks/chat", "parallel_tool_calls", case="parallel calls")
@pytest.mark.covers("databricks/chat", "google_search", case="search is for Gemini")
@pytest.mark.covers("databricks/validation", "ranges")
@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        pytest.param("max_tokens", 0, "max_tokens must be greater than 0", id="no token"),
        pytest.param(
            "max_tokens", "5", "field 'max_tokens' expects input with json type 'integer'", id="tokens as text"
        ),
        pytest.param("max_tokens", 1.5, "field 'max_tokens'", id="half a token"),
        pytest.param("max_tokens", True, "but got 'boolean'", id="a boolean is no number"),
        pytest.param("max_tokens", 8193, "max_tokens (8193) cannot exceed 8192. Please reduce", id="too many tokens"),
        pytest.param("stream", "yes", "field 'stream' expects input with json type 'boolean'", id="stream as text"),
        pytest.param("temperature", -0.1, "temperature must be in [0, 2]", id="too cold"),
        pytest.param("temperature", 2.01, "temperature must be in [0, 2]", id="too hot"),
        pytest.param("top_p", 0, "top_p must be in (0, 1]", id="an empty nucleus"),
        pytest.param("top_p", 1.1, "top_p must be in (0, 1]", id="more than the whole nucleus"),
        pytest.param("top_k", 0, "top_k must be greater than 0", id="no candidate"),
        pytest.param("stop", 5, "field 'stop' expects input with json type 'array'", id="a stop number"),
        pytest.param("stop", [5], "field 'stop'", id="a list of stop numbers"),
        pytest.param("n", 0, "n must be greater than 0", id="no answer"),
        pytest.param("logprobs", 1, "field 'logprobs'", id="log-probabilities as a number"),
        pytest.param("top_logprobs", 3, "top_logprobs requires logprobs", id="alternatives without log-probabilities"),
        pytest.param("frequency_penalty", 3, "frequency_penalty must be in [-2, 2]", id="too high a penalty"),
        pytest.param("max_completion_tokens", 5, 'Bad request: json: unknown field "max_completion_tokens"\n', id="A"),
        pytest.param("inputs", [], 'Bad request: json: unknown field "inputs"\n', id="another task's field"),
        pytest.param("prompt", "x", 'Bad request: json: unknown field "prompt"\n', id="a prompt"),
        pytest.param("input", "x", 'Bad request: json: unknown field "input"\n', id="an input"),
        pytest.param("stream_options", {}, 'Bad request: json: unknown field "stream_options"\n', id="stream options"),
        pytest.param("parallel_tool_calls", True, 'unknown field "parallel_tool_calls"\n', id="parallel calls"),
        pytest.param("strict", True, 'Bad request: json: unknown field "strict"\n', id="strict at the top"),
        pytest.param("_a", None, 'Bad request: json: unknown field "_a"\n', id="a field that is null"),
        pytest.param('a"b', 1, 'Bad request: json: unknown field "a\\"b"\n', id="a quote in a name"),
        pytest.param("reasoning_effort", "low", 'json: unknown field "reasoning_effort"\n', id="no reasoning here"),
        pytest.param("thinking", {"type": "enabled"}, 'unknown field "thinking"\n', id="thinking is for Claude"),
        pytest.param("google_search", {}, 'unknown field "google_search"\n', id="search is for Gemini"),
    ],
)
def test_refused(field: str, value: JSON, message: str) -> None:
    answer = chat(**{field: value})
    assert (answer.status, answer.body["error_code"]) == (400, "BAD_REQUEST")
    assert message in answer.message


def test_first_error_in_document_order_is_named() -> None:
    body = {"bogus": 1, "temperature": "hot", "messages": [{"role": "user", "content": "x", "also": 1}]}
    assert 'unknown field "bogus"' in invoke(LLAMA, body).message
    body = {"temperature": "hot", "bogus": 1, "messages": []}
    assert "field 'temperature'" in invoke(LLAMA, body).message


@pytest.mark.parametrize(("effort", "tokens"), [("low", 24), ("medium", 64), ("high", 160)])
def test_effort_sets_reasoning_tokens(effort: str, tokens: int) -> None:
    assert chat(OSS, reasoning_effort=effort).body["usage"]["reasoning_tokens"] == tokens


@pytest.mark.covers("databricks/validation", "reasoning_effort")
@pytest.mark.parametrize(
    ("name", "effort", "status"),
    [(OSS, "minimal", 400), (OSS, "max", 400), (GPT, "minimal", 200), (GPT, "none", 200), (GEMINI, "xhigh", 200)],
)
def test_allowed_efforts_by_family(name: str, effort: str, status: int) -> None:
    assert chat(name, reasoning_effort=effort).status == status


@pytest.mark.covers("databricks/chat", "thinking")
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
