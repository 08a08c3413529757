"""Test which dialect and deployment a path selects."""

import pytest

from emulator.core.requests import ChatRequest
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.azure.service import HELLO, VERSION, Refused, accept, chat, refuse, send

PROFILES = ["seed", "maas", "managed", "foundry", "aoai"]
DEPLOYMENT = f"/openai/deployments/gpt-4o-mini/chat/completions{VERSION}"
V1 = "/openai/v1/chat/completions"
ALONE = f"/endpoints/mistral-large-2411/chat/completions{VERSION}"
UNKNOWN = {"message": "Unrecognized request argument supplied: foo", "type": "invalid_request_error"}


@pytest.mark.covers("azure/profiles", "side by side")
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("target", [DEPLOYMENT, V1, f"/api/projects/p{DEPLOYMENT}", f"/api/projects/p{V1}"])
def test_azure_openai_paths_use_its_dialect_in_every_profile(profile: str, target: str) -> None:
    scenario = f"profile={profile}"
    call = accept(chat(model="gpt-4o-mini", n=2, user="u", max_completion_tokens=9), target, scenario)
    assert isinstance(call.request, ChatRequest)
    assert (call.deployment.name, call.request.sampling.n, call.request.sampling.max_tokens) == ("gpt-4o-mini", 2, 9)
    refused = refuse(chat(model="gpt-4o-mini", foo=1), target, scenario)
    assert (refused.status, refused.json()) == (400, {"error": {**UNKNOWN, "param": None, "code": None}})
    assert refuse(chat(model="gpt-4o-mini", temperature="hot"), target, scenario).status == 400
    assert "apim-request-id" in refused.headers


@pytest.mark.parametrize("profile", PROFILES)
def test_models_path_uses_model_inference_dialect(profile: str) -> None:
    openai = refuse(chat(model="mistral-large-2411", foo=1), f"/models/chat/completions{VERSION}", f"profile={profile}")
    assert openai.status == 400
    assert "extra-parameters" in openai.response.body.decode()


@pytest.mark.covers("azure/profiles", "a switch of the scenario")
def test_scenario_switch_applies_on_every_path() -> None:
    assert accept(HELLO, "/openai/deployments/gpt-4o-mini/chat/completions", "api_version_required=false")
    assert refuse(HELLO, "/openai/deployments/gpt-4o-mini/chat/completions").status == 404


@pytest.mark.covers("azure/profiles", "errors of the route")
def test_root_switches_do_not_apply_to_openai_paths() -> None:
    scenario = "profile=seed, error_shape=docs, extra_parameters_default=drop"
    assert refuse(chat(foo=1), DEPLOYMENT, scenario).json()["error"]["type"] == "invalid_request_error"
    assert refuse({}, f"/chat/completions{VERSION}", scenario).json()["code"] == "parameter_not_supported"


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("target", "body"),
    [
        pytest.param(f"/openai/chat/completions{VERSION}", chat(model="gpt-4o-mini"), id="neither deployment nor v1"),
        pytest.param("/openai/v1/foo/chat/completions", chat(model="gpt-4o-mini"), id="something below v1"),
        pytest.param(f"/openai/deployments/gpt-4o-mini/v2/chat/completions{VERSION}", HELLO, id="or a deployment"),
        pytest.param("/openai/v1/info", None, id="no /info"),
        pytest.param(f"/openai/deployments/gpt-4o-mini/info{VERSION}", None, id="of a deployment either"),
        pytest.param("/openai/v1/images/embeddings", {"input": [{"image": "data:,a"}]}, id="no image embeddings"),
        pytest.param(f"/api/projects/p/chat/completions{VERSION}", chat(model="gpt-4o-mini"), id="right at a project"),
    ],
)
def test_paths_without_azure_openai_route_return_404(profile: str, target: str, body: JSON) -> None:
    refused = send(body, target, f"profile={profile}")
    assert isinstance(refused, Refused)
    assert (refused.status, refused.json()) == (404, {"error": {"code": "404", "message": "Resource not found"}})


@pytest.mark.parametrize("profile", PROFILES)
async def test_wrong_base_is_unknown_for_every_method(start: Start, profile: str) -> None:
    running = await start(f"vendors: {{azure: {{profile: {profile}}}}}\n")
    for base, route, status in (
        *[(base, "/chat/completions", 404) for base in _WRONG if base != "/openai"],
        ("/openai", "/chat/completions", 405),  # stored chats are listed there
        *[(base, "/chat/completions", 405) for base in ("/models", "/openai/v1", "/openai/deployments/gpt-4o-mini")],
        ("/openai/v1", "/responses", 405),
        ("/models", "/responses", 404),
        ("", "/nothing", 404),
    ):
        answer = await running.ask("azure", f"{base}{route}{VERSION}", {}, method="PUT", headers={"api-key": "k"})
        assert answer.status == status, base + route
    for target, allowed in (
        ("/openai", "GET"),
        ("/openai/deployments/gpt-4o-mini", "POST"),
        ("/openai/v1", "GET, POST"),
    ):
        path = f"{target}/chat/completions{VERSION}"
        answer = await running.ask("azure", path, {}, method="PUT", headers={"api-key": "k"})
        assert answer.header("Allow") == allowed


