"""How tokens are chosen, and how many an answer may have."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.databricks.harness import CLAUDE, GPT, LLAMA, OSS, PROVISIONED, chat, invoke


@pytest.mark.covers("databricks/chat", "finish_reason")
def test_max_tokens_finishes_with_length() -> None:
    answer = chat(max_tokens=3)
    assert answer.body["choices"][0]["finish_reason"] == "length"
    assert answer.body["usage"]["completion_tokens"] == 3


def test_stop_ends_before_its_first_occurrence() -> None:
    whole = chat().body["choices"][0]["message"]["content"]
    word = whole.split(" ")[3]
    cut = chat(stop=[word]).body["choices"][0]
    assert cut["message"]["content"] == whole[: whole.index(word)]
    assert cut["finish_reason"] == "stop"


@pytest.mark.parametrize("stop", [["e", "h"], list("abcdefgh"), [" ", "e", "T"]], ids=["two", "eight", "with a space"])
def test_no_stop_remains_in_text(stop: list[str]) -> None:
    for name in (LLAMA, CLAUDE, GPT):
        choice = chat(name, stop=stop).body["choices"][0]
        assert choice["finish_reason"] == "stop"
        assert not any(text in choice["message"]["content"] for text in stop)


def test_null_and_empty_stops_are_ignored() -> None:
    whole = chat().body["choices"][0]["message"]["content"]
    assert chat(stop=[None, ""]).body["choices"][0]["message"]["content"] == whole


@pytest.mark.parametrize("fields", [{"temperature": 0}, {"top_k": 1}], ids=["temperature 0", "one candidate"])
def test_greedy_ignores_seed(fields: JSON) -> None:
    texts = {chat(**fields, seed=seed).body["choices"][0]["message"]["content"] for seed in (1, 2)}
    assert len(texts) == 1


def test_sampling_parameters_vary_text() -> None:
    parameters: JSON = [{}, {"seed": 1}, {"temperature": 0.5}, {"top_p": 0.5}, {"top_k": 5}]
    texts = {chat(**fields).body["choices"][0]["message"]["content"] for fields in parameters}
    assert len(texts) == 5


def test_n_gives_independent_choices() -> None:
    answer = chat(PROVISIONED, n=3)
    choices = answer.body["choices"]
    assert [c["index"] for c in choices] == [0, 1, 2]
    assert len({c["message"]["content"] for c in choices}) == 3


@pytest.mark.covers("databricks/validation", "top_logprobs")
@pytest.mark.parametrize("top", [-1, 21])
def test_top_logprobs_is_bounded(top: int) -> None:
    assert "between 0 and 20" in chat(logprobs=True, top_logprobs=top).message


@pytest.mark.covers("databricks/length errors", "prompt of Claude")
def test_prompt_over_context_is_rejected() -> None:
    answer = invoke("databricks-llama-2-70b-chat", {"messages": [{"role": "user", "content": "word " * 5000}]})
    assert answer.status == 400
    assert answer.message.startswith("Bad request: rpc error: code = InvalidArgument desc = prompt token count (")
    assert "cannot exceed 4096" in answer.message


@pytest.mark.covers("databricks/length errors", "output of newer models", case="gpt-oss")
@pytest.mark.covers("databricks/length errors", "output of Claude", case="Claude")
@pytest.mark.covers("databricks/length errors", "output of GPT", case="GPT")
@pytest.mark.covers("databricks/traps", "26 a line end", case="gpt-oss")
@pytest.mark.parametrize(
    ("name", "tokens", "message"),
    [
        pytest.param(
            OSS, 25001, "max_new_tokens 25001 cannot be greater than max_output_tokens 25000.\n", id="gpt-oss"
        ),
        pytest.param(
            CLAUDE,
            64001,
            "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for"
            " anthropic.claude-sonnet-4-5",
            id="Claude",
        ),
        pytest.param(GPT, 128001, "max_tokens is too large: 128001. This model supports at most 128000", id="GPT"),
    ],
)
def test_output_limit_error_depends_on_family(name: str, tokens: int, message: str) -> None:
    assert message in chat(name, max_tokens=tokens).message
    assert chat(name, max_tokens=5).status == 200


@pytest.mark.covers("databricks/catalogue", "Sonnet 4's own limit")
def test_sonnet_4_limits_max_tokens_by_default() -> None:
    call = chat("databricks-claude-sonnet-4").call
    assert call is not None
    assert call.request.task == "chat"
    assert call.request.sampling.max_tokens == 1000
    free = chat("databricks-claude-sonnet-4", {"model_max_tokens": False}).call
    assert free is not None
    assert free.request.task == "chat"
    assert free.request.sampling.max_tokens == 64000


def test_integers_and_floats_are_equivalent() -> None:
    assert chat(temperature=1).body["choices"] == chat(temperature=1.0).body["choices"] == chat().body["choices"]


@pytest.mark.covers("databricks/validation", "newest Claude")
def test_newest_claude_rejects_sampling_parameters() -> None:
    for field in ("temperature", "top_p", "top_k"):
        fields: JSON = {field: 1}
        answer = chat("databricks-claude-opus-4-8", **fields)
        assert (answer.status, field in answer.message) == (400, True)


@pytest.mark.covers("databricks/validation", "n")
def test_n_support_depends_on_profile() -> None:
    assert len(chat(n=2).body["choices"]) == 2
    refused = chat(options={"profile": "seed"}, n=2, stream=False)
    assert refused.message == "Bad request: n is only supported for provisioned throughput endpoints"
