"""Clients that are given nothing but the variables of ``emulator env``."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.cli import main
from emulator.cli.choices import VENDOR_NAMES
from tests.http_client import Running
from tests.node import NODE, find_reason
from tests.untyped_json import JSON

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]

LLAMA = "databricks-meta-llama-3-3-70b-instruct"
MESSAGES: JSON = [{"role": "user", "content": "Hello"}]


def openai(model: str) -> Callable[[], object]:
    def run() -> object:
        from openai import OpenAI

        return OpenAI(max_retries=0).chat.completions.create(model=model, messages=MESSAGES).choices[0].message.content

    return run


def azure_openai() -> object:
    from openai import AzureOpenAI

    client = AzureOpenAI(max_retries=0)
    return client.chat.completions.create(model="gpt-4o", messages=MESSAGES).choices[0].message.content


def azure_langchain() -> object:
    from langchain_openai import AzureChatOpenAI

    return AzureChatOpenAI(azure_deployment="gpt-4o", max_retries=0).invoke("Hello").content


def azure_anthropic() -> object:
    from anthropic import AnthropicFoundry

    client = AnthropicFoundry(max_retries=0)
    return client.messages.create(model="claude-sonnet-4-5", max_tokens=9, messages=MESSAGES).to_dict()["content"]


def azure_inference() -> object:
    from azure.ai.inference import ChatCompletionsClient
    from azure.core.credentials import AzureKeyCredential

    key = AzureKeyCredential(os.environ["AZURE_AI_CHAT_KEY"])
    return ChatCompletionsClient(os.environ["AZURE_AI_CHAT_ENDPOINT"], key).complete(messages=MESSAGES).id


def litellm(model: str) -> Callable[[], object]:
    def run() -> object:
        import litellm

        return litellm.completion(model, MESSAGES, max_retries=0).choices[0].message.content

    return run


def databricks_sdk() -> object:
    from databricks.sdk import WorkspaceClient

    return WorkspaceClient().serving_endpoints.get(LLAMA).name


def databricks_anthropic() -> object:
    from anthropic import Anthropic

    client = Anthropic(max_retries=0)
    model = "databricks-claude-sonnet-4"
    return client.messages.create(model=model, max_tokens=9, messages=MESSAGES).to_dict()["content"]


def huggingface_hub() -> object:
    from huggingface_hub import InferenceClient

    return InferenceClient(os.environ["HF_INFERENCE_ENDPOINT"]).text_generation("Hello")


CLIENTS: dict[str, tuple[str, Callable[[], object]]] = {
    "azure, openai": ("openai", azure_openai),
    "azure, langchain-openai": ("langchain_openai", azure_langchain),
    "azure, anthropic": ("anthropic", azure_anthropic),
    "azure, azure-ai-inference": ("azure.ai.inference", azure_inference),
    "azure, litellm": ("litellm", litellm("azure/gpt-4o")),
    "azure, litellm, Model Inference": ("litellm", litellm("azure_ai/mistral-small-2503")),
    "databricks, databricks-sdk": ("databricks.sdk", databricks_sdk),
    "databricks, litellm": ("litellm", litellm(f"databricks/{LLAMA}")),
    "databricks, openai": ("openai", openai(LLAMA)),
    "databricks, anthropic": ("anthropic", databricks_anthropic),
    "mindie, openai": ("openai", openai("llama_65b")),
    "tgi, openai": ("openai", openai("tgi")),
    "tgi, huggingface_hub": ("huggingface_hub", huggingface_hub),
    "openvino, openai": ("openai", openai("llama3")),
}


@pytest.fixture
def variables(
    live_tls: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], dict[str, str]]:
    """Print the variables for an emulator that serves TLS on free ports; no other variable of a client is set."""
    assert live_tls.certificate is not None
    file = tmp_path / "ports.json"
    file.write_text(json.dumps(dict(live_tls.urls)))
    for name in [name for name in os.environ if name.startswith(("AZURE_", "OPENAI_", "DATABRICKS_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)

    def run(vendor: str) -> dict[str, str]:
        folder = live_tls.certificate.parent.parent if live_tls.certificate else tmp_path
        arguments = ["env", vendor, "--port-file", str(file), "--format", "json", "--tls-dir", str(folder)]
        assert main(arguments) == 0
        found: dict[str, str] = json.loads(capsys.readouterr().out)
        return found

    return run


def test_every_vendor_is_tried() -> None:
    assert {name.partition(",")[0] for name in CLIENTS} == {*VENDOR_NAMES}


@pytest.mark.parametrize("name", CLIENTS)
def test_client_needs_nothing_else(
    name: str, variables: Callable[[str], dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, call = CLIENTS[name]
    pytest.importorskip(module)
    for key, value in variables(name.partition(",")[0]).items():
        monkeypatch.setenv(key, value)
    assert call()


NODE_CLIENTS = {
    "azure": "const { AzureOpenAI: C } = require('openai'); const model = 'gpt-4o';",
    "databricks": f"const {{ OpenAI: C }} = require('openai'); const model = '{LLAMA}';",
    "openvino": "const { OpenAI: C } = require('openai'); const model = 'llama3';",
}
CALL = """
const messages = [{ role: 'user', content: 'Hello' }];
new C({ maxRetries: 0 }).chat.completions.create({ model, messages }).then((found) => console.log(found.id));
"""


@pytest.mark.skipif(find_reason("openai") != "", reason=find_reason("openai"))
@pytest.mark.parametrize("vendor", NODE_CLIENTS)
def test_node_client_needs_nothing_else(vendor: str, variables: Callable[[str], dict[str, str]]) -> None:
    kept = {name: os.environ[name] for name in ("PATH", "NODE_PATH", "SYSTEMROOT") if name in os.environ}
    environment = {**kept, **variables(vendor)}
    command = [NODE or "", "-e", NODE_CLIENTS[vendor] + CALL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert done.stdout.strip(), done.stderr
