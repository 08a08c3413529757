"""``emulator models``: deployments of a vendor."""

import json
from collections.abc import Callable

import pytest

from emulator.cli import main
from emulator.cli.choices import VENDOR_NAMES

OWN = (
    "version: 1\nvendors: {tgi: false}\ndeployments: [{vendor: openvino, name: mine, task: embeddings, context: 77}]\n"
)


@pytest.mark.covers("language/commands", "models")
@pytest.mark.covers("promises/first steps", "models")
@pytest.mark.parametrize("vendor", VENDOR_NAMES)
def test_models_lists_names_tasks_and_states(vendor: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", vendor]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAME", "TASK", "CONTEXT", "STATE"]
    assert rows
    assert all(len(row.split()) == 4 for row in rows)


def test_models_includes_scenario_deployments(
    scenario: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = scenario(OWN)
    assert main(["models", "openvino", path]) == 0
    assert ["mine", "embeddings", "77", "ready"] in [line.split() for line in capsys.readouterr().out.splitlines()]
    assert main(["models", "openvino", path, "--json"]) == 0
    assert {"llama3", "mine"} <= {model["name"] for model in json.loads(capsys.readouterr().out)}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(["tgi", "{own}"], 2, "'tgi' is not served by this scenario", id="a vendor that is not served"),
        pytest.param(["tgi", "none.yaml"], 2, "cannot read none.yaml: no such file", id="no file"),
        pytest.param(["tgi", "{bad}"], 1, "{bad}:2:11: vendors.tgl: unknown vendor 'tgl'; did you mean tgi?", id="bad"),
    ],
)
def test_models_fails_for_bad_vendor_or_scenario(
    scenario: Callable[[str], str], arguments: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"own": scenario(OWN), "bad": scenario("version: 1\nvendors: {tgl: {}}\n")}
    assert main(["models", *(argument.format(**files) for argument in arguments)]) == code
    assert says.format(**files) in capsys.readouterr().err


def test_models_accepts_bundled_scenario_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "databricks", "--scenario", "context-too-long"]) == 0
    assert "small-context" in capsys.readouterr().out
