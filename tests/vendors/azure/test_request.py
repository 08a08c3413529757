"""Credentials, API versions, and who answers."""

import pytest

from emulator.vendors.azure.routes import VENDOR
from tests.untyped_json import JSON
from tests.vendors.azure.service import CHAT, FIRST, HELLO, VERSION, accept, chat, make_request, refuse, serve


@pytest.mark.covers("azure/headers of a request", "api-key", case="a key")
@pytest.mark.covers("azure/headers of a request", "Bearer", case="a key as a token")
@pytest.mark.covers("azure/headers of a request", "one of both", case="one of both is right")
@pytest.mark.covers("azure/headers of a request", "any case of Bearer", case="a token, any case of its scheme")
@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"api-key": "k"}, id="a key"),
        pytest.param({"api-key": "", "Authorization": "Bearer k"}, id="a key as a token"),
        pytest.param({"api-key": "", "Authorization": "bearer eyJ0.eyJ1.sig"}, id="a token, any case of its scheme"),
        pytest.param({"api-key": "0000", "Authorization": "Bearer k"}, id="one of both is right"),
    ],
)
def test_valid_credentials_are_accepted(headers: dict[str, str]) -> None:
    assert VENDOR.authenticate(make_request(CHAT, HELLO, headers), serve()) == "default"


@pytest.mark.covers("azure/headers of a request", "a colon", case="a colon after the scheme")
@pytest.mark.covers("azure/headers of a request", "a key of zeros", case="a key of zeros")
@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"api-key": ""}, id="none"),
        pytest.param({"api-key": "0" * 32}, id="a key of zeros"),
        pytest.param({"api-key": "", "Authorization": "Bearer 0000"}, id="a token of zeros"),
        pytest.param({"api-key": "", "Authorization": "Basic k"}, id="another scheme"),
        pytest.param({"api-key": "", "Authorization": "Bearer: k"}, id="a colon after the scheme"),
        pytest.param({"api-key": "", "Authorization": "k"}, id="no scheme"),
    ],
)
def test_invalid_credentials_are_rejected(headers: dict[str, str]) -> None:
    refused = refuse(HELLO, headers=headers)
    assert refused.headers["x-ms-error-code"] == "Unauthorized"
    assert refused.json() == {
        "status": 401,
        "error": "Unauthorized",
        "message": "The access token is absent or not valid.",
    }


@pytest.mark.covers("azure/headers of a request", "a list of keys")
def test_only_listed_keys_are_accepted() -> None:
    scenario = "keys:\n  - {token: t, principal: search}\n"
    for headers in ({"api-key": "t"}, {"api-key": "", "Authorization": "Bearer t"}):
        assert VENDOR.authenticate(make_request(CHAT, HELLO, headers), serve(scenario)) == "search"
    assert refuse(HELLO, CHAT, scenario).status == 401


@pytest.mark.covers("azure/api-version", "a date, or one of preview")
@pytest.mark.parametrize("version", ["2024-04-01", "2024-04-01-preview", "2024-05-01-preview", "2025-01-31"])
def test_dated_api_versions_are_accepted(version: str) -> None:
    assert accept(HELLO, f"/chat/completions?api-version={version}")


BAD_VERSIONS = ["", "?api-version=", "?api-version=2024", "?api-version=2024-04-01-beta", "?api-version=24-04-01"]


@pytest.mark.covers("azure/api-version", "none or malformed")
@pytest.mark.parametrize("query", BAD_VERSIONS)
def test_missing_or_malformed_api_version_is_rejected(query: str) -> None:
    refused = refuse(HELLO, f"/chat/completions{query}")
    error = refused.json()
    assert (refused.status, error["param"], error["error"]) == (400, "api-version", "Bad Request")
    assert refused.headers["x-ms-error-code"] == "invalid_api_version"


@pytest.mark.covers("azure/api-version", "of gateways")
@pytest.mark.parametrize("profile", ["foundry", "aoai"])
@pytest.mark.parametrize("query", BAD_VERSIONS)
def test_gateways_return_404_for_invalid_api_version(profile: str, query: str) -> None:
    refused = refuse(chat(model=FIRST), f"/chat/completions{query}", f"profile={profile}")
    assert (refused.status, refused.json()) == (404, {"error": {"code": "404", "message": "Resource not found"}})


