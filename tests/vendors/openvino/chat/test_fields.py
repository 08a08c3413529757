"""Fields that chat and completions share, at their bounds, in the oldest and newest texts."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.calls import InferenceCall
from emulator.core.http import Response
from emulator.vendors.openvino.decoder import promote
from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import (
    BASE,
    CHAT,
    COMPLETIONS,
    LATEST,
    PROMPT,
    SEED,
    Refusal,
    Server,
    failure,
    make_server,
    not_json,
)

OK = None


def check(server: Server, fields: JSON, reason: str | None) -> None:
    """Assert the same result in chat and, for fields of both, in completions."""
    expected = None if reason is None else Refusal(400, failure(reason))
    assert server.refusal({**BASE, **fields}) == expected
    if "max_completion_tokens" not in fields and fields.get("max_tokens") != 0 and "logprobs" not in fields:
        assert server.refusal({**PROMPT, **fields}, COMPLETIONS) == expected


def _number(name: str) -> str:
    return f"{name} is not a valid number"


_OF_FOUR = "stop array must have no more than 4 strings"
_EITHER = "num_assistant_tokens and assistant_confidence_threshold are only supported when"
_UNUSED = f"{_EITHER} speculative decoding is enabled."


@pytest.mark.covers("openvino/order of checks", "fields of 2025.0")
@pytest.mark.covers("openvino/decisions", "9 ignore_eos alone")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"max_tokens": 1}, OK, id="max_tokens least"),
        pytest.param({"max_tokens": 4095}, OK, id="max_tokens below its limit"),
        pytest.param(
            {"max_tokens": 4096}, "max_tokens exceeds limit provided in graph config: 4096", id="max_tokens limit"
        ),
        pytest.param({"max_tokens": 0}, "max_tokens value should be greater than 0", id="max_tokens zero"),
        pytest.param({"max_tokens": -1}, "max_tokens is not an unsigned integer", id="max_tokens negative"),
        pytest.param({"max_tokens": 1.0}, "max_tokens is not an unsigned integer", id="max_tokens with a fraction"),
        pytest.param({"max_tokens": "1"}, "max_tokens is not an unsigned integer", id="max_tokens text"),
        pytest.param({"max_tokens": True}, "max_tokens is not an unsigned integer", id="max_tokens boolean"),
        pytest.param({"max_tokens": None}, "max_tokens is not an unsigned integer", id="max_tokens null"),
        pytest.param(
            {"max_tokens": 4294967295}, "max_tokens exceeds limit provided in graph config: 4096", id="max_tokens most"
        ),
        pytest.param(
            {"max_tokens": 4294967296}, "max_tokens value can't be greater than 4294967295", id="max_tokens uint64"
        ),
        pytest.param({"max_tokens": 2**64}, "max_tokens is not an unsigned integer", id="max_tokens beyond uint64"),
        pytest.param({"max_completion_tokens": 4095}, OK, id="max_completion_tokens below its limit"),
        pytest.param(
            {"max_completion_tokens": 4096},
            "max_completion_tokens exceeds limit provided in graph config: 4096",
            id="max_completion_tokens limit",
        ),
        pytest.param(
            {"max_completion_tokens": 0}, "max_tokens value should be greater than 0", id="max_completion_tokens zero"
        ),
        pytest.param(
            {"max_completion_tokens": "INVALID"},
            "max_completion_tokens is not an unsigned integer",
            id="max_completion_tokens text",
        ),
        pytest.param(
            {"max_completion_tokens": 4294967296},
            "max_completion_tokens value can't be greater than 4294967295",
            id="max_completion_tokens uint64",
        ),
        pytest.param(
            {"ignore_eos": True, "max_completion_tokens": 4001, "max_tokens": 1},
            "when ignore_eos is true max_completion_tokens can not be greater than 4000",
            id="max_completion_tokens past the cap",
        ),
        pytest.param({"ignore_eos": False, "max_tokens": 4001}, OK, id="ignore_eos false has no cap"),
        pytest.param({"ignore_eos": True, "max_tokens": 4000}, OK, id="ignore_eos at the cap"),
        pytest.param(
            {"ignore_eos": True, "max_tokens": 4001},
            "when ignore_eos is true max_tokens can not be greater than 4000",
            id="ignore_eos past the cap",
        ),
        pytest.param(
            {"ignore_eos": True, "max_tokens": 4096},
            "max_tokens exceeds limit provided in graph config: 4096",
            id="ignore_eos past both",
        ),
        pytest.param({"ignore_eos": "INVALID"}, "ignore_eos accepts values true or false", id="ignore_eos text"),
        pytest.param({"ignore_eos": 1}, "ignore_eos accepts values true or false", id="ignore_eos number"),
        pytest.param({"ignore_eos": None}, "ignore_eos accepts values true or false", id="ignore_eos null"),
        *[
            pytest.param({name: value}, reason, id=f"{name} {value!r}")
            for name in ("frequency_penalty", "presence_penalty")
            for value, reason in [
                (1.5, OK),
                (1, OK),
                (-2.0, OK),
                (2, OK),
                (2.01, f"{name} out of range(-2.0, 2.0)"),
                (-3, f"{name} out of range(-2.0, 2.0)"),
                (3000000000, _number(name)),
                (2**64, f"{name} out of range(-2.0, 2.0)"),
                ("INVALID", _number(name)),
                (True, _number(name)),
                (None, _number(name)),
            ]
        ],
        *[
            pytest.param({name: value}, reason, id=f"{name} {value!r}")
            for name in ("repetition_penalty", "diversity_penalty", "length_penalty")
            for value, reason in [(2.0, OK), (2, OK), (1e9, OK), ("INVALID", _number(name)), (None, _number(name))]
        ],
        pytest.param({"diversity_penalty": -5.0, "length_penalty": -5}, OK, id="penalties of beams without a range"),
        pytest.param({"temperature": 0}, OK, id="temperature least"),
        pytest.param({"temperature": 2.0}, OK, id="temperature most"),
        pytest.param({"temperature": 2.1}, "temperature out of range(0.0, 2.0)", id="temperature too high"),
        pytest.param({"temperature": -0.1}, "temperature out of range(0.0, 2.0)", id="temperature too low"),
        pytest.param({"temperature": "INVALID"}, _number("temperature"), id="temperature text"),
        pytest.param({"temperature": 3000000000}, _number("temperature"), id="temperature beyond int32"),
        pytest.param({"top_p": 0.5}, OK, id="top_p inside"),
        pytest.param({"top_p": 1}, OK, id="top_p most"),
        pytest.param({"top_p": 1.1}, "top_p out of range(0.0, 1.0)", id="top_p too high"),
        pytest.param({"top_p": 3.0}, "top_p out of range(0.0, 1.0)", id="top_p far too high"),
        pytest.param({"top_p": -0.1}, "top_p out of range(0.0, 1.0)", id="top_p too low"),
        pytest.param({"top_p": 0, "temperature": 0}, OK, id="top_p zero without sampling"),
        pytest.param({"top_p": "INVALID"}, _number("top_p"), id="top_p text"),
        pytest.param({"top_k": 2}, OK, id="top_k inside"),
        pytest.param({"top_k": -1}, OK, id="top_k of all"),
        pytest.param({"top_k": -7}, OK, id="top_k has no range"),
        pytest.param({"top_k": 0, "temperature": 0}, OK, id="top_k zero without sampling"),
        pytest.param({"top_k": 1.0}, "top_k is not an integer", id="top_k with a fraction"),
        pytest.param({"top_k": 2**31}, "top_k is not an integer", id="top_k beyond int32"),
        pytest.param({"top_k": "INVALID"}, "top_k is not an integer", id="top_k text"),
        pytest.param({"seed": 1}, OK, id="seed"),
        pytest.param({"seed": 4294967295}, OK, id="seed most"),
        pytest.param({"seed": 4294967296}, "seed is not an unsigned integer", id="seed too high"),
        pytest.param({"seed": -1}, "seed is not an unsigned integer", id="seed negative"),
        pytest.param({"seed": "INVALID"}, "seed is not an unsigned integer", id="seed text"),
        pytest.param({"stop": "."}, OK, id="stop text"),
        pytest.param({"stop": []}, OK, id="stop nothing"),
        pytest.param({"stop": ["a", "b", "c", "d"]}, OK, id="stop four"),
        pytest.param({"stop": ["a", "b", "c", "d", "e"]}, _OF_FOUR, id="stop five"),
        pytest.param({"stop": [1, 2, 3, 4, 5]}, _OF_FOUR, id="stop counts before it looks"),
        pytest.param({"stop": ["a", 1]}, "stop array contains non string element", id="stop with a number"),
        pytest.param({"stop": {}}, "stop is not a string or array of strings", id="stop object"),
        pytest.param({"stop": None}, "stop is not a string or array of strings", id="stop null"),
        pytest.param({"include_stop_str_in_output": False}, OK, id="stop left out"),
        pytest.param(
            {"include_stop_str_in_output": "yes"},
            "include_stop_str_in_output accepts values true or false",
            id="include_stop_str_in_output text",
        ),
        pytest.param({"best_of": 1}, OK, id="best_of least"),
        pytest.param({"best_of": 19}, OK, id="best_of below its limit"),
        pytest.param({"best_of": 20}, "best_of exceeds limit provided in graph config: 20", id="best_of limit"),
        pytest.param({"best_of": 40}, "best_of exceeds limit provided in graph config: 20", id="best_of far too high"),
        pytest.param({"best_of": 0}, "best_of value should be greater than 0", id="best_of zero"),
        pytest.param({"best_of": -1}, "best_of is not an unsigned integer", id="best_of negative"),
        pytest.param({"best_of": "INVALID"}, "best_of is not an unsigned integer", id="best_of text"),
        pytest.param({"best_of": 16, "n": 8}, OK, id="n below best_of"),
        pytest.param({"best_of": 3, "n": 3}, OK, id="n as best_of"),
        pytest.param({"n": 1}, OK, id="n alone"),
        pytest.param({"n": 2}, "n value cannot be greater than best_of", id="n alone above 1"),
        pytest.param({"best_of": 2, "n": 3}, "n value cannot be greater than best_of", id="n above best_of"),
        pytest.param({"n": 0}, "n value should be greater than 0", id="n zero"),
        pytest.param({"n": 1.0}, "n is not an unsigned integer", id="n with a fraction"),
        pytest.param({"num_assistant_tokens": 3}, _UNUSED, id="draft tokens on a plain graph"),
        pytest.param({"assistant_confidence_threshold": "x"}, _UNUSED, id="a draft's threshold on a plain graph"),
        pytest.param(
            {"stream_options": {}}, "stream_options provided, but stream not set to true", id="options without stream"
        ),
        pytest.param({"temperature": 3.0, "top_p": 3.0}, "temperature out of range(0.0, 2.0)", id="temperature first"),
        pytest.param({"stop": {}, "seed": -1}, "seed is not an unsigned integer", id="seed before stop"),
    ],
)
def test_field_of_2025_0(fields: JSON, reason: str | None) -> None:
    check(SEED, fields, reason)


_MIN_P = "min_p out of range [0.0, 1.0)"
_TOP_K = "top_k must be -1 (all tokens) or a positive integer"
_SEED = "seed out of range [0, 4294967295]"


@pytest.mark.covers("openvino/order of checks", "fields of 2026.3")
@pytest.mark.covers("openvino/fields of 2026.3", "ignore_eos")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"max_tokens": 4096}, OK, id="max_tokens has no limit of its own"),
        pytest.param({"max_tokens": None}, "max_tokens is not an unsigned integer", id="max_tokens is never null"),
        pytest.param({"ignore_eos": True, "max_tokens": 4001}, OK, id="ignore_eos has no cap"),
        pytest.param({"diversity_penalty": "INVALID"}, OK, id="diversity_penalty is gone"),
        pytest.param({"stop": ["x"] * 16}, OK, id="stop sixteen"),
        pytest.param({"stop": ["x"] * 17}, "stop array must have no more than 16 strings", id="stop seventeen"),
        pytest.param({"seed": 0}, OK, id="seed least"),
        pytest.param({"seed": 4294967295}, OK, id="seed most"),
        pytest.param({"seed": 4294967296}, _SEED, id="seed too high"),
        pytest.param({"seed": -1}, _SEED, id="seed negative"),
        pytest.param({"seed": "INVALID"}, "seed is not an integer", id="seed text"),
        pytest.param({"seed": 1.0}, "seed is not an integer", id="seed with a fraction"),
        pytest.param({"seed": 2**64 - 1}, _SEED, id="seed of 64 bits"),
        pytest.param({"seed": 2**64}, "seed is not an integer", id="seed beyond 64 bits"),
        pytest.param({"seed": -(2**63) - 1}, "seed is not an integer", id="seed below 64 bits"),
        pytest.param({"top_k": -1}, OK, id="top_k of all"),
        pytest.param({"top_k": 0}, _TOP_K, id="top_k zero"),
        pytest.param({"top_k": -2}, _TOP_K, id="top_k below -1"),
        pytest.param({"min_p": 0.05}, OK, id="min_p inside"),
        pytest.param({"min_p": 0}, OK, id="min_p least"),
        pytest.param({"min_p": 1.0}, _MIN_P, id="min_p one"),
        pytest.param({"min_p": -0.1}, _MIN_P, id="min_p negative"),
        pytest.param({"min_p": "INVALID"}, _number("min_p"), id="min_p text"),
        pytest.param({"skip_special_tokens": False}, OK, id="skip_special_tokens"),
        pytest.param({"skip_special_tokens": 1}, "skip_special_tokens is not a bool", id="skip_special_tokens number"),
        pytest.param({"num_assistant_tokens": "x"}, OK, id="draft tokens are the engine's business"),
        pytest.param({"modalities": ["text"], "audio": {"format": "wav"}, "chunk_frames": 1}, OK, id="speech"),
        pytest.param({"modalities": "text"}, "modalities is not an array", id="modalities text"),
        pytest.param({"modalities": [1]}, "modalities array must contain strings", id="modalities number"),
        pytest.param({"audio": 1}, "audio is not an object", id="audio number"),
        pytest.param({"audio": {"format": "mp3"}}, 'audio.format must be "wav" or "pcm16"', id="audio format"),
        pytest.param({"chunk_frames": "x"}, "chunk_frames must be a positive integer", id="chunk_frames text"),
        pytest.param({"chunk_frames": 0}, "chunk_frames must be >= 1", id="chunk_frames zero"),
    ],
)
def test_field_of_2026_3(fields: JSON, reason: str | None) -> None:
    check(LATEST, fields, reason)


_NULLABLE = [
    "stream_options", "ignore_eos", "frequency_penalty", "presence_penalty", "repetition_penalty", "length_penalty",
    "temperature", "top_p", "top_k", "seed", "stop", "include_stop_str_in_output", "best_of", "n", "logprobs",
    "max_completion_tokens",
]  # fmt: skip


@pytest.mark.covers("openvino/numbers", "null")
@pytest.mark.covers("openvino/cases", "85")
@pytest.mark.parametrize("name", _NULLABLE)
def test_null_is_refused_only_in_2025_0(name: str) -> None:
    """Null has a wrong type in 2025.0 and counts as absent since 2025.1."""
    assert SEED.refusal({**BASE, name: None}) is not None
    assert make_server("2025.1").refusal({**BASE, name: None}) is None
    assert LATEST.refusal({**BASE, name: None}) is None


@pytest.mark.parametrize(
    "name",
    [
        "logit_bias", "top_logprobs", "response_format", "tools", "tool_choice", "user", "function_call", "functions",
        "min_p", "use_beam_search", "early_stopping", "stop_token_ids", "min_tokens", "prompt_logprobs", "detokenize",
        "skip_special_tokens", "spaces_between_special_tokens", "logits_processors", "truncate_prompt_tokens",
        "chat_template_kwargs", "modalities", "no_such_field",
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [None, "INVALID", 7, {"a": []}], ids=repr)
def test_unsupported_fields_are_ignored(name: str, value: JSON) -> None:
    answer = SEED.send(CHAT, {**BASE, name: value})
    assert isinstance(answer, InferenceCall)
    assert answer.request == SEED.call(BASE).request


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"stream_options": {"include_usage": True}}, OK, id="usage"),
        pytest.param({"stream_options": {}}, OK, id="no options"),
        pytest.param({"stream_options": "x"}, "stream_options is not an object", id="options text"),
        pytest.param({"stream_options": None}, "stream_options is not an object", id="options null"),
        pytest.param(
            {"stream_options": {"include_usage": 123}}, "stream_options.include_usage is not a boolean", id="a number"
        ),
        pytest.param(
            {"stream_options": {"option": "A"}},
            "Found unexpected stream options. Properties accepted in stream_options: include_usage",
            id="another option",
        ),
        pytest.param(
            {"stream_options": {"option": "A", "include_usage": True}},
            "Found unexpected stream options. Properties accepted in stream_options: include_usage",
            id="another option with usage",
        ),
        pytest.param({"include_stop_str_in_output": True}, OK, id="stop kept"),
        pytest.param(
            {"include_stop_str_in_output": False},
            "include_stop_str_in_output cannot be set to false if streaming is used",
            id="stop left out, even without one",
        ),
        pytest.param({"best_of": 1}, "best_of cannot be used in streaming mode", id="one beam"),
        pytest.param({"best_of": 2}, "best_of cannot be used in streaming mode", id="two beams"),
        pytest.param({"logprobs": True}, "logprobs are not supported in streaming mode.", id="log-probabilities"),
        pytest.param({"logprobs": False}, OK, id="no log-probabilities"),
    ],
)
def test_stream_options_fields(fields: JSON, reason: str | None) -> None:
    body = {**BASE, "stream": True, **fields}
    answer = SEED.send(CHAT, body)
    if reason is None:
        assert isinstance(answer, InferenceCall)
        assert answer.stream
        return
    assert isinstance(answer, Response)
    assert (answer.status, answer.chunked) == (200, True)
    assert answer.headers[0] == ("content-type", "text/event-stream")
    assert json.loads(answer.body) == {"error": failure(reason)}
    assert answer.body.startswith(b'{"error":"')


@pytest.mark.covers("openvino/a stream that fails", "status by release")
@pytest.mark.covers("openvino/decisions", "14 stream error status")
@pytest.mark.parametrize(
    ("release", "switches", "status"),
    [
        pytest.param("2024.2", {}, 200, id="2024.2"),
        pytest.param("2025.0", {}, 200, id="2025.0"),
        pytest.param("2025.1", {}, 200, id="2025.1"),
        pytest.param("2025.2", {}, 400, id="2025.2"),
        pytest.param("2026.3", {}, 400, id="2026.3"),
        pytest.param("2025.0", {"stream_error_status": 400}, 400, id="by a switch"),
    ],
)
def test_stream_error_status_by_release(release: str, switches: dict[str, JSON], status: int) -> None:
    answer = make_server(release, **switches).send(CHAT, {**BASE, "stream": True, "temperature": 3.0})
    assert isinstance(answer, Response)
    assert answer.status == status


@pytest.mark.covers("openvino/a stream that fails", "2024.2 without escapes")
def test_stream_error_is_unescaped_in_2024_2() -> None:
    answer = make_server("2024.2").send(CHAT, {**BASE, "stream": True, "temperature": 1})
    assert isinstance(answer, Response)
    assert answer.body == b'{"error": "%b"}' % failure("temperature is not a floating point number").encode()


_BOTH = "num_assistant_tokens and assistant_confidence_threshold are mutually exclusive and cannot both be set."
_NEITHER = "Speculative decoding requires either num_assistant_tokens or assistant_confidence_threshold to be set."
_TOKENS = "num_assistant_tokens must be an unsigned integer greater than 0"


@pytest.mark.covers("openvino/fields of 2025.0", "speculative: neither, both, not one")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({}, _NEITHER, id="neither"),
        pytest.param({"num_assistant_tokens": 3}, OK, id="tokens"),
        pytest.param({"assistant_confidence_threshold": 0.4}, OK, id="a threshold"),
        pytest.param({"num_assistant_tokens": 3, "assistant_confidence_threshold": 0.4}, _BOTH, id="both"),
        pytest.param({"num_assistant_tokens": "x", "assistant_confidence_threshold": "x"}, _BOTH, id="both, wrong"),
        pytest.param({"num_assistant_tokens": 0}, _TOKENS, id="no tokens"),
        pytest.param({"num_assistant_tokens": 1.5}, _TOKENS, id="tokens with a fraction"),
        pytest.param(
            {"assistant_confidence_threshold": "x"},
            "assistant_confidence_threshold must be a positive number",
            id="threshold text",
        ),
        pytest.param(
            {"assistant_confidence_threshold": 0},
            "assistant_confidence_threshold must be greater than 0",
            id="threshold zero",
        ),
        pytest.param(
            {"assistant_confidence_threshold": -0.1},
            "assistant_confidence_threshold must be greater than 0",
            id="threshold negative",
        ),
    ],
)
def test_speculative_fields_in_2025_0(fields: JSON, reason: str | None) -> None:
    check(SEED, {"model": "draft", **fields}, reason)


@pytest.mark.covers("openvino/the engine's check", "both speculative fields")
@pytest.mark.covers("openvino/fields of 2026.3", "speculative fields")
def test_speculative_fields_are_optional_and_exclusive_in_2026_3() -> None:
    assert LATEST.refusal({**BASE, "model": "draft"}) is None
    both = {"num_assistant_tokens": 3, "assistant_confidence_threshold": 0.4}
    refusal = LATEST.refusal({**BASE, "model": "draft", **both})
    assert refusal is not None
    assert "`assistant_confidence_threshold` and `num_assistant_tokens` are mutually exclusive" in refusal.error


@pytest.mark.covers("openvino/the engine's check", "top_k 0", "top_p 0", "repetition_penalty")
@pytest.mark.covers("openvino/decisions", "7 top_p 0")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"top_k": 0}, "top_k must be a strictly positive, but got 0", id="no candidates"),
        pytest.param({"top_p": 0}, "top_p must be a positive float > 0 and < 1, but got 0", id="no probability"),
        pytest.param(
            {"repetition_penalty": 0}, "Repetition penalty must be a strictly positive float, but got 0", id="penalty"
        ),
        pytest.param({"repetition_penalty": -1.5}, "strictly positive float, but got -1.5", id="a negative penalty"),
        pytest.param({"repetition_penalty": 0, "temperature": 0}, "strictly positive", id="a penalty without sampling"),
    ],
)
def test_engine_refuses_invalid_sampling(fields: JSON, reason: str) -> None:
    refusal = SEED.refusal({**BASE, **fields})
    assert refusal is not None
    assert refusal.status == 400
    assert reason in refusal.error


@pytest.mark.covers("openvino/order of checks", "messages, then the engine")
def test_messages_are_checked_before_engine() -> None:
    assert SEED.refusal({**BASE, "top_k": 0, "messages": []}) == Refusal(400, failure("Messages array cannot be empty"))


@pytest.mark.covers("openvino/fields of 2026.3", "max_tokens")
def test_token_and_best_of_limits_follow_settings() -> None:
    server = make_server("2025.0", max_tokens_limit=10, best_of_limit=3)
    assert server.refusal({**BASE, "max_tokens": 10}) == Refusal(
        400, failure("max_tokens exceeds limit provided in graph config: 10")
    )
    assert server.refusal({**BASE, "best_of": 3}) == Refusal(
        400, failure("best_of exceeds limit provided in graph config: 3")
    )
    assert make_server("2025.0", max_tokens_limit=0).refusal({**BASE, "max_tokens": 100000}) is None


@pytest.mark.covers("openvino/fields of 2026.3", "its limit")
def test_max_tokens_limit_is_default_since_2025_1() -> None:
    server = make_server("2025.1", max_tokens_limit=10)
    unbounded = {name: value for name, value in BASE.items() if name != "max_tokens"}
    ask = server.call(unbounded).request
    assert ask.task == "chat"
    assert ask.sampling.max_tokens == 10
    assert server.refusal({**unbounded, "max_tokens": 10}) is not None
    assert server.refusal({**unbounded, "max_completion_tokens": 10}) is None
    assert server.refusal({**unbounded, "max_completion_tokens": 11}) is not None


_ODD: list[JSON] = [
    None, True, False, 0, 1, -1, 2**31, 2**32, 2**64, 10**400, 0.5, -2.5, 1e300, "", "x", "function", "\x00", "é",
    [], [None], [1], ["a"], [["a"]], [[]], {}, {"a": {}}, {"name": 1}, {"name": "f"}, {"type": "function"},
    {"type": "json_schema"}, {"type": "json_schema", "json_schema": {"schema": {"type": []}}}, {"include_usage": True},
    {"function": []}, {"function": {"name": "f", "parameters": {}}}, [{"type": "function", "function": {"name": "f"}}],
    {"url": "base64,"}, {"data": None}, {"schema": 1}, {"format": []}, {"enable_thinking": []},
]  # fmt: skip
_NAMES = [
    "model", "messages", "prompt", "input", "query", "documents", "stream", "stream_options", "max_tokens", "stop",
    "temperature", "top_k", "seed", "n", "best_of", "tools", "tool_choice", "response_format", "logprobs", "echo",
    "encoding_format", "top_n", "return_documents", "rank_fields", "chat_template_kwargs", "audio", "modalities",
    "include_stop_str_in_output", "max_completion_tokens", "ignore_eos", "num_assistant_tokens", "top_p", "min_p",
    "reasoning", "max_output_tokens", "text", "max_length", "assistant_confidence_threshold",
    "max_chunks_per_doc", "chunk_frames", "skip_special_tokens", "length_penalty",
]  # fmt: skip
_INNER = ["type", "text", "image_url", "input_audio", "role", "content", "tool_calls", "function", "name", "title"]
_MODELS = ["llama3", "embeddings", "rerank", "draft", "eyes", "thinker", "stock", "short"]


def _draw(chance: random.Random, depth: int = 0) -> JSON:
    """Draw an arbitrary JSON value."""
    if depth < 4 and chance.random() < 0.5:
        if chance.random() < 0.5:
            return [_draw(chance, depth + 1) for _ in range(chance.randrange(3))]
        return {name: _draw(chance, depth + 1) for name in chance.sample(_INNER, chance.randrange(4))}
    kinds = ("text", "image_url", "input_audio", "user")
    return chance.choice(kinds if chance.random() < 0.3 else _ODD)


@pytest.mark.slow
def test_any_body_gets_call_or_json_error() -> None:
    chance = random.Random(7)
    seen = set()
    for _ in range(3000):
        fields = {name: _draw(chance) for name in chance.sample(_NAMES, chance.randrange(1, 4))}
        whole = {**BASE, **PROMPT, "input": "a", "query": "a", "documents": [], "text": "a"}
        body = {**whole, "model": chance.choice(_MODELS), **fields}
        path = chance.choice([CHAT, COMPLETIONS, "/v3/responses", "/v3/tokenize"])
        answer = chance.choice([SEED, LATEST]).send(path, body)
        if isinstance(answer, Response) and answer.body.startswith(b'{"tokens":'):
            continue
        if isinstance(answer, Response):
            assert set(json.loads(answer.body)) == {"error"}, body
            assert answer.status in (200, 400, 404, 412), body
            seen.add(answer.body)
    assert len(seen) > 60


@pytest.mark.covers("openvino/numbers", "uint32", "uint64", "int32")
@given(value=st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.text())
def test_temperature_number_classes(value: JSON) -> None:
    """A float field accepts any number, or reports it out of range or invalid."""
    refusal = SEED.refusal({**BASE, "temperature": value})
    integer = type(value) is int
    if type(value) is float or (integer and (abs(value) < 2**31 or value >= 2**64 or value < -(2**63))):
        if 0 <= value <= 2 or (type(value) is float and 0 <= promote(value) <= 2):
            assert refusal is None
        elif integer and abs(value) >= 10**308:
            assert refusal == Refusal(412, not_json("Cannot parse JSON body"))
        else:
            assert refusal == Refusal(400, failure("temperature out of range(0.0, 2.0)"))
    elif value != -(2**31):
        assert refusal == Refusal(400, failure("temperature is not a valid number"))


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("1", "temperature is not a floating point number"),
        ("4294967296", "temperature is not a floating point number"),
        ("18446744073709551616", "temperature out of range(0.0, 2.0)"),  # beyond 64 bits: a double
        ("-9223372036854775809", "temperature out of range(0.0, 2.0)"),
    ],
)
def test_2024_2_takes_doubles_alone(literal: str, text: str) -> None:
    body = b'{"model":"llama3","messages":[{"role":"user","content":"Hi"}],"temperature":%b}' % literal.encode()
    assert make_server("2024.2").refusal(body) == Refusal(400, failure(text))
