"""Parameters outside the API."""

import pytest

from emulator.core.http import Response
from emulator.core.requests import ChatRequest
from tests.untyped_json import JSON
from tests.vendors.azure.service import CHAT, HELLO, PASS, Refused, accept, chat, refuse, send

NOT_SET = (
    "Extra parameters ['foo', 'n'] are not allowed when extra-parameters is not set or set to be 'error'. "
    "Set extra-parameters to 'pass-through' to pass to the model."
)
TWO = {"foo": 1, "n": 2}


@pytest.mark.covers("azure/where page and service differ", "ignore or drop", case="seed: ignore drops")
@pytest.mark.covers("azure/where page and service differ", "drop alone", case="maas: ignore means nothing")
@pytest.mark.covers("azure/where page and service differ", "the default", case="seed: absent refuses")
@pytest.mark.covers("azure/400 or 422", "3 an extra", case="seed: error refuses")
@pytest.mark.covers("azure/400 or 422", "4 an unknown value of the header", case="seed: another value")
@pytest.mark.covers("azure/extra-parameters", "absent", case="maas: absent refuses")
@pytest.mark.covers("azure/extra-parameters", "error", case="maas: error refuses")
@pytest.mark.covers("azure/extra-parameters", "drop", case="seed: drop drops")
@pytest.mark.covers("azure/extra-parameters", "ignore", case="seed: ignore drops")
@pytest.mark.covers("azure/extra-parameters", "pass-through", case="seed: pass-through hands on")
@pytest.mark.covers("azure/extra-parameters", "allow", case="seed: allow hands on")
@pytest.mark.covers("azure/extra-parameters", "allow of the wire", case="maas: allow means nothing")
@pytest.mark.covers("azure/extra-parameters", "case", case="seed: case matters")
@pytest.mark.covers("azure/extra-parameters", "newest container", case="newest container: only error refuses")
@pytest.mark.parametrize(
    ("profile", "value", "outcome"),
    [
        pytest.param("seed", None, NOT_SET, id="seed: absent refuses"),
        pytest.param("seed", "error", NOT_SET, id="seed: error refuses"),
        pytest.param("seed", "ignore", 1, id="seed: ignore drops"),
        pytest.param("seed", "drop", 1, id="seed: drop drops"),
        pytest.param("seed", "pass-through", 2, id="seed: pass-through hands on"),
        pytest.param("seed", "allow", 2, id="seed: allow hands on"),
        pytest.param("seed", "maybe", "['error', 'ignore', 'pass-through']", id="seed: another value"),
        pytest.param("seed", "Error", "['error', 'ignore', 'pass-through']", id="seed: case matters"),
        pytest.param("seed", "", "['error', 'ignore', 'pass-through']", id="seed: no value"),
        pytest.param("maas", None, NOT_SET, id="maas: absent refuses"),
        pytest.param("maas", "error", NOT_SET, id="maas: error refuses"),
        pytest.param("maas", "ignore", "['error', 'drop', 'pass-through']", id="maas: ignore means nothing"),
        pytest.param("maas", "drop", 1, id="maas: drop drops"),
        pytest.param("maas", "pass-through", 2, id="maas: pass-through hands on"),
        pytest.param("maas", "allow", "['error', 'drop', 'pass-through']", id="maas: allow means nothing"),
        pytest.param("maas, lenient_allow=true", "allow", 2, id="maas: allow where it is tolerated"),
        pytest.param("seed, extra_parameters_default=drop", None, 1, id="absent drops where that is the default"),
        pytest.param("seed, extra_parameters_default=pass-through", None, 2, id="or hands on"),
        pytest.param(
            "seed, extra_parameters_default=pass-through",
            "error",
            "Extra parameters ['foo', 'n'] are not allowed when extra-parameters is set to 'error'.",
            id="newest container: only error refuses",
        ),
    ],
)
def test_extra_parameters(profile: str, value: str | None, outcome: int | str) -> None:
    headers = {} if value is None else {"extra-parameters": value}
    answer = send(chat(**TWO), CHAT, f"profile={profile}", headers)
    if isinstance(outcome, int):
        assert not isinstance(answer, Refused | Response)
        assert isinstance(answer.request, ChatRequest)
        assert answer.request.sampling.n == outcome
        return
    assert isinstance(answer, Refused)
    assert answer.status == 400
    error = answer.json()
    if profile.startswith("maas"):
        assert error["detail"].endswith(outcome)
        assert list(error) == ["detail"]
    else:
        assert error["message"].endswith(outcome)
        assert answer.headers["x-ms-error-code"] == error["code"] == "parameter_not_allowed"


@pytest.mark.covers("azure/extra-parameters", "top-level keys alone")
def test_only_top_level_keys_are_extra() -> None:
    assert accept({"messages": [{"role": "user", "content": "Hi", "mood": "good"}]})


@pytest.mark.covers("azure/400 or 422", "body before header")
def test_body_is_checked_before_header() -> None:
    headers = {"extra-parameters": "maybe"}
    assert refuse(chat(temperature="hot"), headers=headers).status == 422
    assert refuse(HELLO, headers=headers).status == 400


