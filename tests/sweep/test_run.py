"""Tests of the runs of a sweep: the merged sweep gives the outcomes of the full one."""

from collections import Counter
from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Barrier, Event

import pytest

from emulator import start
from emulator.client import EmulatorClient
from emulator.sweep.cells import FAULTS, KINDS
from emulator.sweep.command import CommandResult
from emulator.sweep.plan import Key, SweepPlan
from emulator.sweep.run import Baseline, Row, Run, Sweep, SweepOptions
from tests.sweep.programs import PATIENCE, Failure, InProcess, agent, chain, credulous, sound, stubborn

pytestmark = pytest.mark.slow

ALL = {*KINDS, *FAULTS, "every harmless fault at once", "every drop at once"} - {"hang"}
OPTIONS = SweepOptions(["databricks", "azure"], jobs=4)
CALLS_A_TOOL = """
version: 1
name: base
rules:
  - name: call
    when: {tools: search, messages.last.role: user}
    reply: {tool_calls: [{name: search, arguments: {q: tides}}]}
"""


def sweep(
    server: EmulatorClient, runner: InProcess, options: SweepOptions = OPTIONS, faults: Container[str] = ALL
) -> dict[Key, Row]:
    """Sweep a program; return the outcome of each cell of some faults."""
    rows: dict[Key, Row] = {}

    def add(row: Row, made: int, left: int) -> None:
        assert row.key not in rows
        rows[row.key] = row

    todo = Sweep(server, options, runner, add)
    baseline = todo.run_baseline()
    found = todo.plan(baseline)
    plan = SweepPlan([unit for unit in found.units if unit.groups[0][0].fault in faults], found.unchanged)
    todo.run(baseline, plan, lambda cell, scenario: None)
    if options.shard == (1, 1):
        assert rows.keys() == {cell.key for cell in plan.cells}
    return rows


def merge(key: Key) -> Key:
    return (*key[:2], "between tokens" if key[2].startswith("after token") else key[2])


@pytest.mark.parametrize("program", [sound, credulous, stubborn])
def test_merged_sweep_gives_the_outcomes_of_the_full_one(program: Callable[[Mapping[str, str]], None]) -> None:
    merged, full = InProcess(program), InProcess(program)
    with start() as server:
        few, many = sweep(server, merged), sweep(server, full, replace(OPTIONS, full=True))
    assert {key: row.breaches for key, row in many.items()} == {key: few[merge(key)].breaches for key in many}
    assert {merge(key) for key in many} == few.keys()
    assert merged.runs * 5 <= full.runs
    outcomes = {row.outcome for row in few.values()}
    assert "survived" in outcomes
    assert ("failed silently" in outcomes) == (program is not sound)


def test_command_that_cannot_run_beside_itself_runs_alone() -> None:
    together, begun = Barrier(2), count()

    def share_a_port(variables: Mapping[str, str]) -> None:
        if 1 <= next(begun) < 3:
            together.wait(PATIENCE)
            raise Failure
        sound(variables)

    with start() as server:
        todo = Sweep(server, OPTIONS, InProcess(share_a_port), lambda row, made, left: None)
        assert not todo.try_two_at_once(todo.run_baseline())


def test_command_that_can_run_beside_itself_does() -> None:
    together, begun = Barrier(2), count()

    def meet(variables: Mapping[str, str]) -> None:
        if next(begun):
            together.wait(PATIENCE)
        sound(variables)

    with start() as server:
        todo = Sweep(server, OPTIONS, InProcess(meet), lambda row, made, left: None)
        assert todo.try_two_at_once(todo.run_baseline())


