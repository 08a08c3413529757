"""Clients of what surrounds the models: model lists, projects, Entra ID, Anthropic's client on Claude."""

import os
from collections.abc import Iterator

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning"),  # by Anthropic, at some date
]

HELLO: JSON = [{"role": "user", "content": "How many feet are in a mile?"}]
SECRET = "some-secret"


@pytest.fixture(params=["v1", "dated"])
def client(request: pytest.FixtureRequest, live: Running) -> Iterator[JSON]:
    openai = pytest.importorskip("openai")
    url = live.urls["azure"]
    made = (
        openai.OpenAI(base_url=f"{url}/openai/v1/", api_key=live.key("k"), max_retries=0)
        if request.param == "v1"
        else openai.AzureOpenAI(azure_endpoint=url, api_key=live.key("k"), api_version="2024-10-21", max_retries=0)
    )
    with made as value:
        yield value


def test_models_list_and_retrieve(client: JSON) -> None:
    names = [model.id for model in client.models.list()]
    assert {"gpt-4o-mini", "DeepSeek-R1", "claude-sonnet-4-5", "embed-v-4-0"} <= set(names)
    assert client.models.retrieve("gpt-4o").id == "gpt-4o"
    with pytest.raises(pytest.importorskip("openai").NotFoundError):
        client.models.retrieve("nobody")


def test_project_client_lists_deployments_and_connections(live_tls: Running) -> None:
    projects = pytest.importorskip("azure.ai.projects")
    identity = pytest.importorskip("azure.identity")
    url = live_tls.urls["azure"]
    certificate = str(live_tls.certificate)
    with (
        identity.ClientSecretCredential(
            "tenant", "client", SECRET, authority=url, disable_instance_discovery=True, connection_verify=certificate
        ) as credential,
        projects.AIProjectClient(f"{url}/api/projects/mine", credential, connection_verify=certificate) as client,
    ):
        deployments = {found.name: found for found in client.deployments.list()}
        assert deployments["gpt-4o"].model_publisher == "OpenAI"
        assert {found.name for found in client.deployments.list(model_publisher="Cohere")} < set(deployments)
        assert client.deployments.get("DeepSeek-R1").model_name == "DeepSeek-R1"
        (connection,) = client.connections.list()
        assert connection.target == f"{url}/"
        opened = client.connections.get(connection.name, include_credentials=True)
        assert opened.credentials.api_key == SECRET
        assert client.connections.get_default("AzureOpenAI").name == connection.name


def test_chat_with_entra_id_token(live_tls: Running) -> None:
    identity = pytest.importorskip("azure.identity")
    inference = pytest.importorskip("azure.ai.inference")
    options = {"connection_verify": str(live_tls.certificate)}
    url = live_tls.urls["azure"]
    with (
        identity.ClientSecretCredential(
            "tenant", "client", SECRET, authority=url, disable_instance_discovery=True, **options
        ) as credential,
        inference.ChatCompletionsClient(url, credential, **options) as client,
    ):
        assert credential.get_token("https://ml.azure.com/.default").token == SECRET
        assert client.complete(messages=HELLO, max_tokens=3).usage.completion_tokens == 3


def test_azure_openai_with_entra_id_token(live_tls: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    openai = pytest.importorskip("openai")
    identity = pytest.importorskip("azure.identity")
    certificate = str(live_tls.certificate)
    url = live_tls.urls["azure"]
    monkeypatch.setitem(os.environ, "SSL_CERT_FILE", certificate)
    with identity.ClientSecretCredential(
        "tenant", "client", SECRET, authority=url, disable_instance_discovery=True, connection_verify=certificate
    ) as credential:
        provider = identity.get_bearer_token_provider(credential, "https://cognitiveservices.azure.com/.default")
        with openai.AzureOpenAI(
            azure_endpoint=url, azure_ad_token_provider=provider, api_version="2024-10-21", max_retries=0
        ) as client:
            assert client.chat.completions.create(model="gpt-4o", messages=HELLO).choices


@pytest.fixture
def claude(live: Running) -> Iterator[JSON]:
    anthropic = pytest.importorskip("anthropic")
    url = f"{live.urls['azure']}/anthropic/"
    with anthropic.AnthropicFoundry(base_url=url, api_key=live.key("k"), max_retries=0) as value:
        yield value


def test_claude_messages_stream_and_tools(claude: JSON) -> None:
    ask = {"model": "claude-sonnet-4-5", "max_tokens": 30, "messages": HELLO}
    whole = claude.messages.create(**ask)
    assert whole.content[0].text
    with claude.messages.stream(**ask, extra_body={"temperature": 0}) as stream:
        assert stream.get_final_message().content[0].text
    tool = {"name": "f", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
    called = claude.messages.create(**{**ask, "max_tokens": 300}, tools=[tool], tool_choice={"type": "any"})
    assert called.stop_reason == "tool_use"


def test_claude_errors(claude: JSON) -> None:
    anthropic = pytest.importorskip("anthropic")
    with pytest.raises(anthropic.BadRequestError) as caught:
        claude.messages.create(model="claude-sonnet-4-5", max_tokens=30, messages=[])
    assert caught.value.body["error"]["type"] == "invalid_request_error"
    with pytest.raises(anthropic.NotFoundError) as missing:
        claude.messages.create(model="nobody", max_tokens=30, messages=HELLO)
    assert missing.value.body["type"] == "error"
