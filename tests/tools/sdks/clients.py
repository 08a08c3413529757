"""The clients, each as its documentation has it, without a setting of retries or timeouts."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.node import NODE, find_reason, find_release
from tests.untyped_json import JSON

LLAMA, CLAUDE = "databricks-meta-llama-3-3-70b-instruct", "databricks-claude-sonnet-4-5"
Messages = list[dict[str, str]]
OPENAI_PLACES = {
    "azure": ("/openai/v1", "gpt-4o"),
    "databricks": ("/serving-endpoints", LLAMA),
    "mindie": ("/v1", "llama_65b"),
    "openvino": ("/v3", "llama3"),
    "tgi": ("/v1", "tgi"),
}


class Client:
    """A client at a base URL; ``make`` fills in the rest."""

    vendors: tuple[str, ...] = ("databricks",)
    streams = True

    def __init__(self, vendor: str, url: str, key: str, model: str | None) -> None:
        self.vendor, self.url, self.key = vendor, url, key
        self.model = model or self.default_model
        self.make()

    @property
    def default_model(self) -> str:
        return OPENAI_PLACES[self.vendor][1]

    def make(self) -> None:
        raise NotImplementedError

    def ask(self, messages: Messages, tokens: int) -> str:
        raise NotImplementedError

    def stream(self, messages: Messages, tokens: int) -> Iterator[str]:
        raise NotImplementedError


class _OpenAI(Client):
    """Any client with the methods of ``openai``."""

    client: JSON

    def ask(self, messages: Messages, tokens: int) -> str:
        answer = self.client.chat.completions.create(model=self.model, messages=messages, max_tokens=tokens)
        return str(answer.choices[0].message.content)

    def stream(self, messages: Messages, tokens: int) -> Iterator[str]:
        create = self.client.chat.completions.create
        for chunk in create(model=self.model, messages=messages, max_tokens=tokens, stream=True):
            yield from (choice.delta.content or "" for choice in chunk.choices)


class OpenAIClient(_OpenAI):
    vendors = ("databricks", "mindie", "openvino")

    def make(self) -> None:
        openai = importlib.import_module("openai")
        self.client = openai.OpenAI(base_url=self.url + OPENAI_PLACES[self.vendor][0], api_key=self.key)


class AzureOpenAIClient(_OpenAI):
    vendors = ("azure",)
    default_model = "gpt-4o"

    def make(self) -> None:
        openai = importlib.import_module("openai")
        self.client = openai.AzureOpenAI(azure_endpoint=self.url, api_key=self.key, api_version="2024-10-21")


class InferenceClient(Client):
    vendors = ("azure",)
    default_model = "mistral-small-2503"

    def make(self) -> None:
        inference = importlib.import_module("azure.ai.inference")
        credential = importlib.import_module("azure.core.credentials").AzureKeyCredential(self.key)
        self.client: JSON = inference.ChatCompletionsClient(self.url, credential)

    def ask(self, messages: Messages, tokens: int) -> str:
        answer = self.client.complete(messages=messages, model=self.model, max_tokens=tokens)
        return str(answer.choices[0].message.content)

    def stream(self, messages: Messages, tokens: int) -> Iterator[str]:
        for update in self.client.complete(messages=messages, model=self.model, max_tokens=tokens, stream=True):
            yield from (choice.delta.content or "" for choice in update.choices)


class WorkspaceClient(Client):
    streams = False

    def make(self) -> None:
        sdk = importlib.import_module("databricks.sdk")
        self.serving: JSON = importlib.import_module("databricks.sdk.service.serving")
        self.client: JSON = sdk.WorkspaceClient(host=self.url, token=self.key)

    def ask(self, messages: Messages, tokens: int) -> str:
        roles = self.serving.ChatMessageRole
        said = [self.serving.ChatMessage(role=roles(one["role"]), content=one["content"]) for one in messages]
        answer = self.client.serving_endpoints.query(self.model, messages=said, max_tokens=tokens)
        return str(answer.choices[0].message.content)


class DatabricksOpenAIClient(_OpenAI):
    def make(self) -> None:
        sdk = importlib.import_module("databricks.sdk")
        databricks = importlib.import_module("databricks_openai")
        self.client = databricks.DatabricksOpenAI(workspace_client=sdk.WorkspaceClient(host=self.url, token=self.key))


class HuggingFaceClient(Client):
    vendors = ("tgi", "mindie")

    def make(self) -> None:
        hub = importlib.import_module("huggingface_hub")
        self.client: JSON = hub.InferenceClient(base_url=f"{self.url}/v1", api_key=self.key)

    def ask(self, messages: Messages, tokens: int) -> str:
        answer = self.client.chat_completion(messages, model=self.model, max_tokens=tokens)
        return str(answer.choices[0].message.content)

    def stream(self, messages: Messages, tokens: int) -> Iterator[str]:
        for chunk in self.client.chat_completion(messages, model=self.model, max_tokens=tokens, stream=True):
            yield from (choice.delta.content or "" for choice in chunk.choices)


class AnthropicClient(Client):
    default_model = CLAUDE

    def make(self) -> None:
        anthropic = importlib.import_module("anthropic")
        headers = {"Authorization": f"Bearer {self.key}"}
        base = f"{self.url}/serving-endpoints/anthropic"
        self.client: JSON = anthropic.Anthropic(base_url=base, api_key="unused", default_headers=headers)

    def ask(self, messages: Messages, tokens: int) -> str:
        answer = self.client.messages.create(model=self.model, messages=messages, max_tokens=tokens)
        return "".join(block.text for block in answer.content)

    def stream(self, messages: Messages, tokens: int) -> Iterator[str]:
        create = self.client.messages.create
        for event in create(model=self.model, messages=messages, max_tokens=tokens, stream=True):
            if event.type == "content_block_delta":
                yield event.delta.text


class LangChainClient(Client):
    """It sends ``max_completion_tokens``, which Databricks does not know."""

    vendors = ("azure", "openvino")

    def make(self) -> None:
        langchain = importlib.import_module("langchain_openai")
        place = self.url + OPENAI_PLACES[self.vendor][0]
        self.client: JSON = langchain.ChatOpenAI(base_url=place, api_key=self.key, model=self.model)

    def ask(self, messages: Messages, tokens: int) -> str:
        return str(self.client.invoke(messages, max_tokens=tokens).content)

    def stream(self, messages: Messages, tokens: int) -> Iterator[str]:
        for chunk in self.client.stream(messages, max_tokens=tokens):
            yield str(chunk.content)


class LiteLLMClient(Client):
    vendors = ("databricks", "mindie", "openvino")

    def make(self) -> None:
        provider = "databricks" if self.vendor == "databricks" else "openai"
        self.place = {
            "model": f"{provider}/{self.model}",
            "api_base": self.url + OPENAI_PLACES[self.vendor][0],
            "api_key": self.key,
        }
        self.client: JSON = importlib.import_module("litellm")

    def ask(self, messages: Messages, tokens: int) -> str:
        answer = self.client.completion(**self.place, messages=messages, max_tokens=tokens)
        return str(answer.choices[0].message.content)

    def stream(self, messages: Messages, tokens: int) -> Iterator[str]:
        for chunk in self.client.completion(**self.place, messages=messages, max_tokens=tokens, stream=True):
            yield from (choice.delta.content or "" for choice in chunk.choices)


class CohereClient(Client):
    """Of the services that the emulator stands in for, only OpenVINO takes this client, and only to rerank."""

    vendors = ("openvino",)
    default_model = "rerank"
    streams = False

    def make(self) -> None:
        cohere = importlib.import_module("cohere")
        self.client: JSON = cohere.ClientV2(api_key=self.key, base_url=f"{self.url}/v3")

    def ask(self, messages: Messages, tokens: int) -> str:
        texts = [one["content"] for one in messages]
        return str(self.client.rerank(model=self.model, query=texts[-1], documents=["a blue car", "an apple"]).results)


@dataclass(frozen=True, slots=True)
class Sdk:
    """A client by its name in the table, with the package whose release counts.

    Fields:
        vendors: what it can call; the first one takes scenarios that are about no vendor.
        is_node: it is a client for Node, in ``node/program.cjs``.
    """

    name: str
    package: str
    vendors: tuple[str, ...]
    streams: bool = True
    is_node: bool = False

    @property
    def release(self) -> str:
        """Return the installed release; empty: it is not installed."""
        if self.is_node:
            return "" if find_reason(self.package) else find_release(self.package)
        try:
            return version(self.package)
        except PackageNotFoundError:
            return ""

    @property
    def command(self) -> Sequence[str]:
        """Return the command of its process."""
        if self.is_node:
            return [NODE or "", str(Path(__file__).parent / "node" / "program.cjs"), self.name]
        return [sys.executable, "-m", "tests.tools.sdks.program", self.name]


CLIENTS: Mapping[str, type[Client]] = {
    "openai": OpenAIClient,
    "AzureOpenAI": AzureOpenAIClient,
    "azure-ai-inference": InferenceClient,
    "databricks-sdk": WorkspaceClient,
    "databricks-openai": DatabricksOpenAIClient,
    "huggingface-hub": HuggingFaceClient,
    "anthropic": AnthropicClient,
    "langchain-openai": LangChainClient,
    "litellm": LiteLLMClient,
    "cohere": CohereClient,
}
_PACKAGES = {"AzureOpenAI": "openai"}
_NODE = {
    "openai (Node)": ("openai", OpenAIClient.vendors),
    "AzureOpenAI (Node)": ("openai", AzureOpenAIClient.vendors),
    "@azure-rest/ai-inference": ("@azure-rest/ai-inference", InferenceClient.vendors),
    "@huggingface/inference": ("@huggingface/inference", HuggingFaceClient.vendors),
    "@anthropic-ai/sdk": ("@anthropic-ai/sdk", AnthropicClient.vendors),
    "@langchain/openai": ("@langchain/openai", LangChainClient.vendors),
    "ai": ("ai", OpenAIClient.vendors),
}
SDKS: Mapping[str, Sdk] = {
    **{name: Sdk(name, _PACKAGES.get(name, name), client.vendors, client.streams) for name, client in CLIENTS.items()},
    **{name: Sdk(name, package, vendors, is_node=True) for name, (package, vendors) in _NODE.items()},
}
ENVIRONMENT = {  # neither prices nor tokenizers are asked of the network
    "litellm": {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HF_HUB_OFFLINE": "1"},
}