def test_sweep_follows_calls_that_need_others(tmp_path: Path) -> None:
    base = tmp_path / "base.yaml"
    base.write_text(CALLS_A_TOOL, encoding="utf-8")
    with start() as server:
        found = sweep(server, InProcess(agent), replace(OPTIONS, base=[base])) | sweep(server, InProcess(chain))
    outcomes = {call: Counter() for call, _, _ in found}  # type: ignore[var-annotated]
    for (call, _, _), row in found.items():
        outcomes[call][row.outcome] += 1
    assert [*outcomes] == [
        "databricks chat, with tools",
        "databricks chat, after a tool call",
        "azure responses",
        "azure responses, continued",
        "azure GET responses",
    ]
    assert [*outcomes["azure GET responses"]] == ["survived"]
    unharmed = {
        call for (call, fault, position), row in found.items() if row.like == ("no fault",) and fault == "stall"
    }
    assert unharmed == outcomes.keys()  # the calls that they need were made first
    for call in [*outcomes][:4]:
        assert found[call, "internal", "before the head"].outcome == "failed loudly", call
    assert found["databricks chat, with tools", "bad_arguments", "not json"].outcome == "failed loudly"
    assert found["databricks chat, with tools", "bad_arguments", "extra"].outcome == "survived"
    assert {fault for _, fault, _ in found} | {"hang"} >= {*FAULTS}


def test_shards_are_the_whole_sweep() -> None:
    with start() as server:
        whole = sweep(server, InProcess(sound))
        runners = [InProcess(sound) for _ in range(3)]
        parts = [sweep(server, one, replace(OPTIONS, shard=(at, 3))) for at, one in enumerate(runners, 1)]
    joined = {key: row.breaches for part in parts for key, row in part.items()}
    assert joined == {key: row.breaches for key, row in whole.items()}
    assert all(runner.runs > 5 for runner in runners)


def test_real_clock_has_pauses_and_judges_waits() -> None:
    """No byte differs where the answer pauses, and yet each pause is a run."""
    with start() as server:
        found = sweep(server, InProcess(sound), replace(OPTIONS, clock="real"), {"stall", "rate_limited"})
    limited = found["databricks chat stream", "rate_limited", "before the head"]
    assert limited.breaches == ("failed silently", ("honours_retry_after",))
    pauses = [row for row in found.values() if row.fault == "stall"]
    assert {row.outcome for row in pauses} == {"survived"}
    assert sum(not row.like for row in pauses) == 3


def test_client_that_spends_more_than_its_budget_is_over_it(tmp_path: Path) -> None:
    base = tmp_path / "base.yaml"
    base.write_text("version: 1\nname: base\nbudget: {attempts: 1}\n", encoding="utf-8")
    with start() as server:
        found = sweep(server, InProcess(stubborn), replace(OPTIONS, base=[base]), {"rate_limited", "empty_body"})
    outcomes = {fault: row.outcome for (_, fault, _), row in found.items() if row.like != ("no fault",)}
    failures = {"rate_limited", "overloaded", "not_ready", "timeout", "internal", "status"}
    assert outcomes == dict.fromkeys((*failures, "empty_body"), "over budget")
    assert "budget:\n  attempts: 1\n" in found["databricks chat stream", "empty_body", ""].scenario


class Endless(InProcess):
    """Runs a program that fails in its first copy, and whose second copy ends only if it is told to."""

    def __init__(self) -> None:
        super().__init__(sound)
        self.both, self.ended = Barrier(2, timeout=PATIENCE), Event()

    def run(self, variables: Mapping[str, str], limit: float) -> CommandResult:
        if self.both.wait() == 0:
            raise KeyboardInterrupt
        assert self.ended.wait(PATIENCE)
        return CommandResult(1)

    def end(self) -> None:
        self.ended.set()


def test_interrupt_ends_both_runs_at_once() -> None:
    runner = Endless()
    with start() as server:
        todo = Sweep(server, OPTIONS, runner, lambda row, made, left: None)
        with pytest.raises(KeyboardInterrupt):
            todo.try_two_at_once(Baseline(Run(CommandResult(0), 1.0), {}, [], 0, 1.0))
    assert runner.ended.is_set()
