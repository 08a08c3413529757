"""Parameters by model."""

import pytest

from emulator.core.requests import ChatRequest
from tests.untyped_json import JSON
from tests.vendors.azure.service import CHAT, PASS, accept, chat, refuse

V1 = "/openai/v1/chat/completions"
UNSUPPORTED = "Unsupported parameter: '{}' is not supported with this model."


@pytest.mark.covers("azure/Azure OpenAI", "by model")
@pytest.mark.parametrize(
    ("model", "fields", "message", "code"),
    [
        pytest.param("o3-mini", {"temperature": 0.5}, UNSUPPORTED.format("temperature"), "unsupported_parameter"),
        pytest.param("o3", {"top_p": 1}, UNSUPPORTED.format("top_p"), "unsupported_parameter"),
        pytest.param("o4-mini", {"logprobs": True}, UNSUPPORTED.format("logprobs"), "unsupported_parameter"),
        pytest.param(
            "o1",
            {"max_tokens": 5},
            UNSUPPORTED.format("max_tokens") + " Use 'max_completion_tokens' instead.",
            "unsupported_parameter",
        ),
        pytest.param(
            "gpt-5",
            {"temperature": 0.2},
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is "
            "supported.",
            "unsupported_value",
        ),
        pytest.param(
            "gpt-5-mini",
            {"reasoning_effort": "none"},
            "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: "
            "'minimal', 'low', 'medium', and 'high'.",
            "unsupported_value",
        ),
        pytest.param(
            "o3-mini",
            {"reasoning_effort": "minimal"},
            "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: "
            "'low', 'medium', and 'high'.",
            "unsupported_value",
        ),
        pytest.param(
            "gpt-4o",
            {"verbosity": "low"},
            "Unsupported value: 'verbosity' does not support 'low' with this model. Supported values are: 'medium'.",
            "unsupported_value",
        ),
        pytest.param(
            "gpt-4o", {"reasoning_effort": "low"}, "Unrecognized request argument supplied: reasoning_effort", None
        ),
        pytest.param("gpt-35-turbo", {"reasoning_effort": "low"}, "Unrecognized request argument supplied", None),
        pytest.param(
            "o1-mini",
            {"messages": [{"role": "system", "content": "Be brief."}]},
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            "unsupported_value",
        ),
        pytest.param("grok-4", {"stop": "x"}, UNSUPPORTED.format("stop"), "unsupported_parameter"),
    ],
)
def test_unsupported_parameters_are_refused_by_model(model: str, fields: JSON, message: str, code: str | None) -> None:
    refused = refuse(chat(model=model, **fields) | fields, V1)
    error = refused.json()["error"]
    assert (refused.status, error["type"], error["code"]) == (400, "invalid_request_error", code)
    assert error["message"].startswith(message)


@pytest.mark.covers("azure/Azure OpenAI", "what a model takes")
@pytest.mark.parametrize(
    ("model", "fields"),
    [
        pytest.param("gpt-5", {"temperature": 1, "verbosity": "low", "reasoning_effort": "minimal"}, id="gpt-5"),
        pytest.param("gpt-5.1", {"reasoning_effort": "none"}, id="gpt-5.1 need not think"),
        pytest.param("o3-mini", {"max_completion_tokens": 50, "reasoning_effort": "high"}, id="o3-mini"),
        pytest.param("o3-mini", {"temperature": None, "logprobs": False}, id="what is not asked for"),
        pytest.param("gpt-4o", {"temperature": 0, "logprobs": True, "top_logprobs": 2}, id="gpt-4o"),
        pytest.param("gpt-4o", {"verbosity": "medium"}, id="the only value"),
        pytest.param("gpt-4.1", {"prediction": {"type": "content", "content": "a"}}, id="gpt-4.1 predicts"),
        pytest.param("gpt-5-chat", {"temperature": 0.3, "max_tokens": 5}, id="a chat model does not think"),
    ],
)
def test_supported_parameters_are_accepted_by_model(model: str, fields: JSON) -> None:
    assert accept(chat(model=model, **fields), V1)


@pytest.mark.parametrize("profile", ["seed", "maas", "managed"])
def test_model_inference_refusals_have_own_format(profile: str) -> None:
    refused = refuse(chat(model="o3-mini", temperature=0.5), CHAT, f"profile={profile}")
    assert (refused.status, refused.json()["code"]) == (422, "parameter_not_supported")
    passed = refuse(chat(model="gpt-4o", reasoning_effort="low"), CHAT, f"profile={profile}", PASS)
    assert passed.json()["detail"]["loc"] == ["body", "reasoning_effort"]


@pytest.mark.parametrize(("model", "status"), [("o3-mini", 400), ("grok-4", 422)])
def test_foundry_refusal_status_follows_model_publisher(model: str, status: int) -> None:
    assert refuse(chat(model=model, presence_penalty=1), CHAT, "profile=foundry").status == status


def test_ineffective_parameters_are_ignored_by_model() -> None:
    ask = accept(chat(model="DeepSeek-R1", temperature=0.3, presence_penalty=1), CHAT).request
    assert isinstance(ask, ChatRequest)
    assert ask.sampling.parameters == ()
    assert not accept(chat(model="DeepSeek-R1", temperature=0), CHAT).request.sampling.greedy  # type: ignore[union-attr]


def test_scenario_deployment_behaves_like_its_model() -> None:
    scenario = "deployments:\n  - {vendor: azure, name: thinker, model: o4-mini-2025-04-16}\n"
    assert refuse(chat(model="thinker", temperature=0.5), V1, scenario).status == 400
    assert accept(chat(model="thinker"), V1, scenario).request.reasoning == "medium"  # type: ignore[union-attr]


def test_scenario_traits_override_parameters() -> None:
    traits = "{parameters: {top_p: unsupported, seed: ignored}}"
    scenario = f"deployments:\n  - {{vendor: azure, name: mine, traits: {traits}}}\n"
    assert refuse(chat(model="mine", top_p=0.5), CHAT, scenario).status == 422
    assert accept(chat(model="mine", seed=5), CHAT, scenario).request.sampling.seed is None  # type: ignore[union-attr]
