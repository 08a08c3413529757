"""Services of vendors under a scenario, and mistakes in their settings."""

import pytest

from emulator.scenario.load import load_text
from emulator.scenario.parsed import ScenarioError
from emulator.serve.application import create_application
from tests.handler.toy import TOY

MISTAKES = """\
version: 1
vendors:
  azur: {}
  openvino: {profil: seed}
deployments:
  - {vendor: databrick, name: a}
  - {vendor: azure, name: b, tokenizer: qwen}
"""


def test_all_vendor_mistakes_are_reported_at_once() -> None:
    with pytest.raises(ScenarioError) as caught:
        create_application(load_text(MISTAKES, "s.yaml"))
    lines = str(caught.value).split("\n")
    assert [line.split(": ")[0] for line in lines] == ["s.yaml:3:3", "s.yaml:4:14", "s.yaml:6:14", "s.yaml:7:41"]
    assert [line.rpartition("did you mean ")[2] for line in lines] == ["azure?", "profile?", "databricks?", "qwen2?"]


def test_vendor_can_be_disabled() -> None:
    built = create_application(load_text("version: 1\nvendors: {tgi: false}\n"))
    assert [app.vendor.name for app in built.apps] == ["databricks", "azure", "mindie", "openvino"]


LOADING = """\
version: 1
clock: frozen
deployments:
  - {vendor: toy, name: toy, state: {loading: 20s}}
  - {vendor: toy, name: other, state: stopped}
"""


@pytest.mark.covers("promises/first steps", "a state for a time")
def test_loading_state_follows_scenario_clock() -> None:
    runtime = create_application(load_text(LOADING), vendors={"toy": TOY}).runtime
    deployments = runtime.active.apps["toy"].service.deployments
    seen = []
    for seconds in (0.0, 19.9, 0.1, 60.0):
        runtime.advance(seconds)
        seen.append({name: deployment.state for name, deployment in deployments.items()})
    assert [states["toy"] for states in seen] == ["loading", "loading", "ready", "ready"]
    assert {states["other"] for states in seen} == {"stopped"}
    assert (list(deployments), len(deployments)) == (["toy", "other"], 2)
    assert "nothing" not in deployments


def test_loading_state_restarts_on_reset() -> None:
    runtime = create_application(load_text(LOADING), vendors={"toy": TOY}).runtime
    runtime.advance(20.0)
    assert runtime.active.apps["toy"].service.deployments["toy"].state == "ready"  # mounted only now
    runtime.reset()
    assert runtime.active.apps["toy"].service.deployments["toy"].state == "loading"


def test_deployments_without_timed_state_are_plain_dict() -> None:
    runtime = create_application(load_text("version: 1\n"), vendors={"toy": TOY}).runtime
    assert isinstance(runtime.active.apps["toy"].service.deployments, dict)
