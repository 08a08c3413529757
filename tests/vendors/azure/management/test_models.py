"""Model lists, projects, and what Entra ID's clients look up."""

import pytest

from emulator.core.http import Response
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.service import Refused, send

PROJECT = "/api/projects/mine"
DATED = "?api-version=2024-10-21"


def get(target: str, method: str = "GET", headers: dict[str, str] | None = None) -> tuple[int, JSON]:
    answer = send(None, target, headers=headers, method=method)
    assert isinstance(answer, Response | Refused)
    return answer.status, answer.json() if isinstance(answer, Refused) else parse_json(answer.body)


@pytest.mark.covers("azure/routes", "openai/v1/models")
@pytest.mark.parametrize("base", ["/openai/v1", "/api/projects/mine/openai/v1"])
def test_models_of_v1(base: str) -> None:
    status, body = get(f"{base}/models")
    assert (status, body["object"]) == (200, "list")
    found = next(model for model in body["data"] if model["id"] == "gpt-4o")
    assert found == {"id": "gpt-4o", "object": "model", "created": 1715367049, "owned_by": "OpenAI"}
    assert get(f"{base}/models/GPT-4o") == (200, found)


@pytest.mark.covers("azure/routes", "openai/models")
def test_models_by_date() -> None:
    _, body = get(f"/openai/models{DATED}")
    found = next(model for model in body["data"] if model["id"] == "embed-v-4-0")
    assert (found["capabilities"]["embeddings"], found["capabilities"]["chat_completion"]) == (True, False)
    assert (found["status"], found["lifecycle_status"]) == ("succeeded", "generally-available")
    assert get("/openai/models")[0] == 404


def test_missing_model_is_not_found() -> None:
    message = "The model 'nobody' does not exist"
    error = {"message": message, "type": "invalid_request_error", "param": "model", "code": "model_not_found"}
    assert get("/openai/v1/models/nobody") == (404, {"error": error})


@pytest.mark.parametrize("target", ["/models", "/foo/models", "/models/gpt-4o", "/openai/deployments/gpt-4o/models"])
def test_other_paths_have_no_model_list(target: str) -> None:
    assert get(f"{target}{DATED}")[0] in (404, 405)


@pytest.mark.covers("azure/routes", "api/projects/{project}")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param("?modelPublisher=xAI", {"xAI"}, id="a publisher"),
        pytest.param("?modelName=gpt-4o", {"OpenAI"}, id="a model"),
        pytest.param("?deploymentType=Other", set(), id="another kind"),
    ],
)
def test_project_deployments(query: str, names: set[str]) -> None:
    status, body = get(f"{PROJECT}/deployments{query}")
    assert (status, {found["modelPublisher"] for found in body["value"]}) == (200, names)


def test_project_deployment() -> None:
    assert get(f"{PROJECT}/deployments/gpt-4o?api-version=v1") == (
        200,
        {
            "name": "gpt-4o",
            "type": "ModelDeployment",
            "modelName": "gpt-4o",
            "modelVersion": "1",
            "modelPublisher": "OpenAI",
            "capabilities": {"chat_completion": "true"},
            "sku": {"name": "GlobalStandard", "capacity": 100},
        },
    )
    assert get(f"{PROJECT}/deployments/nobody")[0] == 404


@pytest.mark.covers("azure/routes", "connections")
def test_project_connections() -> None:
    _, listed = get(f"{PROJECT}/connections?connectionType=AzureOpenAI")
    (connection,) = listed["value"]
    assert get(f"{PROJECT}/connections/{connection['name']}") == (200, connection)
    assert connection["credentials"] == {"type": "ApiKey"}
    opened = get(f"{PROJECT}/connections/{connection['name']}/getConnectionWithCredentials", "POST")
    assert opened == (200, {**connection, "credentials": {"type": "ApiKey", "key": "k"}})
    assert get(f"{PROJECT}/connections?connectionType=AzureBlob") == (200, {"value": []})
    assert get(f"{PROJECT}/connections/other")[0] == 404


@pytest.mark.covers("azure/routes", "Entra's discovery")
@pytest.mark.parametrize("target", ["/t/v2.0/.well-known/openid-configuration", "/t/.well-known/openid-configuration"])
def test_openid_configuration_names_token_endpoint(target: str) -> None:
    status, body = get(target, headers={"api-key": ""})
    assert (status, body["token_endpoint"], body["issuer"]) == (
        200,
        "http://host/t/oauth2/v2.0/token",
        "http://host/t/v2.0",
    )


def test_instance_discovery_points_to_this_host() -> None:
    status, body = get("/common/discovery/instance", headers={"api-key": ""})
    assert (status, body["tenant_discovery_endpoint"]) == (
        200,
        "http://host/common/v2.0/.well-known/openid-configuration",
    )
    assert get("/t/discovery/v2.0/keys", headers={"api-key": ""}) == (200, {"keys": []})
