"""The start of ``emulator serve``."""

import pytest

from emulator.scenario.load import load_text
from emulator.serve.main import find_missing_target, find_workers_warning
from emulator.settings import load_settings


@pytest.mark.parametrize(("system", "warns"), [("darwin", True), ("linux", False)])
def test_workers_are_warned_of_where_one_gets_every_connection(system: str, warns: bool) -> None:
    assert (find_workers_warning(system) is not None) is warns


@pytest.mark.parametrize(
    ("policy", "given", "flags"),
    [
        pytest.param("forward", {}, "needs --forward VENDOR=URL; without", id="forward"),
        pytest.param("record", {}, "needs --forward VENDOR=URL --record-to FOLDER; without", id="record"),
        pytest.param("record", {"forward": ["tgi=http://a"]}, "needs --record-to FOLDER; without", id="nowhere"),
        pytest.param("forward", {"forward": ["tgi=http://a"]}, None, id="a target"),
        pytest.param("answer", {}, None, id="nothing is forwarded"),
    ],
)
def test_scenario_that_forwards_is_told_which_flags_it_lacks(
    policy: str, given: dict[str, object], flags: str | None
) -> None:
    scenario = load_text(f"version: 1\nunmatched: {policy}\n").scenario
    warning = find_missing_target(scenario, load_settings(given, {}))
    assert (warning is None) if flags is None else flags in (warning or "")
