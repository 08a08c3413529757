"""Test ``GET /info``, health and the API description."""

import pytest

from emulator.core.http import Response
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.service import VERSION, Refused, send

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def get(target: str, scenario: str = "", headers: dict[str, str] | None = None, body: bytes | None = None) -> Response:
    answer = send(body, target, scenario, headers)
    return answer.response if isinstance(answer, Refused) else answer  # type: ignore[return-value]


@pytest.mark.covers("azure/routes", "GET info")
@pytest.mark.covers("azure/info", "model_name, model_type, model_provider_name", case="seed")
@pytest.mark.covers("azure/info", "served_model_name, served_model_type", case="maas, chat")
@pytest.mark.covers("azure/info", "embedding", case="maas, embeddings")
@pytest.mark.covers("azure/info", "order and indent of the container", case="managed")
@pytest.mark.parametrize(
    ("profile", "deployment", "body"),
    [
        pytest.param(
            "seed",
            "",
            b'{"model_name":"mistral-small-2503","model_type":"chat-completion","model_provider_name":"Mistral"}',
            id="seed",
        ),
        pytest.param(
            "maas",
            "mistral-large-2411",
            b'{"model_name":"mistral-large-2411","model_type":"chat-completion","model_provider_name":"Mistral",'
            b'"served_model_name":"mistral-large-2411","served_model_type":"chat-completion"}',
            id="maas, chat",
        ),
        pytest.param(
            "maas",
            "embed-english-v3.0",
            b'{"model_name":"Cohere Embed v3 - English","model_type":"embedding","model_provider_name":"Cohere"}',
            id="maas, embeddings",
        ),
        pytest.param(
            "managed",
            "llama2-7b",
            b'{\n    "model_type": "text-generation",\n    "model_provider_name": "Meta",\n'
            b'    "model_name": "llama2-7b"\n}',
            id="managed",
        ),
    ],
)
def test_info(profile: str, deployment: str, body: bytes) -> None:
    headers = {"azureml-model-deployment": deployment} if deployment else {}
    assert get(f"/info{VERSION}", f"profile={profile}", headers).body == body
    if deployment:
        assert get(f"/endpoints/{deployment}/info{VERSION}", f"profile={profile}").body == body


@pytest.mark.covers("azure/info", "whose, by header or name")
def test_info_model_from_header_or_name() -> None:
    scenario = "deployments:\n  - {vendor: azure, name: embed-3072, task: embeddings, dimensions: 3072}\n"
    expected = b'{"model_name":"embed-3072","model_type":"embedding","model_provider_name":"Custom"}'
    assert get(f"/info{VERSION}", scenario, {"azureml-model-deployment": "embed-3072"}).body == expected
    assert get(f"/info{VERSION}&model=embed-3072", scenario).body == expected
    with_body = send({"model": "embed-3072"}, f"/info{VERSION}", scenario, method="GET")
    assert isinstance(with_body, Response)
    assert with_body.body == expected


@pytest.mark.covers("azure/routes", "GET health", case="and healthy")
@pytest.mark.covers("azure/routes", "GET swagger.json", case="and describes itself")
@pytest.mark.covers("azure/info", "none of many models", case="foundry has none")
@pytest.mark.parametrize(
    ("target", "profile", "headers", "status"),
    [
        pytest.param("/info", "seed", {}, 400, id="no api-version"),
        pytest.param(f"/info{VERSION}", "seed", {"api-key": "0"}, 401, id="no key"),
        pytest.param(f"/info{VERSION}", "seed", {"azureml-model-deployment": "x"}, 404, id="an unknown name"),
        pytest.param(f"/info{VERSION}", "foundry", {}, 404, id="foundry has none"),
        pytest.param(f"/models/info{VERSION}", "aoai", {}, 404, id="nor Azure OpenAI"),
        pytest.param(f"/info{VERSION}", "seed, require_model=true", {}, 200, id="no name is needed"),
        pytest.param("/", "managed", {}, 200, id="a container is alive"),
        pytest.param("/health", "managed", {}, 200, id="and healthy"),
        pytest.param("/swagger.json", "managed", {}, 200, id="and describes itself"),
        pytest.param("/swagger.json", "maas", {}, 200, id="as a serverless endpoint does"),
        pytest.param("/swagger.json", "maas", {"api-key": "0"}, 401, id="to those with a key"),
        pytest.param("/", "seed", {}, 404, id="no other service has a root"),
        pytest.param("/health", "maas", {}, 404, id="or a health route"),
        pytest.param("/swagger.json", "seed", {}, 404, id="or a description"),
    ],
)
def test_status(target: str, profile: str, headers: dict[str, str], status: int) -> None:
    assert get(target, f"profile={profile}", headers).status == status


def test_info_echoes_client_request_id() -> None:
    headers = {"x-ms-client-request-id": "d9"}
    assert ("x-ms-client-request-id", "d9") in get(f"/info{VERSION}", headers=headers).headers


@pytest.mark.covers("azure/routes", "GET /")
def test_managed_container_is_healthy() -> None:
    assert get("/", "profile=managed").body == b'"healthy"'


@pytest.mark.covers("azure/routes", "Entra's token")
@pytest.mark.parametrize(
    ("form", "status", "body"),
    [
        pytest.param(
            b"grant_type=client_credentials&client_id=i&client_secret=t&scope=https://ml.azure.com/.default",
            200,
            {"token_type": "Bearer", "expires_in": 3599, "ext_expires_in": 3599, "access_token": "t"},
            id="a good secret is the token",
        ),
        pytest.param(
            b"grant_type=client_credentials&client_secret=wrong",
            401,
            {"error": "invalid_client", "error_description": "The client secret is not valid."},
            id="a wrong secret",
        ),
        pytest.param(
            b"\xff",
            400,
            {"error": "unsupported_grant_type", "error_description": "The grant type is not client_credentials."},
            id="no form",
        ),
    ],
)
def test_entra_token_endpoint(form: bytes, status: int, body: JSON) -> None:
    scenario = "keys:\n  - {token: t, principal: search}\n"
    answer = get("/common/oauth2/v2.0/token", scenario, FORM, form)
    assert (answer.status, parse_json(answer.body)) == (status, body)


@pytest.mark.parametrize(("state", "status"), [("loading", 503), ("stopped", 503), ("retired", 404)])
def test_info_of_unready_deployment_is_rejected(state: str, status: int) -> None:
    scenario = f"deployments: [{{vendor: azure, name: mistral-small-2503, state: {state}}}]\n"
    assert get(f"/info{VERSION}&model=mistral-small-2503", scenario).status == status