@pytest.mark.covers("azure/api-version", "none under v1")
def test_v1_needs_no_api_version() -> None:
    assert accept(chat(model=FIRST), "/openai/v1/chat/completions")


@pytest.mark.covers("azure/api-version", "of containers", case="a container never reads it")
@pytest.mark.covers("azure/api-version", "of serverless endpoints", case="nor a serverless endpoint")
@pytest.mark.parametrize(
    ("scenario", "target"),
    [
        pytest.param("profile=managed", "/chat/completions", id="a container never reads it"),
        pytest.param("profile=maas", "/chat/completions?api-version=soon", id="nor a serverless endpoint"),
        pytest.param("api_version_required=false", "/chat/completions", id="switched off"),
    ],
)
def test_api_version_is_optional(scenario: str, target: str) -> None:
    assert accept(HELLO, target, scenario)


@pytest.mark.covers("azure/api-version", "only some")
def test_only_listed_api_versions_are_accepted() -> None:
    scenario = 'vendors: {azure: {api_versions: ["2024-05-01-preview"]}}\n'
    assert accept(HELLO, "/chat/completions?api-version=2024-05-01-preview", scenario)
    assert refuse(HELLO, CHAT, scenario).json()["message"] == "API version not supported"


@pytest.mark.covers(
    "azure/routes",
    "POST chat/completions",
    "POST completions",
    "POST embeddings",
    "no prefix",
    "models",
    "openai/deployments",
    "v1",
)
@pytest.mark.parametrize("prefix", ["", "/models", "/openai/deployments/gpt-4o-mini", "/openai/v1", "/v1"])
@pytest.mark.parametrize(
    ("route", "body", "task"),
    [
        ("/chat/completions", HELLO, "chat"),
        ("/completions", {"prompt": "Hi"}, "completions"),
        ("/embeddings", {"input": ["Hi"]}, "embeddings"),
    ],
)
def test_prefixes_do_not_change_route(prefix: str, route: str, body: JSON, task: str) -> None:
    if "deployments" in prefix and task != "chat":
        assert refuse(body, f"{prefix}{route}{VERSION}").status == 400
    elif prefix == "/openai/v1":
        assert refuse(body, f"{prefix}{route}{VERSION}").json()["error"]["param"] == "model"
    else:
        assert accept(body, f"{prefix}{route}{VERSION}").request.task == task


def named(target: str = CHAT, model: JSON = None, header: str = "", mesh: str = "", scenario: str = "") -> str:
    body = HELLO if model is None else chat(model=model)
    headers = {"azureml-model-deployment": header} if header else {}
    if mesh:
        headers["x-ms-model-mesh-model-name"] = mesh
    return accept(body, target, scenario, headers).deployment.name


@pytest.mark.covers("azure/routing", "azureml-model-deployment")
@pytest.mark.covers("azure/fields of a chat", "model")
def test_deployment_selection_order() -> None:
    path = f"/openai/deployments/DeepSeek-R1/chat/completions{VERSION}"
    assert named() == FIRST
    assert named(model="gpt-4o-mini") == "gpt-4o-mini"
    assert named(model="GPT-4O-mini") == "gpt-4o-mini"
    assert named(mesh="gpt-4o-mini") == "gpt-4o-mini"
    assert named(header="mistral-large-2411") == "mistral-large-2411"
    assert named(header="mistral-large-2411", model="gpt-4o-mini") == "mistral-large-2411"
    assert named(path, header="mistral-large-2411", model="gpt-4o-mini") == "DeepSeek-R1"


@pytest.mark.covers("azure/where page and service differ", "model")
def test_unknown_model_is_ignored_with_single_model() -> None:
    for profile in ("seed", "maas", "managed"):
        assert named(model="anything", scenario=f"profile={profile}") == FIRST


ALONE = (
    "deployments:\n  - {vendor: azure, name: embed-3072, task: embeddings, dimensions: 3072, normalized: true}\n"
    "vendors: {azure: {profile: PROFILE}}\n"
)


@pytest.mark.parametrize("profile", ["seed", "maas", "managed", "foundry", "aoai"])
def test_scenario_deployment_is_selected_by_name(profile: str) -> None:
    scenario = ALONE.replace("PROFILE", profile)
    target = f"/embeddings{VERSION}"
    by_header = accept({"input": ["a"]}, target, scenario, {"azureml-model-deployment": "embed-3072"})
    by_model = accept({"input": ["a"], "model": "embed-3072"}, target, scenario)
    assert by_header.deployment.name == by_model.deployment.name == "embed-3072"
    if profile != "foundry":
        assert accept({"input": ["a"]}, target, scenario).deployment.name == "embed-v-4-0"


