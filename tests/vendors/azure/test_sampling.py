"""How tokens are chosen, and how many there may be."""

import pytest

from emulator.core.requests import ChatRequest, Sampling
from tests.untyped_json import JSON
from tests.vendors.azure.service import CHAT, HELLO, accept, ask_of, chat, refuse


@pytest.mark.covers("azure/where page and service differ", "stop", case="stop as a list")
@pytest.mark.covers("azure/fields of a chat", "frequency_penalty", case="frequency_penalty down to -2")
@pytest.mark.covers("azure/fields of a chat", "presence_penalty", case="presence_penalty up to 2")
@pytest.mark.covers("azure/fields of a chat", "max_tokens", case="max_tokens limits the answer")
@pytest.mark.covers("azure/fields of a chat", "max_tokens 0", case="max_tokens may be zero")
@pytest.mark.covers("azure/fields of a chat", "seed of 64 bits", case="seed of 64 bits")
@pytest.mark.covers("azure/fields of a chat", "stop, a string", case="stop as a string")
@pytest.mark.covers("azure/fields of a chat", "temperature 1", case="temperature 1 is the default")
@pytest.mark.covers("azure/fields of a chat", "temperature up to 2", case="temperature up to 2")
@pytest.mark.covers("azure/fields of a chat", "top_p", case="top_p 1 is the default")
@pytest.mark.covers("azure/fields of a chat", "null is absent", case="stop null")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, Sampling(max_tokens=4096), id="nothing given: as much as the model writes"),
        pytest.param({"max_tokens": 7}, Sampling(max_tokens=7), id="max_tokens limits the answer"),
        pytest.param({"max_tokens": 0}, Sampling(max_tokens=0), id="max_tokens may be zero"),
        pytest.param({"max_tokens": None}, Sampling(max_tokens=4096), id="max_tokens null is no limit"),
        pytest.param({"max_tokens": 8.0}, Sampling(max_tokens=8), id="a number without fraction is an integer"),
        pytest.param({"max_tokens": 10**9}, Sampling(max_tokens=4096), id="max_tokens ends where the model does"),
        pytest.param({"temperature": 0}, Sampling(max_tokens=4096, greedy=True), id="temperature 0 is greedy"),
        pytest.param({"temperature": 1}, Sampling(max_tokens=4096), id="temperature 1 is the default"),
        pytest.param(
            {"temperature": 2}, Sampling(max_tokens=4096, parameters=(("temperature", 2.0),)), id="temperature up to 2"
        ),
        pytest.param({"top_p": 1}, Sampling(max_tokens=4096), id="top_p 1 is the default"),
        pytest.param({"top_p": 0.1}, Sampling(max_tokens=4096, parameters=(("top_p", 0.1),)), id="top_p"),
        pytest.param(
            {"frequency_penalty": -2},
            Sampling(max_tokens=4096, parameters=(("frequency_penalty", -2.0),)),
            id="frequency_penalty down to -2",
        ),
        pytest.param({"frequency_penalty": 0}, Sampling(max_tokens=4096), id="frequency_penalty 0 is the default"),
        pytest.param(
            {"presence_penalty": 2},
            Sampling(max_tokens=4096, parameters=(("presence_penalty", 2.0),)),
            id="presence_penalty up to 2",
        ),
        pytest.param({"presence_penalty": 0}, Sampling(max_tokens=4096), id="presence_penalty 0 is the default"),
        pytest.param({"seed": 42}, Sampling(max_tokens=4096, seed=42), id="seed"),
        pytest.param({"seed": -(2**63)}, Sampling(max_tokens=4096, seed=-(2**63)), id="seed of 64 bits"),
        pytest.param({"stop": "END"}, Sampling(max_tokens=4096, stop=("END",)), id="stop as a string"),
        pytest.param({"stop": ["a", "b"]}, Sampling(max_tokens=4096, stop=("a", "b")), id="stop as a list"),
        pytest.param({"stop": None}, Sampling(max_tokens=4096), id="stop null"),
    ],
)
def test_sampling(fields: JSON, expected: Sampling) -> None:
    assert ask_of(chat(**fields)).sampling == expected


def test_empty_stop_strings_are_ignored() -> None:
    assert ask_of(chat(stop=["", "x"])).sampling.stop == ("x",)


@pytest.mark.parametrize("name", ["frequency_penalty", "presence_penalty"])
def test_model_without_penalties_rejects_them(name: str) -> None:
    scenario = "deployments:\n  - {vendor: azure, name: plain, traits: {penalties: false}}\n"
    assert refuse(chat(model="plain", **{name: 0.5}), scenario=scenario).json()["detail"]["loc"] == ["body", name]
    assert accept(chat(model="plain", **{name: 0}), scenario=scenario)


def test_context_limits_max_tokens() -> None:
    scenario = "deployments:\n  - {vendor: azure, name: tiny, context: 50}\n"
    call = accept(chat(model="tiny", max_tokens=100), scenario=scenario)
    assert isinstance(call.request, ChatRequest)
    assert call.request.sampling.max_tokens == 50 - call.prompt_tokens[0]


@pytest.mark.covers("azure/errors", "413 tokens_limit_reached")
@pytest.mark.parametrize(
    ("scenario", "status", "code"),
    [
        pytest.param("", 400, "context_length_exceeded", id="seed"),
        pytest.param("vendors: {azure: {profile: foundry}}\n", 413, "tokens_limit_reached", id="foundry"),
        pytest.param("vendors: {azure: {profile: aoai}}\n", 400, "context_length_exceeded", id="aoai"),
        pytest.param("vendors: {azure: {profile: maas}}\n", 400, "Bad Request", id="maas"),
    ],
)
def test_prompt_over_context_is_rejected(scenario: str, status: int, code: str) -> None:
    scenario += "deployments:\n  - {vendor: azure, name: tiny, context: 50}\n"
    body = {"model": "tiny", "messages": [{"role": "user", "content": "word " * 100}]}
    refused = refuse(body, scenario=scenario)
    error = refused.json()
    assert (refused.status, error.get("code") or error["error"]["code"]) == (status, code)


@pytest.mark.covers("azure/fields of a chat", "256 of a container")
def test_managed_endpoints_have_default_max_tokens() -> None:
    call = accept(HELLO, CHAT, "profile=managed")
    assert isinstance(call.request, ChatRequest)
    assert call.request.sampling.max_tokens == 256