@pytest.mark.covers("azure/fields of a chat", "n, an extra", case="n")
@pytest.mark.parametrize(
    ("extras", "expected"),
    [
        pytest.param({"n": 3}, {"n": 3}, id="n"),
        pytest.param({"logprobs": True}, {"logprobs": 0}, id="logprobs"),
        pytest.param({"logprobs": True, "top_logprobs": 5}, {"logprobs": 5}, id="top_logprobs"),
        pytest.param({"max_completion_tokens": 4}, {"max_tokens": 4}, id="max_completion_tokens"),
        pytest.param({"ignore_eos": True}, {"ignore_eos": True}, id="ignore_eos"),
        pytest.param({"top_k": 1}, {"greedy": True}, id="top_k 1 is greedy"),
        pytest.param({"top_k": 5, "min_p": 0.1}, {"parameters": (("top_k", 5), ("min_p", 0.1))}, id="top_k and min_p"),
        pytest.param({"logit_bias": {"5": -100}}, {"parameters": (("logit_bias", [("5", -100.0)]),)}, id="logit_bias"),
        pytest.param({"user": "u", "safe_prompt": True, "foo": {"a": 1}}, {}, id="what is harmless"),
    ],
)
def test_passed_through_parameters_take_effect(extras: JSON, expected: dict[str, object]) -> None:
    ask = accept(chat(**extras), headers=PASS).request
    assert isinstance(ask, ChatRequest)
    for name, value in expected.items():
        assert getattr(ask.sampling, name) == value


@pytest.mark.parametrize(
    ("extras", "loc"),
    [
        pytest.param({"n": 0}, "n", id="n below 1"),
        pytest.param({"n": "x"}, "n", id="n text"),
        pytest.param({"logprobs": 5}, "logprobs", id="logprobs a number"),
        pytest.param({"top_logprobs": 21}, "top_logprobs", id="top_logprobs above 20"),
        pytest.param({"stream_options": 1}, "stream_options", id="stream_options no object"),
    ],
)
def test_passed_through_parameters_are_checked(extras: JSON, loc: str) -> None:
    assert refuse(chat(**extras), headers=PASS).json()["detail"]["loc"] == ["body", loc]


@pytest.mark.covers("azure/400 or 422", "5 passed through and refused")
@pytest.mark.covers("azure/errors", "422 C")
def test_model_rejects_passed_through_parameter() -> None:
    refused = refuse(chat(model="llama2-70b-chat", foo="bar"), CHAT, "profile=maas", PASS)
    assert refused.status == 422
    assert refused.response.body == (
        rb'{"error":{"code":"Invalid input","message":"{\"detail\":[{\"type\":\"extra_forbidden\",'
        rb'\"loc\":[\"body\",\"foo\"],\"msg\":\"Extra inputs are not permitted\",\"input\":\"bar\"}]}","status":422}}'
    )
    assert refused.headers["ms-azureml-model-error-statuscode"] == "422"
    assert refused.headers["x-ms-rai-invoked"] == "true"


@pytest.mark.covers("azure/extra-parameters", "refused in the model's words")
@pytest.mark.covers("azure/errors", "422 D")
def test_older_model_rejects_with_unwrapped_error() -> None:
    scenario = (
        "vendors: {azure: {profile: maas}}\ndeployments:\n  - {vendor: azure, name: d, traits: {extras: refuse_bare}}\n"
    )
    refused = refuse(chat(model="d", foo="bar"), CHAT, scenario, PASS)
    assert refused.json()["detail"][0]["loc"] == ["body", "foo"]


@pytest.mark.covers("azure/extra-parameters", "by an OpenAI model")
@pytest.mark.parametrize("profile", ["aoai", "foundry"])
def test_openai_models_accept_openai_parameters(profile: str) -> None:
    body = chat(model="gpt-4o-mini", n=2, stream=True, stream_options={"include_usage": True})
    assert accept(body, CHAT, f"profile={profile}")


@pytest.mark.parametrize("profile", ["aoai", "foundry"])
def test_dropped_parameters_do_not_reach_openai_models(profile: str) -> None:
    """Source: azure.md 2.3, ``drop``."""
    call = accept(chat(model="gpt-4o-mini", foo=1, n=2), CHAT, f"profile={profile}", {"extra-parameters": "drop"})
    assert isinstance(call.request, ChatRequest)
    assert call.request.sampling.n == 2


def test_openai_models_reject_unknown_parameters() -> None:
    refused = refuse(chat(model="gpt-4o-mini", foo=1), CHAT, "profile=aoai")
    message = "Unrecognized request argument supplied: foo"
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    assert (refused.status, refused.json()) == (400, {"error": error})


@pytest.mark.covers("azure/routes", "POST v1/chat/completions, v1/completions")
def test_managed_v1_routes_accept_extra_parameters() -> None:
    assert accept(chat(n=2), "/v1/chat/completions", "profile=managed")
    assert refuse(chat(n=2), "/chat/completions", "profile=managed").status == 400
