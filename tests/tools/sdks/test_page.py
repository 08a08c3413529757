"""Tests of the page about SDKs: its tables are those of the data, and a client's outcomes can be had again."""

from importlib.metadata import PackageNotFoundError, version

import pytest

from emulator import start
from emulator.scenario.load import find_files, load_scenario
from emulator.verdicts.judge import RULE_NAMES
from tests.tools.sdks.clients import SDKS
from tests.tools.sdks.page import FILE, find_cell, read_data, render
from tests.tools.sdks.plays import OWN, PLAYS, SHIPPED
from tests.tools.sdks.run import judge, list_scenarios

AT_ONCE = ["default", "content-filter", "late-error", "lost-connection", "cut-stream", "cut-answer", "refused-for-good"]
TIMED = {"backs_off", "jitter", "deadline"}


def test_tables_are_those_of_the_data() -> None:
    page = FILE.read_text(encoding="utf-8")
    assert render(read_data(), page) == page, "run: python -m tests.tools.sdks"


def test_every_client_has_each_scenario_that_it_can_meet() -> None:
    data = read_data()
    assert data.keys() == SDKS.keys()
    for name, row in data.items():
        assert row["scenarios"].keys() == list_scenarios(SDKS[name]).keys()
        for outcome in row["scenarios"].values():
            assert {breach["rule"] for breach in outcome["broken"]} == {
                rule for rule, kept in outcome["rules"].items() if not kept
            }
            assert outcome["rules"].keys() <= {*RULE_NAMES}


def test_every_scenario_is_played() -> None:
    files = [*find_files(SHIPPED), *find_files(OWN)]
    assert {file.stem for file in files} == PLAYS.keys()
    for file in find_files(OWN):
        scenario = load_scenario([file]).scenario
        assert (scenario.name, scenario.description[-1]) == (file.stem, ".")


def test_cell_counts_scenarios() -> None:
    rows = {"a": {"rules": {"attempts": True}}, "b": {"rules": {"attempts": False}}, "c": {"rules": {}}}
    cells = [find_cell(rows, "attempts"), find_cell({"a": rows["a"]}, "attempts"), find_cell(rows, "hedges")]
    assert cells == ["**broken** 1 of 2", "kept 1", ""]


@pytest.mark.slow
def test_outcomes_of_a_client_can_be_had_again() -> None:
    sdk, row = SDKS["openai"], read_data()["openai"]
    try:
        installed = version("openai")
    except PackageNotFoundError:
        pytest.skip("openai is not installed")
    if installed != row["release"]:
        pytest.skip(f"the page is of openai {row['release']}, and {installed} is installed")
    with start() as server:
        again = judge(server, sdk, AT_ONCE, 60.0)
    for name, outcome in again.items():
        before = row["scenarios"][name]
        assert outcome["calls"] == before["calls"], name
        assert {rule: kept for rule, kept in outcome["rules"].items() if rule not in TIMED} == {
            rule: kept for rule, kept in before["rules"].items() if rule not in TIMED
        }
        assert outcome["raised"] is not None
