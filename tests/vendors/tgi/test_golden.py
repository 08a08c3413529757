"""Golden exchanges over a socket; the prefix of a file name is its profile."""

from pathlib import Path

import pytest

from tests.conftest import Start
from tests.golden import check_golden, golden_files

SCENARIO = """
rules:
  - {name: refused, when: {prompt: too fast}, error: {kind: overloaded}}
  - name: weather
    when: {prompt: weather}
    reply: {tool_calls: [{name: get_weather, arguments: {city: Paris}}]}
  - {name: fixed, reply: {text: ' one two three'}}
"""


@pytest.mark.covers("mindie/TGI beside it", "headers of a stream")
@pytest.mark.parametrize("path", golden_files(__file__))
async def test_golden(start: Start, path: Path, request: pytest.FixtureRequest) -> None:
    profile = path.stem.split("_")[0]
    running = await start(f"vendors: {{tgi: {{profile: '{profile}'}}}}\n{SCENARIO}")
    await check_golden(running, "tgi", path, update=bool(request.config.getoption("--update-goldens")))
