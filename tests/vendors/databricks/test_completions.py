"""Completions: prompts, what goes around the text, and what does not fit."""

from dataclasses import replace

import pytest

from emulator.core.requests import Deployment
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import LLAMA, MPT, Exchange, invoke

SMALL = Deployment(vendor="databricks", name="small", task="completions", context=40, tokenizer="mpt")
PROVISIONED = replace(SMALL, name="pt-small", context=None, mode="provisioned")


def complete(name: str = MPT, options: JSON = None, **fields: JSON) -> Exchange:
    body = {"prompt": "Once upon a time", **fields}
    return invoke(name, body, deployments=(SMALL, PROVISIONED), **(options or {}))


@pytest.mark.covers("databricks/tasks", "completions, prompt", case="one prompt")
@pytest.mark.covers("databricks/completions", "16 prompts", case="a full batch")
@pytest.mark.covers("databricks/validation", "suffix, echo, use_raw_prompt")
@pytest.mark.covers("databricks/limits", "completions batch", case="more than a batch")
@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        pytest.param("prompt", "x", None, id="one prompt"),
        pytest.param("prompt", ["x", "y"], None, id="two prompts"),
        pytest.param("prompt", ["x"] * 16, None, id="a full batch"),
        pytest.param("prompt", ["x"] * 17, "at most 16 prompts", id="more than a batch"),
        pytest.param("prompt", None, "Missing required Completions parameter: 'prompt'", id="no prompt"),
        pytest.param("prompt", [], "Missing required Completions parameter: 'prompt'", id="no prompts"),
        pytest.param("prompt", [1, 2], "field 'prompt' expects", id="token ids"),
        pytest.param("prompt", [None], "prompt must be a string or a list of strings", id="null in a list"),
        pytest.param("prompt", 5, "field 'prompt' expects input with json type 'string'", id="a number"),
        pytest.param("max_tokens", 0, "max_tokens must be greater than 0", id="no token"),
        pytest.param("max_tokens", None, None, id="no bound"),
        pytest.param("stream", 1, "field 'stream'", id="stream as a number"),
        pytest.param("temperature", 2.1, "temperature must be in [0, 2]", id="too hot"),
        pytest.param("temperature", 0, None, id="cold"),
        pytest.param("top_p", 0, "top_p must be in (0, 1]", id="an empty nucleus"),
        pytest.param("top_k", 0, "top_k must be greater than 0", id="no candidate"),
        pytest.param("top_k", 1, None, id="one candidate"),
        pytest.param("error_behavior", "error", None, id="errors"),
        pytest.param("error_behavior", "truncate", None, id="cuts"),
        pytest.param("error_behavior", "ignore", 'error_behavior must be "truncate" or "error"', id="neither"),
        pytest.param("error_behavior", True, "field 'error_behavior'", id="a boolean behavior"),
        pytest.param("n", 2, "n is only supported for provisioned throughput", id="two answers"),
        pytest.param("n", 0, "n must be greater than 0", id="no answer"),
        pytest.param("stop", ["a", "b"], None, id="stop strings"),
        pytest.param("stop", {}, "field 'stop'", id="a stop object"),
        pytest.param("suffix", "!", None, id="a suffix"),
        pytest.param("suffix", 1, "field 'suffix' expects input with json type 'string'", id="a suffix number"),
        pytest.param("echo", True, None, id="an echo"),
        pytest.param("echo", "yes", "field 'echo' expects input with json type 'boolean'", id="echo as text"),
        pytest.param("use_raw_prompt", True, None, id="a raw prompt"),
        pytest.param("use_raw_prompt", 0, "field 'use_raw_prompt'", id="raw as a number"),
        pytest.param("user", "u", None, id="who asks"),
        pytest.param("messages", [], 'unknown field "messages"\n', id="another task's field"),
        pytest.param("best_of", 2, 'unknown field "best_of"\n', id="a field of OpenAI's"),
    ],
)
def test_field(field: str, value: JSON, text: str | None) -> None:
    answer = complete(**{field: value})
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


@pytest.mark.covers("databricks/completions", "model, id, usage")
def test_response_has_documented_shape() -> None:
    body = complete(max_tokens=4).body
    assert list(body) == ["id", "object", "created", "model", "choices", "usage"]
    assert (body["object"], body["model"], body["created"]) == ("text_completion", "mpt-7b-8k-instruct", 5)
    assert body["id"].startswith("cmpl_")
    assert list(body["choices"][0]) == ["index", "text", "finish_reason", "logprobs"]
    assert body["choices"][0]["finish_reason"] == "length"