_WRONG = [  # what users type by mistake
    "/nonsense", "/openai/openai/deployments/gpt-4o-mini", "/openai/v1/openai/v1", "/gateway/openai/v1",
    "/models/models",
    "/gateway/openai/deployments/gpt-4o-mini", "/models/v1", "/openai/deployments/gpt-4o-mini/v1", "/v1/v1", "/v2",
    "/openai", "/openai/v2", "/endpoints/gpt-4o-mini/v2", "/endpoints/gpt-4o-mini/models", "/api/projects/p/models",
    "/anthropic/v1", "/x/anthropic/v1", "/x/models",
]  # fmt: skip
_ROUTES = ["/chat/completions", "/completions", "/embeddings", "/images/generations", "/responses", "/rerank"]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("base", _WRONG)
def test_wrong_base_url_returns_404(base: str, profile: str) -> None:
    for route in _ROUTES:
        if (base, route) in [("/v2", "/rerank"), ("/endpoints/gpt-4o-mini/v2", "/rerank"), ("/openai", "/responses")]:
            continue  # these exist
        body = chat(model="gpt-4o-mini", input=["a"], prompt="a", query="a", documents=["a"])
        refused = refuse(body, f"{base}{route}{VERSION}", f"profile={profile}")
        assert refused.status == 404, route
        if profile in ("foundry", "aoai") and not base.startswith(("/anthropic", "/endpoints")):
            assert refused.json() == {"error": {"code": "404", "message": "Resource not found"}}
    assert refuse(None, f"{base}/info{VERSION}", f"profile={profile}").status == 404


@pytest.mark.parametrize(
    ("profile", "status"), [("seed", 200), ("maas", 200), ("managed", 200), ("foundry", 404), ("aoai", 404)]
)
def test_engine_prefix_belongs_to_serverless_and_managed_endpoints(profile: str, status: int) -> None:
    found = send(chat(model="gpt-4o-mini"), f"/v1/chat/completions{VERSION}", f"profile={profile}")
    assert (found.status if isinstance(found, Refused) else 200) == status


@pytest.mark.covers("azure/routes", "openai/v1")
def test_v1_requires_existing_model() -> None:
    refused = refuse(HELLO, V1)
    assert (refused.status, refused.json()["error"]["param"]) == (400, "model")
    refused = refuse(chat(model="nobody"), V1)
    assert (refused.status, refused.json()["error"]["code"]) == (404, "DeploymentNotFound")


@pytest.mark.covers("azure/routes", "endpoints/{deployment}")
@pytest.mark.parametrize("profile", PROFILES)
def test_endpoint_path_selects_its_model(profile: str) -> None:
    scenario = f"profile={profile}"
    call = accept(chat(model="gpt-4o-mini"), ALONE, scenario)
    assert call.deployment.name == "mistral-large-2411"
    info = send(None, f"/endpoints/embed-v-4-0/info{VERSION}", scenario)
    assert b'"model_name"' in getattr(info, "body", b"")
    assert accept({"input": ["a"]}, f"/endpoints/embed-v-4-0/embeddings{VERSION}", scenario)


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        pytest.param(f"/endpoints/embed-v-4-0/chat/completions{VERSION}", {}, id="another task"),
        pytest.param(f"/endpoints/nobody/chat/completions{VERSION}", {}, id="an unknown name"),
        pytest.param(ALONE, {"azureml-model-deployment": "gpt-4o-mini"}, id="another deployment"),
        pytest.param(f"/endpoints/gpt-4o-mini/models/chat/completions{VERSION}", {}, id="a path it has not"),
        pytest.param("/endpoints/gpt-4o-mini/openai/v1/chat/completions", {}, id="or of another service"),
    ],
)
def test_endpoint_rejects_other_deployments_and_paths(target: str, headers: dict[str, str]) -> None:
    assert refuse(chat(model="gpt-4o-mini"), target, headers=headers).status == 404


def test_endpoint_accepts_matching_deployment_header() -> None:
    assert accept(HELLO, ALONE, headers={"azureml-model-deployment": "Mistral-Large-2411"})