@pytest.mark.covers("azure/routing", "header before model")
def test_header_or_path_name_is_resolved_before_body() -> None:
    for name in ("nobody", "llama2-7b"):
        assert refuse(b"{bad", CHAT, headers={"azureml-model-deployment": name}).status == 404
    assert refuse(b"{bad", "/openai/deployments/nobody" + CHAT).status == 404


@pytest.mark.parametrize(("profile", "status"), [("seed", 422), ("foundry", 400), ("aoai", 400)])
def test_non_string_model_is_rejected(profile: str, status: int) -> None:
    refused = refuse(chat(model=5), CHAT, f"profile={profile}")
    assert refused.status == status
    assert b"model" in refused.response.body


@pytest.mark.covers("azure/routing", "an unknown one")
@pytest.mark.covers("azure/routing", "no_model_name", case="foundry, nothing")
@pytest.mark.covers("azure/routing", "unknown_model", case="foundry, unknown")
@pytest.mark.covers("azure/routing", "DeploymentNotFound", case="aoai, path")
@pytest.mark.covers("azure/400 or 422", "7 no model", case="foundry, nothing")
@pytest.mark.parametrize(
    ("profile", "headers", "model", "target", "status", "code"),
    [
        pytest.param("seed", {"azureml-model-deployment": "x"}, None, CHAT, 404, None, id="seed, header"),
        pytest.param("maas", {"azureml-model-deployment": "x"}, None, CHAT, 404, None, id="maas, header"),
        pytest.param("foundry", {}, None, CHAT, 400, "no_model_name", id="foundry, nothing"),
        pytest.param("foundry", {}, "x", CHAT, 400, "unknown_model", id="foundry, unknown"),
        pytest.param(
            "aoai",
            {},
            None,
            f"/openai/deployments/x/chat/completions{VERSION}",
            404,
            "DeploymentNotFound",
            id="aoai, path",
        ),
        pytest.param("aoai", {}, "x", "/openai/v1/chat/completions", 404, "DeploymentNotFound", id="aoai, model"),
    ],
)
def test_unknown_name_is_rejected(
    profile: str, headers: dict[str, str], model: str | None, target: str, status: int, code: str | None
) -> None:
    refused = refuse(HELLO if model is None else chat(model=model), target, f"profile={profile}", headers)
    assert refused.status == status
    if code is not None:
        assert refused.json()["error"]["code"] == code


@pytest.mark.covers("azure/where page and service differ", "another modality")
@pytest.mark.parametrize(
    ("profile", "status", "body"),
    [
        pytest.param(
            "seed",
            404,
            {"status": 404, "error": "Not Found", "message": "This deployment does not serve the requested route."},
            id="seed",
        ),
        pytest.param("maas", 404, b"NOT FOUND", id="maas"),
        pytest.param(
            "managed",
            400,
            {
                "error": {
                    "code": "Bad Request",
                    "message": "task_type text-generation not available with chat completions API.",
                    "status": 400,
                }
            },
            id="managed",
        ),
    ],
)
def test_route_not_served_by_model_is_rejected(profile: str, status: int, body: JSON) -> None:
    refused = refuse(HELLO, CHAT, f"profile={profile}", {"azureml-model-deployment": "llama2-7b"})
    assert refused.status == status
    assert (refused.response.body if isinstance(body, bytes) else refused.json()) == body
    assert refused.headers["Content-Type"] == ("text/plain" if isinstance(body, bytes) else "application/json")


@pytest.mark.parametrize(
    ("profile", "status", "code"), [("foundry", 404, "404"), ("aoai", 400, "OperationNotSupported")]
)
def test_operation_not_supported_by_model_is_rejected(profile: str, status: int, code: str) -> None:
    refused = refuse(chat(model="embed-v-4-0"), CHAT, f"profile={profile}")
    assert (refused.status, refused.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize(("state", "status"), [("loading", 503), ("stopped", 503), ("retired", 404)])
def test_unready_deployment_is_rejected(state: str, status: int) -> None:
    scenario = f"deployments:\n  - {{vendor: azure, name: d, state: {state}}}\n"
    assert refuse(chat(model="d"), CHAT, scenario).status == status
