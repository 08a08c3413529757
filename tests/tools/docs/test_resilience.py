"""The tutorial from green tests to a client that survives, followed step by step."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from emulator import start
from emulator.cli.commands import build_parser
from emulator.sweep.command import Command
from emulator.sweep.plan import Key, SweepPlan
from emulator.sweep.report import list_scenarios, write_markdown
from emulator.sweep.run import Baseline, Row, Sweep, SweepOptions
from tests.tools.docs.blocks import ROOT, find_blocks

pytestmark = pytest.mark.slow

APP, TEST, GREEN, SWEEP, TABLE, AGAIN, MENDED, SURVIVED = (
    block.text for block in find_blocks() if block.page == "resilience.md"
)
OPTIONS = SweepOptions(["databricks"], jobs=6, hang_after=30.0)  # of what does not hang, nothing takes so long
LIGHT = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p no:cacheprovider", "PYTHONPATH": str(ROOT)}


class Followed(Command):
    """The documented command, as a new user has it: without the plugins that run this."""

    def __init__(self, folder: Path, app: str) -> None:
        super().__init__(shlex.split(f"{sys.executable} -m {TESTS} --rootdir={folder} {folder}/test_app.py"))
        for text in (app, TEST):
            name = re.findall(r"\w+\.py", text)[0]
            (folder / name).write_text(text, encoding="utf-8")


TESTS = "pytest -q"


def sweep(folder: Path, app: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Row], Baseline, SweepPlan]:
    """Run the cells of the faults that the page shows; return their rows, and the whole plan."""
    for name, text in LIGHT.items():
        monkeypatch.setenv(name, text)
    rows: dict[Key, Row] = {}

    def add(row: Row, made: int, left: int) -> None:
        rows[row.key] = row

    with start() as server:
        todo = Sweep(server, OPTIONS, Followed(folder, app), add)
        baseline = todo.run_baseline()
        plan = todo.plan(baseline)
        shown = {line.split(" | ")[1] for line in TABLE.splitlines()[2:]}
        units = [unit for unit in plan.units if any(group[0].fault in shown for group in unit.groups)]
        todo.run(baseline, SweepPlan(units, ()), lambda cell, scenario: None)
    return [rows[cell.key] for cell in plan.cells if cell.key in rows], baseline, plan


def test_first_sweep_shows_the_documented_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = shlex.split(SWEEP)[1:]
    options = build_parser().parse_args(typed)
    assert options.test_command == shlex.split(GREEN.splitlines()[-1]) == ["pytest", "-q", "test_app.py"]
    assert AGAIN.splitlines()[1:] == GREEN.splitlines()[1:]
    rows, baseline, plan = sweep(tmp_path, APP, monkeypatch)
    assert baseline.base.ended.exit == 0
    assert {*TABLE.splitlines()} <= {*write_markdown(rows).splitlines()}
    assert f"{len([*plan.cells])} cells" in SURVIVED
    assert f"for {len([*plan.cells])} cells" in (ROOT / "docs" / "resilience.md").read_text(encoding="utf-8")
    served = AGAIN.splitlines()[0].rpartition("/")[2]
    scenario = tmp_path / served
    scenario.write_text(list_scenarios(rows, "pytest")[served], encoding="utf-8")
    with start(scenario) as server:
        command = Followed(tmp_path, APP)
        variables = server.env("databricks")
        assert [command.run(variables, 60).exit for _ in range(2)] == [1, 0]
        server.reset()
        assert command.run(variables, 60).exit == 1


def test_mended_client_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _, _ = sweep(tmp_path, MENDED, monkeypatch)
    assert {row.outcome for row in rows} == {"survived"}
    assert len(rows) > 10
