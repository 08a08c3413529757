"""Chat requests: every field of the reference, its bounds, and what it does to the answer."""

import pytest

from tests.parsed import JSON
from tests.vendors.databricks.harness import CLAUDE, GEMINI, GPT, LLAMA, OSS, PROVISIONED, chat, invoke

USER: JSON = {"role": "user", "content": "Tell me about Paris"}


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
        pytest.param("n", 2, "n is only supported for provisioned throughput", id="two answers, paid per token"),
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


@pytest.mark.parametrize(
    ("message", "text"),
    [
        pytest.param({"content": "x"}, "role must be one of", id="no role"),
        pytest.param({"role": "robot", "content": "x"}, "role must be one of", id="a role nobody knows"),
        pytest.param({"role": "developer", "content": "x"}, "role must be one of", id="developer, on an open model"),
        pytest.param({"role": "user"}, "messages[0].content is required", id="no content"),
        pytest.param({"role": "user", "content": None}, "content is required", id="null content"),
        pytest.param({"role": "assistant"}, "content is required", id="an assistant who says and calls nothing"),
        pytest.param({"role": "user", "content": 5}, "field 'messages.content' expects", id="content as a number"),
        pytest.param(
            {"role": "user", "content": [{"type": "text", "text": "x"}]},
            "Unable to parse json body for request, field 'messages.content' expects input with json type 'string'"
            " but got 'array'",
            id="a list of parts, on an old Llama",
        ),
        pytest.param({"role": "user", "content": "x", "mood": 1}, 'unknown field "mood"\n', id="a field in a message"),
        pytest.param({"role": "user", "content": "x", "tool_calls": [{}]}, "tool_calls are only", id="a user's call"),
        pytest.param({"role": "user", "content": "x", "tool_call_id": "1"}, "tool_call_id is only", id="a user's id"),
        pytest.param({"role": "tool", "content": "x"}, "needs a tool_call_id", id="a result of nothing"),
        pytest.param(
            {"role": "tool", "content": "x", "tool_call_id": "1"}, "must follow", id="a result without a call"
        ),
        pytest.param({"role": "assistant", "tool_calls": [{}]}, "need an id", id="a call without id"),
        pytest.param({"role": "assistant", "tool_calls": [{"id": "1"}]}, '"function"', id="a call without type"),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"id": "1", "type": "function"}]}, "function with a name", id="no name"
        ),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f"}}]},
            "function with arguments",
            id="a call without arguments",
        ),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"id": "1", "type": "x", "function": {"arguments": {}}}]},
            "field 'messages.tool_calls.function.arguments' expects input with json type 'string' but got 'object'",
            id="arguments that are not serialized",
        ),
        pytest.param("hello", "field 'messages' expects", id="a text in place of a message"),
        pytest.param(None, "field 'messages' expects", id="null in place of a message"),
    ],
)
def test_refused_message(message: JSON, text: str) -> None:
    answer = invoke(LLAMA, {"messages": [message]})
    assert answer.status == 400
    assert text in answer.message


CALL: JSON = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLED: JSON = {"role": "assistant", "tool_calls": [CALL]}
RESULT: JSON = {"role": "tool", "tool_call_id": "1", "content": "sunny"}
SYSTEM: JSON = {"role": "system", "content": "Be brief"}


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        pytest.param([SYSTEM, USER], None, id="system first"),
        pytest.param([USER, SYSTEM], "only be used once, as the first", id="system later"),
        pytest.param([SYSTEM, SYSTEM, USER], "only be used once", id="system twice"),
        pytest.param([USER, CALLED, RESULT], None, id="a call and its result"),
        pytest.param([USER, {**CALLED, "content": ""}, RESULT], None, id="a call with empty content"),
        pytest.param([USER, {**CALLED, "content": None}, RESULT], None, id="a call with null content"),
        pytest.param([USER, {**CALLED, "content": "I call"}, RESULT], None, id="a call with content"),
        pytest.param([USER, CALLED, RESULT, RESULT], "only one tool message", id="two results in a row"),
        pytest.param([USER, CALLED, USER, RESULT], "must follow a message with tool_calls", id="a late result"),
        pytest.param([{**USER, "tool_call_id": ""}], None, id="an empty id on a user's message"),
        pytest.param([{**USER, "name": "Ann"}], None, id="a user's name"),
        pytest.param([], "Missing required Chat parameter: 'messages'", id="no messages"),
        pytest.param(None, "Missing required Chat parameter: 'messages'", id="null messages"),
        pytest.param("hello", "field 'messages' expects input with json type 'array'", id="messages as text"),
    ],
)
def test_conversation(messages: JSON, text: str | None) -> None:
    answer = invoke(LLAMA, {"messages": messages})
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


def test_first_mistake_in_document_order_is_named() -> None:
    body = {"bogus": 1, "temperature": "hot", "messages": [{"role": "user", "content": "x", "also": 1}]}
    assert 'unknown field "bogus"' in invoke(LLAMA, body).message
    body = {"temperature": "hot", "bogus": 1, "messages": []}
    assert "field 'temperature'" in invoke(LLAMA, body).message


def test_max_tokens_cut_is_a_length() -> None:
    answer = chat(max_tokens=3)
    assert answer.body["choices"][0]["finish_reason"] == "length"
    assert answer.body["usage"]["completion_tokens"] == 3


def test_stop_ends_before_its_first_occurrence() -> None:
    whole = chat().body["choices"][0]["message"]["content"]
    word = whole.split(" ")[3]
    cut = chat(stop=[word]).body["choices"][0]
    assert cut["message"]["content"] == whole[: whole.index(word)]
    assert cut["finish_reason"] == "stop"


