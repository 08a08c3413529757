"""Tests of outcomes: what a run says of a cell, and which runs the outcomes of others make needless."""

from collections.abc import Sequence

import pytest

from emulator.control.models import RequestDetail
from emulator.sweep.calls import CallClass
from emulator.sweep.cells import Cell
from emulator.sweep.command import CommandResult
from emulator.sweep.plan import Unit, find_next, infer
from emulator.sweep.run import Baseline, Run, write_row

CALL = CallClass("databricks chat", RequestDetail.model_construct(vendor="databricks"))
BASE = Run(CommandResult(0, "", "slept 0.1 s\n"), 1.0, {"hedges": "as always"})
BROKE = {"attempts": "Six.", "hedges": "as always"}


def cell(fault: str, position: str = "") -> Cell:
    return Cell(CALL, fault, position, {"faults": [{"type": fault}]})


@pytest.mark.parametrize(
    ("fault", "run", "outcome"),
    [
        pytest.param(
            "truncate", Run(CommandResult(0), 1, {"hedges": "as always"}), "survived", id="as without the fault"
        ),
        pytest.param("truncate", Run(CommandResult(1), 1, BROKE), "failed loudly", id="another exit"),
        pytest.param("truncate", Run(CommandResult(None), 1, BROKE), "hung", id="it was ended"),
        pytest.param(
            "truncate", Run(CommandResult(0, "", "slept 0.3 s"), 1, BROKE), "failed silently", id="a known message"
        ),
        pytest.param("truncate", Run(CommandResult(0, "", "gave up"), 1, BROKE), "failed loudly", id="a message"),
        pytest.param(
            "truncate", Run(CommandResult(0, "gave up"), 1, BROKE), "failed silently", id="not on standard error"
        ),
        pytest.param("truncate", Run(CommandResult(0, "", "retried"), 1), "survived", id="a message and no breach"),
        pytest.param("wrong_usage", Run(CommandResult(0), 1, BROKE), "survived", id="nobody can notice"),
        pytest.param("truncate", Run(CommandResult(0), 1, {"stops_at_budget": "More."}), "over budget", id="a budget"),
        pytest.param(
            "truncate", Run(CommandResult(1), 1, {"stops_at_budget": "More."}), "over budget", id="and another exit"
        ),
    ],
)
def test_outcome_follows_from_exit_messages_and_breaches(fault: str, run: Run, outcome: str) -> None:
    row = write_row(cell(fault), run, Baseline(BASE, {}, [CALL], 1, BASE.seconds), ())
    assert row.outcome == outcome
    assert all(text.partition(":")[0] != "hedges" for text in row.broken)


LINE = [[cell("truncate", str(number))] for number in range(7)]


@pytest.mark.parametrize(
    ("kind", "truth", "runs", "wrong"),
    [
        pytest.param("line", "aaaaaaa", 3, 0, id="all alike"),
        pytest.param("line", "aaaabbb", 5, 0, id="a border on one side"),
        pytest.param("line", "abbbbbc", 7, 0, id="two borders"),
        pytest.param("line", "aabaaaa", 3, 1, id="an outcome that no sample meets"),
        pytest.param("ends", "aaaaaaa", 2, 0, id="ends alike"),
        pytest.param("ends", "aaaaaab", 7, 0, id="ends that differ"),
        pytest.param("front", "abbbbbb", 4, 0, id="a border behind the first"),
        pytest.param("strongest", "saaaaaa", 1, 6, id="the strongest is survived"),
        pytest.param("strongest", "absasbs", 7, 0, id="the strongest fails"),
    ],
)
def test_units_run_what_others_do_not_tell(kind: str, truth: str, runs: int, wrong: int) -> None:
    unit = Unit(kind, LINE)  # type: ignore[arg-type]
    told: dict[str, object] = {"s": ("survived", ())}
    known: dict[tuple[str, str, str], object] = {}
    while todo := find_next(unit, known):
        for group in todo:
            outcome = truth[int(group[0].position)]
            known[group[0].key] = told.get(outcome, outcome)
    assert len(known) == runs
    guessed = {group[0].position: known[source.key] for group, source in infer(unit, known)}
    assert len(guessed) == len(LINE) - runs
    assert sum(told.get(truth[int(at)], truth[int(at)]) != outcome for at, outcome in guessed.items()) == wrong


@pytest.mark.parametrize(
    ("first", "further", "runs"),
    [
        pytest.param("aaaaa", "aaaaa", 4, id="all alike"),
        pytest.param("aaaaa", "bbbbb", 6, id="the further class differs as a whole"),
        pytest.param("aaaaa", "bbbba", 7, id="and within"),
        pytest.param("aaaab", "aaaab", 8, id="the first class differs within"),
    ],
)
def test_further_classes_run_as_little_as_they_differ(first: str, further: str, runs: int) -> None:
    lines = [[[cell(fault, str(number))] for number in range(5)] for fault in ("truncate", "hang")]
    unit = Unit("line", lines[0], [lines[1]])
    truth = {
        group[0].key: outcome
        for line, outcomes in zip(lines, (first, further), strict=True)
        for group, outcome in zip(line, outcomes, strict=True)
    }
    known: dict[tuple[str, str, str], object] = {}
    while todo := find_next(unit, known):
        known |= {group[0].key: truth[group[0].key] for group in todo}
    assert len(known) == runs
    assert {group[0].key: known[source.key] for group, source in infer(unit, known)} | known == truth


def order(groups: Sequence[Sequence[Cell]]) -> list[str]:
    return [group[0].position for group in groups]


def test_outcomes_known_from_elsewhere_are_not_run_again() -> None:
    unit = Unit("line", LINE)
    assert order(find_next(unit, {})) == ["0", "3", "6"]
    assert order(find_next(unit, {LINE[0][0].key: "a"})) == ["3", "6"]
    assert find_next(Unit("strongest", LINE), {group[0].key: "a" for group in LINE[1:]}) == []
