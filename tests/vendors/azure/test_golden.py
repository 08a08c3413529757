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


@pytest.mark.parametrize("path", golden_files(__file__))
async def test_exchange(path: Path, start: Start, request: pytest.FixtureRequest) -> None:
    profile = path.name.partition("_")[0]
    running = await start(f"vendors: {{azure: {{profile: {profile}}}}}\n{SCENARIO}")
    await check_golden(running, "azure", path, update=request.config.getoption("--update-goldens"))