@pytest.mark.parametrize("fields", [{"temperature": 0}, {"top_k": 1}], ids=["temperature 0", "one candidate"])
def test_greedy_ignores_the_seed(fields: JSON) -> None:
    texts = {chat(**fields, seed=seed).body["choices"][0]["message"]["content"] for seed in (1, 2)}
    assert len(texts) == 1


def test_sampling_heeds_its_knobs() -> None:
    knobs: JSON = [{}, {"seed": 1}, {"temperature": 0.5}, {"top_p": 0.5}, {"top_k": 5}]
    texts = {chat(**fields).body["choices"][0]["message"]["content"] for fields in knobs}
    assert len(texts) == 5


def test_n_gives_independent_answers() -> None:
    answer = chat(PROVISIONED, n=3)
    choices = answer.body["choices"]
    assert [c["index"] for c in choices] == [0, 1, 2]
    assert len({c["message"]["content"] for c in choices}) == 3


def test_n_streams_interleaved() -> None:
    answer = chat(PROVISIONED, n=2, stream=True, max_tokens=4)
    chunks = answer.events[:-1]
    indices = [c["choices"][0]["index"] for c in chunks]
    assert sorted(set(indices)) == [0, 1]
    assert indices != sorted(indices)
    assert chunks[-1]["usage"]["completion_tokens"] == 8
    counts = [c["usage"]["completion_tokens"] for c in chunks]
    assert counts == sorted(counts)


def test_logprobs_weigh_every_token() -> None:
    answer = chat(logprobs=True, top_logprobs=4, max_tokens=5)
    entries = answer.body["choices"][0]["logprobs"]["content"]
    assert len(entries) == 5
    assert all(len(entry["top_logprobs"]) == 4 for entry in entries)
    plain = chat(logprobs=True, max_tokens=5).body["choices"][0]["logprobs"]["content"]
    assert all(entry["top_logprobs"] == [] for entry in plain)
    assert "".join(bytes(e["bytes"]).decode() for e in entries) == answer.body["choices"][0]["message"]["content"]


@pytest.mark.parametrize("top", [-1, 21])
def test_top_logprobs_is_bounded(top: int) -> None:
    assert "between 0 and 20" in chat(logprobs=True, top_logprobs=top).message


def test_logprobs_stream_with_their_tokens() -> None:
    answer = chat(logprobs=True, max_tokens=3, stream=True)
    entries = [e for c in answer.events[:-1] if (p := c["choices"][0]["logprobs"]) for e in p["content"]]
    assert len(entries) == 3


def test_answer_has_the_shape_of_the_reference() -> None:
    answer = chat(max_tokens=2)
    body = answer.body
    assert list(body) == ["id", "object", "created", "model", "choices", "usage"]
    assert body["id"].startswith("chatcmpl_")
    assert (body["object"], body["created"]) == ("chat.completion", 5)
    assert body["model"] == "meta-llama-3.3-70b-instruct-121024"
    assert list(body["choices"][0]) == ["index", "message", "finish_reason", "logprobs"]
    assert body["choices"][0]["message"]["role"] == "assistant"
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert answer.headers["served-model-name"] == LLAMA


def test_stream_has_the_shape_of_the_reference() -> None:
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


@pytest.mark.parametrize("name", [LLAMA, CLAUDE, GPT, OSS, GEMINI, "databricks-gemini-3-1-pro"])
@pytest.mark.parametrize("fields", [{}, {"max_tokens": 90}], ids=["whole", "cut"])
def test_stream_says_what_one_piece_says(name: str, fields: JSON) -> None:
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


def test_prompt_tokens_count_the_template() -> None:
    short = chat().body["usage"]["prompt_tokens"]
    assert short > 5
    long = invoke(LLAMA, {"messages": [SYSTEM, USER]}).body["usage"]["prompt_tokens"]
    assert long > short


def test_prompt_beyond_the_context_is_refused() -> None:
    answer = invoke("databricks-llama-2-70b-chat", {"messages": [{"role": "user", "content": "word " * 5000}]})
    assert answer.status == 400
    assert answer.message.startswith("Bad request: rpc error: code = InvalidArgument desc = prompt token count (")
    assert "cannot exceed 4096" in answer.message


@pytest.mark.parametrize(
    ("name", "tokens", "message"),
    [
        pytest.param(
            OSS, 25001, "max_new_tokens 25001 cannot be greater than max_output_tokens 25000.\n", id="gpt-oss"
        ),
        pytest.param(CLAUDE, 64001, "max_tokens: 64001 > 64000, which is the maximum allowed", id="Claude"),
        pytest.param(GPT, 128001, "max_tokens is too large: 128001. This model supports at most 128000", id="GPT"),
    ],
)
def test_output_limit_is_worded_by_family(name: str, tokens: int, message: str) -> None:
    assert message in chat(name, max_tokens=tokens).message
    assert chat(name, max_tokens=5).status == 200


def test_sonnet_4_stops_at_its_own_limit() -> None:
    call = chat("databricks-claude-sonnet-4").call
    assert call is not None
    assert call.ask.task == "chat"
    assert call.ask.sampling.max_tokens == 1000
    free = chat("databricks-claude-sonnet-4", {"model_max_tokens": False}).call
    assert free is not None
    assert free.ask.task == "chat"
    assert free.ask.sampling.max_tokens == 64000


def test_whole_numbers_and_floats_mean_the_same() -> None:
    assert chat(temperature=1).body["choices"] == chat(temperature=1.0).body["choices"] == chat().body["choices"]
