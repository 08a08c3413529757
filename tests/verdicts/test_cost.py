"""What a plain call costs where its scenario neither expects anything of clients nor has a budget or outages."""

import pytest

from tests.conftest import Start
from tests.control.test_watcher import steps_of

MODULES = ("emulator.verdicts.", "emulator.handler.budget.", "emulator.scenario.outage")


@pytest.mark.parametrize(
    ("scenario", "runs"),
    [
        pytest.param("version: 1", False, id="plain"),
        pytest.param("version: 1\nexpect: robust\nbudget: {attempts: 3}", False, id="judged when somebody asks"),
        pytest.param("version: 1\nbudget: {attempts: 3, enforce: true}", True, id="enforced"),
        pytest.param(
            "version: 1\noutages: [{name: end, kind: retirement, between: [1h, 2h]}]", True, id="retirement announced"
        ),
    ],
)
async def test_plain_call_runs_no_code_of_verdicts(start: Start, scenario: str, runs: bool) -> None:
    running = await start(scenario)
    await steps_of(running, 2)
    steps = await steps_of(running, 5)
    assert any(name.startswith(MODULES) for name in steps) is runs, steps
