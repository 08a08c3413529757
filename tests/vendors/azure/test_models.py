"""The models as data."""

import pytest

from emulator.core.json import JSON, as_object
from emulator.core.requests import Deployment
from emulator.vendors.azure.extra_parameters import validate_parameters
from emulator.vendors.azure.models import build_info, list_deployments, parse_parameters, parse_traits, read_catalogue
from emulator.vendors.azure.settings import PROFILES, AzureSettings
from tests.vendors.azure.service import serve

FAMILIES = ["gpt-", "o3", "DeepSeek-", "Phi-", "grok-", "claude-", "Cohere-command", "mistral-", "Llama-", "embed-"]
DEPLOYMENTS = list_deployments(AzureSettings())


@pytest.mark.covers("azure/Azure OpenAI", "the families")
@pytest.mark.parametrize("start", FAMILIES)
def test_catalogue_has_model_family(start: str) -> None:
    assert any(deployment.name.startswith(start) for deployment in DEPLOYMENTS)


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda deployment: deployment.name)
def test_model_has_provider_and_limits(deployment: Deployment) -> None:
    assert parse_traits(deployment)["provider"] != "Custom"
    assert deployment.context or deployment.task in ("transcription", "speech")
    assert deployment.task != "chat" or deployment.max_output


@pytest.mark.parametrize(
    ("name", "traits", "effort"),
    [
        pytest.param("gpt-5.4", {"thinks": True, "api": None}, "xhigh", id="it thinks"),
        pytest.param("gpt-5.4-pro", {"thinks": True, "api": "responses"}, "xhigh", id="Responses alone"),
        pytest.param("gpt-5.3-chat", {"thinks": None}, None, id="it chats"),
        pytest.param("gpt-6-sol", {"thinks": True}, "max", id="all it can"),
        pytest.param("gpt-6-astra", {"thinks": True}, "xhigh", id="not quite all"),
        pytest.param("grok-4-1-fast-reasoning", {"thinks": True, "vision": True}, None, id="grok thinks"),
        pytest.param("grok-4-1-fast-non-reasoning", {"thinks": None, "vision": True}, None, id="grok does not"),
        pytest.param("DeepSeek-V3.2", {"reasoning": None}, None, id="an answer at once"),
        pytest.param("DeepSeek-V4-Pro", {"reasoning": "field"}, None, id="thoughts and an answer"),
        pytest.param(
            "claude-sonnet-4-6", {"fixed_sampling": None, "api": "anthropic"}, None, id="with settings of choice"
        ),
        pytest.param("claude-sonnet-5", {"fixed_sampling": True, "api": "anthropic"}, None, id="chooses by itself"),
        pytest.param("Kimi-K2.6", {"vision": True, "reasoning": "field"}, None, id="it sees"),
        pytest.param("FW-Kimi-K3", {"vision": True, "provider": "Fireworks"}, None, id="served by others"),
        pytest.param("MAI-Image-2.5", {"provider": "Microsoft", "reasoning": None}, None, id="it paints"),
        pytest.param("Cohere-embed-v3-english", {"tokenizer": "bert", "dimensions": False}, None, id="of one size"),
    ],
)
def test_model_has_family_traits(name: str, traits: dict[str, JSON], effort: str | None) -> None:
    (deployment,) = (each for each in DEPLOYMENTS if each.name == name)
    found = parse_traits(deployment)
    assert {key: found.get(key) for key in traits} == traits
    efforts = parse_parameters(found).get("reasoning_effort")
    assert (efforts[-1] if isinstance(efforts, list) else None) == effort


@pytest.mark.covers("azure/routing", "model, whatever its case")
def test_names_are_unique_ignoring_case() -> None:
    assert len({deployment.name.lower() for deployment in DEPLOYMENTS}) == len(DEPLOYMENTS)


def test_family_parameter_sets_exist() -> None:
    sets = {str(family.get("parameters")) for family in read_catalogue().families.values()}
    assert sets - {"None"} <= set(read_catalogue().parameters)


def test_parameter_rules_are_valid() -> None:
    words = {"unsupported", "unknown", "ignored", "taken"}
    rules = [rule for rules in read_catalogue().parameters.values() for rule in rules.values()]
    assert all(isinstance(rule, list) or rule in words or str(rule).endswith("instead.") for rule in rules)


@pytest.mark.parametrize(
    ("name", "model", "provider"),
    [
        pytest.param("mine", "", "Custom", id="a name without a hint"),
        pytest.param("mine", "gpt-4o-2024-08-06", "OpenAI", id="the model's name"),
        pytest.param("my-embed", "text-embedding-3-large", "OpenAI", id="an embedder's"),
        pytest.param("claude-sonnet-9", "", "Anthropic", id="its own"),
        pytest.param("deepseek-r1-tuned", "some-model", "DeepSeek", id="its own if the model's has no hint"),
        pytest.param("Meta-Llama-9", "", "Meta", id="any case"),
    ],
)
@pytest.mark.parametrize("profile", PROFILES)
def test_model_info_always_has_provider_name(name: str, model: str, provider: str, profile: str) -> None:
    deployment = Deployment(vendor="azure", name=name, model=model)
    settings = AzureSettings.model_validate({"profile": profile})
    info = as_object(build_info(deployment, parse_traits(deployment), settings))
    assert info["model_provider_name"] == provider
    assert all(info.values())


def test_deployment_traits_override_family() -> None:
    deployment = Deployment(vendor="azure", name="gpt-4o-blind", traits={"vision": False, "provider": "Me"})
    traits = parse_traits(deployment)
    assert (traits["vision"], traits["provider"]) == (False, "Me")
    assert parse_parameters(traits)["reasoning_effort"] == "unknown"


def test_every_deployment_has_profile_for_each_dialect() -> None:
    service = serve()
    for name in service.deployments:
        assert {"seed", "foundry", "aoai"} <= set(service.profiles[name])
        assert validate_parameters({}, service.profiles[name]["aoai"]) == []