@pytest.mark.covers("databricks/completions", "index is the prompt's")
def test_choice_index_is_prompt_position() -> None:
    body = complete("pt-small", prompt=["one", "two"], n=2, max_tokens=3).body
    assert [c["index"] for c in body["choices"]] == [0, 0, 1, 1]
    assert body["usage"]["completion_tokens"] == 12
    single = [complete("pt-small", prompt=p, max_tokens=3).body["usage"]["prompt_tokens"] for p in ("one", "two")]
    assert body["usage"]["prompt_tokens"] == sum(single)


@pytest.mark.covers("databricks/completions", "echo and suffix")
def test_echo_and_suffix_add_no_usage() -> None:
    plain = complete(max_tokens=4).body
    framed = complete(max_tokens=4, echo=True, suffix=" END").body
    assert framed["choices"][0]["text"] == "Once upon a time" + plain["choices"][0]["text"] + " END"
    assert framed["usage"] == plain["usage"]


@pytest.mark.covers("databricks/completions", "use_raw_prompt")
def test_raw_prompt_skips_template() -> None:
    counts = [complete(use_raw_prompt=raw).body["usage"]["prompt_tokens"] for raw in (True, False)]
    assert counts[0] < counts[1]


def test_stop_truncates_text() -> None:
    whole = complete(max_tokens=30).body["choices"][0]["text"]
    word = whole.split(" ")[2]
    cut = complete(max_tokens=30, stop=word).body["choices"][0]
    assert (cut["text"], cut["finish_reason"]) == (whole[: whole.index(word)], "stop")


@pytest.mark.covers("databricks/completions", "stream")
@pytest.mark.parametrize("fields", [{}, {"echo": True, "suffix": " END"}], ids=["plain", "framed"])
def test_stream_matches_unary_completion(fields: JSON) -> None:
    whole = complete(max_tokens=5, **fields).body
    events = complete(max_tokens=5, stream=True, **fields).events
    assert events[-1] == "[DONE]"
    assert "".join(e["choices"][0]["text"] for e in events[:-1]) == whole["choices"][0]["text"]
    assert [e["choices"][0]["finish_reason"] for e in events[:-1]][-1] == "length"
    assert {e["object"] for e in events[:-1]} == {"text_completion"}
    counts = [e["usage"]["completion_tokens"] for e in events[:-1]]
    assert (counts, events[-2]["usage"]) == (sorted(counts), whole["usage"])


@pytest.mark.covers("databricks/completions", "one streamed prompt")
def test_batch_stream_needs_raised_limit() -> None:
    assert "at most 1 streamed prompts" in complete(prompt=["a", "b"], stream=True).message
    events = complete(MPT, {"max_streamed_prompts": 2}, prompt=["a", "b"], stream=True, max_tokens=3).events
    assert {e["choices"][0]["index"] for e in events[:-1]} == {0, 1}


LONG = "word " * 60


@pytest.mark.covers("databricks/completions", "error_behavior error")
@pytest.mark.covers("databricks/length errors", "prompt of Databricks' server")
@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param({"prompt": LONG}, "prompt token count (", id="a prompt beyond the context"),
        pytest.param({"prompt": LONG, "error_behavior": "error"}, "cannot exceed 40", id="the same, explicit"),
        pytest.param(
            {"prompt": "hi", "max_tokens": 39}, "plus max_tokens (39) cannot exceed 40", id="too long an answer"
        ),
        pytest.param({"prompt": "hi"}, None, id="an open end"),
    ],
)
def test_context_overflow(fields: JSON, text: str | None) -> None:
    answer = complete("small", **fields)
    assert answer.status == (200 if text is None else 400)
    assert text is None or text in answer.message


@pytest.mark.covers("databricks/completions", "error_behavior truncate")
def test_truncate_fills_context() -> None:
    cut = complete("small", prompt=LONG, error_behavior="truncate").body
    assert cut["choices"][0]["finish_reason"] == "length"
    assert cut["usage"]["total_tokens"] == 40
    short = complete("small", prompt="hi", max_tokens=39, error_behavior="truncate").body
    assert short["usage"]["total_tokens"] <= 40


@pytest.mark.covers("databricks/completions", "truncate and provisioned")
def test_truncate_is_refused_for_provisioned_throughput() -> None:
    assert "only supported for pay-per-token" in complete("pt-small", error_behavior="truncate").message
    assert complete("pt-small", error_behavior=None).status == 200


def test_chat_endpoint_refuses_completions() -> None:
    answer = complete(LLAMA)
    assert 'unknown field "prompt"' in answer.message
