"""What is said of measurements, and that the page about them says the same."""

import cProfile
import json
import pstats
import re
from pathlib import Path

import pytest

from tests.tools.bench.compare import word_comparison
from tests.tools.bench.features import FEATURES, read_profile
from tests.tools.bench.report import Results, word, word_json, word_notes, word_table
from tests.tools.bench.rows import NUMBERS, OURS, ROWS, WORKS, Row, works_of

PAGE = (Path(__file__).parent.parent.parent.parent / "docs" / "performance.md").read_text(encoding="utf-8")
FAST = Row(number="1", name="chat", work="chat", figure="rate", against="bare", must=0.5, aim=0.8, at_least=True)
LATE = Row(number="2", name="late by", work="chat", figure="late", must=1.0, aim=0.3, unit="ms")


def results(*rates: float, load: float = 0.2) -> Results:
    found = Results()
    for rate in rates:
        found.add("chat", {OURS: {"rate": rate, "late": -0.5, "load_cpu": load}, "bare": {"rate": 100.0}})
    return found


def test_every_row_has_its_work_and_its_bare_handler() -> None:
    works = {work.name: work for work in WORKS}
    assert tuple(map(str, range(1, 11))) == NUMBERS
    assert all(not row.against or row.against in works[row.work].bare for row in ROWS)
    assert works_of(ROWS) == list(WORKS)


@pytest.mark.parametrize(
    ("rates", "holds"),
    [
        pytest.param([40, 60, 70], True, id="the median keeps to it"),
        pytest.param([40, 45, 70], False, id="the median does not"),
    ],
)
def test_the_median_is_held_to_what_must_be(rates: list[float], holds: bool) -> None:
    found = results(*rates)
    assert found.read(FAST) == [rate / 100 for rate in rates]
    assert FAST.holds(found.median(FAST)) is holds
    line = [*word_table([FAST], found)][-1]
    assert line.endswith("| yes |" if holds else "| **no** |")
    assert "| bare |" in line


def test_how_far_a_figure_is_off_counts_whichever_side_it_is() -> None:
    assert results(1).read(LATE) == [0.5]


def test_where_not_one_answer_came_nothing_holds() -> None:
    found = Results()
    found.add("chat", {OURS: {}, "bare": {"rate": 100.0}})
    assert not any(row.holds(found.median(row)) for row in (FAST, LATE))
    assert "no answer" in [*word_table([LATE], found)][-1]


def test_a_load_that_is_the_limit_is_told() -> None:
    assert [*word_notes(results(1, load=0.4))] == ["The load used 40% of its processor at most."]
    assert "nearly the limit: 95%" in [*word_notes(results(1, load=0.95))][-1]


def test_the_json_has_every_figure_of_every_run() -> None:
    told = json.loads(word_json([FAST, LATE], results(40, 60), {"python": "3"}))
    assert [row["values"] for row in told["rows"]] == [[0.4, 0.6], [0.5, 0.5]]
    assert told["runs"]["chat"][0][OURS]["rate"] == 40


def test_two_commits_are_told_side_by_side() -> None:
    found = Results()
    for before, after in ((100.0, 150.0), (100.0, 110.0), (200.0, 260.0)):
        found.add("chat", {"before": {"rate": before}, "after": {"rate": after}})
    assert [*word_comparison([FAST], found)][-1] == "| 1 | chat | rate | 100 | 150 | 1.30 | 1.10 to 1.50 |"


@pytest.mark.parametrize(
    ("value", "text"), [(1234.5, "1234"), (2.0, "2"), (0.456, "0.46"), (0.0123, "0.012"), (float("inf"), "no answer")]
)
def test_figures_have_as_many_digits_as_mean_something(value: float, text: str) -> None:
    assert word(value) == text


def test_a_profile_says_what_each_feature_took() -> None:
    profile = cProfile.Profile()
    code = compile("def serve():\n return sum(range(1000))\nserve()", "/x/emulator/http/listeners.py", "exec")
    profile.enable()
    exec(code, {})
    profile.disable()
    shares = read_profile(pstats.Stats(profile))
    assert shares == dict.fromkeys(FEATURES, 0.0)


def test_the_page_has_every_row_with_its_bounds() -> None:
    told = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)
    ]
    kept = [[*line[:3], line[5], line[6]] for line in told]
    wanted = []
    for row in ROWS:
        alone = Results({row.work: [{name: {row.figure: 1.0} for name in (OURS, row.against)}]})
        cells = [cell.strip() for cell in [*word_table([row], alone)][-1].split("|")[1:-1]]
        wanted.append([*cells[:3], cells[5], cells[6]])
    assert kept == wanted
