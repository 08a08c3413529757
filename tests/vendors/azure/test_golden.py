"""Whole exchanges; the first word of a file's name is the profile."""

from pathlib import Path

import pytest

from tests.conftest import Start
from tests.golden import check_golden, golden_files

SCENARIO = """
rules:
  - {name: text, when: {prompt: Hello}, reply: {text: Hello there.}}
  - {name: sample, when: {prompt: "Ist it proved?"}, reply: {text: "No, it has never been proved"}}
  - {name: tool, when: {prompt: Weather}, reply: {tool_calls: [{name: get_weather, arguments: {city: Paris}}]}}
  - {name: vector, when: {prompt: Vector}, reply: {embedding: [0.6, -0.5, 0.4, -0.3, 0.2, -0.2, 0.2, 0.1]}}
  - {name: unsafe, when: {prompt: Unsafe}, error: {kind: content_filter}}
  - {name: harm, when: {prompt: Harm}, reply: {text: One harm., finish_reason: content_filter}}
  - {name: fast, when: {prompt: Fast}, error: {kind: rate_limited, retry_after: 2s}}
  - {name: broken, when: {prompt: Broken}, error: {kind: internal}}
"""


@pytest.mark.covers("azure/reference page: answers", "the sample")
@pytest.mark.covers("azure/profiles", "their bytes")
@pytest.mark.covers("azure/400 or 422", "6 content filter")
@pytest.mark.covers("azure/extra-parameters", "in the order of the body")
@pytest.mark.covers(
    "azure/answers",
    "prompt_filter_results",
    "content_filter_results",
    "details of usage",
    "headers of a serverless answer",
)
@pytest.mark.covers("azure/streams", "grammar")
@pytest.mark.covers("azure/errors", "managed, another task", "unknown_model", "no_model_name", "content filter of aoai")
@pytest.mark.covers(
    "azure/headers of an answer",
    "X-Request-ID",
    "Request-Context",
    "azureml-model-session",
    "azureml-model-group",
    "x-ms-rai-invoked",
    "prompt_token_len",
    "sampling_token_len",
    "Cache-Control",
    "Expires",
    "Pragma",
    "Vary",
    "x-accel-expires of embeddings",
    "ms-azureml-model-error-reason",
    "ms-azureml-model-error-statuscode",
    "X-Content-Type-Options",
    "x-accel-buffering",
    "x-ms-error-reason",
)
@pytest.mark.parametrize("path", golden_files(__file__))
async def test_exchange(path: Path, start: Start, request: pytest.FixtureRequest) -> None:
    profile = path.name.partition("_")[0]
    running = await start(f"vendors: {{azure: {{profile: {profile}}}}}\n{SCENARIO}")
    await check_golden(running, "azure", path, update=request.config.getoption("--update-goldens"))
