"""Rows refer to works and sides that exist, with valid scenarios."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from emulator.cli.commands import main as run_cli
from emulator.serve import server
from tests.tools.bench import reference, run
from tests.tools.bench.rows import (
    LIMIT,
    NUMBERS,
    OURS,
    ROWS,
    RULES,
    STORE,
    USUAL,
    VOCABULARY,
    WORKS,
    chat,
    long_stream,
    works_of,
)
from tests.tools.bench.servers import NUMBER, Running, serving

SCENARIOS = {
    (work.name, name): setup.scenario for work in WORKS for name, setup in work.setups.items() if setup.scenario
}
SHARED = [row for row in ROWS if row.number == "14"]


def test_every_row_has_its_work_and_both_sides() -> None:
    works = {work.name: work for work in WORKS}
    assert tuple(map(str, range(1, 17))) == NUMBERS
    assert len({(row.number, row.name) for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert row.side in works[row.work].setups, row
        assert not row.against or row.against in (*works[row.work].setups, *works[row.work].bare), row
    assert works_of(ROWS) == list(WORKS)


def test_a_work_has_only_the_sides_that_its_rows_need() -> None:
    (work,) = works_of(row for row in ROWS if row.number == "1")
    assert (list(work.setups), work.bare) == ([OURS, USUAL], ("constant",))
    (work,) = works_of(row for row in ROWS if row.number == "13")
    assert (list(work.setups), work.bare) == ([OURS, *(f"{count} rules" for count in RULES)], ())


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, id=" ".join(name), marks=[pytest.mark.slow] if "1000 rules" in name else [])
        for name in SCENARIOS
    ],
)
def test_scenarios_are_valid(name: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Check strictly; the only note is that limits depend on the order of requests."""
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIOS[name], encoding="utf-8")
    if VOCABULARY in SCENARIOS[name] and find_spec("litellm") is None:
        pytest.skip("the package litellm contains the vocabulary")
    has_limits = "limits:" in SCENARIOS[name]
    code = run_cli(["check", "--strict", "--json", str(file)])
    found = json.loads(capsys.readouterr().out)
    assert (code, len(found)) == (0, 1 if has_limits else 0)
    assert all("depends on request order" in json.dumps(row) for row in found)


def test_rows_with_vocabulary_are_left_out_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(run.leave_out_vocabulary(ROWS, has_vocabulary=True)) == len(ROWS)
    assert {row.side for row in ROWS} - {row.side for row in run.leave_out_vocabulary(ROWS, has_vocabulary=False)} == {
        VOCABULARY
    }
    assert "litellm is missing" in capsys.readouterr().err


def test_both_sides_select_the_event_loop_by_the_same_function() -> None:
    assert vars(reference)["server"].run is server.run


def test_the_store_is_named_in_the_flags_of_the_side() -> None:
    (work,) = works_of(SHARED)
    side = run.emulator(work.setups["Redis"], "Redis", store="redis://127.0.0.1:1")
    assert "redis://127.0.0.1:1" in side.command
    assert STORE not in side.command


@pytest.mark.parametrize(
    ("kind", "package", "reason"),
    [
        pytest.param(None, True, "none of redis-server, valkey-server is installed", id="no server"),
        pytest.param("redis", False, "the extra redis is missing", id="no client"),
    ],
)
def test_rows_that_need_a_store_are_skipped_with_a_reason(kind: str | None, package: bool, reason: str) -> None:
    assert run.explain_missing_store(kind, has_client=package) == reason


@pytest.fixture(scope="module", params=[USUAL, "faults", "sessions", "1000 rules"])
def served(request: pytest.FixtureRequest) -> Iterator[Running]:
    with serving(run.emulator(WORKS[0].setups[request.param])) as server:
        yield server


@pytest.mark.slow
def test_each_side_sends_as_many_tokens_as_a_plain_emulator(served: Running) -> None:
    requests = [json.dumps(chat(64)).replace(NUMBER, f"{number:08}").encode() for number in range(20)]
    with serving(run.emulator(WORKS[0].setups[OURS])) as plain:
        plain_tokens, tokens = (
            [json.loads(server.ask(body))["usage"]["completion_tokens"] for body in requests]
            for server in (plain, served)
        )
    assert plain_tokens == tokens
    events = served.ask(json.dumps(long_stream()).encode()).decode().split("\n\n")
    assert sum(map(run.has_token, events)) == LIMIT


@pytest.mark.slow
def test_the_server_has_the_process_of_each_worker() -> None:
    with serving(run.emulator(WORKS[0].setups["two workers"])) as server:
        assert len(server.pids) >= 3
