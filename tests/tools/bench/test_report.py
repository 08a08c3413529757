"""The table, the notes and the JSON of results; ``docs/performance.md`` has the same rows."""

import cProfile
import json
import pstats
import re
from pathlib import Path

import pytest

from tests.tools.bench.compare import format_comparison
from tests.tools.bench.features import ENTRY, FEATURES, read_profile
from tests.tools.bench.report import (
    UNMEASURED,
    Results,
    format_figure,
    format_json,
    format_notes,
    format_row,
    format_table,
    update_page,
)
from tests.tools.bench.rows import OURS, ROWS, Row

HERE = Path(__file__).parent.parent.parent.parent
PAGE = (HERE / "docs" / "performance.md").read_text(encoding="utf-8")
FAST = Row(number="1", name="chat", work="chat", figure="rate", against="bare", must=0.5, aim=0.8, at_least=True)
LATE = Row(number="2", name="late by", work="chat", figure="late", must=1.0, aim=0.3, unit="ms")
ADDED = Row(number="3", name="added", work="chat", figure="rate", against="bare", added=True, unit="ms")


def results(*rates: float, load: float = 0.2) -> Results:
    found = Results()
    for rate in rates:
        found.add("chat", {OURS: {"rate": rate, "late": -0.5, "load_cpu": load}, "bare": {"rate": 100.0}})
    return found


@pytest.mark.parametrize(
    ("rates", "holds"),
    [
        pytest.param([40, 60, 70], True, id="met"),
        pytest.param([40, 45, 70], False, id="missed"),
    ],
)
def test_the_median_is_compared_with_the_bound(rates: list[float], holds: bool) -> None:
    found = results(*rates)
    assert found.read(FAST) == [rate / 100 for rate in rates]
    assert FAST.holds(found.median(FAST)) is holds
    line = [*format_table([FAST], found, "asyncio")][-1]
    assert line.endswith("| yes |" if holds else "| **no** |")
    assert "| bare |" in line


def test_a_deviation_counts_in_both_directions() -> None:
    assert results(1).read(LATE) == [0.5]


def test_a_row_is_a_difference_without_bounds() -> None:
    assert results(130.0).read(ADDED) == [30.0]
    assert ADDED.holds(1e9)
    assert format_row(ADDED, [30.0]) == "| 3 | added | bare |  | 30 ms | 30 to 30 |  |  |  |"


def test_the_table_names_the_loop_of_both_sides() -> None:
    assert "| against, on uvloop 1.0 |" in next(format_table([FAST], results(1), "uvloop 1.0"))


def test_no_bound_is_met_without_a_response() -> None:
    found = Results()
    found.add("chat", {OURS: {}, "bare": {"rate": 100.0}})
    assert not any(row.holds(found.median(row)) for row in (FAST, LATE))
    assert "no answer" in [*format_table([LATE], found, "asyncio")][-1]


def test_a_saturated_load_generator_is_noted() -> None:
    assert [*format_notes(results(1, load=0.4))] == ["The load generator used 40% of its processor at most."]
    assert "may be the bottleneck: 95%" in [*format_notes(results(1, load=0.95))][-1]


def test_failed_responses_are_noted() -> None:
    found = results(1)
    for failed in (0.0, 2.0, 3.0):
        found.add("chat", {OURS: {"failed": 0.0}, "usual": {"failed": failed}})
    assert [*format_notes(found)][1:] == ["In 'chat', 5 responses of 'usual' failed."]


def test_json_has_every_figure_of_every_run() -> None:
    report = json.loads(format_json([FAST, LATE], results(40, 60), {"python": "3"}))
    assert [row["values"] for row in report["rows"]] == [[0.4, 0.6], [0.5, 0.5]]
    assert report["runs"]["chat"][0][OURS]["rate"] == 40


def test_two_commits_are_compared_side_by_side() -> None:
    found = Results()
    for before, after in ((100.0, 150.0), (100.0, 110.0), (200.0, 260.0)):
        found.add("chat", {f"before {OURS}": {"rate": before}, f"after {OURS}": {"rate": after}})
    assert [*format_comparison([FAST], found)][-1] == "| 1 | chat | rate | 100 | 150 | 1.30 | 1.10 to 1.50 |"


@pytest.mark.parametrize(
    ("value", "text"), [(1234.5, "1234"), (2.0, "2"), (0.456, "0.46"), (0.0123, "0.012"), (float("inf"), "no answer")]
)
def test_figures_have_two_or_three_digits(value: float, text: str) -> None:
    assert format_figure(value) == text


def test_the_functions_of_a_profile_exist() -> None:
    for part in (ENTRY, *(part for parts in FEATURES.values() for part in parts)):
        path, _, name = part.partition(":")
        found = [*HERE.glob(f"{path}*")]
        assert found, part
        assert not name or f"def {name}(" in found[0].read_text(encoding="utf-8"), part


def test_a_profile_has_the_share_of_each_feature() -> None:
    profile = cProfile.Profile()
    code = compile(
        "def data_received():\n return sum(range(1000))\ndata_received()", "/x/emulator/http/connection.py", "exec"
    )
    profile.enable()
    exec(code, {})
    profile.disable()
    shares = read_profile(pstats.Stats(profile))
    assert shares == dict.fromkeys(FEATURES, 0.0)


def _read_rows(page: str) -> list[list[str]]:
    lines = (line for line in page.splitlines() if re.match(r"\| \d+ \|", line))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return [cells for cells in rows if len(cells) == 9]  # of the table of results


def test_page_has_every_row_with_bounds() -> None:
    page, rows = (
        [[*cells[:4], *cells[6:8]] for cells in _read_rows(text)] for text in (PAGE, "\n".join(map(format_row, ROWS)))
    )
    assert page == rows


def test_a_measured_row_replaces_its_line_of_the_page() -> None:
    row = next(row for row in ROWS if row.work == "quota")
    found = Results({row.work: [{row.side: {row.figure: 0.5}, row.against: {row.figure: 0.25}}]})
    page = update_page(PAGE, ROWS, found, "some loop")
    assert format_row(row, [0.25]) in page.splitlines()
    assert "| against, on some loop |" in page
    before, after = ([cells for cells in _read_rows(text) if cells[0] != row.number] for text in (PAGE, page))
    assert before == after
    assert page.partition("## Latest results")[0] == PAGE.partition("## Latest results")[0]
    assert page.splitlines()[-20:] == PAGE.splitlines()[-20:]


def test_a_row_that_is_new_on_the_page_is_not_measured_yet() -> None:
    head = [*format_table((), Results(), "asyncio")]
    page = update_page("\n".join([*head, "", "the end\n"]), ROWS, Results(), "asyncio")
    assert [cells[4] for cells in _read_rows(page)] == [UNMEASURED] * len(ROWS)
    assert page.endswith("\n\nthe end\n")
