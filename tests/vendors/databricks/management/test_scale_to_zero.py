"""Test endpoints that scale to zero."""

import pytest

from tests.conftest import Start
from tests.vendors.databricks.management.api import CUSTOM, LLAMA, TOKEN, Workspace, open_workspace

HALF_AN_HOUR = 1800
INSTANT = "version: 1\nname: idle\nclock: instant\n"  # waits take no time


async def late(workspace: Workspace, name: str = "mine") -> float:
    """Seconds by which the first byte was due."""
    custom = await workspace.call("GET", f"/{name}")
    body = {"inputs": [1]} if "CPU" in custom.body.decode() else {"messages": [{"role": "user", "content": "Hello"}]}
    answer = await workspace.call("POST", f"/{name}/invocations", body, base="/serving-endpoints")
    assert answer.status == 200
    seen = await workspace.running.ask("databricks", "/_emulator/requests?limit=1", headers=TOKEN)
    found: float = seen.json()["requests"][-1]["planned_ttft"]
    return found


@pytest.mark.covers("databricks/lifecycle", "scale to zero")
@pytest.mark.parametrize("entity", [LLAMA, CUSTOM], ids=["a model of Databricks'", "a custom model"])
async def test_first_call_after_idle_period_waits_for_cold_start(start: Start, entity: dict[str, str]) -> None:
    workspace = await open_workspace(start, "wake_s: 12", INSTANT)
    await workspace.make({**entity, "scale_to_zero_enabled": True})
    assert await late(workspace) == 0
    workspace.pass_time(HALF_AN_HOUR - 1)
    assert await late(workspace) == 0
    workspace.pass_time(HALF_AN_HOUR)
    assert await late(workspace) == 12
    assert await late(workspace) == 0


async def test_endpoint_without_scale_to_zero_has_no_cold_start(start: Start) -> None:
    workspace = await open_workspace(start, "", INSTANT)
    await workspace.make(LLAMA)
    workspace.pass_time(10 * HALF_AN_HOUR)
    assert await late(workspace) == 0


async def test_scenario_endpoint_can_scale_to_zero(start: Start) -> None:
    trait = "deployments: [{vendor: databricks, name: mine, traits: {scale_to_zero_enabled: true}}]"
    workspace = await open_workspace(start, "scale_to_zero_after_s: 60", INSTANT + trait)
    assert await late(workspace) == 0
    workspace.pass_time(60)
    assert [await late(workspace), await late(workspace)] == [15, 0]


@pytest.mark.covers("databricks/lifecycle", "too long a cold start")
@pytest.mark.covers("databricks/limits", "execution time")
async def test_long_cold_start_times_out(start: Start) -> None:
    workspace = await open_workspace(start, "wake_s: 600", INSTANT)
    await workspace.make({**LLAMA, "scale_to_zero_enabled": True})
    workspace.pass_time(HALF_AN_HOUR)
    answer = await workspace.chat()
    assert (answer.status, answer.json()["error_code"]) == (504, "TEMPORARILY_UNAVAILABLE")
