"""Differences of text completions from chat."""

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.http import Response
from emulator.core.plan import Logprob, PromptTokens
from emulator.core.requests import CompletionRequest
from emulator.vendors.openvino.completions import CompletionsCodec
from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import COMPLETIONS, LATEST, PROMPT, SEED, Refusal, failure
from tests.vendors.openvino.plans import make_choice, make_plan, render, say

OK = None
_MISSING = "prompt is missing"
_STREAM = "logprobs are not supported in streaming mode."


@pytest.mark.parametrize("server", [pytest.param(SEED, id="2025.0"), pytest.param(LATEST, id="2026.3")])
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({}, OK, id="a prompt"),
        pytest.param({"prompt": ""}, _MISSING, id="an empty prompt"),
        pytest.param({"prompt": ["a"]}, "prompt is not a string", id="an array of prompts"),
        pytest.param({"prompt": None}, "prompt is not a string", id="null as prompt"),
        pytest.param({"logprobs": None}, OK, id="logprobs null"),
        pytest.param({"logprobs": 1}, OK, id="logprobs one"),
        pytest.param({"logprobs": 2}, "accepted logprobs value is currently 1 only", id="logprobs two"),
        pytest.param({"logprobs": 0}, "accepted logprobs value is currently 1 only", id="logprobs zero"),
        pytest.param({"logprobs": True}, "logprobs accepts integer values", id="logprobs boolean"),
        pytest.param({"logprobs": 1.0}, "logprobs accepts integer values", id="logprobs with a fraction"),
        pytest.param({"echo": True}, OK, id="echo"),
        pytest.param({"echo": "x"}, "echo accepts values true or false", id="echo text"),
        pytest.param(
            {"max_tokens": 0}, "max_tokens value should be greater than 0 unless echo is set", id="no tokens, no echo"
        ),
        pytest.param({"max_tokens": 0, "echo": True}, OK, id="nothing but the echo"),
        pytest.param({"max_completion_tokens": "x", "suffix": 1, "logit_bias": 1}, OK, id="fields that are ignored"),
        pytest.param({"prompt": "", "logprobs": 2}, _MISSING, id="the prompt comes first"),
        pytest.param({"logprobs": 2, "echo": 1}, "accepted logprobs value is currently 1 only", id="then logprobs"),
    ],
)
def test_completion_fields(server: object, fields: JSON, reason: str | None) -> None:
    expected = None if reason is None else Refusal(400, failure(reason))
    assert server.refusal({**PROMPT, **fields}, COMPLETIONS) == expected  # type: ignore[attr-defined]


@pytest.mark.covers("openvino/completions", "prompt")
def test_missing_prompt_is_refused() -> None:
    assert SEED.refusal({"model": "llama3"}, COMPLETIONS) == Refusal(400, failure(_MISSING))


@pytest.mark.covers("openvino/completions", "logprobs of a stream")
def test_logprobs_with_stream_return_error_event() -> None:
    answer = SEED.send(COMPLETIONS, {**PROMPT, "stream": True, "logprobs": 1})
    assert isinstance(answer, Response)
    assert (answer.status, answer.chunked) == (200, True)
    assert _STREAM.encode() in answer.body


@pytest.mark.covers("openvino/routes", "POST completions")
@pytest.mark.covers("openvino/completions", "max_completion_tokens")
@pytest.mark.parametrize("path", [COMPLETIONS, "/v3/v1/completions"])
def test_call(path: str) -> None:
    answer = SEED.send(path, {**PROMPT, "echo": True})
    assert isinstance(answer, InferenceCall)
    assert isinstance(answer.request, CompletionRequest)
    assert (answer.request.prompts, answer.request.raw) == (("What is OpenVINO?",), True)
    assert isinstance(answer.codec, CompletionsCodec)
    assert (answer.codec.echo, answer.codec.prompt) == (True, "What is OpenVINO?")
    assert answer.prompt_tokens == SEED.service.count_prompt(answer.request, answer.deployment)


def test_echoed_prompt_tokens_are_limited() -> None:
    long = "dense " * 140_000  # one token each
    asked = {**PROMPT, "prompt": long, "echo": True}
    refused = SEED.refusal({**asked, "logprobs": 1}, COMPLETIONS)
    assert refused is not None
    assert "one call may have 262144" in refused.error
    assert SEED.refusal(asked, COMPLETIONS) is None  # its text alone is half the work
    assert SEED.refusal({**asked, "prompt": long * 2}, COMPLETIONS) is not None


def test_echo_of_long_prompt_is_cpu_heavy() -> None:
    calls = [SEED.send(COMPLETIONS, {**PROMPT, "prompt": "a " * count, "echo": True}) for count in (10, 20_000)]
    assert [isinstance(call, InferenceCall) and call.is_cpu_heavy for call in calls] == [False, True]


@pytest.mark.covers("openvino/completions", "vision graphs")
def test_vision_graphs_refuse_completions_in_2026_3() -> None:
    reason = "VLM Servable does not support the /completions endpoint. Use /chat/completions or /responses."
    assert LATEST.refusal({**PROMPT, "model": "eyes"}, COMPLETIONS) == Refusal(400, failure(reason))
    assert SEED.refusal({**PROMPT, "model": "eyes"}, COMPLETIONS) is None


@pytest.mark.covers("openvino/completions", "answer")
def test_response() -> None:
    assert render(SEED, say("You", " are"), COMPLETIONS) == (
        b'{"choices":[{"finish_reason":"stop","index":0,"logprobs":null,"text":"You are"}],"created":1716825108,'
        b'"model":"llama3","object":"text_completion",'
        + b'"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}'
        + b"}"
    )


@pytest.mark.covers("openvino/completions", "logprobs")
def test_logprobs() -> None:
    plan = make_plan(make_choice(("text", "", ["é", " b"]), logprobs=[-0.5, 0.25]))
    assert (
        b'"logprobs":{"tokens":["\xc3\xa9"," b"],"token_logprobs":[-0.5,null],'
        b'"top_logprobs":[{"\xc3\xa9":-0.5},{" b":null}],"text_offset":[0,2]},"text":"\xc3\xa9 b"'
    ) in render(SEED, plan, COMPLETIONS, logprobs=1)


@pytest.mark.covers("openvino/completions", "echo")
def test_echo_with_logprobs_covers_prompt() -> None:
    prompt = PromptTokens(("", "What", " is"), (1, 2, 3), (Logprob("", -9), Logprob("What", -1), Logprob(" is", -0.5)))
    plan = make_plan(make_choice(("text", "", ["!"]), logprobs=[-0.25]), prompts=(prompt,))
    assert (
        b'"logprobs":{"tokens":["","What"," is","!"],"token_logprobs":[null,-1.0,-0.5,-0.25],'
        b'"top_logprobs":[{"":null},{"What":-1.0},{" is":-0.5},{"!":-0.25}],"text_offset":[0,0,4,7]},'
        b'"text":"What is!"'
    ) in render(SEED, plan, COMPLETIONS, prompt="What is", echo=True, logprobs=1)
