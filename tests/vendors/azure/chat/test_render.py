"""Chat responses of hand-written plans, byte by byte, whole and streamed."""

from dataclasses import replace

import pytest

from emulator.core.plan import FinishReason, Logprob, Plan
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.chat.plans import CALL, HELLO, NAMED, TOOL, chunks, deltas, plan_of, render, say, stream
from tests.vendors.azure.service import CHAT, accept, chat, make_request


@pytest.mark.covers("azure/answers", "keys of seed")
def test_seed_response() -> None:
    response = render(HELLO)
    assert response.headers == (("Content-Type", "application/json"),)
    assert response.body.decode() == (
        '{"id":"' + parse_json(response.body)["id"] + '","model":"mistral-small-2503","choices":[{"index":0,'
        '"finish_reason":"stop","message":{"role":"assistant","content":"Hellö."}}],"created":1731461004,'
        '"object":"chat.completion","usage":{"prompt_tokens":13,"completion_tokens":4,"total_tokens":17},'
        '"system_fingerprint":"' + parse_json(response.body)["system_fingerprint"] + '"}'
    )


@pytest.mark.covers("azure/answers", "keys of maas")
def test_serverless_response() -> None:
    response = render(HELLO, "maas", model="mistral-large-2411")
    identity = parse_json(response.body)["id"]
    assert len(identity) == 32
    assert response.body.decode() == (
        '{"choices":[{"finish_reason":"stop","index":0,"message":{"content":"Hellö.","role":"assistant",'
        f'"tool_calls":null}}}}],"created":1731461004,"id":"{identity}","model":"mistral-large-2411",'
        '"object":"chat.completion","usage":{"completion_tokens":4,"prompt_tokens":13,"total_tokens":17}}'
    )
    assert [name for name, _ in response.headers] == [
        "Content-Type",
        "azureml-model-group",
        "azureml-model-session",
        "prompt_token_len",
        "sampling_token_len",
        "Request-Context",
        "X-Request-ID",
        "x-ms-rai-invoked",
    ]


@pytest.mark.covers("azure/answers", "keys of aoai")
def test_openai_response() -> None:
    answer = parse_json(render(HELLO, "aoai", model="gpt-4o-mini").body)
    assert list(answer) == [
        "choices",
        "created",
        "id",
        "model",
        "object",
        "prompt_filter_results",
        "system_fingerprint",
        "usage",
    ]
    choice = answer["choices"][0]
    assert list(choice) == ["content_filter_results", "finish_reason", "index", "logprobs", "message"]
    assert choice["message"] == {"content": "Hellö.", "refusal": None, "role": "assistant"}
    assert answer["id"].startswith("chatcmpl-")
    assert len(answer["id"]) == len("chatcmpl-") + 29
    assert answer["prompt_filter_results"][0]["content_filter_results"]["jailbreak"] == {
        "filtered": False,
        "detected": False,
    }


@pytest.mark.covers("azure/answers", "foundry")
def test_foundry_response_follows_model() -> None:
    assert "prompt_filter_results" in parse_json(render(HELLO, "foundry", model="gpt-4o-mini").body)
    assert "prompt_filter_results" not in parse_json(render(HELLO, "foundry", model="DeepSeek-R1").body)


@pytest.mark.covers("azure/answers", "call_id")
@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        pytest.param(
            "seed",
            {"id": "", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
            id="seed",
        ),
        pytest.param(
            "maas",
            {"function": {"arguments": '{"a": 1}', "call_id": None, "name": "f"}, "id": "", "type": "function"},
            id="maas",
        ),
        pytest.param(
            "aoai", {"function": {"arguments": '{"a": 1}', "name": "f"}, "id": "", "type": "function"}, id="aoai"
        ),
    ],
)
def test_tool_calls(profile: str, expected: JSON) -> None:
    choice = parse_json(render(CALL, profile, tools=[TOOL], model="gpt-4o-mini").body)["choices"][0]
    (call,) = choice["message"]["tool_calls"]
    assert call["id"].startswith("call_")
    assert len(call["id"]) == len("call_") + 24
    assert {**call, "id": ""} == expected
    assert choice["message"]["content"] == (None if profile == "aoai" else "")
    assert choice["finish_reason"] == "tool_calls"


@pytest.mark.covers("azure/answers", "ids of nine characters")
def test_mistral_tool_call_id_has_nine_characters() -> None:
    choice = parse_json(render(CALL, "maas", tools=[TOOL], model="mistral-large-2411").body)["choices"][0]
    assert len(choice["message"]["tool_calls"][0]["id"]) == 9


