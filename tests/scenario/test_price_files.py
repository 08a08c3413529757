"""Tests of ``prices: FILE``."""

from pathlib import Path

import pytest

from emulator.cli import main
from emulator.scenario.load import load_scenario, load_text
from emulator.scenario.parsed import ScenarioError

PRICES = "gpt-4o*: {input: 2.5, output: 10, source: an invoice, date: 2026-11-01}\nmine: {per_hour: 100, unit: PTU}\n"
SCENARIO = "version: 1\nprices: prices.yaml\n"


def write(folder: Path, prices: str | None, scenario: str = SCENARIO) -> Path:
    if prices is not None:
        (folder / "prices.yaml").write_text(prices, encoding="utf-8")
    file = folder / "a.yaml"
    file.write_text(scenario, encoding="utf-8")
    return file


def test_prices_of_a_file_are_those_of_the_scenario(tmp_path: Path) -> None:
    loaded = load_scenario([write(tmp_path, PRICES)])
    table = loaded.scenario.price_table
    assert {name: (row.input, row.output, row.per_hour, row.unit) for name, row in table.items()} == {
        "gpt-4o*": (2.5, 10.0, 0.0, "USD"),
        "mine": (0.0, 0.0, 100.0, "PTU"),
    }
    assert loaded.answers.files == [tmp_path / "prices.yaml"]  # which are watched
    (tmp_path / "prices.yaml").write_text("{}")
    assert load_scenario([tmp_path / "a.yaml"]).digest != loaded.digest


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        pytest.param(None, "a.yaml:2:9: prices: prices.yaml: no such file or directory", id="missing"),
        pytest.param("a: {input: 1", "prices.yaml:2:1: not YAML", id="broken"),
        pytest.param("- 1\n", "prices.yaml:1:1: expected a mapping from deployments to their prices", id="a list"),
        pytest.param("a: {inptu: 1}\n", "prices.yaml:1:5: a.inptu: unknown key; did you mean input?", id="a key"),
        pytest.param("b: {input: 1}\na: {input: dear}\n", "prices.yaml:2:12: a.input: ", id="no number"),
        pytest.param("a: {unit: PTU, input: 1}\n", "prices.yaml:1:4: a: PTU are paid by the hour", id="PTU"),
        pytest.param("a: {}\n", "prices.yaml:1:4: a: expected input, output or per_hour", id="nothing"),
    ],
)
def test_bad_file_is_one_line(
    tmp_path: Path, prices: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, prices)
    with pytest.raises(ScenarioError) as raised:
        load_scenario([file])
    (line,) = str(raised.value).splitlines()
    assert line.startswith(f"{tmp_path}/{message}")
    assert main(["check", str(file)]) == 1
    assert message in capsys.readouterr().out


def test_scenario_sent_as_text_has_no_price_file() -> None:
    with pytest.raises(ScenarioError, match="a scenario sent over HTTP has no folder of files"):
        load_text(SCENARIO)
