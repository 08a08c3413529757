"""Whole exchanges with Databricks, head and body, on a frozen clock with fixed replies."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conftest import running
from tests.golden import check_golden, golden_files
from tests.http_client import Running

SCENARIO = """
deployments:
  - {vendor: databricks, name: pt-llama, model: llama, mode: provisioned}
  - {vendor: databricks, name: model, mode: custom}
rules:
  - name: throttled
    when: {header.x-kind: rate_limited}
    error: {kind: rate_limited, limit: output_tokens, retry_after: 7s}
  - {name: overloaded, when: {header.x-kind: overloaded}, error: {kind: overloaded}}
  - {name: internal, when: {header.x-kind: internal}, error: {kind: internal}}
  - {name: timeout, when: {header.x-kind: timeout}, error: {kind: timeout}}
  - {name: filtered, when: {header.x-kind: content_filter}, error: {kind: content_filter}}
  - name: call
    when: {vendor: databricks, tools: get_weather}
    reply: {tool_calls: [{name: get_weather, arguments: {city: Paris}}]}
  - {name: vector, when: {task: embeddings}, reply: {embedding: [0.5, -0.25, 0.125]}}
  - {name: thought, when: {prompt: {contains: think}}, reply: {reasoning: Let me see., text: Four.}}
  - {name: fixed, when: {vendor: databricks, not: {deployment: model}}, reply: {chunks: [Hel, lo, ' "there".']}}
"""


@pytest.fixture
async def emulator() -> AsyncIterator[Running]:
    async with running(SCENARIO) as value:
        yield value


@pytest.mark.covers(
    "databricks/inference routes", "POST {name}/invocations", "POST gemini/v1beta streamGenerateContent"
)
@pytest.mark.covers("databricks/authentication", "GET scim/v2/Me")
@pytest.mark.covers("databricks/shapes of an endpoint", "ServingEndpoint", "ServingEndpointDetailed")
@pytest.mark.covers("databricks/chat stream", "framing")
@pytest.mark.covers("databricks/validation", "an unknown field")
@pytest.mark.covers("databricks/errors", "403 of a token")
@pytest.mark.covers("databricks/length errors", "output of Llama")
@pytest.mark.parametrize("path", golden_files(__file__))
async def test_exchange(emulator: Running, path: Path, pytestconfig: pytest.Config) -> None:
    await check_golden(emulator, "databricks", path, update=bool(pytestconfig.getoption("--update-goldens")))
