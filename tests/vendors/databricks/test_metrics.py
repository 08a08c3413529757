"""The metrics page of an endpoint."""

import re

import pytest

from tests.conftest import Start
from tests.vendors.databricks.harness import LLAMA
from tests.vendors.databricks.management.api import CUSTOM, TOKEN, Workspace, external, open_workspace

PARTED = {"traffic_config": {"routes": [{"served_model_name": "a", "traffic_percentage": 50},
                                        {"served_model_name": "b", "traffic_percentage": 50}]}}  # fmt: skip
_SERIES = re.compile(r'^(\w+)\{endpoint_name="([^"]*)",served_model_name="([^"]*)"\} (.*)$', re.MULTILINE)
COUNTS = ("request_count_total", "request_4xx_count_total", "request_5xx_count_total", "request_latency_ms_count")


async def read(workspace: Workspace, name: str = "mine") -> dict[str, dict[str, float]]:
    """Value of each series by its served entity."""
    text = (await workspace.call("GET", f"/{name}/metrics")).body.decode()
    found: dict[str, dict[str, float]] = {}
    for series, endpoint, served, value in _SERIES.findall(text):
        assert endpoint == name
        found.setdefault(served, {})[series] = float(value)
    assert text.count("# TYPE ") == len(set(re.findall("# TYPE .*", text)))  # each family occurs once
    return found


def counts(row: dict[str, float]) -> list[float]:
    return [row[name] for name in COUNTS]


@pytest.mark.covers("databricks/lifecycle", "metrics")
async def test_each_endpoint_counts_own_inference(start: Start) -> None:
    workspace = await open_workspace(
        start, "", "rules: [{name: broken, when: {prompt: break}, error: {kind: internal}}]"
    )
    await workspace.make()
    for content in ("Hello", "Hello", "break"):
        await workspace.chat(content=content)
    await workspace.chat(max_tokens=-1)
    await workspace.chat(LLAMA)
    for _ in range(3):
        await workspace.call("GET", "/mine")
    (row,) = (await read(workspace)).values()
    assert counts(row) == [4, 1, 1, 4]
    assert counts((await read(workspace, LLAMA))[LLAMA]) == [1, 0, 0, 1]


@pytest.mark.covers("databricks/lifecycle", "metrics of entities")
async def test_each_served_entity_is_counted(start: Start) -> None:
    workspace = await open_workspace(start, "")
    parts = [{"name": name, **external(f"gpt-{name}")} for name in ("a", "b")]
    await workspace.make(*parts, config=PARTED)
    served = [(await workspace.chat(content=f"Hello {n}")).header("served-model-name") for n in range(20)]
    rows = await read(workspace)
    assert {name: row["request_count_total"] for name, row in rows.items()} == {
        name: served.count(name) for name in ("a", "b")
    }
    await workspace.call("POST", "/mine/served-models/b/invocations", {"messages": 5}, base="/serving-endpoints")
    assert (await read(workspace))["b"]["request_4xx_count_total"] == 1


async def test_predictions_are_counted(start: Start) -> None:
    workspace = await open_workspace(start, "")
    await workspace.make({**CUSTOM, "workload_size": "Medium"})
    for body in ({"inputs": [1]}, {"inputs": [2]}, {"nothing": 1}):
        await workspace.call("POST", "/mine/invocations", body, base="/serving-endpoints")
    (row,) = (await read(workspace)).values()
    assert counts(row) == [3, 1, 0, 3]
    assert row["provisioned_concurrent_requests_total"] == 16


async def test_requests_to_unknown_endpoint_are_not_counted(start: Start) -> None:
    workspace = await open_workspace(start, "")
    await workspace.running.ask("databricks", "/serving-endpoints/chat/completions", {}, headers=TOKEN)
    await workspace.chat("nope")
    assert counts((await read(workspace, LLAMA))[LLAMA]) == [0, 0, 0, 0]