def test_fixed_tool_call_id_is_used() -> None:
    choice = CALL.choices[0]
    fixed = plan_of(replace(choice, segments=(replace(choice.segments[0], id="mine"),)))
    for profile in ("seed", "maas", "aoai"):
        assert b'"mine"' in render(fixed, profile, tools=[TOOL]).body
        assert any(b'"mine"' in event for _, event in stream(fixed, profile, tools=[TOOL]))


@pytest.mark.covers("azure/tools and formats", "stop at a named one")
def test_openai_named_tool_call_finishes_with_stop() -> None:
    fields = {"tools": [TOOL], "tool_choice": NAMED, "model": "gpt-4o-mini"}
    assert parse_json(render(CALL, "aoai", **fields).body)["choices"][0]["finish_reason"] == "stop"
    assert chunks(CALL, "aoai", **fields)[-1]["choices"][0]["finish_reason"] == "stop"
    assert parse_json(render(CALL, "maas", **fields).body)["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.covers("azure/answers", "n")
def test_several_choices_are_numbered() -> None:
    plan = plan_of(say(("text", ["a"])), say(("text", ["b"])))
    for profile in ("seed", "maas", "aoai"):
        choices = parse_json(render(plan, profile, n=2, model="gpt-4o-mini").body)["choices"]
        assert [choice["index"] for choice in choices] == [0, 1]


@pytest.mark.covers("azure/answers", "filtered")
def test_filtered_response_has_no_text() -> None:
    plan = plan_of(say(("text", ["bad"]), finish="content_filter"))
    for profile in ("seed", "maas", "foundry", "aoai"):
        choice = parse_json(render(plan, profile, model="gpt-4o-mini").body)["choices"][0]
        assert (choice["message"]["content"], choice["finish_reason"]) == ("", "content_filter")
        if profile in ("foundry", "aoai"):
            assert choice["content_filter_results"]["violence"] == {"filtered": True, "severity": "medium"}


@pytest.mark.covers("azure/errors", "content filter of an answer")
def test_foundry_filtered_output_as_error() -> None:
    plan = plan_of(say(("text", ["bad"]), finish="content_filter"))
    response = render(plan, "foundry", "profile=foundry, filtered_output=error", model="gpt-4o-mini")
    answer = parse_json(response.body)
    assert (response.status, answer["model"], answer["usage"]) == (400, "", {"prompt_tokens": 13, "total_tokens": 13})
    assert answer["choices"][0]["content_filter_results"]["error"]["code"] == "content_filter"


@pytest.mark.covers("azure/answers", "reasoning_content")
def test_reasoning_has_separate_field() -> None:
    plan = plan_of(say(("reasoning", ["hm", "m"]), ("text", ["Yes"])))
    for profile in ("seed", "maas"):
        message = parse_json(render(plan, profile, model="DeepSeek-R1").body)["choices"][0]["message"]
        assert (message["reasoning_content"], message["content"]) == ("hmm", "Yes")
        parts = deltas(plan, profile, model="DeepSeek-R1")
        assert "".join(part.get("reasoning_content", "") for part in parts) == "hmm"
        assert "".join(part.get("content", "") for part in parts) == "Yes"


@pytest.mark.covers("azure/answers", "think tags")
def test_older_models_reason_inline() -> None:
    plan = plan_of(say(("reasoning", ["hm", "m"]), ("text", ["Yes"])))
    scenario = "deployments:\n  - {vendor: azure, name: r1, traits: {reasoning: inline}}\n"
    whole = parse_json(render(plan, scenario=scenario, model="r1").body)["choices"][0]["message"]
    assert whole == {"role": "assistant", "content": "<think>\nhmm\n</think>\n\nYes"}
    events = stream(plan, scenario=scenario, model="r1")[:-1]
    said = [parse_json(event[6:-2])["choices"][0]["delta"].get("content", "") for _, event in events]
    assert "".join(said) == whole["content"]


@pytest.mark.covers("azure/answers", "refusal")
def test_refusals() -> None:
    plan = plan_of(say(("refusal", ["I ", "cannot"])))
    message = parse_json(render(plan, "aoai", model="gpt-4o-mini").body)["choices"][0]["message"]
    assert message == {"content": None, "refusal": "I cannot", "role": "assistant"}
    assert "".join(d.get("refusal") or "" for d in deltas(plan, "aoai", model="gpt-4o-mini")) == "I cannot"
    assert parse_json(render(plan).body)["choices"][0]["message"]["content"] == "I cannot"


LOGPROBS = (Logprob("é", -0.1, (("é", -0.1),)), Logprob("", -0.2), Logprob("!", -0.3))


@pytest.mark.covers("azure/answers", "logprobs")
@pytest.mark.parametrize("profile", ["seed", "maas", "aoai"])
def test_log_probabilities(profile: str) -> None:
    plan = plan_of(say(("text", ["é", "", "!"]), logprobs=LOGPROBS))
    whole = parse_json(render(plan, profile, logprobs=True, model="gpt-4o-mini").body)["choices"][0]["logprobs"]
    assert [entry["token"] for entry in whole["content"]] == ["é", "", "!"]
    assert whole["content"][0]["top_logprobs"] == [{"token": "é", "logprob": -0.1, "bytes": [195, 169]}]
    assert collect_streamed(plan, profile) == whole["content"]


def collect_streamed(plan: Plan, profile: str, model: str = "gpt-4o-mini") -> list[JSON]:
    """Return the entries of ``logprobs`` of all chunks."""
    streamed: list[JSON] = []
    for chunk in chunks(plan, profile, logprobs=True, model=model):
        for choice in chunk["choices"]:
            streamed += (choice["logprobs"] or {"content": []})["content"]
    return streamed


@pytest.mark.parametrize(
    "spans",
    [
        pytest.param([("reasoning", ["é"]), ("text", ["", "!"])], id="reasoning has none"),
        pytest.param([("text", ["é", "!", ""])], id="a last token whose text was cut"),
        pytest.param([("text", ["é"]), ("call:f", ["{", "}"])], id="a call has none"),
    ],
)
@pytest.mark.parametrize("profile", ["seed", "maas"])
def test_log_probabilities_are_equal_in_streams(spans: list[tuple[str, list[str]]], profile: str) -> None:
    plan = plan_of(say(*spans, logprobs=LOGPROBS))
    whole = parse_json(render(plan, profile, logprobs=True, model="grok-3-mini").body)["choices"][0]["logprobs"]
    streamed = collect_streamed(plan, profile, "grok-3-mini")
    assert streamed == whole["content"]
    assert len(streamed) == sum(len(tokens) for kind, tokens in spans if kind == "text")


@pytest.mark.parametrize("profile", ["seed", "maas", "aoai"])
def test_empty_response(profile: str) -> None:
    plan = plan_of(say(("text", []), finish="length"))
    choice = parse_json(render(plan, profile, max_tokens=1, model="gpt-4o-mini").body)["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("", "length")
    assert [due for due, _ in stream(plan, profile, max_tokens=1, model="gpt-4o-mini")][-1] == 0.0


def test_client_request_id_is_echoed() -> None:
    codec = accept(chat()).codec
    for answer in (codec.render, codec.stream):
        for given in ("d9", "da"):
            request = make_request(CHAT, chat(), {"x-ms-client-request-id": given})
            assert ("x-ms-client-request-id", given) in answer(HELLO, request).headers


@pytest.mark.covers("azure/headers of an answer", "apim-request-id", "x-ms-region")
def test_openai_response_has_gateway_headers() -> None:
    names = [name for name, _ in render(HELLO, "aoai", model="gpt-4o-mini").headers]
    counts = [f"x-ratelimit-{count}-{unit}" for count in ("limit", "remaining") for unit in ("requests", "tokens")]
    assert names[:7] == ["Content-Type", *counts, "apim-request-id", "x-ms-region"]


@pytest.mark.parametrize("profile", ["seed", "maas", "managed", "foundry", "aoai"])
@pytest.mark.parametrize("model", ["mistral-small-2503", "gpt-4o", "o3-mini", "DeepSeek-R1"])
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_one_text_is_rendered_as_two_runs_are(profile: str, model: str, finish: FinishReason) -> None:
    one = plan_of(say(("text", ["It's 100 %", ' "so"\n', "é潮\\"]), finish=finish))
    two = plan_of(say(("text", ["It's 100 %"]), ("text", [' "so"\n', "é潮\\"]), finish=finish))
    assert render(one, profile, model=model).body == render(two, profile, model=model).body
    assert stream(one, profile, model=model) == stream(two, profile, model=model)
