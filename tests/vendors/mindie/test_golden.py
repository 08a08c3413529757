"""Golden exchanges over a socket; the prefix of a file name is its profile."""

from pathlib import Path

import pytest

from tests.conftest import Start
from tests.golden import check_golden, golden_files

SCENARIO = """
rules:
  - {name: refused, when: {prompt: too fast}, error: {kind: rate_limited, retry_after: 2s}}
  - {name: late, when: {prompt: too slow}, error: {kind: timeout}}
  - {name: documented, when: {prompt: {prefix: My name is}}, pass: true}
  - name: weather
    when: {prompt: weather}
    reply: {tool_calls: [{name: get_weather, arguments: {city: Paris}}]}
  - {name: thoughts, when: {prompt: think}, reply: {reasoning: Let me see., text: ' Yes.'}}
  - {name: fixed, reply: {text: ' one two three'}}
"""


@pytest.mark.covers(
    "mindie/routes", "GET /v1/models, one model", "GET /v2, its models, config, ready, getSlotCount", "GET /info"
)
@pytest.mark.parametrize("path", golden_files(__file__))
async def test_golden(start: Start, path: Path, request: pytest.FixtureRequest) -> None:
    profile = path.stem.split("_")[0]
    running = await start(f"vendors: {{mindie: {{profile: '{profile}'}}}}\n{SCENARIO}")
    await check_golden(running, "mindie", path, update=bool(request.config.getoption("--update-goldens")))
