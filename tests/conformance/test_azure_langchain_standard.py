"""LangChain's standard integration tests, on its classes for OpenAI, Azure OpenAI and Azure AI.

A scenario supplies what only a model could know: a joke in the keys of a prompt, a name out of a sentence, that
one question about the weather is one call. What fails all the same is named with its reason.
"""

from collections.abc import Callable

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

standard = pytest.importorskip("langchain_tests.integration_tests")
langchain_openai = pytest.importorskip("langchain_openai")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # clients of langchain are never closed

SCENARIO = """
rules:
  - name: a joke
    when: {body.response_format.type: json_object}
    reply: {json: {setup: Why did the cat sit down?, punchline: It was tired.}}
  - name: a joke of the Responses API
    when: {body.text.format.type: json_object}
    reply: {json: {setup: Why did the cat sit down?, punchline: It was tired.}}
  - name: a customer of a Chinese name
    when: {prompt: {contains: 你好啊集团}}
    reply: {tool_calls: [{name: unicode_customer, arguments: {customer_name: 你好啊集团, description: technology}}]}
  - name: a customer of a Japanese name
    when: {prompt: {contains: こんにちは株式会社}}
    reply: {tool_calls: [{name: unicode_customer, arguments: {customer_name: こんにちは株式会社, description: trade}}]}
  - name: one question, one call
    when: {prompt: {contains: San Francisco}, not: {tool_result: {regex: .}}}
    reply: {tool_calls: [{name: get_weather, arguments: {location: San Francisco}}]}
"""


CLIENTS = {
    "TestChatOpenAI": "langchain-openai",
    "TestAzureChatOpenAI": "langchain-openai",
    "TestAzureAI": "langchain-azure-ai",
    "TestInference": "langchain-azure-ai",
}
# What the class over azure-ai-inference, which its makers no longer mend, does not pass.
REASONS = {
    "test_agent_loop": "it sends LangChain's `tool_call` parts as they are",
    "test_json_mode": "it gives a dictionary in place of the class that was asked for",
    "test_stop_sequence": "its constructor has no `stop`",
    "test_tool_choice": "it sends the bare name of a tool as `tool_choice`",
    "test_tool_message_histories_list_content": "it sends Anthropic's `tool_use` parts as they are",
    "test_usage_metadata": "the client does not report the model name",
    "test_usage_metadata_streaming": "the client does not report the model name",
}


class Standard(standard.ChatModelIntegrationTests):  # type: ignore[misc, name-defined]
    """What the classes below have in common."""

    url = key = ""

    @pytest.fixture(autouse=True)
    def _serve(self, live_with: Callable[[str], Running]) -> None:
        live = live_with(SCENARIO)
        type(self).url, type(self).key = live.urls["azure"], live.key("k")

    @property
    def supports_image_inputs(self) -> bool:
        return False  # the test fetches a picture from the internet

    @property
    def supports_json_mode(self) -> bool:
        return True


class TestChatOpenAI(Standard):
    """LangChain's standard tests of ChatOpenAI."""

    @property
    def chat_model_class(self) -> JSON:
        return langchain_openai.ChatOpenAI

    @property
    def chat_model_params(self) -> JSON:
        return {"model": "gpt-4o", "base_url": f"{self.url}/openai/v1/", "api_key": self.key, "stream_usage": True}


class TestChatOpenAIResponses(TestChatOpenAI):
    """LangChain's standard tests of ChatOpenAI over Responses."""

    @property
    def chat_model_params(self) -> JSON:
        return {"model": "gpt-4o", "base_url": f"{self.url}/openai/v1/", "api_key": self.key, "use_responses_api": True}


class TestAzureChatOpenAI(Standard):
    """LangChain's standard tests of AzureChatOpenAI."""

    @property
    def chat_model_class(self) -> JSON:
        return langchain_openai.AzureChatOpenAI

    @property
    def chat_model_params(self) -> JSON:
        return {
            "model": "gpt-4o",
            "azure_endpoint": self.url,
            "api_key": self.key,
            "api_version": "2024-10-21",
            "stream_usage": True,
        }


class TestAzureAI(Standard):
    """LangChain's standard tests of AzureAIOpenAIApiChatModel."""

    @property
    def chat_model_class(self) -> JSON:
        return pytest.importorskip("langchain_azure_ai.chat_models").AzureAIOpenAIApiChatModel

    @property
    def chat_model_params(self) -> JSON:
        return {"model": "gpt-4o", "endpoint": f"{self.url}/openai/v1", "credential": self.key, "stream_usage": True}


class TestInference(Standard):
    """LangChain's standard tests of AzureAIChatCompletionsModel."""

    @pytest.fixture(autouse=True)
    def _expect(self, request: pytest.FixtureRequest) -> None:
        reason = REASONS.get(request.function.__name__)
        if reason is not None and request.node.callspec.params.get("model") != {}:  # of LangChain's own blocks
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))

    @property
    def chat_model_class(self) -> JSON:
        return pytest.importorskip("langchain_azure_ai.chat_models.inference").AzureAIChatCompletionsModel

    @property
    def chat_model_params(self) -> JSON:
        return {"model": "mistral-small-2503", "endpoint": self.url, "credential": self.key}
