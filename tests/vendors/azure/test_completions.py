"""``POST /completions``."""

import pytest

from emulator.core.requests import CompletionRequest, Sampling
from tests.conftest import Start
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.chat.plans import REQUEST, plan_of, say
from tests.vendors.azure.service import VERSION, accept, refuse

ROUTE = f"/completions{VERSION}"
KEY = {"api-key": "k"}
PASS = {"extra-parameters": "pass-through"}


def ask_of(body: JSON, headers: dict[str, str] | None = None) -> CompletionRequest:
    ask = accept(body, ROUTE, headers=headers).request
    assert isinstance(ask, CompletionRequest)
    return ask


@pytest.mark.covers("azure/completions", "prompt")
@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        pytest.param("Hi", ("Hi",), id="a text"),
        pytest.param(["Hi", "you"], ("Hi", "you"), id="texts"),
        pytest.param([5, 6], ((5, 6),), id="token ids"),
        pytest.param([[5], [6]], ((5,), (6,)), id="token ids of several"),
    ],
)
def test_prompt(prompt: JSON, expected: object) -> None:
    assert ask_of({"prompt": prompt}).prompts == expected


@pytest.mark.covers("azure/completions", "sampling")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, Sampling(max_tokens=256), id="256 tokens by default"),
        pytest.param({"max_tokens": 5}, Sampling(max_tokens=5), id="max_tokens"),
        pytest.param({"temperature": 0}, Sampling(max_tokens=256, greedy=True), id="greedy"),
        pytest.param(
            {"temperature": 1.5, "top_p": 0.5, "frequency_penalty": 1, "presence_penalty": -1},
            Sampling(
                max_tokens=256,
                parameters=(
                    ("temperature", 1.5),
                    ("top_p", 0.5),
                    ("frequency_penalty", 1.0),
                    ("presence_penalty", -1.0),
                ),
            ),
            id="parameters",
        ),
        pytest.param({"seed": 4, "stop": "x"}, Sampling(max_tokens=256, seed=4, stop=("x",)), id="seed and stop"),
    ],
)
def test_sampling(fields: JSON, expected: Sampling) -> None:
    assert ask_of({"prompt": "Hi", **fields}).sampling == expected


@pytest.mark.covers("azure/completions", "misuse")
@pytest.mark.parametrize(
    ("body", "loc"),
    [
        pytest.param({}, ["prompt"], id="no prompt"),
        pytest.param({"prompt": 5}, ["prompt"], id="a number"),
        pytest.param({"prompt": []}, ["prompt"], id="an empty list"),
        pytest.param({"prompt": [10**7]}, ["prompt"], id="a token no vocabulary has"),
        pytest.param({"prompt": "a", "temperature": 2.5}, ["temperature"], id="too hot"),
        pytest.param({"prompt": "a", "stream": "x"}, ["stream"], id="stream text"),
    ],
)
def test_invalid_body_is_unprocessable(body: JSON, loc: list[str]) -> None:
    refused = refuse(body, ROUTE)
    assert (refused.status, refused.json()["detail"]["loc"]) == (422, ["body", *loc])


@pytest.mark.covers("azure/completions", "extras")
def test_extra_parameters() -> None:
    assert refuse({"prompt": "a", "n": 2}, ROUTE).status == 400
    assert ask_of({"prompt": "a", "n": 2, "logprobs": 3}, PASS).sampling == Sampling(max_tokens=256, n=2, logprobs=3)


@pytest.mark.covers("azure/completions", "a chat model")
def test_chat_model_is_not_found() -> None:
    assert refuse({"prompt": "a", "model": "gpt-4o-mini"}, ROUTE).status == 404


@pytest.mark.covers("azure/completions", "answer")
async def test_response(start: Start) -> None:
    running = await start("rules:\n  - {name: r, when: {vendor: azure}, reply: {text: one two}}\n")
    answer = (await running.ask("azure", ROUTE, {"prompt": ["a", "b"]}, headers=KEY)).json()
    assert list(answer) == ["id", "model", "choices", "created", "object", "usage"]
    assert answer["choices"] == [
        {"index": 0, "finish_reason": "stop", "text": "one two"},
        {"index": 1, "finish_reason": "stop", "text": "one two"},
    ]
    assert (answer["object"], answer["model"]) == ("text_completion", "llama2-7b")


@pytest.mark.covers("azure/completions", "stream")
@pytest.mark.parametrize("extra", [{}, {"n": 2}, {"logprobs": 2}], ids=["plain", "n", "logprobs"])
async def test_stream_equals_unary_response(start: Start, extra: JSON) -> None:
    running = await start()
    body = {"prompt": ["a", "b"], "max_tokens": 12, "temperature": 0, **extra}
    whole = (await running.ask("azure", ROUTE, body, headers=KEY | PASS)).json()
    streamed = await running.ask("azure", ROUTE, {**body, "stream": True}, headers=KEY | PASS)
    *events, last, done = streamed.events()
    assert done == "[DONE]"
    assert last["usage"] == whole["usage"]
    assert not any("usage" in event for event in events)
    for choice in whole["choices"]:
        parts = [e["choices"][0] for e in (*events, last) if e["choices"][0]["index"] == choice["index"]]
        assert "".join(part["text"] for part in parts) == choice["text"]
        assert [part["finish_reason"] for part in parts][-1] == choice["finish_reason"]
        if "logprobs" in choice:
            tokens = [t for part in parts if "logprobs" in part for t in part["logprobs"]["tokens"]]
            offsets = [o for part in parts if "logprobs" in part for o in part["logprobs"]["text_offset"]]
            assert tokens == choice["logprobs"]["tokens"]
            assert offsets == choice["logprobs"]["text_offset"]


@pytest.mark.covers("azure/completions", "of Azure OpenAI")
def test_azure_openai_response_format() -> None:
    plan = plan_of(say(("text", ["a", "b"])))
    body: JSON = {"prompt": "a", "model": "gpt-35-turbo-instruct", "stream_options": {"include_usage": True}}
    call = accept({**body, "stream": True}, "/openai/v1/completions")
    answer = parse_json(call.codec.render(plan, REQUEST).body)
    assert list(answer) == ["choices", "created", "id", "model", "object", "prompt_filter_results", "usage"]
    (choice,) = answer["choices"]
    assert list(choice) == ["content_filter_results", "finish_reason", "index", "logprobs", "text"]
    assert (choice["logprobs"], choice["text"]) == (None, "ab")
    *others, last, done = [data for _, data, _, _ in call.codec.stream(plan, REQUEST).events]
    assert done == b"data: [DONE]\n\n"
    assert [parse_json(data[6:])["usage"] for data in others] == [None] * 3
    assert (parse_json(last[6:])["choices"], parse_json(last[6:])["usage"]) == ([], answer["usage"])
